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
//!
//! A component's trigger is found by its slot. It stays for the next component of that slot; so it
//! also has the id of the component that it is of.

use core::sync::atomic::{
    AtomicBool,
    AtomicI32,
    AtomicU32,
    AtomicU64,
    Ordering::*, //
};
use kernel::{
    bindings::task_struct,
    blog::{
        task::MAX_COMPONENTS,
        wire::record::LEN_BITS, //
    },
    fmt,
    prelude::*,
    sync::{
        global_lock,
        SetOnce, //
    }, //
};

mod parse;

/// KUnit can only be called from here if it is built in, or this is a module, too.
#[cfg(any(
    CONFIG_BLOG_KUNIT_TEST = "y",
    all(CONFIG_BLOG_KUNIT_TEST = "m", MODULE)
))]
mod tests;

use crate::{
    clock,
    floor::{
        Event,
        FileOf,
        Part, //
    },
    registry::state::{
        Observer,
        State,
        ALL_FROZEN,
        OBSERVER, //
    },
    sys::tracepoint,
    tasks,
    write::tables, //
};

pub(crate) static PART: Part = Part {
    start,
    event,
    files: &[FileOf {
        name: c"trigger",
        show: Some(show),
        write: Some(|state, text| {
            let wanted = parse::parse_trigger(text)?;
            if wanted.is_some_and(|wanted| wanted.site.is_none()) && !HANGS.load(Relaxed) {
                return Err(ENOENT);
            }
            set(state, wanted)
        }),
        ready: Some(|state| of(state).is_some_and(Trigger::has_frozen)),
    }],
    ..Part::NONE
};

global_lock! {
    // SAFETY: `start` is called before anything else here.
    /// Held while a trigger is set, or ends with its component. Nobody waits under it.
    unsafe(uninit) static SETTING: Mutex<()> = ();
}

/// Whether the hung-task detector calls [`hang`].
static HANGS: AtomicBool = AtomicBool::new(false);

/// Triggers that are made together.
const GROUP: usize = 32;

/// Triggers by the slots of their components. A group is made when one of it is set first, and
/// stays.
static TRIGGERS: [SetOnce<KBox<[Trigger; GROUP]>>; MAX_COMPONENTS.div_ceil(GROUP)] =
    [const { SetOnce::new() }; MAX_COMPONENTS.div_ceil(GROUP)];

/// The trigger of a slot, if it was made. Any context.
fn at(slot: u16) -> Option<&'static Trigger> {
    let group = TRIGGERS.get(usize::from(slot) / GROUP)?.as_ref()?;
    group.get(usize::from(slot) % GROUP)
}

/// The trigger of a component, if it was ever set. Any context.
fn of(state: &State) -> Option<&'static Trigger> {
    at(state.slot()).filter(|trigger| trigger.id.load(Relaxed) == state.id())
}

/// Arms a component's trigger, or ends what it has done. `ENODEV`: the component is gone.
fn set(state: &State, wanted: Option<TriggerSpec>) -> Result {
    let group = TRIGGERS.get(usize::from(state.slot()) / GROUP);
    let group = group.ok_or(EINVAL)?;
    let made = match wanted.is_some() && group.as_ref().is_none() {
        true => Some(KBox::new([const { Trigger::new() }; GROUP], GFP_KERNEL)?),
        false => None,
    };
    state.watch(|| {
        let _guard = SETTING.lock();
        // One that goes from here on ends it: see `event`.
        if state.is_gone() {
            return Err(ENODEV);
        }
        // Of two that were made at a time, the first one stays.
        if let Some(made) = made {
            group.populate(made);
        }
        if let Some(trigger) = at(state.slot()) {
            trigger.id.store(state.id(), Relaxed);
            trigger.set(state, wanted);
        }
        Ok(())
    })
}

fn show(state: &State, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match of(state) {
        Some(trigger) => f.write_fmt(fmt!("{trigger}\n")),
        None => f.write_str("off\n"),
    }
}

fn start() {
    // SAFETY: Called once, first.
    unsafe { SETTING.init() };
    OBSERVER.populate(Observer {
        watches: |state| of(state).is_some_and(Trigger::waits_for_record),
        stored: |state, site_shl10, payload| {
            of(state).is_some_and(|trigger| trigger.stored(state, site_shl10, payload))
        },
    });
    HANGS.store(tracepoint::on_hang(hang).is_ok(), Relaxed);
}

/// What the hung-task detector finds fires the triggers that wait for it.
///
/// # Safety
///
/// `task` is valid.
unsafe extern "C" fn hang(_: *mut c_void, task: *mut task_struct) {
    // SAFETY: By this function's requirement.
    let pid = unsafe { tasks::facts(task) }.pid;
    tables::each_state(|state| {
        if let Some(trigger) = of(state) {
            trigger.hang(state, pid);
        }
    });
}

fn event(event: Event<'_>) {
    if let Event::Gone(state) = event {
        // It is going: nobody sets it any more once this has the lock.
        let _guard = SETTING.lock();
        if let Some(trigger) = of(state) {
            trigger.set(state, None);
            trigger.id.store(0, Relaxed);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Off,
    /// It waits for what fires it.
    Armed,
    /// It has fired, and some more records are logged.
    Fired,
    Frozen,
}

impl Phase {
    /// That of a life: see [`Trigger`].
    fn of(life: u64) -> Self {
        [Self::Off, Self::Armed, Self::Fired, Self::Frozen][(life / STEP) as usize % 4]
    }
}

/// How the value of an argument compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Eq,
    Ne,
    Lt,
    Gt,
}

impl Operator {
    const ALL: [(&'static str, Self); 4] = [
        ("eq", Self::Eq),
        ("ne", Self::Ne),
        ("lt", Self::Lt),
        ("gt", Self::Gt),
    ];
}

/// A condition on an integer in a record: which bytes of the arguments, and what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Condition {
    at: u16,
    /// 1, 2, 4 or 8 bytes.
    size: u8,
    signed: bool,
    compare: Operator,
    /// As many bits of the value as `size` says, extended by its sign if it has one.
    value: u64,
}

impl Condition {
    fn holds(&self, payload: &[u8]) -> bool {
        let from = usize::from(self.at);
        let Some(bytes) = payload.get(from..from + usize::from(self.size)) else {
            return false;
        };
        let mut raw = [0; 8];
        raw[..bytes.len()].copy_from_slice(bytes);
        let unused = 64 - 8 * u32::from(self.size);
        let found = u64::from_ne_bytes(raw);
        let order = match self.signed {
            true => ((found << unused) as i64 >> unused).cmp(&(self.value as i64)),
            false => found.cmp(&self.value),
        };
        match self.compare {
            Operator::Eq => order.is_eq(),
            Operator::Ne => order.is_ne(),
            Operator::Lt => order.is_lt(),
            Operator::Gt => order.is_gt(),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.signed { 'i' } else { 'u' };
        let (compare, _) = Operator::ALL[self.compare as usize];
        write!(f, "{}:{sign}{}:{compare}:", self.at, self.size)?;
        match self.signed {
            true => write!(f, "{}", self.value as i64),
            false => write!(f, "{}", self.value),
        }
    }
}

/// A trigger as a user sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TriggerSpec {
    /// The site whose record fires it; `None`: a task that hangs fires it.
    site: Option<u32>,
    test: Option<Condition>,
    /// Records of the component that are logged after that one.
    after: u32,
    /// Whether it freezes all components.
    all: bool,
}

/// The trigger of a component.
///
/// What it waits for is changed under the component's lock, in a life of its own. A log call that
/// looks at it meanwhile may take half of an old one for a new one, and fire too early. It harms
/// nobody, as each field is an atomic.
struct Trigger {
    /// Of the component; 0: none.
    id: AtomicU64,
    /// In the upper half, how often it was set, and in the two lowest bits of that the [`Phase`];
    /// in the lower half, the records that are still to come. So what was begun in one life changes
    /// nothing in the next one.
    life: AtomicU64,
    /// `id << LEN_BITS`; 0: a task that hangs.
    site: AtomicU32,
    /// [`Condition`], but for its value: at, size (0: there is none), sign, comparison, by bytes;
    /// and whether it freezes all.
    how: AtomicU64,
    value: AtomicU64,
    /// When it has fired, and the thread id.
    clock: AtomicU64,
    pid: AtomicI32,
}

/// From one phase to the next.
const STEP: u64 = 1 << 32;

/// The first phase of the life after this one.
fn next_life(life: u64) -> u64 {
    (life | (4 * STEP - 1)).wrapping_add(1)
}

/// Records that are still to come.
fn left(life: u64) -> u32 {
    life as u32
}

impl Trigger {
    const fn new() -> Self {
        Self {
            id: AtomicU64::new(0),
            life: AtomicU64::new(0),
            site: AtomicU32::new(0),
            how: AtomicU64::new(0),
            value: AtomicU64::new(0),
            clock: AtomicU64::new(0),
            pid: AtomicI32::new(0),
        }
    }

    fn life(&self) -> u64 {
        // ORDERING: Acquire: what it is armed with is read after this.
        self.life.load(Acquire)
    }

    fn phase(&self) -> Phase {
        Phase::of(self.life())
    }

    /// Goes from one value of `life` to another; `Err`: somebody else has gone on, to this one.
    fn advance(&self, life: u64, to: u64) -> Result<(), u64> {
        let result = self.life.compare_exchange(life, to, AcqRel, Acquire);
        result.map(|_| ())
    }

    fn test(&self) -> Option<Condition> {
        let [a, b, size, signed, compare, ..] = self.how.load(Relaxed).to_le_bytes();
        (size != 0).then_some(())?;
        Some(Condition {
            at: u16::from_le_bytes([a, b]),
            size,
            signed: signed != 0,
            compare: Operator::ALL.get(usize::from(compare))?.1,
            value: self.value.load(Relaxed),
        })
    }

    fn freezes_all(&self) -> bool {
        self.how.load(Relaxed) >> 56 != 0
    }

    /// What counts those that freeze the same.
    fn counter<'a>(&self, state: &'a State) -> &'a AtomicU32 {
        match self.freezes_all() {
            true => &ALL_FROZEN,
            false => &state.frozen,
        }
    }

    /// Sets what it is to do, under [`SETTING`].
    fn set(&self, state: &State, wanted: Option<TriggerSpec>) {
        let next = |life| Some(next_life(life));
        let old = self.life.fetch_update(AcqRel, Acquire, next).unwrap_or(0);
        if Phase::of(old) == Phase::Frozen {
            self.counter(state).fetch_sub(1, Relaxed);
        }
        let Some(wanted) = wanted else { return };
        let mut how = [0; 8];
        if let Some(test) = wanted.test {
            let [a, b] = test.at.to_le_bytes();
            how[..5].copy_from_slice(&[a, b, test.size, test.signed.into(), test.compare as u8]);
            self.value.store(test.value, Relaxed);
        }
        how[7] = wanted.all.into();
        self.how.store(u64::from_le_bytes(how), Relaxed);
        self.site
            .store(wanted.site.unwrap_or(0) << LEN_BITS, Relaxed);
        // ORDERING: Release: see `life`. Nobody else goes on from the first phase.
        self.life
            .store(next_life(old) + STEP + u64::from(wanted.after), Release);
    }

    /// Whether records of its component are to be looked at. Any context.
    fn waits_for_record(&self) -> bool {
        matches!(self.phase(), Phase::Armed | Phase::Fired) && self.site.load(Relaxed) != 0
    }

    /// Whether readers that wait for it are to look.
    fn has_frozen(&self) -> bool {
        self.phase() == Phase::Frozen
    }

    /// Goes on from [`Phase::Armed`], to the life that this returns.
    fn fire(&self, life: u64, pid: i32) -> Option<u64> {
        let fired = life.wrapping_add(STEP);
        if Phase::of(life) != Phase::Armed || self.advance(life, fired).is_err() {
            return None;
        }
        self.clock.store(clock::now(), Relaxed);
        self.pid.store(pid, Relaxed);
        Some(fired)
    }

    /// Goes on from [`Phase::Fired`].
    fn freeze(&self, state: &State, life: u64) {
        // Once: should it be set meanwhile, that is what is to be taken back.
        let counter = self.counter(state);
        // First, so that who ends it finds that it counts.
        counter.fetch_add(1, Relaxed);
        if self.advance(life, life.wrapping_add(STEP)).is_err() {
            counter.fetch_sub(1, Relaxed);
        }
    }

    /// A record is in its place, but not yet published. True: the last one before it is frozen.
    fn stored(&self, state: &State, site_shl10: u32, payload: &[u8]) -> bool {
        let mut life = self.life();
        if Phase::of(life) == Phase::Armed {
            // SAFETY: The current task is valid.
            let pid = || unsafe { tasks::facts(tasks::current()) }.pid;
            let is_it = site_shl10 == self.site.load(Relaxed)
                && self.test().is_none_or(|test| test.holds(payload));
            let Some(fired) = is_it.then(|| self.fire(life, pid())).flatten() else {
                return false;
            };
            if left(fired) == 0 {
                self.freeze(state, fired);
            }
            return left(fired) == 0;
        }
        while Phase::of(life) == Phase::Fired && left(life) > 1 {
            match self.advance(life, life - 1) {
                Ok(()) => return false,
                Err(other) => life = other,
            }
        }
        let is_last = Phase::of(life) == Phase::Fired;
        if is_last {
            self.freeze(state, life);
        }
        is_last
    }

    /// A task hangs. Any context.
    fn hang(&self, state: &State, pid: i32) {
        let life = self.life();
        if self.site.load(Relaxed) == 0 {
            if let Some(fired) = self.fire(life, pid) {
                self.freeze(state, fired);
            }
        }
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let life = self.life();
        let phase = Phase::of(life);
        f.write_str(match phase {
            Phase::Off => return f.write_str("off"),
            Phase::Armed => "armed",
            Phase::Fired => "fired",
            Phase::Frozen => "frozen",
        })?;
        match self.site.load(Relaxed) >> LEN_BITS {
            0 => f.write_str(" hang")?,
            id => write!(f, " site={id}")?,
        }
        if let Some(test) = self.test() {
            f.write_fmt(fmt!(" if={test}"))?;
        }
        if phase != Phase::Frozen && self.site.load(Relaxed) != 0 {
            write!(f, " after={}", left(life))?;
        }
        if self.freezes_all() {
            f.write_str(" all")?;
        }
        if matches!(phase, Phase::Fired | Phase::Frozen) {
            let (clock, pid) = (self.clock.load(Relaxed), self.pid.load(Relaxed));
            write!(f, " clock={clock} pid={pid}")?;
        }
        Ok(())
    }
}
