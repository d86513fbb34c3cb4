// SPDX-License-Identifier: GPL-2.0

//! The logging half of the crash module: components, and calls as any driver has them.
//!
//! C calls these functions in the contexts whose records the tests look for. A record follows from
//! its writer and its sequence number, so a reader of a dump knows what each one must be.

use core::sync::atomic::Ordering::Relaxed;
use kernel::{
    bindings::task_struct,
    blog::{
        blog_component,
        blog_log,
        ring::Ring,
        task,
        Component, //
    }, //
};

blog_component! { CRASH, name: "crash", size_kb: 512, ring_kb: 16, level: Trace }
blog_component! { NOISE, name: "crash_noise", size_kb: 1024, ring_kb: 32, level: Trace }

/// What records say, by `enum crash_event`.
const EVENTS: [&str; 8] = [
    "works",
    "takes lock A",
    "has lock A",
    "takes lock B",
    "has lock B",
    "waits",
    "spins",
    "completes",
];

/// A part of it is the end of a record, so that records have many lengths, and end everywhere in a
/// page.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";

/// A number that follows from both.
#[inline(always)]
fn sum(writer: u32, seq: u32) -> u32 {
    (writer ^ 0x5bd1_e995)
        .wrapping_mul(0x9e37_79b1)
        .wrapping_add(seq.wrapping_mul(0x85eb_ca6b))
}

/// Logs one record to the component that matters. Any context.
#[no_mangle]
#[inline(never)]
extern "C" fn blog_crash_log(writer: u32, seq: u32, event: u32) {
    let c = sum(writer, seq);
    let what = *EVENTS.get(event as usize).unwrap_or(&"?");
    let tail = LETTERS.get(..(seq % 27) as usize).unwrap_or("");
    blog_log!(
        CRASH,
        "w={} s={} c={:#x} {} [{}]",
        writer,
        seq,
        c,
        what,
        tail
    );
}

/// Logs one record to the component that only makes noise. Any context.
#[no_mangle]
extern "C" fn blog_crash_noise(writer: u32, seq: u32) {
    let c = sum(writer, seq);
    blog_log!(NOISE, "w={} s={} c={:#x} noise", writer, seq, c);
}

/// How many records the current task has published to the component that matters.
///
/// # Safety
///
/// `task` is the current task.
#[no_mangle]
unsafe extern "C" fn blog_crash_published(task: *mut task_struct) -> u64 {
    // SAFETY: Nothing is stored there.
    let slot = unsafe { CRASH.raw().switch() }.slot.load(Relaxed);
    // SAFETY: The current task is valid.
    let table = unsafe { task::table(task) };
    // SAFETY: Its rings are valid while their components are on, which they stay.
    table
        .and_then(|table| unsafe { table.find(slot) })
        .map_or(0, Ring::records)
}
