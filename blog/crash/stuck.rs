// SPDX-License-Identifier: GPL-2.0

//! The line beside a report of a stuck task: what that task has logged.
//!
//! [`blog_task_stuck`] is called by `sys/stuck.c`, for hung tasks in a kernel thread, for soft
//! lockups in an interrupt of the CPU that is stuck. No log call waits for it.

use kernel::{
    bindings,
    blog::{
        ring::Info,
        wire::file::{
            Task,
            NAME_MAX, //
        }, //
    },
    fmt,
    prelude::*,
    str::BStr, //
};

use crate::{
    registry::{
        names::{
            name_bytes,
            name_field, //
        },
        state::State, //
    },
    sys::{
        glue,
        text::put, //
    },
    write::tables, //
};

/// The file to look into.
const SNAPSHOT: &str = "/sys/kernel/debug/blog/snapshot";

/// Components that a hint names.
const HINTS: usize = 8;

/// What a task has logged to one component.
#[derive(Clone, Copy)]
struct Hint {
    name: [u8; NAME_MAX],
    records: u64,
    held: u32,
}

/// The components that a task has logged to.
pub(crate) struct Hints {
    who: Task,
    list: [Option<Hint>; HINTS],
    more: u32,
}

impl fmt::Display for Hints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (comm, pid) = (BStr::from_bytes(name_bytes(&self.who.comm)), self.who.pid);
        put!(f, "{comm}:{pid} has logged to ")?;
        for (i, hint) in self.list.iter().flatten().enumerate() {
            let (name, comma) = (name_bytes(&hint.name), if i > 0 { ", " } else { "" });
            put!(
                f,
                "{comma}{} ({} records, {} bytes kept)",
                BStr::from_bytes(name),
                hint.records,
                hint.held,
            )?;
        }
        if self.more > 0 {
            put!(f, ", and {} more", self.more)?;
        }
        put!(f, ": blog-decode --pid {pid} {SNAPSHOT}")
    }
}

/// What a task has logged; `None`: nothing.
///
/// # Safety
///
/// `task` is valid. Any context but NMI, and not in a log call.
pub(crate) unsafe fn hints_of(task: *mut bindings::task_struct) -> Option<Hints> {
    let (mut list, mut more) = ([None; HINTS], 0);
    let add = |state: &State, info: &Info| {
        let hint = Hint {
            name: name_field(state.name().to_bytes()),
            records: info.records,
            held: info.held,
        };
        match list.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(hint),
            None => more += 1,
        }
    };
    // SAFETY: By this function's requirement.
    let who = unsafe { tables::for_each_ring_of(task, add) }?;
    list[0].is_some().then_some(Hints { who, list, more })
}

/// Says in one line what a task that is stuck has logged, if it has, and how to read it.
///
/// # Safety
///
/// As for [`hints_of`].
#[no_mangle]
unsafe extern "C" fn blog_task_stuck(task: *mut bindings::task_struct) {
    if !glue::param_stuck_hint() {
        return;
    }
    // SAFETY: By this function's requirement.
    if let Some(hints) = unsafe { hints_of(task) } {
        pr_warn!("{hints}\n");
    }
}
