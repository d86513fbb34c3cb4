// SPDX-License-Identifier: GPL-2.0

//! Records of drivers in C: the Rust side of `ccall.c`.
//!
//! Like `slow.rs`, it runs wherever drivers log.

use core::sync::atomic::{
    AtomicU32,
    Ordering::Relaxed, //
};
use kernel::blog::{
    types::MAX_ARGS,
    wire::pack::Codes,
    write_packed,
    RawComponent, //
};

use super::pack::{
    Numbers,
    Packed, //
};

unsafe extern "C" {
    /// Chooses the key for private arguments. Before anything can log.
    pub(crate) safe fn blog_start_hash();
}

/// Writers for calls with as many arguments, which are in registers.
macro_rules! writers {
    ($($name:ident($($arg:ident),*);)*) => {$(
        /// Writes the record of a call with at most as many arguments. Those that it doesn't have
        /// are anything.
        ///
        /// # Safety
        ///
        /// As for [`blog_write_packed`]; `site` and `codes` are those of the call.
        #[no_mangle]
        unsafe extern "C" fn $name(
            component: *const RawComponent,
            site: &AtomicU32,
            codes: &u64,
            $($arg: u64,)*
        ) {
            let (id, codes, args) = (site.load(Relaxed), *codes, [$($arg),*]);
            // SAFETY: By this function's requirements.
            unsafe {
                if !write_numbers(component, id, codes, &args) {
                    let arg = |i| args.get(i).copied().unwrap_or(0);
                    write_others(component, id, codes, arg(0), arg(1), arg(2));
                }
            }
        }
    )*};
}

writers! {
    blog_write1(a);
    blog_write2(a, b);
    blog_write3(a, b, c);
}

/// Writes the record where all arguments are numbers, and among these; else returns false.
///
/// # Safety
///
/// As for [`blog_write_packed`].
#[inline(always)]
unsafe fn write_numbers<const N: usize>(
    component: *const RawComponent,
    id: u32,
    codes: u64,
    args: &[u64; N],
) -> bool {
    let Some(numbers) = Numbers::new(Codes(codes), args) else {
        return false;
    };
    // SAFETY: By this function's requirements; what is stored has this size.
    unsafe { write_packed(&*component, id, numbers.size(), |dst| numbers.store(dst)) };
    true
}

/// By itself, with the arguments in registers still.
///
/// # Safety
///
/// As for [`blog_write_packed`].
#[cold]
#[inline(never)]
unsafe extern "C" fn write_others(
    component: *const RawComponent,
    id: u32,
    codes: u64,
    a: u64,
    b: u64,
    c: u64,
) {
    let mut args = [0; MAX_ARGS];
    args[..3].copy_from_slice(&[a, b, c]);
    // SAFETY: By this function's requirements.
    unsafe { blog_write_packed(component, id, codes, &args) };
}

/// Writes the record of a call; for `blog_write()`.
///
/// # Safety
///
/// The site is on for `component`, which is valid, and has this id. `args` has as many arguments as
/// `codes` says.
#[no_mangle]
pub(crate) unsafe extern "C" fn blog_write_packed(
    component: *const RawComponent,
    site_shl10: u32,
    codes: u64,
    args: &[u64; MAX_ARGS],
) {
    // SAFETY: By this function's requirements; what is stored has this size.
    unsafe {
        let few = args.first_chunk::<6>();
        if few.is_some_and(|few| write_numbers(component, site_shl10, codes, few))
            || write_numbers(component, site_shl10, codes, args)
        {
            return;
        }
        if let Some(packed) = Packed::new(Codes(codes), args, (*component).privacy()) {
            write_packed(&*component, site_shl10, packed.size, |dst| {
                packed.store(dst)
            });
        }
    }
}
