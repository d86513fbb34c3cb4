// SPDX-License-Identifier: GPL-2.0

//! Records of drivers in C, whose arguments `sys/call.c` has collected.
//!
//! Runs wherever drivers log, as `slow.rs`.

use core::sync::atomic::{
    AtomicU32,
    Ordering::Relaxed, //
};
use kernel::blog::{
    packed::{
        Numbers,
        Packed, //
        Pointees,
    },
    types::MAX_ARGS,
    wire::pack::Codes,
    write_packed,
    RawComponent, //
};

use crate::sys::call;

/// The kernel's memory.
struct Kernel;

impl Pointees for Kernel {
    fn string(&self, address: u64, max: usize) -> Option<usize> {
        call::string_length(address, max)
    }

    fn readable(&self, address: u64, len: usize) -> bool {
        let mut byte = 0;
        let mut has = |at| {
            // SAFETY: This is a byte.
            unsafe { call::copy_nofault(at, &raw mut byte, 1) }
        };
        // At most a record's worth: no page is between the first and the last byte.
        len == 0 || has(address) && address.checked_add(len as u64 - 1).is_some_and(has)
    }

    unsafe fn text(&self, kind: u8, address: u64, dst: *mut u8, len: usize) -> Option<usize> {
        // SAFETY: By this function's requirement.
        unsafe { call::text(kind, address, dst, len) }
    }

    unsafe fn copy(&self, address: u64, dst: *mut u8, len: usize) -> bool {
        // SAFETY: By this function's requirement.
        unsafe { call::copy_nofault(address, dst, len) }
    }
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
            // SAFETY: By this function's requirements.
            unsafe { write_few(component, site.load(Relaxed), *codes, [$($arg),*]) };
        }
    )*};
}

writers! {
    blog_write1(a);
    blog_write2(a, b);
    blog_write3(a, b, c);
}

/// # Safety
///
/// As for [`blog_write_packed`].
#[inline(always)]
unsafe fn write_few<const N: usize>(
    component: *const RawComponent,
    id: u32,
    codes: u64,
    args: [u64; N],
) {
    // SAFETY: By this function's requirements.
    unsafe {
        match Numbers::new(Codes(codes), &args) {
            Some(numbers) => write_packed(&*component, id, &numbers),
            None => {
                let arg = |i| args.get(i).copied().unwrap_or(0);
                write_others(component, id, codes, arg(0), arg(1), arg(2));
            }
        }
    }
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
    // SAFETY: By this function's requirements.
    unsafe {
        let few = args.first_chunk::<6>();
        if let Some(numbers) = few.and_then(|few| Numbers::new(Codes(codes), few)) {
            write_packed(&*component, site_shl10, &numbers);
        } else if let Some(numbers) = Numbers::new(Codes(codes), args) {
            write_packed(&*component, site_shl10, &numbers);
        } else if let Some(packed) = Packed::new(Codes(codes), args, &Kernel) {
            write_packed(&*component, site_shl10, &packed);
        }
    }
}
