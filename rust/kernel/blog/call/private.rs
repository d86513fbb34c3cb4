// SPDX-License-Identifier: GPL-2.0

//! Arguments that are private: [`private`].

use core::ptr;

use super::super::{
    unaligned::store_unaligned,
    wire::types::{
        self,
        Privacy,
        PRIVATE_HASH, //
    }, //
};
use super::{
    abi,
    arg::BlogArg, //
};

/// An argument that is stored as its component's setting `private` says: as a hash, by which equal
/// values of one boot can be recognised; not at all; or as it is.
///
/// # Examples
///
/// ```
/// # use kernel::prelude::*;
/// use kernel::blog::{
///     blog_info,
///     private, //
/// };
///
/// # use kernel::blog::blog_component;
/// # blog_component! { FS, name: "private_fs", enabled: false }
/// fn open(name: &str, uid: u32) {
///     blog_info!(FS, "open {} by {}", private(name), private(uid));
/// }
/// # open("diary", 1000);
/// ```
#[inline(always)]
pub const fn private<T: BlogArg>(value: T) -> Private<T> {
    Private::Keep(value)
}

/// See [`private`]. A call has one that is kept, and passes what is to be stored of it.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub enum Private<T> {
    Hash(u64),
    Omit,
    Keep(T),
}

#[inline(never)]
fn hash<T: BlogArg>(value: T) -> u64 {
    const MAX: usize = 64;
    const {
        assert!(
            T::FIXED <= MAX && (T::FIXED == 1 || !T::CODE.has_tail()),
            "BLog: only strings, slices, and types of at most 64 bytes can be private"
        );
    }
    let (mut hash, mut fixed) = (0, [0; MAX]);
    // SAFETY: There is room for the fixed bytes, by the assertion.
    unsafe { value.store(fixed.as_mut_ptr()) };
    let bytes = match T::CODE.has_tail() {
        true => &value.tail()[..value.tail().len().min(types::MAX_PAYLOAD)],
        false => &fixed[..T::FIXED],
    };
    // SAFETY: `hash` is one. The bytes can be read.
    unsafe { abi::blog_hash(bytes.as_ptr(), bytes.len(), &mut hash) };
    hash
}

// SAFETY: `store` writes the first byte, and then the value or as many zeros, or more. There is a
// tail only where the value is kept, whose tail that is.
unsafe impl<T: BlogArg> BlogArg for Private<T> {
    type Shown = T::Shown;
    type Passed<'a>
        = Private<T::Passed<'a>>
    where
        Self: 'a;

    const CODE: types::TypeCode = T::CODE.wrapped(types::PRIVATE);
    const FIXED: usize = 1 + if T::FIXED > PRIVATE_HASH {
        T::FIXED
    } else {
        PRIVATE_HASH
    };
    const ADDRESS: bool = T::ADDRESS;

    #[inline(always)]
    fn tail(&self) -> &[u8] {
        match self {
            Self::Keep(value) => value.tail(),
            Self::Hash(_) | Self::Omit => &[],
        }
    }

    #[inline(always)]
    fn pass(&self) -> Self::Passed<'_> {
        self.pass_by(|| Privacy::Keep)
    }

    #[inline(always)]
    fn pass_by(&self, privacy: impl FnOnce() -> Privacy) -> Self::Passed<'_> {
        match (self, privacy()) {
            (Self::Keep(value), Privacy::Keep) => Private::Keep(value.pass()),
            (Self::Keep(value), Privacy::Hash) => Private::Hash(hash(value.pass())),
            (Self::Hash(hash), _) => Private::Hash(*hash),
            (Self::Omit, _) | (_, Privacy::Omit) => Private::Omit,
        }
    }

    #[inline(always)]
    unsafe fn store(&self, dst: *mut u8) {
        // SAFETY: The caller gives us `FIXED` bytes: one, and room for the hash and the value.
        unsafe {
            ptr::write_bytes(dst, 0, Self::FIXED);
            let body = dst.add(1);
            let what = match self {
                Self::Hash(hash) => {
                    store_unaligned(body, *hash);
                    Privacy::Hash
                }
                Self::Omit => Privacy::Omit,
                Self::Keep(value) => {
                    value.store(body);
                    Privacy::Keep
                }
            };
            dst.write(what as u8);
        }
    }

    #[inline(always)]
    fn describe() {
        T::describe()
    }
}
