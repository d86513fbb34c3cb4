// SPDX-License-Identifier: GPL-2.0

//! Triggers: a record, or a task that hangs, freezes a component or all of them, so that the
//! history up to there stays until somebody has read it.
//!
//! A component has one trigger. While it waits for a record, `Switch::slot` is one that no ring
//! has ([`WATCHED`]): each call of the component takes the slow path, in which `blog_stored()`
//! looks at the record before it is published. The fast path has no test for that. So an armed
//! trigger costs the calls of its component some time, and those of others nothing.
//!
//! Frozen rings keep what they have, as in a crash: no page is overwritten, and none goes to
//! another ring. What is logged goes where there is room, and then is lost as `frozen`.
//!
//! `files/` sets and shows triggers. Log calls and the hung-task detector fire them, in any
//! context, by atomics alone: nothing here wakes anybody.

use core::{
    mem,
    str::FromStr,
    sync::atomic::{
        AtomicU32,
        AtomicU64,
        AtomicU8,
        Ordering::{
            AcqRel,
            Acquire,
            Relaxed,
            Release, //
        }, //
    }, //
};
use kernel::{
    blog::{
        component::WATCHED,
        wire::record::{
            LEN_BITS,
            SITE_MAX, //
        }, //
    },
    fmt,
    prelude::*, //
};

use crate::{
    clock,
    tasks, //
};

/// How many triggers have frozen their component; those that have frozen all count [`ALL`].
static FROZEN: AtomicU32 = AtomicU32::new(0);
const ALL: u32 = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Phase {
    Off,
    /// It waits for what fires it.
    Armed,
    /// It has fired, and some more records are logged.
    Fired,
    Frozen,
}

impl Phase {
    fn from(n: u8) -> Self {
        let all = [Self::Off, Self::Armed, Self::Fired, Self::Frozen];
        *all.get(usize::from(n)).unwrap_or(&Self::Off)
    }
}

/// How the value of an argument compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Eq,
    Ne,
    Lt,
    Gt,
}

/// A condition on an integer in a record: which bytes of the arguments, and what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Test {
    pub(crate) at: u16,
    /// 1, 2, 4 or 8 bytes.
    pub(crate) size: u8,
    pub(crate) signed: bool,
    pub(crate) compare: Compare,
    /// As many bits of the value as `size` says, extended by its sign if it has one.
    pub(crate) value: u64,
}

impl Test {
    pub(crate) fn holds(&self, payload: &[u8]) -> bool {
        let from = usize::from(self.at);
        let Some(bytes) = payload.get(from..from + usize::from(self.size)) else {
            return false;
        };
        let mut raw = [0; 8];
        raw[..bytes.len()].copy_from_slice(bytes);
        let unused = 64 - 8 * u32::from(self.size);
        let mut found = u64::from_ne_bytes(raw);
        let mut value = self.value;
        if self.signed {
            let extended = (found << unused) as i64 >> unused;
            // Order of signed numbers as that of unsigned ones
            (found, value) = (extended as u64 ^ 1 << 63, value ^ 1 << 63);
        }
        match self.compare {
            Compare::Eq => found == value,
            Compare::Ne => found != value,
            Compare::Lt => found < value,
            Compare::Gt => found > value,
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.signed { 'i' } else { 'u' };
        let compare = match self.compare {
            Compare::Eq => "eq",
            Compare::Ne => "ne",
            Compare::Lt => "lt",
            Compare::Gt => "gt",
        };
        write!(f, "{}:{sign}{}:{compare}:", self.at, self.size)?;
        match self.signed {
            true => write!(f, "{}", self.value as i64),
            false => write!(f, "{}", self.value),
        }
    }
}

/// `AT:TYPE:COMPARE:VALUE`, for instance `4:u4:eq:77`: of the arguments, the four bytes from byte 4
/// on are an unsigned 77.
impl FromStr for Test {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.split(':');
        let mut part = || parts.next().ok_or(EINVAL);
        let (at, ty, compare, value) = (part()?, part()?, part()?, part()?);
        if part().is_ok() {
            return Err(EINVAL);
        }
        let (signed, size) = match ty {
            "u1" => (false, 1),
            "u2" => (false, 2),
            "u4" => (false, 4),
            "u8" => (false, 8),
            "i1" => (true, 1),
            "i2" => (true, 2),
            "i4" => (true, 4),
            "i8" => (true, 8),
            _ => return Err(EINVAL),
        };
        let compare = match compare {
            "eq" => Compare::Eq,
            "ne" => Compare::Ne,
            "lt" => Compare::Lt,
            "gt" => Compare::Gt,
            _ => return Err(EINVAL),
        };
        let value = match signed {
            true => value.parse::<i64>().map_err(|_| EINVAL)? as u64,
            false => value.parse::<u64>().map_err(|_| EINVAL)?,
        };
        Ok(Self {
            at: at.parse().map_err(|_| EINVAL)?,
            size,
            signed,
            compare,
            value,
        })
    }
}

/// What a trigger is to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The site whose record fires it; `None`: a task that hangs does.
    pub(crate) site: Option<u32>,
    pub(crate) test: Option<Test>,
    /// Records of the component that are logged after that one.
    pub(crate) after: u32,
    /// Whether it freezes all components.
    pub(crate) all: bool,
}

/// `off`, or `site=ID` or `hang`, and then `if=TEST`, `after=N`, `all`. `None`: off.
impl Wanted {
    pub(crate) fn parse(text: &str) -> Result<Option<Self>> {
        let mut words = text.split_ascii_whitespace();
        let mut this = Self::default();
        match words.next().ok_or(EINVAL)? {
            "off" => return words.next().map_or(Ok(None), |_| Err(EINVAL)),
            "hang" => {}
            first => {
                let id = first.strip_prefix("site=").ok_or(EINVAL)?;
                let id = id.parse().map_err(|_| EINVAL)?;
                this.site = Some(id).filter(|id| (1..=SITE_MAX).contains(id));
                this.site.ok_or(EINVAL)?;
            }
        }
        let (mut test, mut after) = (None, None);
        for word in words {
            let is_new = match word.split_once('=') {
                Some(("if", value)) if this.site.is_some() => {
                    test.replace(value.parse()?).is_none()
                }
                Some(("after", value)) if this.site.is_some() => {
                    let n = value.parse().map_err(|_| EINVAL)?;
                    after.replace(n).is_none()
                }
                None if word == "all" => !mem::replace(&mut this.all, true),
                _ => false,
            };
            is_new.then_some(()).ok_or(EINVAL)?;
        }
        (this.test, this.after) = (test, after.unwrap_or(0));
        Ok(Some(this))
    }
}

/// The trigger of a component.
///
/// What it waits for is changed under the component's lock, after `phase` was made [`Phase::Off`].
/// A log call that looks at it meanwhile may take half of an old one for a new one, and fire too
/// early. It harms nobody, as each field is an atomic.
pub(crate) struct Trigger {
    phase: AtomicU8,
    /// `id << LEN_BITS`; 0: a task that hangs.
    site: AtomicU32,
    /// [`Test`], but for its value: at, size (0: there is none), sign, comparison, by bytes; and
    /// whether it freezes all.
    how: AtomicU64,
    value: AtomicU64,
    /// Records that are still to come.
    left: AtomicU32,
    clock: AtomicU64,
    /// Thread id, then the CPU.
    place: AtomicU64,
}

impl Trigger {
    pub(super) const fn new() -> Self {
        Self {
            phase: AtomicU8::new(Phase::Off as u8),
            site: AtomicU32::new(0),
            how: AtomicU64::new(0),
            value: AtomicU64::new(0),
            left: AtomicU32::new(0),
            clock: AtomicU64::new(0),
            place: AtomicU64::new(0),
        }
    }

    fn phase(&self) -> Phase {
        // ORDERING: Acquire: what it is armed with is read after this.
        Phase::from(self.phase.load(Acquire))
    }

    /// Goes on from a phase, unless somebody else has.
    fn advance(&self, from: Phase, to: Phase) -> bool {
        let result = self
            .phase
            .compare_exchange(from as u8, to as u8, AcqRel, Relaxed);
        result.is_ok()
    }

    fn test(&self) -> Option<Test> {
        let [a, b, size, signed, compare, ..] = self.how.load(Relaxed).to_le_bytes();
        (size != 0).then_some(Test {
            at: u16::from_le_bytes([a, b]),
            size,
            signed: signed != 0,
            compare: match compare {
                0 => Compare::Eq,
                1 => Compare::Ne,
                2 => Compare::Lt,
                _ => Compare::Gt,
            },
            value: self.value.load(Relaxed),
        })
    }

    fn counts(&self) -> u32 {
        match self.how.load(Relaxed) >> 56 {
            0 => 1,
            _ => ALL,
        }
    }

    /// Sets what it is to do. The caller holds the component's control.
    pub(super) fn set(&self, wanted: Option<Wanted>) {
        let old = self.phase.swap(Phase::Off as u8, AcqRel);
        if Phase::from(old) == Phase::Frozen {
            FROZEN.fetch_sub(self.counts(), Relaxed);
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
        self.left.store(wanted.after, Relaxed);
        // ORDERING: Release: see `phase`.
        self.phase.store(Phase::Armed as u8, Release);
    }

    /// What the switch of a component with this slot says.
    pub(crate) fn slot(&self, own: u16) -> u32 {
        let waits = matches!(self.phase(), Phase::Armed | Phase::Fired);
        match waits && self.site.load(Relaxed) != 0 {
            true => WATCHED,
            false => own.into(),
        }
    }

    /// Whether its component is frozen. Any context.
    #[inline]
    pub(crate) fn is_frozen(&self) -> bool {
        match FROZEN.load(Relaxed) {
            0 => false,
            n => n >= ALL || self.phase() == Phase::Frozen,
        }
    }

    /// Whether readers that wait for it are to look.
    pub(crate) fn has_frozen(&self) -> bool {
        self.phase() == Phase::Frozen
    }

    fn fire(&self, from: Phase) -> bool {
        if !self.advance(from, Phase::Fired) {
            return false;
        }
        let (_, cpu) = tasks::here();
        // SAFETY: The current task is valid.
        let pid = unsafe { (*tasks::current()).pid };
        self.clock.store(clock::now(), Relaxed);
        self.place
            .store(u64::from(pid as u32) << 32 | u64::from(cpu), Relaxed);
        true
    }

    fn freeze(&self) {
        // First, so that who ends it finds that it counts.
        FROZEN.fetch_add(self.counts(), Relaxed);
        if !self.advance(Phase::Fired, Phase::Frozen) {
            FROZEN.fetch_sub(self.counts(), Relaxed);
        }
    }

    /// A record is in its place, but not yet published. True: the last one before it is frozen.
    pub(crate) fn stored(&self, site_shl10: u32, payload: &[u8]) -> bool {
        match self.phase() {
            Phase::Armed => {
                let is_it = site_shl10 == self.site.load(Relaxed)
                    && self.test().is_none_or(|test| test.holds(payload));
                if !is_it || !self.fire(Phase::Armed) || self.left.load(Relaxed) != 0 {
                    return false;
                }
            }
            Phase::Fired if self.left.fetch_sub(1, Relaxed) == 1 => {}
            _ => return false,
        }
        self.freeze();
        true
    }

    /// A task hangs. Any context.
    pub(crate) fn hang(&self, task: i32) {
        if self.site.load(Relaxed) == 0 && self.fire(Phase::Armed) {
            self.place
                .store(u64::from(task as u32) << 32 | u64::from(u32::MAX), Relaxed);
            self.freeze();
        }
    }
}

impl Drop for Trigger {
    fn drop(&mut self) {
        self.set(None);
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phase = self.phase();
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
            write!(f, " after={}", self.left.load(Relaxed))?;
        }
        if self.counts() == ALL {
            f.write_str(" all")?;
        }
        if matches!(phase, Phase::Fired | Phase::Frozen) {
            let place = self.place.load(Relaxed);
            let (clock, pid) = (self.clock.load(Relaxed), (place >> 32) as i32);
            write!(f, " clock={clock} pid={pid}")?;
        }
        Ok(())
    }
}
