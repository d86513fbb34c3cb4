// SPDX-License-Identifier: GPL-2.0

//! Triggers: a record, or a task that hangs, freezes a component or all of them, so that the
//! history up to there stays until somebody has read it.
//!
//! A component has one trigger. While it waits for a record, `Switch::slot` is one that no ring
//! has (`WATCHED` of the kernel crate): each call of the component takes the slow path, in which
//! `blog_stored()` looks at the record before it is published. The fast path has no test for that.
//! So an armed trigger costs the calls of its component some time, and those of others nothing.
//!
//! Frozen rings keep what they have, as in a crash: no page is overwritten, and none goes to
//! another ring. What is logged goes where there is room, and then is lost as `frozen`.
//!
//! Users set triggers by the file `trigger`, in the words of `parse.rs`. Log calls and the
//! hung-task detector fire them, in any context, by atomics alone: nothing here wakes anybody.

use core::{
    cmp,
    sync::atomic, //
};
use kernel::{
    bindings::task_struct,
    blog::{
        task::MAX_COMPONENTS,
        wire::record::LEN_BITS, //
    }, //
};

mod parse;

kunit! { mod tests; }

use crate::{
    clock,
    floor,
    registry::state::{
        self,
        observed,
        State, //
    },
    sys::{
        self,
        prelude::*, //
    },
    tasks,
    write::each, //
};

pub(crate) static PART: floor::Part = floor::Part {
    start,
    tick: free_removed,
    event: |event| {
        if let floor::Event::Gone(state) = event {
            // It can't fail for one that is gone.
            let _ = replace(state, None, true);
        }
    },
    files: &[floor::FileOf {
        name: c"trigger",
        show: Some(show),
        write: Some(|state, text| {
            let wanted = parse::parse_trigger(text)?;
            if wanted.is_some_and(|wanted| wanted.site.is_none()) && !HANGS.load(Relaxed) {
                return Err(ENOENT);
            }
            set(state, wanted)
        }),
        ready: Some(has_frozen),
    }],
    ..floor::Part::NONE
};

/// Whether the hung-task detector calls [`hang`].
static HANGS: atomic::AtomicBool = atomic::AtomicBool::new(false);

/// Triggers by the slots of their components, null where there is none. One that was taken out
/// stays until log calls, and others that don't sleep, have ended that may have found it.
static TRIGGERS: [AtomicPtr<Trigger>; MAX_COMPONENTS] =
    [const { AtomicPtr::new(ptr::null_mut()) }; MAX_COMPONENTS];

/// Those that were taken out: a list by [`Trigger::next`].
static REMOVED: AtomicPtr<Trigger> = AtomicPtr::new(ptr::null_mut());
/// How many they are; both change under [`SETTING`].
static NUM_REMOVED: AtomicU32 = AtomicU32::new(0);
/// With so many, who sets a trigger frees them.
const MAX_REMOVED: u32 = 64;

global_lock! {
    // SAFETY: `start` is called before anything else here.
    /// Held while a trigger is put in or taken out. Nobody waits or allocates under it.
    unsafe(uninit) static SETTING: Mutex<()> = ();
}

global_lock! {
    // SAFETY: As above.
    /// Held while one is shown, or those that were taken out are freed.
    unsafe(uninit) static FREEING: Mutex<()> = ();
}

/// The trigger of a component, if it has one. Any context.
///
/// # Safety
///
/// The caller doesn't sleep while it uses the result, or holds [`FREEING`].
unsafe fn of(state: &State) -> Option<&Trigger> {
    let trigger = TRIGGERS.get(usize::from(state.slot()))?;
    // ORDERING: Acquire pairs with `replace`: the trigger is whole.
    // SAFETY: It stays for such a caller, see `free_removed`.
    let trigger = unsafe { trigger.load(Acquire).as_ref() };
    // Its slot may be that of another component by now.
    trigger.filter(|_| !state.is_gone())
}

/// Whether readers that wait for it are to look.
fn has_frozen(state: &State) -> bool {
    // SAFETY: This doesn't sleep.
    unsafe { of(state) }.is_some_and(|trigger| trigger.phase() == FROZEN)
}

fn show(state: &State, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let _guard = FREEING.lock();
    // SAFETY: The lock is held.
    match unsafe { of(state) } {
        Some(trigger) => f.write_fmt(fmt!("{trigger}\n")),
        None => f.write_str("off\n"),
    }
}

/// Arms a component's trigger, or ends what it has done. `ENODEV`: the component is gone.
fn set(state: &State, wanted: Option<TriggerSpec>) -> Result {
    let new = wanted.map(|spec| KBox::new(Trigger::new(spec), GFP_KERNEL));
    let new = new.transpose()?;
    state.watch(|| replace(state, new, false))?;
    // The worker may be late: it waits while its CPU sleeps.
    if NUM_REMOVED.load(Relaxed) >= MAX_REMOVED {
        free_removed();
    }
    Ok(())
}

/// Puts in a trigger, or none, in place of the one that is there. `ENODEV`: the component is not as
/// `is_gone` says.
fn replace(state: &State, new: Option<KBox<Trigger>>, is_gone: bool) -> Result {
    let _guard = SETTING.lock();
    let trigger = TRIGGERS.get(usize::from(state.slot())).ok_or(EINVAL)?;
    // One that goes from here on takes it out again: see `PART`.
    if state.is_gone() != is_gone {
        return Err(ENODEV);
    }
    let old = trigger.swap(new.map_or(ptr::null_mut(), KBox::into_raw), AcqRel);
    // SAFETY: It was in its place until now, and is freed after a grace period.
    if let Some(removed) = unsafe { old.as_ref() } {
        if removed.phase.swap(ENDED, AcqRel) == FROZEN {
            removed.counter(state).fetch_sub(1, Relaxed);
        }
        removed.next.store(REMOVED.swap(old, Relaxed), Relaxed);
        NUM_REMOVED.fetch_add(1, Relaxed);
    }
    Ok(())
}

fn free_removed() {
    let mut next = {
        let _guard = SETTING.lock();
        NUM_REMOVED.store(0, Relaxed);
        REMOVED.swap(ptr::null_mut(), Relaxed)
    };
    if next.is_null() {
        return;
    }
    sys::quiesce::quiesce();
    let _guard = FREEING.lock();
    while !next.is_null() {
        // SAFETY: It was a box, and all that have found it have ended.
        let removed = unsafe { KBox::from_raw(next) };
        next = removed.next.load(Relaxed);
    }
}

fn start() {
    // SAFETY: Called once, first.
    unsafe {
        SETTING.init();
        FREEING.init();
    }
    observed::OBSERVER.populate(observed::Observer {
        // SAFETY: This doesn't sleep.
        watches: |state| unsafe { of(state) }.is_some_and(Trigger::waits_for_record),
        stored: |state, site_shl10, payload| {
            // SAFETY: The caller is a log call.
            unsafe { of(state) }.is_some_and(|trigger| trigger.stored(state, site_shl10, payload))
        },
    });
    HANGS.store(sys::tracepoint::on_hang(hang).is_ok(), Relaxed);
}

/// What the hung-task detector finds fires the triggers that wait for it.
///
/// # Safety
///
/// `task` is valid.
unsafe extern "C" fn hang(_: *mut c_void, task: *mut task_struct) {
    // SAFETY: By this function's requirement.
    let pid = unsafe { tasks::facts(task) }.pid;
    each::each_state(|state| {
        // SAFETY: Interrupts are off.
        if let Some(trigger) = unsafe { of(state) } {
            trigger.hang(state, pid);
        }
    });
}

type Compare = (&'static str, fn(cmp::Ordering) -> bool);

static COMPARE: [Compare; 4] = [
    ("eq", cmp::Ordering::is_eq),
    ("ne", cmp::Ordering::is_ne),
    ("lt", cmp::Ordering::is_lt),
    ("gt", cmp::Ordering::is_gt),
];

/// An integer in a record, and what it is to be.
#[derive(Clone, Copy)]
struct Condition {
    /// Where it is in the arguments, and how many bytes it has: 1, 2, 4 or 8.
    at: u16,
    size: u8,
    signed: bool,
    compare: &'static Compare,
    value: i128,
}

impl Condition {
    fn holds(&self, payload: &[u8]) -> bool {
        let from = usize::from(self.at);
        let Some(bytes) = payload.get(from..from + usize::from(self.size)) else {
            return false;
        };
        let is_negative = self.signed && bytes.last().is_some_and(|byte| byte >> 7 != 0);
        let mut found = [if is_negative { 0xff } else { 0 }; 16];
        found[..bytes.len()].copy_from_slice(bytes);
        (self.compare.1)(i128::from_le_bytes(found).cmp(&self.value))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, compare) = (if self.signed { 'i' } else { 'u' }, self.compare.0);
        write!(
            f,
            "{}:{sign}{}:{compare}:{}",
            self.at, self.size, self.value
        )
    }
}

/// A trigger as a user sets it.
#[derive(Clone, Copy, Default)]
struct TriggerSpec {
    /// The site whose record fires it; `None`: a task that hangs fires it.
    site: Option<u32>,
    test: Option<Condition>,
    /// Records of the component that are logged after that one.
    after: u32,
    /// Whether it freezes all components.
    all: bool,
}

/// It waits for what fires it.
const ARMED: u8 = 0;
/// It has fired, and some more records are logged.
const FIRED: u8 = 1;
const FROZEN: u8 = 2;
/// It was taken out.
const ENDED: u8 = 3;

/// The trigger of a component.
struct Trigger {
    spec: TriggerSpec,
    /// From one to the next, and from any to [`ENDED`].
    phase: atomic::AtomicU8,
    /// Records that are still to come.
    left: AtomicU32,
    /// When it has fired, and the thread id.
    clock: atomic::AtomicU64,
    pid: atomic::AtomicI32,
    next: AtomicPtr<Self>,
}

impl Trigger {
    fn new(spec: TriggerSpec) -> Self {
        Self {
            spec,
            phase: atomic::AtomicU8::new(ARMED),
            left: AtomicU32::new(spec.after),
            clock: atomic::AtomicU64::new(0),
            pid: atomic::AtomicI32::new(0),
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    fn phase(&self) -> u8 {
        self.phase.load(Acquire)
    }

    /// Goes from one phase to another; false: somebody was faster.
    fn advance(&self, from: u8, to: u8) -> bool {
        (self.phase.compare_exchange(from, to, AcqRel, Relaxed)).is_ok()
    }

    /// What counts those that freeze the same.
    fn counter<'a>(&self, state: &'a State) -> &'a AtomicU32 {
        match self.spec.all {
            true => &state::ALL_FROZEN,
            false => &state.frozen,
        }
    }

    /// Whether records of its component are to be looked at.
    fn waits_for_record(&self) -> bool {
        matches!(self.phase(), ARMED | FIRED) && self.spec.site.is_some()
    }

    fn fire(&self, pid: i32) -> bool {
        let is_fired = self.advance(ARMED, FIRED);
        if is_fired {
            self.clock.store(clock::now(), Relaxed);
            self.pid.store(pid, Relaxed);
        }
        is_fired
    }

    fn freeze(&self, state: &State) {
        let counter = self.counter(state);
        // First, so that who takes the trigger out finds that it counts.
        counter.fetch_add(1, Relaxed);
        if !self.advance(FIRED, FROZEN) {
            counter.fetch_sub(1, Relaxed);
        }
    }

    /// A record is in its place, but not yet published. True: the last one before it is frozen.
    fn stored(&self, state: &State, site_shl10: u32, payload: &[u8]) -> bool {
        let is_it = || {
            self.spec.site == Some(site_shl10 >> LEN_BITS)
                && self.spec.test.is_none_or(|test| test.holds(payload))
        };
        let pid = || tasks::current_facts().pid;
        let one_less = |left: u32| left.checked_sub(1);
        let is_last = match self.phase() {
            ARMED => is_it() && self.fire(pid()) && self.spec.after == 0,
            FIRED => self.left.fetch_update(Relaxed, Relaxed, one_less) == Ok(1),
            _ => false,
        };
        if is_last {
            self.freeze(state);
        }
        is_last
    }

    /// A task hangs. Any context.
    fn hang(&self, state: &State, pid: i32) {
        if self.spec.site.is_none() && self.fire(pid) {
            self.freeze(state);
        }
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (phase, spec) = (self.phase(), &self.spec);
        f.write_str(match phase {
            ARMED => "armed",
            FIRED => "fired",
            FROZEN => "frozen",
            _ => return f.write_str("off"),
        })?;
        match spec.site {
            None => f.write_str(" hang")?,
            Some(id) => write!(f, " site={id}")?,
        }
        if let Some(test) = spec.test {
            f.write_fmt(fmt!(" if={test}"))?;
        }
        if phase != FROZEN && spec.site.is_some() {
            write!(f, " after={}", self.left.load(Relaxed))?;
        }
        if spec.all {
            f.write_str(" all")?;
        }
        if phase != ARMED {
            let (clock, pid) = (self.clock.load(Relaxed), self.pid.load(Relaxed));
            write!(f, " clock={clock} pid={pid}")?;
        }
        Ok(())
    }
}
