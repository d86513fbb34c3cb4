// SPDX-License-Identifier: GPL-2.0

//! Values as bytes: `kernel::transmute`.

use core::{ptr, slice};

/// # Safety
///
/// Values have no uninitialised bytes.
pub unsafe trait AsBytes {
    fn as_bytes(&self) -> &[u8] {
        let (at, len) = (ptr::from_ref(self).cast(), size_of_val(self));
        // SAFETY: By this trait's requirement.
        unsafe { slice::from_raw_parts(at, len) }
    }
}

/// # Safety
///
/// Any bytes are a value.
pub unsafe trait FromBytes: Sized {
    fn from_bytes_copy_prefix(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (value, rest) = bytes.split_at_checked(size_of::<Self>())?;
        // SAFETY: There are as many bytes, and by this trait's requirement any are a value.
        let value = unsafe { value.as_ptr().cast::<Self>().read_unaligned() };
        Some((value, rest))
    }
}

macro_rules! numbers {
    ($($ty:ty)*) => {$(
        // SAFETY: It has no padding.
        unsafe impl AsBytes for $ty {}
        // SAFETY: Any bytes are a number.
        unsafe impl FromBytes for $ty {}
    )*};
}

numbers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

// SAFETY: As for the element.
unsafe impl<T: AsBytes> AsBytes for [T] {}
// SAFETY: As for the element.
unsafe impl<T: AsBytes, const N: usize> AsBytes for [T; N] {}
// SAFETY: As for the element.
unsafe impl<T: FromBytes, const N: usize> FromBytes for [T; N] {}
