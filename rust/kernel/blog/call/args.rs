// SPDX-License-Identifier: GPL-2.0

//! A call site's whole list of arguments: its size, and its bytes.
//!
//! The macros' expansions build a tuple of references and call its `log()`, which passes them to a
//! function that calls with the same types share. That function gets the size here, and stores the
//! bytes. A list of scalars has a constant size and turns into plain stores.

#[cfg(CONFIG_BLOG_HOOKS)]
use core::marker::PhantomData;
use core::ptr;

use super::super::{
    unaligned::store_unaligned,
    wire::types, //
};
use super::arg::BlogArg;
#[cfg(CONFIG_BLOG_HOOKS)]
use super::{
    super::ring::{
        Reservation,
        Writing, //
    },
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
    /// What is left for tails, with room for the longest lengths of all.
    const BUDGET: usize;

    /// The payload's size in bytes: at most [`types::MAX_PAYLOAD`].
    fn size(self) -> usize;

    /// Stores the payload.
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

/// Stores one argument's fixed bytes and tail; returns where the next one starts.
///
/// # Safety
///
/// `dst` must be valid for writes of the argument's fixed bytes, and of its tail's length and
/// `budget` more if it has one.
#[inline(always)]
unsafe fn store_one<T: BlogArg + ?Sized>(arg: &T, dst: *mut u8, budget: &mut usize) -> *mut u8 {
    // SAFETY: The caller gives us room for this much, and `take_tail` never exceeds the budget.
    unsafe {
        arg.store(dst);
        let mut dst = dst.add(T::FIXED);
        if !const { T::CODE.has_tail() } {
            return dst;
        }
        let (tail, len) = (arg.tail(), tail_len(arg));
        if types::long_size(len) != 0 {
            store_unaligned(dst, len as u16);
            dst = dst.add(types::LONG_SIZE);
        }
        let n = types::take_tail(budget, len);
        ptr::copy_nonoverlapping(tail.as_ptr(), dst, n);
        dst.add(n)
    }
}

/// Length of an argument's tail, as the record has it.
#[inline(always)]
fn tail_len<T: BlogArg + ?Sized>(arg: &T) -> usize {
    // Limited, so that a sum of `MAX_ARGS` of them cannot overflow.
    arg.tail().len().min(types::MAX_TAIL)
}

macro_rules! impl_args {
    ($($name:ident $index:tt),*) => {
        // SAFETY: `store` writes every byte up to where the tails end, which is what `size`
        // computes from the same lengths.
        unsafe impl<$($name: BlogArg + ?Sized),*> BlogArgs for ($(&$name,)*) {
            // Not below 0: the call site of larger arguments doesn't compile.
            const BUDGET: usize = types::MAX_PAYLOAD $(- $name::FIXED - $name::CODE.long_size())*;

            #[inline(always)]
            fn size(self) -> usize {
                let fixed = const { 0 $(+ $name::FIXED)* };
                let tails = 0usize $(+ tail_len(self.$index))*;
                let lengths = 0 $(+ types::long_size(tail_len(self.$index)))*;
                fixed + lengths + tails.min(Self::BUDGET)
            }

            #[inline(always)]
            #[allow(unused_variables, unused_assignments, unused_mut, unused_unsafe)]
            unsafe fn store(self, mut dst: *mut u8) {
                let mut budget = Self::BUDGET;
                // SAFETY: The caller gives us `size` bytes: all fixed ones, the lengths of long
                // tails, and the budget or all tails, whichever is less.
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
                    site_shl10: u32,
                    $($name: $name,)*
                ) {
                    let args = ($(&$name,)*);
                    // SAFETY: By our caller's promise; `store` stores `size` bytes.
                    unsafe {
                        let store = |dst| args.store(dst);
                        if let Err(reservation) = write(component, site_shl10, args.size(), store) {
                            let Reservation { writing, ts } = reservation;
                            blog_record_slow(any, component, site_shl10, $($name,)* writing, ts);
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
                    site_shl10: u32,
                    $($name: $name,)*
                    writing: Option<Writing<'_>>,
                    ts: u64,
                ) {
                    let args = ($(&$name,)*);
                    // SAFETY: By our caller's promise; `store` stores `size` bytes.
                    unsafe {
                        let store = |dst| args.store(dst);
                        write_slow(component, site_shl10, args.size(), store, (writing, ts));
                    }
                }
                let (any, id) = (PhantomData::<()>, site.id_shl10);
                // SAFETY: As our caller's promise; no record has begun.
                unsafe {
                    if site.warns() {
                        blog_record_slow(
                            any,
                            component,
                            id,
                            $(self.$index.pass_by(|| component.privacy()),)*
                            None,
                            Reservation::WARNS,
                        )
                    } else {
                        blog_record(
                            any,
                            component,
                            id,
                            $(self.$index.pass_by(|| component.privacy())),*
                        )
                    }
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
