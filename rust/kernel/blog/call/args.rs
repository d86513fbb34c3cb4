// SPDX-License-Identifier: GPL-2.0

//! A call site's whole list of arguments: its size, and its bytes.
//!
//! The macros' expansions build a tuple of references and hand it to `log()`, which asks this for
//! the size, opens a record, and has the bytes stored. It needs no kernel and compiles on the host
//! unchanged. A list of scalars has a constant size and turns into plain stores.

use core::ptr;

use super::super::wire::types::{
    self,
    MAX_PAYLOAD, //
};
use super::arg::BlogArg;

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
