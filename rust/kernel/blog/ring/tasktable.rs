// SPDX-License-Identifier: GPL-2.0

//! A task's table of rings.

use super::super::wire::dump::{
    TlsLayout,
    COMPONENTS, //
};
use super::Ring;
use core::{
    mem::{
        self,
        offset_of, //
    },
    ptr,
    sync::atomic::{
        AtomicPtr,
        AtomicU32, //
    }, //
};

/// Number of components that can be attached at a time, and of rings that a task can have.
pub const MAX_COMPONENTS: usize = COMPONENTS;

/// What `task_struct::blog_tls` points to: a task's rings, by [`slot`](super::super::RawComponent)
/// of the component.
///
/// # Invariants
///
/// A pointer in `rings` points to a live ring that belongs to this task, or to one that stands for
/// none ([`Ring::none`]); the ring's memory stays valid as long as the pointer is there.
#[repr(C, align(64))]
pub struct Tls {
    /// The rings. Stored by the task itself (which adds rings), and by `blog/` when a component
    /// goes away (which takes the ring out).
    pub rings: [AtomicPtr<Ring>; MAX_COMPONENTS],
    /// The task, or null when this table is free.
    pub task: AtomicPtr<core::ffi::c_void>,
    /// Position of this table in the slab of tables.
    pub index: AtomicU32,
    /// What links free tables.
    pub link: AtomicU32,
}

impl Tls {
    /// Where crash tools find what they need: see `wire/dump.rs`.
    pub const LAYOUT: TlsLayout = TlsLayout {
        size: mem::size_of::<Self>() as u32,
        rings: offset_of!(Self, rings) as u32,
        task: offset_of!(Self, task) as u32,
        reserved: 0,
    };

    /// Makes a free table. `none` is what [`Ring::none`] made.
    pub const fn new(index: u32, none: *mut Ring) -> Self {
        let mut rings = [const { AtomicPtr::new(ptr::null_mut()) }; MAX_COMPONENTS];
        let mut i = 0;
        while i < MAX_COMPONENTS {
            rings[i] = AtomicPtr::new(none);
            i += 1;
        }
        Self {
            rings,
            task: AtomicPtr::new(ptr::null_mut()),
            index: AtomicU32::new(index),
            link: AtomicU32::new(0),
        }
    }
}
