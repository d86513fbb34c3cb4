// SPDX-License-Identifier: GPL-2.0

//! The stand-in of the kernel's crate, which is unsafe code: packaging/anykernel/kernel.

use std::{cell::Cell, rc::Rc, thread};

use kernel::{
    alloc::{KBox, KVec, GFP_KERNEL},
    error::{code::*, from_err_ptr, from_result, to_result, Error},
    global_lock, new_mutex,
    str::{BStr, CString},
    sync::{Arc, Mutex, SetOnce, UniqueArc},
};
use proptest::prelude::*;

/// Counts those that are there.
struct There(Rc<Cell<i32>>);

impl There {
    fn new(count: &Rc<Cell<i32>>) -> Self {
        count.set(count.get() + 1);
        Self(count.clone())
    }
}

impl Clone for There {
    fn clone(&self) -> Self {
        Self::new(&self.0)
    }
}

impl Drop for There {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Push(u32),
    Pop,
    Remove(usize),
    Truncate(usize),
    Resize(usize),
    Extend(Vec<u32>),
    Retain(u32),
    Reserve(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        any::<u32>().prop_map(Step::Push),
        Just(Step::Pop),
        (0..40usize).prop_map(Step::Remove),
        (0..40usize).prop_map(Step::Truncate),
        (0..40usize).prop_map(Step::Resize),
        prop::collection::vec(any::<u32>(), 0..9).prop_map(Step::Extend),
        (1..4u32).prop_map(Step::Retain),
        (0..40usize).prop_map(Step::Reserve),
    ]
}

proptest! {
    /// A list does as std's does, and drops each value once.
    #[test]
    fn a_vec_is_a_vec(steps in prop::collection::vec(step(), 0..60)) {
        let count = Rc::new(Cell::new(0));
        let made = |n: &u32| (*n, There::new(&count));
        let (mut ours, mut std) = (KVec::new(), Vec::new());
        for step in steps {
            match step {
                Step::Push(n) => {
                    ours.push(made(&n), GFP_KERNEL).unwrap();
                    std.push(n);
                }
                Step::Pop => assert_eq!(ours.pop().map(|(n, _)| n), std.pop()),
                Step::Remove(at) => {
                    let there = (at < std.len()).then(|| std.remove(at));
                    assert_eq!(ours.remove(at).ok().map(|(n, _)| n), there);
                }
                Step::Truncate(len) => {
                    ours.truncate(len);
                    std.truncate(len);
                }
                Step::Resize(len) => {
                    ours.resize(len, made(&7), GFP_KERNEL).unwrap();
                    std.resize(len, 7);
                }
                Step::Extend(more) => {
                    let new: Vec<_> = more.iter().map(made).collect();
                    ours.extend_from_slice(&new, GFP_KERNEL).unwrap();
                    std.extend(more);
                }
                Step::Retain(part) => {
                    ours.retain(|(n, _)| *n % part == 0);
                    std.retain(|n| *n % part == 0);
                }
                Step::Reserve(more) => {
                    ours.reserve(more, GFP_KERNEL).unwrap();
                    let room = ours.capacity() - ours.len();
                    assert!(room >= more);
                }
            }
            let values: Vec<u32> = ours.iter().map(|(n, _)| *n).collect();
            assert_eq!(values, std);
            assert_eq!(count.get() as usize, std.len());
        }
        drop(ours);
        assert_eq!(count.get(), 0);
    }
}

#[test]
fn sizes_that_are_too_large_are_refused() {
    assert!(KVec::<u64>::with_capacity(usize::MAX / 8 + 1, GFP_KERNEL).is_err());
    let mut list = KVec::from_elem(1u8, 3, GFP_KERNEL).unwrap();
    assert!(list.reserve(usize::MAX, GFP_KERNEL).is_err());
    assert!(list.push_within_capacity(2).is_ok() && list.push_within_capacity(2).is_err());
    assert!(list.remove(usize::MAX).is_err());
    assert_eq!(*list, [1, 1, 1, 2]);
}

#[test]
fn values_without_size_take_no_memory() {
    let mut list = KVec::new();
    for _ in 0..100 {
        list.push((), GFP_KERNEL).unwrap();
    }
    assert_eq!((list.len(), list.pop()), (100, Some(())));
    drop(KBox::new((), GFP_KERNEL).unwrap());
}

#[test]
fn memory_is_aligned() {
    #[repr(align(64))]
    struct Line([u8; 65]);
    for _ in 0..9 {
        let line = KBox::new(Line([1; 65]), GFP_KERNEL).unwrap();
        assert_eq!((&raw const *line).addr() % 64, 0);
        assert_eq!(line.0[64], 1);
    }
}

#[test]
fn the_last_user_drops_a_value() {
    let count = Rc::new(Cell::new(0));
    let mut unique = UniqueArc::new((1, There::new(&count)), GFP_KERNEL).unwrap();
    unique.0 = 2;
    let first = Arc::from(unique);
    let second = first.clone();
    assert!(Arc::ptr_eq(&first, &second) && second.0 == 2);
    drop(first);
    assert_eq!(count.get(), 1);
    drop(second);
    assert_eq!(count.get(), 0);
    // A box that is given away and taken back
    let raw = KBox::into_raw(KBox::new(There::new(&count), GFP_KERNEL).unwrap());
    assert_eq!(count.get(), 1);
    // SAFETY: It was just given away.
    drop(unsafe { KBox::from_raw(raw) });
    assert_eq!(count.get(), 0);
}

global_lock! {
    // SAFETY: The test calls `init` first.
    unsafe(uninit) static GLOBAL: Mutex<u32> = 0;
}

#[test]
fn one_at_a_time_has_a_mutex() {
    let mutex = Arc::new(KBox::pin_init(new_mutex!(0), GFP_KERNEL).unwrap(), GFP_KERNEL).unwrap();
    // SAFETY: Once, first.
    unsafe { GLOBAL.init() };
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let mutex = mutex.clone();
            thread::spawn(move || {
                for _ in 0..5000 {
                    let seen = *mutex.lock();
                    let mut guard = mutex.lock();
                    *guard = (*guard).max(seen) + 1;
                    *GLOBAL.lock() += 1;
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!((*mutex.lock(), *GLOBAL.lock()), (20_000, 20_000));
}

#[test]
fn a_value_is_set_once() {
    static ONCE: SetOnce<u64> = SetOnce::new();
    assert_eq!(ONCE.copy(), None);
    let set: usize = thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|n| scope.spawn(move || ONCE.populate(n))).collect();
        all.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum()
    });
    assert!(set == 1 && ONCE.copy().unwrap() < 4 && !ONCE.populate(9));
}

#[test]
fn strings() {
    let text = CString::try_from_fmt(format_args!("{} of {}", 1, 2)).unwrap();
    assert_eq!(&*text, c"1 of 2");
    assert_eq!(CString::try_from_fmt(format_args!("a\0b")).err(), Some(EINVAL));
    assert_eq!(BStr::from_bytes(b"a\x7f\n~").to_string(), "a\\x7f\\x0a~");
}

#[test]
fn errors() {
    assert_eq!(Error::from_errno(-12), ENOMEM);
    for errno in [0, 1, -4096, i32::MIN] {
        assert_eq!(Error::from_errno(errno), EINVAL);
    }
    assert_eq!((to_result(-5), to_result(5)), (Err(EIO), Ok(())));
    assert_eq!(from_result::<isize>(|| Err(ERESTARTSYS)), -512);
    assert_eq!(from_result(|| Ok(7)), 7i32);
    assert_eq!(from_err_ptr((-22isize) as *mut u8), Err(EINVAL));
    let no_error = (-4096isize) as *mut u8;
    assert_eq!(from_err_ptr(no_error), Ok(no_error));
    assert_eq!(
        (format!("{EIO:?}"), format!("{:?}", Error::from_errno(-99))),
        ("EIO".into(), "Error(99)".into())
    );
}
