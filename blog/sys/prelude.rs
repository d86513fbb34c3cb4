// SPDX-License-Identifier: GPL-2.0

//! What most files of this module use of Rust's core and of the kernel crate.

#![allow(unused_imports)]

pub(crate) use core::{
    mem,
    ptr::{
        self,
        NonNull, //
    },
    slice,
    sync::atomic::{
        fence,
        AtomicBool,
        AtomicPtr,
        AtomicU32,
        AtomicU64,
        Ordering::*, //
    }, //
};
pub(crate) use kernel::{
    bindings,
    error::to_result,
    fmt,
    fs::{
        file::Offset,
        File, //
    },
    iov::IovIterDest,
    new_mutex,
    page::PAGE_SIZE,
    prelude::*,
    str::BStr,
    sync::{
        global_lock,
        poll::PollTable,
        Arc,
        Mutex,
        SetOnce, //
    },
    transmute::AsBytes, //
};
