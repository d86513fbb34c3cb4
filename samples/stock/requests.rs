// SPDX-License-Identifier: GPL-2.0

//! Requests of a block driver as a type of its own that it logs: on a kernel without patches, the
//! methods that `patches/rust-blk-mq-request-blog.patch` gives the kernel's `Request`.
//!
//! The driver rnull has this file there, as the module `requests`: see `scripts/build-stock`.

use kernel::{
    bindings,
    block::mq::{
        Operations,
        Request, //
    },
    blog::BlogArg, //
};

/// What a request asks for: the operation part of its flags.
#[derive(BlogArg, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Read,
    Write,
    Flush,
    Discard,
    WriteZeroes,
    Other(u8),
}

impl Op {
    fn from_flags(flags: bindings::blk_opf_t) -> Self {
        match flags & ((1 << bindings::REQ_OP_BITS) - 1) {
            bindings::req_op_REQ_OP_READ => Self::Read,
            bindings::req_op_REQ_OP_WRITE => Self::Write,
            bindings::req_op_REQ_OP_FLUSH => Self::Flush,
            bindings::req_op_REQ_OP_DISCARD => Self::Discard,
            bindings::req_op_REQ_OP_WRITE_ZEROES => Self::WriteZeroes,
            other => Self::Other(other as u8),
        }
    }
}

/// Methods of [`Request`] in the patched kernel.
///
/// # Safety
///
/// `raw()` must lead to a valid request, which its driver owns.
pub(crate) unsafe trait LookAtRequest {
    fn raw(&self) -> *const bindings::request;

    /// The tag of the request.
    #[inline]
    fn tag(&self) -> u32 {
        // SAFETY: By the trait's requirement. The block layer doesn't change the tag of a request
        // that a driver owns.
        unsafe { (*self.raw()).tag as u32 }
    }

    /// The first sector of the request, in units of 512 bytes.
    #[inline]
    fn sector(&self) -> u64 {
        // SAFETY: As above: the sector.
        unsafe { (*self.raw()).__sector }
    }

    /// The length of the request's data in bytes.
    #[inline]
    fn bytes(&self) -> u32 {
        // SAFETY: As above: the length.
        unsafe { (*self.raw()).__data_len }
    }

    /// The operation of the request.
    #[inline]
    fn op(&self) -> Op {
        // SAFETY: As above: the flags.
        Op::from_flags(unsafe { (*self.raw()).cmd_flags })
    }
}

// SAFETY: By its invariants, a `Request` is nothing but a `struct request`, and is its driver's.
unsafe impl<T: Operations> LookAtRequest for Request<T> {
    fn raw(&self) -> *const bindings::request {
        core::ptr::from_ref(self).cast()
    }
}
