// SPDX-License-Identifier: GPL-2.0

//! The logging half of the crash module: components, and calls as any driver has them; and what
//! spoils BLog's memory.
//!
//! C calls these functions in the contexts whose records the tests look for. A record follows from
//! its writer and its sequence number, so a reader of a dump knows what each one must be.

use core::{
    mem::offset_of,
    sync::atomic::Ordering::Relaxed, //
};
use kernel::{
    bindings::task_struct,
    blog::{
        blog_component,
        blog_log,
        ring::Ring,
        root::blog_root,
        task::{
            self,
            Tls, //
        },
        wire::{
            dump::{
                ComponentRoot,
                MemoryRoot,
                SlotLayout,
                TableRoot, //
            },
            ring::RingHead, //
        },
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

/// Components that are spoilt, each in its own way.
macro_rules! spoilt {
    ($($component:ident $name:literal)*) => {
        $(blog_component! { $component, name: $name, size_kb: 128, ring_kb: 16 })*

        /// Logs to those of them that have a bit in `which`; returns the slots of all.
        fn log_to_spoilt(mut which: u32) -> [u32; [$($name),*].len()] {
            [$({
                if which & 1 != 0 {
                    (0..40).for_each(|n| blog_log!($component, "spoilt {}", n));
                }
                which >>= 1;
                // SAFETY: Nothing is stored there.
                unsafe { $component.raw().switch() }.slot.load(Relaxed)
            }),*]
        }
    };
}

spoilt! {
    SPOILT_BY_ONES "spoilt_by_ones"
    SPOILT_BY_NULL "spoilt_by_null"
    SPOILT_BY_HOLE "spoilt_by_hole"
    SPOILT_SLOT "spoilt_slot"
    SPOILT_SLOTS "spoilt_slots"
    SPOILT_RINGS "spoilt_rings"
    SPOILT_INTERRUPTS "spoilt_interrupts"
    SPOILT_MEMORY "spoilt_memory"
    SPOILT_ROOT "spoilt_root"
}

/// An address that no x86 has.
const ONES: u64 = 0xdead_4ead_0000_0000;

/// The word at an address.
///
/// # Safety
///
/// There is one.
unsafe fn word(address: u64, offset: u32) -> *mut u64 {
    (address + u64::from(offset)) as *mut u64
}

/// The address of a slot; 0: there is none.
///
/// # Safety
///
/// It is the table of a component's slots.
unsafe fn slot_at(table: &TableRoot, n: u32) -> u64 {
    // SAFETY: By this function's requirement.
    let follow = |at| Some(unsafe { *word(at, 0) }).filter(|at| *at != 0);
    table.find(n, follow).unwrap_or(0)
}

/// Stores over the pointers of BLog's memory, as a driver gone wild may: those with a bit in
/// `which`, in the order of the components above, then those of the task's list of rings: the last
/// one's, and the first one's.
///
/// # Safety
///
/// `task` is the current task, and the machine is about to panic.
#[no_mangle]
unsafe extern "C" fn blog_crash_spoil(task: *mut task_struct, which: u32) {
    let slots = log_to_spoilt(which);
    // SAFETY: The current task is valid, and all of BLog's memory stays; it is as its descriptions
    // say.
    unsafe {
        let root = &*blog_root.get();
        let Some(table) = task::table(task) else {
            return;
        };
        let percpu = SPOILT_INTERRUPTS.raw().switch().percpu.load(Relaxed);
        for (n, slot) in slots.into_iter().enumerate() {
            let Some(ring) = table.find(slot) else {
                continue;
            };
            let (id, ring) = (ring.id(), core::ptr::from_ref(ring) as u64);
            let page = word(ring, offset_of!(RingHead, page) as u32);
            let described = word(root.components, slot * 8);
            let to_memory = word(*described, offset_of!(ComponentRoot, memory) as u32);
            let memory = &*(*to_memory as *const MemoryRoot);
            match n {
                0 => *page = ONES,
                1 => *page = 0,
                2 => *page ^= 1 << 43,
                3 => spoil_slot(&memory.slots, &root.slot, *page),
                4 => (0..memory.slots.capacity).for_each(|n| {
                    *word(memory.slots.chunks, n * 8) = ONES;
                }),
                5 => {
                    let page = memory.rings.place(id).map_or(0, |(page, _)| page);
                    *word(slot_at(&memory.slots, page), root.slot.rings) = ONES;
                }
                // Three contexts on each CPU
                6 => (0..3 * root.system.cpus).for_each(|n| *word(percpu as u64, n * 8) = ONES),
                7 => *to_memory = ONES,
                _ => *described = ONES,
            }
        }
        let mut link = word(core::ptr::from_ref(table) as u64, Tls::LAYOUT.first);
        match which >> slots.len() {
            0 => (),
            1 => {
                while *link != 0 {
                    link = word(*link, offset_of!(RingHead, next) as u32);
                }
                *link = ONES;
            }
            _ => *link = ONES,
        }
    }
}

/// Spoils what leads to a page.
///
/// # Safety
///
/// It is the table of a component's slots, one of which has the page with these bytes.
unsafe fn spoil_slot(table: &TableRoot, layout: &SlotLayout, page: u64) {
    for n in 0.. {
        // SAFETY: By this function's requirement.
        unsafe {
            let slot = slot_at(table, n);
            if slot == 0 {
                break;
            }
            let at = word(slot, layout.page);
            if *at == page & !0xfff {
                *at = ONES;
            }
        }
    }
}
