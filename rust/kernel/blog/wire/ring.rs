// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! A ring as dumps, mapped memory and the next boot find it: its head, and the ring's own page.
//!
//! A change of its layout is another version of all that has rings: `dump::VERSION`, and those of
//! `blog/parts/map` and `blog/parts/persist`. A ring may change at any time while it is read; each
//! of those says what may be believed.

use super::field::Field;

pub use super::page::{
    RING_BUSY,
    RING_SIZE,
    ROOM_AT, //
};

const _: () = assert!(RingHead::SIZE == ROOM_AT);

blog_wire! {
    /// What a ring starts with. [`ring::Ring`] is the live form of the same layout. What has the
    /// name of a field of [`RingSection`](super::file::RingSection) is what that tells.
    ///
    /// [`ring::Ring`]: ../../ring/struct.Ring.html
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RingHead: 256 {
        /// [`RING_BUSY`]; in the low half, the component's slot.
        pub busy: u32,
        /// Means nothing to readers.
        pub keeper: u32,
        /// Means nothing to readers.
        pub limit: u64,
        /// Means nothing to readers.
        pub ts_base: u64,
        /// Address of the current page's header, or of an empty one.
        pub page: u64,
        /// Of a retired ring, when the task ended, in the ring's clock.
        pub exit_clock: u64,
        /// Position of the current page.
        pub seq: u64,
        /// Records taken before the current page; of a retired ring, all. What the current page of
        /// a live ring has taken is in that page's header (`first` + its number of records), if it
        /// is this ring's.
        pub taken: u64,
        /// Means nothing to readers.
        pub oldest: u64,
        /// Pages held, without its own; one more for a moment.
        pub pages: u32,
        /// 0.
        pub reserved: u32,
        /// Records lost, by `record::Lost`.
        pub lost: [u64; 8],
        /// Of these, those that records in the ring report.
        pub told: [u64; 8],
        /// The ring's id within its component.
        pub id: u32,
        /// Odd while the fields below, `exit_clock` or `taken` change.
        pub version: u32,
        /// 0 free, 1 live, 2 retired: the task has ended.
        pub state: u8,
        /// `record::Context`.
        pub context: u8,
        /// The component's slot.
        pub slot: u16,
        /// CPU of a per-CPU ring, number of a shared one, else `u32::MAX`.
        pub cpu: u32,
        /// Thread id, or -1.
        pub pid: i32,
        /// Process id, or -1.
        pub tgid: i32,
        /// Name of the task when it got the ring.
        pub comm: [u8; 16],
        /// Pages of this owner have a position of at least this one.
        pub first_seq: u64,
        /// Address of the next ring of the same task; 0: that was the last.
        pub next: u64,
    }
}
