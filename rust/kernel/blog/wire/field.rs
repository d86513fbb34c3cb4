// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Fields of the structures that leave the kernel: their bytes, little-endian as all machines are
//! that BLog runs on, and back.

/// A type of field.
pub trait Field: Copy {
    /// Its size in bytes.
    const SIZE: usize;

    /// Reads it from the start of `bytes`. What is missing at the end is 0.
    fn get(bytes: &[u8]) -> Self;

    /// Writes it to the start of `to`, as far as that has room.
    fn put(self, to: &mut [u8]);
}

macro_rules! integers {
    ($($int:ty)*) => {$(
        impl Field for $int {
            const SIZE: usize = size_of::<Self>();

            #[inline]
            fn get(bytes: &[u8]) -> Self {
                let mut raw = [0; <Self as Field>::SIZE];
                for (to, byte) in raw.iter_mut().zip(bytes) {
                    *to = *byte;
                }
                Self::from_le_bytes(raw)
            }

            #[inline]
            fn put(self, to: &mut [u8]) {
                for (to, byte) in to.iter_mut().zip(self.to_le_bytes()) {
                    *to = byte;
                }
            }
        }
    )*};
}

integers!(u8 u16 u32 u64 i32);

impl<T: Field, const N: usize> Field for [T; N] {
    const SIZE: usize = T::SIZE * N;

    #[inline]
    fn get(bytes: &[u8]) -> Self {
        core::array::from_fn(|n| T::get(bytes.get(n * T::SIZE..).unwrap_or_default()))
    }

    #[inline]
    fn put(self, to: &mut [u8]) {
        for (to, value) in to.chunks_exact_mut(T::SIZE).zip(self) {
            value.put(to);
        }
    }
}
