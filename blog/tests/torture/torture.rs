// SPDX-License-Identifier: GPL-2.0

//! The logging half of the torture module: components, and calls as any driver has them.
//!
//! C calls these functions in their contexts (see `main.c`). The sequence number is an argument of
//! the call, so it is only used if the call logs: then the record is in a ring, overwritten, or
//! counted as lost.

use core::{
    ffi::{
        c_char,
        c_int, //
    },
    ptr,
    sync::atomic::{
        AtomicPtr,
        AtomicU32,
        Ordering::{
            Acquire,
            Relaxed,
            Release, //
        }, //
    },
};
use kernel::{
    bindings,
    blog::{
        blog_component,
        blog_debug,
        blog_log,
        blog_trace,
        types::TypeCode,
        BlogArg,
        Component,
        Instance, //
    },
    error::from_result,
    prelude::*,
    str::CString,
    sync::rcu, //
};

mod payload;

use payload::{
    Shape,
    WRITER_BITS, //
};

blog_component! { STEADY, name: "torture", size_kb: 4096, ring_kb: 64, level: Trace }
blog_component! {
    KEEP, name: "torture_keep", size_kb: 1024, ring_kb: 64, level: Trace, mode: Discard
}
blog_component! { TINY, name: "torture_tiny", size_kb: 64, ring_kb: 8, level: Trace }
blog_component! { FAST, name: "torture_fast", size_kb: 1024, ring_kb: 32, level: Trace }
blog_component! { STORM, name: "torture_storm", size_kb: 2048, ring_kb: 16, level: Trace }
blog_component! {
    CROWD, name: "torture_crowd", size_kb: 8192, ring_kb: 16, level: Trace, enabled: false
}
blog_component! {
    HISTORY, name: "torture_history", size_kb: 512, ring_kb: 64, level: Trace, enabled: false
}

/// As in enum torture_target: static components, then instances.
const STATICS: [&CStr; 7] = [
    c"torture",
    c"torture_keep",
    c"torture_tiny",
    c"torture_fast",
    c"torture_storm",
    c"torture_crowd",
    c"torture_history",
];
/// Place of [`STORM`], which short-lived tasks log to, and of [`CROWD`].
const FOR_TASKS: [usize; 2] = [4, 5];
/// Place of [`FAST`].
const TO_FAST: usize = 3;
/// As many components as there can be.
const INSTANCES: usize = 64;

/// How much each writer has logged to a component.
struct Target {
    name: CString,
    salt: u32,
    /// Records so far by writer. Each is stored by that writer only.
    seqs: KVVec<AtomicU32>,
    /// For targets that come and go.
    instance: Option<Instance>,
}

impl Target {
    fn new(name: CString, writers: u32, instance: Option<Instance>) -> Result<KBox<Self>> {
        let mut seqs = KVVec::with_capacity(writers as usize, GFP_KERNEL)?;
        for _ in 0..writers {
            seqs.push(AtomicU32::new(0), GFP_KERNEL)?;
        }
        let salt = payload::salt(name.to_bytes());
        let target = Self {
            name,
            salt,
            seqs,
            instance,
        };
        Ok(KBox::new(target, GFP_KERNEL)?)
    }
}

/// Targets by number.
///
/// # Invariants
///
/// - Each is null or from [`KBox::into_raw`].
/// - The first ones, of static components, are null or there from `setup` to `teardown`; others
///   go when an RCU grace period has passed after they were taken out.
static TARGETS: [AtomicPtr<Target>; STATICS.len() + INSTANCES] =
    [const { AtomicPtr::new(ptr::null_mut()) }; STATICS.len() + INSTANCES];

/// Parameters of the run.
static FIXED: AtomicU32 = AtomicU32::new(0);
static PAYLOAD: AtomicU32 = AtomicU32::new(0);
static RUN: AtomicU32 = AtomicU32::new(0);
/// Instances that were made.
static MADE: AtomicU32 = AtomicU32::new(0);

/// The target with this number.
///
/// # Safety
///
/// Not between `teardown` and `setup`. If it is an instance, the caller is in an RCU read-side
/// critical section as long as it uses the target, or nobody renews instances.
unsafe fn target<'a>(number: usize) -> Option<&'a Target> {
    // ORDERING: Acquire pairs with the stores of `setup` and `renew`: the target is whole.
    // SAFETY: By the invariants of `TARGETS` and this function's requirements.
    unsafe { TARGETS.get(number)?.load(Acquire).as_ref() }
}

/// Takes a writer's next sequence number. It has no more than one at a time.
#[inline(always)]
fn take(seq: &AtomicU32) -> u32 {
    let n = seq.load(Relaxed);
    seq.store(n.wrapping_add(1), Relaxed);
    n
}

/// A writer's number, logged as a u32 is but passed in another way. So calls with one have
/// functions of their own write their records, and probes in there are in no other call's way.
struct Probed(u32);

// SAFETY: Stores what a u32 does.
unsafe impl BlogArg for Probed {
    type Shown = u32;
    type Passed<'a> = &'a Self;

    const CODE: TypeCode = u32::CODE;
    const FIXED: usize = u32::FIXED;

    #[inline(always)]
    fn pass(&self) -> &Self {
        self
    }

    #[inline(always)]
    unsafe fn store(&self, dst: *mut u8) {
        // SAFETY: As our caller's promise.
        unsafe { self.0.store(dst) }
    }
}

/// Logs the next record of a writer, whose number goes as a `W`.
#[inline(always)]
fn log_one<C: Component, W: BlogArg<Shown = u32>>(
    component: &C,
    target: &Target,
    writer: u32,
    number: impl Fn(u32) -> W,
) {
    let Some(seq) = target.seqs.get(writer as usize) else {
        return;
    };
    let writer = writer | RUN.load(Relaxed) << WRITER_BITS;
    let c = payload::sum(target.salt, writer, seq.load(Relaxed));
    let writer = &number(writer);
    match payload::shape(c, PAYLOAD.load(Relaxed)) {
        Shape::Short => blog_log!(component, "short w={} s={} c={:#x}", writer, take(seq), c),
        Shape::Bytes(bytes) => blog_debug!(
            component,
            "bytes w={} s={} c={:#x} {:?}",
            writer,
            take(seq),
            c,
            bytes
        ),
        Shape::Text(text) => blog_trace!(
            component,
            "text w={} s={} {} c={:#x}",
            writer,
            take(seq),
            text,
            c
        ),
    }
}

#[inline(never)]
fn log_many<C: Component>(component: &C, target: &Target, writer: u32, count: u32) {
    for _ in 0..count {
        log_one(component, target, writer, |writer| writer);
    }
}

/// Logs `count` records to a target, if it is there. Any context in which RCU may be used.
///
/// # Safety
///
/// Not between `teardown` and `setup`. The calling context is that of the writer.
#[no_mangle]
unsafe extern "C" fn blog_torture_log(number: u32, writer: u32, count: u32) {
    let guard = rcu::read_lock();
    // SAFETY: This is an RCU read-side critical section, and by this function's requirements.
    let Some(target) = (unsafe { target(number as usize) }) else {
        return;
    };
    match (number, &target.instance) {
        (0, _) => log_many(&STEADY, target, writer, count),
        (1, _) => log_many(&KEEP, target, writer, count),
        (2, _) => log_many(&TINY, target, writer, count),
        (3, _) => log_many(&FAST, target, writer, count),
        (4, _) => log_many(&STORM, target, writer, count),
        (5, _) => log_many(&CROWD, target, writer, count),
        (6, _) => log_many(&HISTORY, target, writer, count),
        (_, Some(instance)) => log_many(instance, target, writer, count),
        (_, None) => {}
    }
    drop(guard);
}

/// Logs one record: a function of its own, in which, and in what it calls, probes are set.
///
/// # Safety
///
/// As for [`blog_torture_log`].
#[no_mangle]
#[inline(never)]
unsafe extern "C" fn blog_torture_fast(writer: u32) {
    // SAFETY: This target is none that goes.
    if let Some(target) = unsafe { target(TO_FAST) } {
        log_one(&FAST, target, writer, Probed);
    }
}

/// Logs one record out of a probe, to where it may be in the middle of another one. Any context,
/// RCU or not.
///
/// # Safety
///
/// As for [`blog_torture_log`].
#[no_mangle]
#[inline(never)]
unsafe extern "C" fn blog_torture_nested(writer: u32) {
    // SAFETY: This target is none that goes.
    if let Some(target) = unsafe { target(TO_FAST) } {
        log_one(&FAST, target, writer, |writer| writer);
    }
}

/// Counts without any care for other CPUs: what KCSAN must find to be believed where it finds
/// nothing.
#[no_mangle]
#[inline(never)]
extern "C" fn blog_torture_race() {
    static RACED: AtomicU32 = AtomicU32::new(0);
    let raced = RACED.as_ptr();
    // SAFETY: It is valid. The race is wanted: KCSAN's kernel is the only one where it is called,
    // and what becomes of the number means nothing to anybody.
    unsafe { raced.write(raced.read().wrapping_add(1)) };
}

/// Makes an instance and a target for it.
fn make_instance(place: usize) -> Result<*mut Target> {
    let run = RUN.load(Relaxed);
    let n = MADE.fetch_add(1, Relaxed);
    let name = CString::try_from_fmt(fmt!("torture.{place}.{run}.{n}"))?;
    let instance = STEADY.instance(&name);
    let target = Target::new(name, FIXED.load(Relaxed), Some(instance))?;
    Ok(KBox::into_raw(target))
}

/// Drops a target that nobody finds any more.
fn discard(target: *mut Target) {
    if !target.is_null() {
        // SAFETY: No requirements but process context.
        unsafe { bindings::synchronize_rcu() };
        // SAFETY: By the invariants of `TARGETS`, it is from `into_raw`; the caller has taken it
        // out, and a context that found it before is done.
        drop(unsafe { KBox::from_raw(target) });
    }
}

/// Drops the instance at a place, and makes another one there. By one caller at a time.
#[no_mangle]
extern "C" fn blog_torture_renew(place: u32) -> c_int {
    from_result(|| {
        let slot = TARGETS.get(STATICS.len() + place as usize).ok_or(EINVAL)?;
        discard(slot.swap(ptr::null_mut(), Relaxed));
        // ORDERING: Release: see `target`.
        slot.store(make_instance(place as usize)?, Release);
        Ok(0)
    })
}

/// Makes all targets. `fixed` writers log to all of them, up to `all` of them to those for
/// short-lived tasks.
#[no_mangle]
extern "C" fn blog_torture_setup(
    fixed: u32,
    all: u32,
    instances: u32,
    payload: u32,
    run: u32,
) -> c_int {
    FIXED.store(fixed, Relaxed);
    PAYLOAD.store(payload.min(payload::PAYLOAD_MAX), Relaxed);
    RUN.store(run, Relaxed);
    MADE.store(0, Relaxed);
    from_result(|| {
        if instances as usize > INSTANCES {
            return Err(EINVAL);
        }
        for (i, (name, slot)) in STATICS.iter().zip(&TARGETS).enumerate() {
            let writers = if FOR_TASKS.contains(&i) { all } else { fixed };
            let target = Target::new(CString::try_from(*name)?, writers, None)?;
            // ORDERING: Release: see `target`.
            slot.store(KBox::into_raw(target), Release);
        }
        for place in 0..instances as usize {
            if let Some(slot) = TARGETS.get(STATICS.len() + place) {
                slot.store(make_instance(place)?, Release);
            }
        }
        Ok(0)
    })
}

/// Drops all targets. Nobody logs any more.
#[no_mangle]
extern "C" fn blog_torture_teardown() {
    for slot in &TARGETS {
        discard(slot.swap(ptr::null_mut(), Relaxed));
    }
}

/// Numbers of targets are below this.
#[no_mangle]
extern "C" fn blog_torture_targets() -> u32 {
    TARGETS.len() as u32
}

/// Writes a target's name; false if there is no target.
///
/// # Safety
///
/// As for [`target`], and `name` must be valid for writes of `size` bytes.
#[no_mangle]
unsafe extern "C" fn blog_torture_name(number: u32, name: *mut c_char, size: u32) -> bool {
    let _guard = rcu::read_lock();
    // SAFETY: This is an RCU read-side critical section.
    let Some(target) = (unsafe { target(number as usize) }) else {
        return false;
    };
    let bytes = target.name.to_bytes_with_nul();
    if bytes.len() > size as usize {
        return false;
    }
    // SAFETY: By this function's requirements.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), name.cast(), bytes.len()) };
    true
}

/// How many records a writer has logged to a target: written, overwritten and lost ones.
///
/// # Safety
///
/// As for [`target`].
#[no_mangle]
unsafe extern "C" fn blog_torture_attempted(number: u32, writer: u32) -> u32 {
    let _guard = rcu::read_lock();
    // SAFETY: This is an RCU read-side critical section.
    let target = unsafe { target(number as usize) };
    match target.and_then(|target| target.seqs.get(writer as usize)) {
        Some(seq) => seq.load(Relaxed),
        None => 0,
    }
}
