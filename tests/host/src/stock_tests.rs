// SPDX-License-Identifier: GPL-2.0

//! The table of tasks of a kernel without patches: `rust/kernel/blog/task/hash.rs`.

use std::{
    ptr,
    sync::{atomic::Ordering::Relaxed, Mutex, MutexGuard},
    thread,
};

use kernel::{
    bindings::task_struct,
    blog::{ring::Ring, task::Tls},
};

use crate::stock::task::hash as task;

/// The only table of slots is empty, and this test's.
fn slots() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    let guard = LOCK.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    // SAFETY: Nothing logs.
    unsafe { task::init() };
    guard
}

/// The addresses of so many tasks, as the slab allocator has them: eight in 32 KiB.
fn tasks(count: usize) -> impl Iterator<Item = *mut task_struct> {
    (0..count).map(|n| (0xffff_8880_0123_0000_usize + n * 4096) as *mut task_struct)
}

/// A table of a task.
fn table(task: *mut task_struct) -> &'static Tls {
    let table = Box::leak(Box::new(Tls::new(0, ptr::null_mut::<Ring>())));
    table.task.store(task.cast(), Relaxed);
    table
}

/// Whether a task has this table.
fn has(task: *mut task_struct, table: &Tls) -> bool {
    // SAFETY: Nobody looks into the task.
    unsafe { task::table(task) }.is_some_and(|other| ptr::eq(other, table))
}

#[test]
fn a_task_finds_its_table_until_it_ends() {
    let _slots = slots();
    for count in [1, 1000, 8000] {
        let given: Vec<_> = tasks(count)
            .map(|task| (task, table(task)))
            // SAFETY: Nobody looks into the task.
            .filter(|(task, table)| unsafe { task::give(*task, table) }.is_ok())
            .collect();
        // Few tasks have no room. (The documentation has the number for 8,000.)
        assert!(given.len() * 100 >= count * 99, "{} of {count}", given.len());
        assert!(given.iter().all(|(task, table)| has(*task, table)));
        for (n, (task, table)) in given.iter().enumerate() {
            // SAFETY: As above.
            unsafe {
                assert!(task::take(*task, table));
                assert!(!task::take(*task, table) && task::table(*task).is_none());
            }
            assert!(given[n + 1..].iter().take(20).all(|(task, table)| has(*task, table)));
        }
    }
}

#[test]
fn a_task_without_room_gets_none_and_later_one() {
    let _slots = slots();
    let (mut given, mut refused) = (Vec::new(), Vec::new());
    for task in tasks(60_000) {
        // SAFETY: Nobody looks into the task.
        let table = table(task);
        match unsafe { task::give(task, table) } {
            Ok(()) => given.push((task, table)),
            Err(None) => refused.push(task),
            Err(Some(_)) => panic!("the task has no other one"),
        }
    }
    assert!(given.len() <= 32_768 && given.len() > 30_000, "{}", given.len());
    // SAFETY: As above.
    unsafe {
        assert!(refused.iter().all(|task| task::table(*task).is_none()));
        assert!(given.iter().all(|(task, table)| task::take(*task, table)));
        assert!(task::give(refused[0], table(refused[0])).is_ok());
    }
}

/// Of a log call and one that interrupts it, the latter is faster. A third one may use the table of
/// the first one as soon as it is in its slot: it can't be given back, and both are the task's.
#[test]
fn of_two_log_calls_of_a_task_both_tables_are_its_own() {
    let _slots = slots();
    let task = tasks(1).next().unwrap();
    let [before, faster, slower] = [(); 3].map(|()| table(task));
    // SAFETY: Nobody looks into the task.
    unsafe {
        // The slower one gets a slot that was taken when the faster one looked at it.
        assert!(task::give(task, before).is_ok() && task::give(task, faster).is_ok());
        assert!(task::take(task, before) && has(task, faster));
        assert!(task::give(task, slower).is_ok() && has(task, slower));
        assert!(task::take(task, slower) && has(task, faster));
        assert!(task::take(task, faster) && task::table(task).is_none());
    }
}

#[test]
fn tasks_come_and_go_on_all_cpus() {
    let _slots = slots();
    thread::scope(|scope| {
        for cpu in 0..4 {
            scope.spawn(move || {
                // They meet in the same buckets.
                let mine: Vec<_> = tasks(20_000).skip(cpu).step_by(4).collect();
                for round in 0..20 {
                    let given: Vec<_> = mine
                        .iter()
                        .skip(round)
                        .map(|task| (*task, table(*task)))
                        // SAFETY: Nobody looks into the task.
                        .filter(|(task, table)| unsafe { task::give(*task, table) }.is_ok())
                        .collect();
                    assert!(given.iter().all(|(task, table)| has(*task, table)));
                    // SAFETY: As above.
                    assert!(given.iter().all(|(task, table)| unsafe { task::take(*task, table) }));
                }
            });
        }
    });
}
