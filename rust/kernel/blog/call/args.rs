// SPDX-License-Identifier: GPL-2.0

//! A call site's whole list of arguments: its size, and its bytes.
//!
//! The macros' expansions build a tuple of references and call `log()` of it, which passes them to
//! a function that they share with others. That asks this for the size, and has the bytes stored.
//! It needs no kernel and compiles on the host unchanged, but for `log()`. A list of scalars has a
//! constant size and turns into plain stores.

#[cfg(CONFIG_BLOG_HOOKS)]
use core::marker::PhantomData;
use core::ptr;

use super::super::wire::types::{
    self,
    MAX_PAYLOAD, //
};
use super::arg::BlogArg;
#[cfg(CONFIG_BLOG_HOOKS)]
use super::{
    super::ring::Ring,
    component::RawComponent,
    site::Loaded,
    write::{
        write,
        write_slow, //
    }, //
};

/// A tuple of references to [`BlogArg`]s.
///
/// # Safety
///
/// [`BlogArgs::store`] must write all of the [`BlogArgs::size`] bytes, and nothing else.
pub unsafe trait BlogArgs: Copy {
    /// The sum of the arguments' fixed bytes.
    const FIXED_SUM: usize;

    /// Whether an argument has a tail, so that the size is known only at run time.
    const ANY_TAIL: bool;

    /// The payload's size in bytes: a multiple of 4, at most [`MAX_PAYLOAD`].
    fn size(self) -> usize;

    /// Stores the payload, zero padding included.
    ///
    /// # Safety
    ///
    /// `dst` must be valid for writes of [`BlogArgs::size`] bytes.
    unsafe fn store(self, dst: *mut u8);

    /// Writes a record, by a function that is not inlined: a crate has one for each list of types
    /// that are passed. The macros' expansions call it, for a site that is on.
    ///
    /// # Safety
    ///
    /// `component` is what a [`Component`](super::component::Component) is, whose `is_on()` has
    /// returned true, by a reference that lives still; and `site` is on for it.
    #[cfg(CONFIG_BLOG_HOOKS)]
    unsafe fn log(self, component: &RawComponent, site: Loaded);
}

const UNIT_MASK: usize = super::super::wire::record::UNIT - 1;

/// `n` rounded up to whole units.
#[inline(always)]
const fn round_up(n: usize) -> usize {
    (n + UNIT_MASK) & !UNIT_MASK
}

/// Stores one argument's fixed bytes and tail; returns where the next one starts.
///
/// # Safety
///
/// `dst` must be valid for writes of the argument's fixed bytes, and of `budget` more if it has a
/// tail.
#[inline(always)]
unsafe fn store_one<T: BlogArg + ?Sized>(arg: &T, dst: *mut u8, budget: &mut usize) -> *mut u8 {
    // SAFETY: The caller gives us room for this much, and `take_tail` never exceeds the budget.
    unsafe {
        arg.store(dst);
        let dst = dst.add(T::FIXED);
        if !const { T::CODE.has_tail() } {
            return dst;
        }
        let tail = arg.tail();
        let n = types::take_tail(budget, tail.len().min(types::MAX_TAIL));
        ptr::copy_nonoverlapping(tail.as_ptr(), dst, n);
        dst.add(n)
    }
}

/// Length of an argument's tail, for the sum of all.
#[inline(always)]
fn tail_len<T: BlogArg + ?Sized>(arg: &T) -> usize {
    if const { T::CODE.has_tail() } {
        // Limited, so that a sum of `MAX_ARGS` of them cannot overflow.
        arg.tail().len().min(types::MAX_TAIL)
    } else {
        0
    }
}

macro_rules! impl_args {
    ($($name:ident $index:tt),*) => {
        // SAFETY: `store` starts with zeros in the last unit and then writes every byte up to
        // where the tails end, which is what `size` computes from the same lengths.
        unsafe impl<$($name: BlogArg + ?Sized),*> BlogArgs for ($(&$name,)*) {
            const FIXED_SUM: usize = {
                let fixed = 0 $(+ $name::FIXED)*;
                assert!(
                    fixed <= MAX_PAYLOAD,
                    "BLog: these arguments are larger than a record (1020 bytes)"
                );
                fixed
            };
            const ANY_TAIL: bool = false $(|| $name::CODE.has_tail())*;

            #[inline(always)]
            fn size(self) -> usize {
                if !Self::ANY_TAIL {
                    return round_up(Self::FIXED_SUM);
                }
                let tails = 0usize $(+ tail_len(self.$index))*;
                round_up(Self::FIXED_SUM + tails.min(MAX_PAYLOAD - Self::FIXED_SUM))
            }

            #[inline(always)]
            #[allow(unused_variables, unused_assignments, unused_mut, unused_unsafe)]
            unsafe fn store(self, mut dst: *mut u8) {
                let size = self.size();
                if size != 0 && (Self::ANY_TAIL || Self::FIXED_SUM & UNIT_MASK != 0) {
                    // SAFETY: `size` is a multiple of 4 and at least 4.
                    unsafe { dst.add(size - 4).cast::<u32>().write_unaligned(0) };
                }
                let mut budget = MAX_PAYLOAD - Self::FIXED_SUM;
                // SAFETY: The caller gives us `size` bytes: all fixed ones, and the budget or all
                // tails, whichever is less.
                unsafe {
                    $(dst = store_one(self.$index, dst, &mut budget);)*
                }
            }

            #[cfg(CONFIG_BLOG_HOOKS)]
            #[inline(always)]
            unsafe fn log(self, component: &RawComponent, site: Loaded) {
                // `Any`, so that the one without arguments is generic, too: the kernel crate, which
                // can't reach `blog/`, has none of these then, and a driver has what it uses.
                #[inline(never)]
                #[allow(non_snake_case, clippy::too_many_arguments)]
                unsafe fn blog_record<Any, $($name: BlogArg + Copy),*>(
                    any: PhantomData<Any>,
                    component: &RawComponent,
                    site_shl8: u32,
                    $($name: $name,)*
                ) {
                    // SAFETY: By our caller's promise.
                    unsafe {
                        if let Err((ring, ts)) = write(component, site_shl8, ($(&$name,)*)) {
                            blog_record_slow(any, component, site_shl8, $($name,)* ring, ts);
                        }
                    }
                }
                // By itself, so that the other one has nothing to keep over a call.
                #[cold]
                #[inline(never)]
                #[allow(non_snake_case, clippy::too_many_arguments)]
                unsafe fn blog_record_slow<Any, $($name: BlogArg),*>(
                    _: PhantomData<Any>,
                    component: &RawComponent,
                    site_shl8: u32,
                    $($name: $name,)*
                    ring: *const Ring,
                    ts: u64,
                ) {
                    // SAFETY: By our caller's promise.
                    unsafe { write_slow(component, site_shl8, ($(&$name,)*), (ring, ts)) };
                }
                // SAFETY: As our caller's promise.
                unsafe {
                    blog_record(PhantomData::<()>, component, site.id_shl8, $(self.$index.pass()),*)
                }
            }
        }
    };
}

impl_args!();
impl_args!(A 0);
impl_args!(A 0, B 1);
impl_args!(A 0, B 1, C 2);
impl_args!(A 0, B 1, C 2, D 3);
impl_args!(A 0, B 1, C 2, D 3, E 4);
impl_args!(A 0, B 1, C 2, D 3, E 4, F 5);
impl_args!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
impl_args!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
impl_args!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
impl_args!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
impl_args!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
impl_args!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
