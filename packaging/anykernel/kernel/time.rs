// SPDX-License-Identifier: GPL-2.0

//! Times: `kernel::time`.

use core::{
    marker::PhantomData,
    ops::Sub, //
};

unsafe extern "C" {
    safe fn blog_k_monotonic() -> i64;
    safe fn blog_k_sleep(micros: u64);
    #[link_name = "blog_k_jiffies"]
    pub safe fn msecs_to_jiffies(ms: u32) -> usize;
}

pub trait ClockSource {}

#[derive(Clone, Copy)]
pub struct Monotonic;

impl ClockSource for Monotonic {}

/// In nanoseconds. There is no clock here but the monotonic one.
#[derive(Clone, Copy)]
pub struct Instant<C>(i64, PhantomData<C>);

impl Instant<Monotonic> {
    pub fn now() -> Self {
        Self(blog_k_monotonic(), PhantomData)
    }

    pub fn elapsed(&self) -> Delta {
        Self::now() - *self
    }
}

impl<C> Sub for Instant<C> {
    type Output = Delta;

    fn sub(self, other: Self) -> Delta {
        Delta(self.0 - other.0)
    }
}

/// In nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Delta(i64);

impl Delta {
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros * 1_000)
    }

    pub const fn from_millis(millis: i64) -> Self {
        Self(millis * 1_000_000)
    }

    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    pub fn as_millis(self) -> i64 {
        self.0 / 1_000_000
    }
}

impl Sub for Delta {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

pub mod delay {
    use super::Delta;

    pub fn fsleep(time: Delta) {
        super::blog_k_sleep((time.as_nanos() as u64).div_ceil(1_000));
    }
}

pub mod hrtimer {
    use super::{
        ClockSource,
        Instant, //
    };

    pub trait HrTimerExpires {
        fn as_nanos(&self) -> i64;
    }

    impl<C: ClockSource> HrTimerExpires for Instant<C> {
        fn as_nanos(&self) -> i64 {
            self.0
        }
    }
}
