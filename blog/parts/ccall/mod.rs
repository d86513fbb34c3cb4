// SPDX-License-Identifier: GPL-2.0

//! Records of drivers in C: the Rust side of `ccall.c`.
//!
//! Like `write/slow.rs`, it runs wherever drivers log.

use core::{
    cell::Cell,
    ops::Range,
    slice, //
};
use kernel::blog::{
    unaligned::store_unaligned,
    wire::{
        pack::Codes,
        record::HEADER_SIZE,
        types::MAX_PAYLOAD, //
    },
    write_open,
    RawComponent, //
};

pub(crate) mod pack;

use self::pack::{
    pack,
    pack_simple,
    SLACK, //
};
use crate::{
    floor::Part,
    sys::nofault::{
        copy_nofault,
        hash, //
    },
    write::{
        slow,
        stored, //
    }, //
};

/// Drivers call it, and other parts.
pub(crate) static PART: Part = Part::NONE;

/// Writers for calls with as many arguments.
macro_rules! writers {
    ($($name:ident $others:ident ($first:ident $(, $arg:ident $place:literal)*);)*) => {$(
        /// Writes the record of a call with at most as many arguments. Those that it doesn't have
        /// are anything.
        ///
        /// # Safety
        ///
        /// As for [`blog_write_packed`]; the call has as many words as one with these arguments.
        #[no_mangle]
        unsafe extern "C" fn $name(
            component: &RawComponent,
            site_shl10: u32,
            words: *const u64,
            $first: u64,
            $($arg: u64,)*
        ) {
            let byte = |i| {
                // SAFETY: By this function's requirements.
                unsafe { words.cast::<u8>().add(i).read() }
            };
            const COUNT: u8 = 1 $(+ { let _: u8 = $place; 1 })*;
            let size = usize::from(byte(1));
            let fill = |dst: *mut u8, room: Range<usize>| {
                if room.start.wrapping_add(size + SLACK) > room.end {
                    return None;
                }
                // SAFETY: There are 8 bytes after each place, and these are up to the end. Each one
                // overwrites what the one before has stored too much of.
                unsafe {
                    store_unaligned(dst, $first);
                    $(store_unaligned(dst.add(byte($place).into()), $arg);)*
                }
                Some(size)
            };
            // SAFETY: By this function's requirements.
            unsafe {
                // Other calls, for which this is more than that, are for the others.
                if byte(0) > COUNT {
                    return $others(component, site_shl10, words, $first, $($arg),*);
                }
                if !write_open(component, site_shl10, fill) {
                    $others(component, site_shl10, words, $first, $($arg),*);
                }
            }
        }

        /// By itself, with the arguments where they are still: a call with strings, or one that has
        /// no place yet.
        ///
        /// # Safety
        ///
        /// As for [`blog_write_packed`].
        #[inline(never)]
        unsafe extern "C" fn $others(
            component: &RawComponent,
            site_shl10: u32,
            words: *const u64,
            $first: u64,
            $($arg: u64,)*
        ) {
            let args = [$first, $($arg),*];
            // SAFETY: By this function's requirements; that is the room there is.
            unsafe {
                let fill = |dst: *mut u8, room: Range<usize>| {
                    let end = dst.wrapping_sub(room.start).wrapping_add(room.end);
                    pack_simple(*words, &args, dst, end)
                };
                if !write_open(component, site_shl10, fill) {
                    blog_write_packed(component, site_shl10, words, args.as_ptr(), args.len());
                }
            }
        }
    )*};
}

writers! {
    blog_write1 write1(a);
    blog_write2 write2(a, b 2);
    blog_write4 write4(a, b 2, c 3, d 4);
    blog_write8 write8(a, b 2, c 3, d 4, e 5, f 6, g 7, h 8);
}

/// Writes the record of any call.
///
/// # Safety
///
/// The site is on for `component`, and has this id. `words` are those of the call, and `args` has
/// `count` arguments.
#[cold]
#[no_mangle]
pub(crate) unsafe extern "C" fn blog_write_packed(
    component: &RawComponent,
    site_shl10: u32,
    words: *const u64,
    args: *const u64,
    count: usize,
) {
    // SAFETY: By this function's requirements.
    let (low, args) = unsafe { (*words, slice::from_raw_parts(args, count)) };
    let Some(has_two) = Codes::has_two(low) else {
        return;
    };
    let high = match has_two {
        // SAFETY: There is a second word.
        true => unsafe { *words.add(1) },
        false => 0,
    };
    let codes = Codes(u128::from(high) << 64 | u128::from(low));
    // SAFETY: By this function's requirements.
    unsafe { write(component, site_shl10, codes, || args) };
}

/// Writes a record of arguments that are had while there is room for them: what is had in memory,
/// and comes back to here by a fault, finds the ring busy.
///
/// # Safety
///
/// The site is on for `component`, and has this id, or one more if it is a warning or an error: see
/// [`Reservation::WARNS`](kernel::blog::ring::Reservation::WARNS). With these codes, no record is
/// too long.
pub(crate) unsafe fn write<A: AsRef<[u64]>>(
    component: &RawComponent,
    site_shl10: u32,
    codes: Codes,
    args: impl Fn() -> A,
) {
    let need = Cell::new(0);
    let fill = |dst, room: Range<usize>| {
        // SAFETY: That is the room there is.
        let size = unsafe { pack(codes, args().as_ref(), component.privacy(), dst, room.len()) };
        need.set(size);
        (size + SLACK <= room.len()).then_some(size)
    };
    let warns = site_shl10 & 1;
    let site_shl10 = site_shl10 - warns;
    // SAFETY: By this function's requirements. `pack` stores `MAX_PAYLOAD` bytes at most, and wants
    // no more room than it may.
    if warns == 0 && unsafe { write_open(component, site_shl10, &fill) } {
        return;
    }
    // Where there is room for this record, as far as that is known; then, as it may have grown
    // meanwhile, for any.
    let mut size = need.get();
    while size <= MAX_PAYLOAD {
        let bytes = (HEADER_SIZE + size + SLACK) as u32;
        // SAFETY: As above; no record has begun. `fill` has stored the bytes.
        let is_done = unsafe {
            let place = slow::blog_reserve(component, None, bytes, warns.into());
            place.put_open(site_shl10, |to, room| {
                let size = fill(to, room)?;
                if component.is_watched() {
                    stored::blog_stored(component, site_shl10, to, size);
                }
                Some(size)
            })
        };
        if is_done {
            return;
        }
        size = need.get().max(if size == 0 { 1 } else { MAX_PAYLOAD });
    }
}
