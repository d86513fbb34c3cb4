// SPDX-License-Identifier: GPL-2.0

// The base of the KUnit suites of blog/: a component made for one test, and a way to log numbers to
// it. Included by blog/main.rs into its own crate, because the suites look
// at the inside. It never runs outside of a test.

use core::{
    mem,
    ptr,
    sync::atomic::{
        AtomicBool,
        AtomicU64,
        Ordering::{
            Acquire,
            Relaxed,
            Release, //
        }, //
    }, //
};
use kernel::{
    bindings,
    blog::{
        ring::{
            Mode,
            Reservation,
            Ring,
            ROOM, //
        },
        wire::{
            page::PAGE_HEADER_SIZE,
            record::LEN_BITS, //
        },
        Config,
        RawComponent,
        ABI, //
    },
    page::PAGE_SIZE,
    prelude::*,
    str::CString,
    sync::Arc,
    time::{
        delay::fsleep,
        Delta, //
    }, //
};

use crate::{
    clock,
    life,
    registry::{
        self,
        state::State, //
    },
    tasks,
    write::{
        slow::blog_reserve,
        tables, //
    }, //
};

pub(crate) use crate::registry::settings::Key;

/// Records of [`Rig::log`] in one page.
pub(crate) const PER_PAGE: u64 = ((PAGE_SIZE - PAGE_HEADER_SIZE) / 16) as u64;
/// The same in a ring's own page.
pub(crate) const PER_ROOM: u64 = ((ROOM as usize - PAGE_HEADER_SIZE) / 16) as u64;

pub(crate) const fn config(size_kb: u32, ring_kb: u32, mode: Mode) -> Config {
    Config::new().size_kb(size_kb).ring_kb(ring_kb).mode(mode)
}

/// Thread id of this task.
pub(crate) fn this() -> i32 {
    // SAFETY: It is the current task.
    unsafe { tasks::facts(tasks::current()) }.pid
}

/// Site id of the records that the tests write.
pub(crate) const SITE: u32 = 7;

/// A dynamic component, removed when it is dropped.
pub(crate) struct Rig {
    /// Null where it is removed already.
    raw: *const RawComponent,
    name: CString,
}

impl Rig {
    /// Registers a component. `ENOSPC` where there is only one that counts what it loses.
    pub(crate) fn new(name: &CStr, config: Config) -> Result<Self> {
        let name = CString::try_from(name)?;
        // SAFETY: Both are valid.
        let raw = unsafe { life::blog_component_register(name.as_char_ptr(), &config, ABI) };
        let rig = Self { raw, name };
        // SAFETY: Nothing is stored.
        let state = unsafe { rig.raw().switch() }.state.load(Relaxed);
        match state.is_null() {
            true => Err(ENOSPC),
            false => Ok(rig),
        }
    }

    /// The driver's side.
    pub(crate) fn raw(&self) -> &RawComponent {
        // SAFETY: It stays until `drop`.
        unsafe { &*self.raw }
    }

    fn unregister(&mut self) {
        let raw = mem::replace(&mut self.raw, ptr::null());
        if !raw.is_null() {
            // SAFETY: It is registered, and nobody logs to it any more.
            unsafe { life::blog_component_unregister(raw) };
            // What it has left is not for other tests.
            if let Some(state) = state_of(&self.name).ok().filter(|state| !state.attached()) {
                life::take_out(&state);
            }
        }
    }

    /// Our side.
    pub(crate) fn state(&self) -> Result<Arc<State>> {
        state_of(&self.name)
    }

    /// Logs a number from this task. False: it was lost.
    pub(crate) fn log(&self, n: u64) -> bool {
        log(self.raw(), n)
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.unregister();
        // What comes next is to find its memory free.
        life::free_gone();
    }
}

/// The component of this name.
pub(crate) fn state_of(name: &CStr) -> Result<Arc<State>> {
    let mut all = registry::components();
    all.find(|state| state.name() == name).ok_or(ENOENT)
}

/// Logs a number as a driver's call does, from this task. False: it was lost, or the
/// component is off.
pub(crate) fn log(raw: &RawComponent, n: u64) -> bool {
    if raw.threshold() == 0 {
        return false;
    }
    // SAFETY: It is the ring of this task, or null.
    unsafe { log_to(raw, kernel::blog::ring_of(raw), n) }
}

/// Logs a number to a certain ring, or where it is null to a new one for this task.
///
/// # Safety
///
/// The ring is null or one of `raw`'s, which is on, and nobody else writes to it.
pub(crate) unsafe fn log_to(raw: &RawComponent, ring: *const Ring, n: u64) -> bool {
    let ring = match ring.is_null() {
        true => kernel::blog::no_ring(),
        false => ring,
    };
    let fill = |to: *mut u8| {
        // SAFETY: 16 bytes are a header and a number.
        unsafe { to.cast::<u64>().write_unaligned(n) }
    };
    // SAFETY: By this function's requirement; and what `blog_reserve` returns is as `put` demands.
    unsafe {
        let slot = || raw.switch().slot.load(Relaxed);
        match (*ring).write(slot, 16, SITE << LEN_BITS, |_| clock::fast(), fill) {
            Ok(()) => true,
            Err(Reservation { writing, ts }) => {
                blog_reserve(raw, writing, 16, ts).put(16, SITE << LEN_BITS, fill)
            }
        }
    }
}

/// How long a [`Thread`] sleeps at most until it looks whether it is to end, in ticks.
const MAX_SLEEP: c_long = 1000;

/// What a [`Thread`] does with each of its numbers; false: it was in vain.
type Work = fn(&RawComponent, u64) -> bool;

struct Job {
    raw: *const RawComponent,
    work: Work,
    numbers: core::ops::Range<u64>,
    lost: AtomicU64,
    done: AtomicBool,
}

/// After how many numbers a [`Thread`] lets others run.
const REST: u64 = 1 << 14;

/// A kernel thread that logs numbers to a component, or does other work, and then sleeps until it
/// is ended, which may also be in the middle.
pub(crate) struct Thread {
    task: *mut bindings::task_struct,
    job: KBox<Job>,
}

impl Thread {
    /// Starts it. It must be ended before the component goes.
    pub(crate) fn start(rig: &Rig, numbers: core::ops::Range<u64>) -> Result<Self> {
        Self::work(rig, numbers, log)
    }

    /// The same, for other work.
    pub(crate) fn work(rig: &Rig, numbers: core::ops::Range<u64>, work: Work) -> Result<Self> {
        let job = KBox::new(
            Job {
                raw: rig.raw(),
                work,
                numbers,
                lost: AtomicU64::new(0),
                done: AtomicBool::new(false),
            },
            GFP_KERNEL,
        )?;
        // SAFETY: `job` stays until `end` or `drop` has stopped the thread.
        let task = unsafe {
            kernel::error::from_err_ptr(bindings::kthread_create_on_node(
                Some(run_job),
                ptr::from_ref(&*job).cast_mut().cast(),
                -1,
                c"blog_test".as_char_ptr(),
            ))
        }?;
        // SAFETY: The thread is there until it is stopped.
        unsafe { bindings::wake_up_process(task) };
        Ok(Self { task, job })
    }

    /// Waits until all is done; returns how much was lost, or in vain.
    pub(crate) fn wait(&self) -> Result<u64> {
        until(|| self.job.done.load(Acquire))?;
        Ok(self.job.lost.load(Relaxed))
    }

    /// Its thread id.
    pub(crate) fn pid(&self) -> i32 {
        // SAFETY: The thread is there until it is stopped.
        unsafe { tasks::facts(self.task) }.pid
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        // SAFETY: The thread waits for this. On return it has left `run_job`.
        unsafe { bindings::kthread_stop(self.task) };
    }
}

/// # Safety
///
/// `job` points to a [`Job`] that stays until the thread is stopped.
unsafe extern "C" fn run_job(job: *mut c_void) -> c_int {
    // SAFETY: By this function's requirement.
    let job = unsafe { &*job.cast::<Job>() };
    for n in job.numbers.clone() {
        // SAFETY: The component stays until the thread is stopped.
        if !(job.work)(unsafe { &*job.raw }, n) {
            job.lost.fetch_add(1, Relaxed);
        }
        if n % REST == REST - 1 {
            fsleep(Delta::from_millis(1));
            // SAFETY: This is a kernel thread.
            if unsafe { bindings::kthread_should_stop() } {
                break;
            }
        }
    }
    job.done.store(true, Release);
    // SAFETY: This is a kernel thread, which `kthread_stop` wakes.
    unsafe {
        while !bindings::kthread_should_stop() {
            bindings::schedule_timeout_interruptible(MAX_SLEEP);
        }
    }
    0
}

/// Tasks that have a ring of a component.
pub(crate) fn live(state: &State) -> u32 {
    let mut from = 0;
    let slots = |slot| slot == u32::from(state.slot());
    let next = || tables::next(&mut from, slots, |_| ());
    core::iter::from_fn(next).count() as u32
}

/// Waits until `holds` does, for half a minute at least: some kernels watch themselves.
pub(crate) fn until(mut holds: impl FnMut() -> bool) -> Result {
    for _ in 0..30_000 {
        if holds() {
            return Ok(());
        }
        fsleep(Delta::from_millis(1));
    }
    Err(EBUSY)
}
