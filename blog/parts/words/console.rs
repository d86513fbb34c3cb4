// SPDX-License-Identifier: GPL-2.0

//! When last words are due, and how they are packed and printed: the Rust side of `words.c`. Any
//! context, unless it says otherwise.

use kernel::prelude::*;

unsafe extern "C" {
    /// Whether events of this kind, a number of `Why`, are wanted, and there were not too many
    /// before. Counts this one.
    #[link_name = "blog_words_due"]
    pub(crate) safe fn are_due(why: u32) -> bool;

    fn blog_pack(
        room: *mut c_void,
        from: *const c_void,
        len: usize,
        to: *mut c_void,
        size: usize,
    ) -> usize;
    safe fn blog_pack_room() -> usize;
    fn blog_words_print(line: *const c_char, len: u32);

    /// Calls `blog_last_words()` when they are due. Process context.
    #[link_name = "blog_words_start"]
    pub(crate) safe fn start();
}

pub(crate) struct Deflate(KVVec<u64>);

impl Deflate {
    /// Process context.
    pub(crate) fn new() -> Result<Self> {
        let words = blog_pack_room().div_ceil(size_of::<u64>());
        Ok(Self(KVVec::from_elem(0, words, GFP_KERNEL)?))
    }

    /// Packs bytes, at most 4 KiB, as raw deflate; the length, or `None` if that has no room.
    pub(crate) fn pack(&mut self, from: &[u8], to: &mut [u8]) -> Option<usize> {
        let room = self.0.as_mut_ptr().cast();
        // SAFETY: All of them are valid for their length, and `room` is as large as it is to be.
        let len = unsafe {
            blog_pack(
                room,
                from.as_ptr().cast(),
                from.len(),
                to.as_mut_ptr().cast(),
                to.len(),
            )
        };
        (len != 0).then_some(len)
    }
}

/// Prints a line to the kernel's log.
pub(crate) fn print(line: &[u8]) {
    // SAFETY: It is valid for its length.
    unsafe { blog_words_print(line.as_ptr().cast(), line.len() as u32) };
}
