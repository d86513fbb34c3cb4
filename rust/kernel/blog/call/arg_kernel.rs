// SPDX-License-Identifier: GPL-2.0

//! [`BlogArg`] for types of the kernel crate.
//!
//! Like `arg.rs`, for types that don't compile on the host.

use super::super::{
    unaligned::store_unaligned,
    wire::types, //
};
use super::arg::{
    self,
    BlogArg,
    Errno, //
};
use crate::{
    alloc::{
        Allocator,
        Box,
        Vec, //
    },
    error::Error,
    prelude::*,
    str::CString,
    sync,
    task::Task,
    time::{
        hrtimer::HrTimerExpires,
        ClockSource,
        Delta,
        Instant, //
    }, //
};

impl Errno for Error {
    #[inline(always)]
    fn errno(&self) -> i32 {
        self.to_errno()
    }
}

arg::impl_scalar! {
    () Error => ERROR u32, |v| v.to_errno() as u32;
    () Task as arg::OnlyDisplay<Self> => PID u32, |v| v.pid() as u32;
    (C: ClockSource) Instant<C> as arg::OnlyDisplay<Self> => INSTANT u64,
        |v| HrTimerExpires::as_nanos(v) as u64;
    () Delta as arg::OnlyDisplay<Self> => DELTA u64, |v| v.as_nanos() as u64;
}

arg::impl_deref! {
    (T: BlogArg + ?Sized) sync::Arc<T> => T;
    (T: BlogArg + ?Sized) sync::UniqueArc<T> => T;
    (T: BlogArg + ?Sized) sync::ArcBorrow<'_, T> => T;
    (T: BlogArg + ?Sized, A: Allocator) Box<T, A> => T;
    (A: Allocator) Vec<u8, A> => [u8];
    () CString => CStr;
}
