// SPDX-License-Identifier: GPL-2.0

//! What tasks were doing when the machine crashed: a copy for crash tools, as makedumpfile may
//! leave out that part of a task. Tasks that were running or blocked come first: there may be tens
//! of thousands of idle ones.

use core::sync::atomic::{
    AtomicBool,
    Ordering::*, //
};

use crate::{
    bindings::task_struct,
    blog::{
        root::{
            blog_root,
            Live, //
        },
        task,
        wire::dump::{
            state_letter,
            TaskLayout,
            TaskNote, //
        }, //
    },
    prelude::*, //
};

/// How many tasks.
const MAX: usize = 1024;

static NOTES: Live<[TaskNote; MAX]> = Live::zeroed();

unsafe extern "C" {
    // tasks/tasks.c
    safe static blog_task_layout: TaskLayout;

    fn blog_copy_nofault(dst: *mut c_void, src: *const c_void, size: usize) -> bool;
}

/// What is in a field of a task, which may be gone.
fn read<T: Copy + Default>(task: *const task_struct, offset: u32) -> Option<T> {
    let mut value = T::default();
    let from = task.wrapping_byte_add(offset as usize).cast();
    // SAFETY: There is room for it, an integer. What is at `from`, if anything, is checked.
    unsafe { blog_copy_nofault((&raw mut value).cast(), from, size_of::<T>()) }.then_some(value)
}

fn note(task: *const task_struct) -> Option<TaskNote> {
    let at = &blog_task_layout;
    Some(TaskNote {
        task: task as u64,
        state: read(task, at.state)?,
        exit_state: read(task, at.exit_state)?,
        flags: read(task, at.flags)?,
        cpu: read(task, at.cpu)?,
        on_cpu: u32::from(read::<u8>(task, at.on_cpu)? != 0),
        reserved: 0,
    })
}

/// Whether the task waits for something to do.
fn waits(note: &TaskNote) -> bool {
    note.on_cpu == 0 && matches!(state_letter(note.state, note.exit_state), b'S' | b'I')
}

/// Takes these notes anew. In any context; takes no lock. For crashless.c, at a crash.
#[no_mangle]
extern "C" fn blog_note_tasks() {
    static BUSY: AtomicBool = AtomicBool::new(false);

    if BUSY.swap(true, Acquire) {
        return;
    }
    let mut len = 0;
    // SAFETY: One at a time gets here. Nobody else stores to this field.
    unsafe { blog_root.update(|root| (*root).task_notes_len = 0) };
    for later in [false, true] {
        // The machine crashes: what leads to a table may be spoilt.
        let fetch = |at| read(at as *const task_struct, 0);
        task::for_each(fetch, |task| {
            let note = if len < MAX { note(task) } else { None };
            if let Some(note) = note.filter(|note| waits(note) == later) {
                // SAFETY: As above.
                unsafe { NOTES.update(|notes| (&raw mut (*notes)[len]).write(note)) };
                len += 1;
                // This CPU may be stopped before it comes to an end.
                // SAFETY: As above: these fields.
                unsafe {
                    blog_root.update(|root| {
                        (*root).task_notes = NOTES.get() as u64;
                        (*root).task_notes_len = len as u32;
                    });
                }
            }
        });
    }
    BUSY.store(false, Release);
}
