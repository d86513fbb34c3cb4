// SPDX-License-Identifier: GPL-2.0

//! A component as BLog sees it: its settings, its memory, its losses, and how long all that lives.
//!
//! [`State`] is separate from the driver's `RawComponent`, which goes away with the driver. When a
//! module goes, its static components are *detached*: rings, pages, files and settings stay, tasks
//! keep their rings, and when a component of the same name comes back it goes on with them. A
//! dynamic component's state goes with it.
//!
//! The registry makes, attaches, detaches and removes states; `files.rs` changes settings; log
//! calls (`writer.rs`) read what is atomic here and never wait for the lock.
//!
//! # Lifetimes
//!
//! Log calls use a state and its memory without any reference. That is safe because:
//!
//! - a component is detached or removed only when nobody can log to it: its module's code has
//!   ended, or its `Instance` is being dropped;
//! - memory is dropped only with the state, or by `clear` while the component is off and
//!   [`glue::quiesce`] has waited for the log calls that began before;
//! - the task hook, which needs no component that is on, looks states and memories up under the
//!   lock of the task tables, under which they are made unknown.

use core::{
    ptr,
    sync::atomic::{
        AtomicPtr,
        AtomicU32,
        AtomicU64,
        AtomicU8,
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
        live::Live,
        record::{
            Level,
            Lost,
            GATE_ON,
            LOST_CAUSES, //
        },
        ring::{
            Info,
            Mode,
            State as RingState, //
        },
        root::{
            self,
            COMPONENT_MAGIC, //
        },
        snapshot::NAME_MAX,
        Config,
        RawComponent, //
    },
    new_mutex,
    prelude::*,
    str::CString,
    sync::Mutex, //
};

use crate::{
    glue,
    images::name_field,
    memory::{
        kb_to_pages,
        Doomed,
        Memory,
        Owned, //
    },
    pool::Store,
    task,
    worker, //
};

/// Limits of `size_kb`.
pub(crate) const SIZE_KB: core::ops::RangeInclusive<u32> = 16..=1 << 20;
/// Limits of `ring_kb`: at least two pages, so that overwriting the oldest leaves one.
pub(crate) const RING_KB: core::ops::RangeInclusive<u32> = 8..=1 << 20;

/// A component of which nothing is known yet.
const NO_COMPONENT: root::Component = root::Component {
    magic: COMPONENT_MAGIC,
    size: size_of::<root::Component>() as u32,
    slot: 0,
    enabled: 0,
    level: 0,
    mode: 0,
    attached: 0,
    size_kb: 0,
    ring_kb: 0,
    memory: 0,
    lost: 0,
    name: [0; NAME_MAX],
};

/// What `clear` has hidden of a ring, from readers only: its writer doesn't know.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    /// Ring id.
    pub(crate) ring: u32,
    /// Pages of a lower position are hidden.
    pub(crate) seq: u64,
    /// Of the page at `seq`, what lies before this end.
    pub(crate) end: u32,
    /// Records hidden, overwritten ones included.
    pub(crate) records: u64,
    /// Losses of which the hidden part told.
    pub(crate) told: [u64; LOST_CAUSES],
}

/// Counts that belong to no ring.
#[derive(Clone, Copy, Default)]
pub(crate) struct Loose {
    /// Records of rings that went to another task.
    pub(crate) records: u64,
    /// Losses of such rings, and of those who never got one.
    pub(crate) lost: [u64; LOST_CAUSES],
}

impl Loose {
    pub(crate) fn add(&mut self, records: u64, lost: &[u64; LOST_CAUSES]) {
        self.records = self.records.wrapping_add(records);
        for (to, n) in self.lost.iter_mut().zip(lost) {
            *to = to.wrapping_add(*n);
        }
    }

    pub(crate) fn sub(&self, other: &Self) -> Self {
        let mut lost = self.lost;
        for (to, n) in lost.iter_mut().zip(other.lost) {
            *to = to.saturating_sub(n);
        }
        Self {
            records: self.records.saturating_sub(other.records),
            lost,
        }
    }
}

/// What the component's lock protects.
pub(crate) struct Inner {
    /// The driver's side; null while detached.
    raw: *const RawComponent,
    /// Keeps what `State::memory` points to.
    memory: Option<(KBox<Memory>, Owned)>,
    /// How often the memory was freed: for those who keep ids or indices without the lock.
    pub(crate) generation: u64,
    /// What `clear` has hidden, by ring id.
    marks: KVVec<Mark>,
    /// What `clear` has hidden of the counts that belong to no ring.
    cleared: Loose,
    /// Whether it logs (when it is attached).
    pub(crate) enabled: bool,
    /// The least important level that is logged; `None`: only sites that are switched on.
    pub(crate) level: Option<Level>,
    /// Budget of all rings.
    pub(crate) size_kb: u32,
    /// Budget of one ring.
    pub(crate) ring_kb: u32,
}

// SAFETY: `raw` is only used under the component's lock, and `RawComponent` is `Sync`.
unsafe impl Send for Inner {}

impl Inner {
    /// Whether the component's driver is there.
    pub(crate) fn attached(&self) -> bool {
        !self.raw.is_null()
    }

    /// The memory, if the component has been switched on.
    pub(crate) fn memory(&self) -> Option<(&Memory, &Owned)> {
        self.memory
            .as_ref()
            .map(|(memory, owned)| (&**memory, owned))
    }

    /// Whether `clear` has hidden anything.
    pub(crate) fn has_marks(&self) -> bool {
        !self.marks.is_empty()
    }

    /// What `clear` has hidden of a ring, of which `info` tells.
    pub(crate) fn mark(&self, ring: u32, info: &Info) -> Option<&Mark> {
        let at = self.marks.binary_search_by_key(&ring, |m| m.ring).ok()?;
        // A ring that has another owner since has nothing hidden.
        self.marks.get(at).filter(|m| info.first_seq <= m.seq)
    }

    /// Rings that changed hands since `clear` have given their counts to the pool: moves what was
    /// hidden of them there too.
    fn settle_marks(&mut self) {
        let Some((memory, _)) = &self.memory else {
            return;
        };
        let cleared = &mut self.cleared;
        self.marks.retain(|mark| {
            let Some(ring) = memory.store.ring(mark.ring) else {
                return false;
            };
            // `None` is for a moment while the ring changes hands, or means that it is free.
            let info = (0..100).find_map(|_| ring.info());
            let same = info.is_some_and(|info| info.first_seq <= mark.seq);
            if !same {
                cleared.add(mark.records, &mark.told);
            }
            same
        });
    }
}

/// A component.
#[pin_data]
pub(crate) struct State {
    name: CString,
    slot: u8,
    dynamic: bool,
    /// [`Inner::memory`], for log calls and the task hook; null until it is there.
    memory: AtomicPtr<Memory>,
    /// 0: overwrite.
    discard: AtomicU8,
    max_bytes: AtomicU32,
    lost: [AtomicU64; LOST_CAUSES],
    /// Records that went into a shared ring.
    shared: AtomicU64,
    /// The directory; an error pointer or null where there is none.
    dir: AtomicPtr<bindings::dentry>,
    /// What crash tools find of it: see [`Self::show`].
    root: Live<root::Component>,
    #[pin]
    inner: Mutex<Inner>,
}

impl State {
    /// Makes a component that is not attached and has no memory.
    pub(crate) fn new(
        name: CString,
        slot: u8,
        dynamic: bool,
        config: &Config,
    ) -> impl PinInit<Self, Error> {
        let clamp = |n: u32, limits: core::ops::RangeInclusive<u32>| {
            n.clamp(*limits.start(), *limits.end())
        };
        let (size_kb, ring_kb) = (
            clamp(config.size_kb, SIZE_KB),
            clamp(config.ring_kb, RING_KB),
        );
        if (size_kb, ring_kb) != (config.size_kb, config.ring_kb) {
            pr_warn!("{}: size_kb or ring_kb is out of range\n", &*name);
        }
        let enabled = config.enabled != 0;
        let level = Level::from_u8(config.level);
        let discard = u8::from(config.mode != 0);
        try_pin_init!(Self {
            name,
            slot,
            dynamic,
            memory: AtomicPtr::new(ptr::null_mut()),
            discard: AtomicU8::new(discard),
            max_bytes: AtomicU32::new(ring_kb * 1024),
            lost: [const { AtomicU64::new(0) }; LOST_CAUSES],
            shared: AtomicU64::new(0),
            dir: AtomicPtr::new(ptr::null_mut()),
            root: Live::new(NO_COMPONENT),
            inner <- new_mutex!(Inner {
                raw: ptr::null(),
                memory: None,
                generation: 0,
                marks: KVVec::new(),
                cleared: Loose::default(),
                enabled,
                level,
                size_kb,
                ring_kb,
            }),
        })
    }

    /// The component's name.
    pub(crate) fn name(&self) -> &CStr {
        &self.name
    }

    /// Its place in the registry, and in each task's table.
    pub(crate) fn slot(&self) -> u8 {
        self.slot
    }

    /// Whether it was made at run time.
    pub(crate) fn dynamic(&self) -> bool {
        self.dynamic
    }

    /// Its directory.
    pub(crate) fn dir(&self) -> &AtomicPtr<bindings::dentry> {
        &self.dir
    }

    /// What full rings do. Any context.
    pub(crate) fn mode(&self) -> Mode {
        if self.discard.load(Relaxed) == 0 {
            Mode::Overwrite
        } else {
            Mode::Discard
        }
    }

    /// How many bytes a ring may hold. Any context.
    pub(crate) fn max_bytes(&self) -> u32 {
        self.max_bytes.load(Relaxed)
    }

    /// The memory, for log calls and, under the lock of the task tables, the task hook.
    ///
    /// # Safety
    ///
    /// The caller is a log call to this component, or holds that lock for as long as it uses the
    /// result.
    pub(crate) unsafe fn live_memory(&self) -> Option<&Memory> {
        // ORDERING: Acquire pairs with the store in `enable`: the memory is initialised.
        // SAFETY: See "Lifetimes" above: it is dropped only when neither can use it.
        unsafe { self.memory.load(Acquire).as_ref() }
    }

    /// Counts records that never got a ring. Any context.
    pub(crate) fn count_lost(&self, cause: Lost) {
        if let Some(n) = self.lost.get(cause as usize) {
            n.fetch_add(1, Relaxed);
        }
    }

    /// Counts a record that goes into a shared ring. Any context.
    pub(crate) fn count_shared(&self) {
        self.shared.fetch_add(1, Relaxed);
    }

    /// Records that went into a shared ring, in all.
    pub(crate) fn shared(&self) -> u64 {
        self.shared.load(Relaxed)
    }

    /// Calls `f` with the component locked.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut Inner) -> R) -> R {
        let mut inner = self.inner.lock();
        let result = f(&mut inner);
        self.show(&inner);
        result
    }

    /// What crash tools find of it.
    pub(crate) fn root(&self) -> &Live<root::Component> {
        &self.root
    }

    /// Shows crash tools what may have changed. The state has its place.
    fn show(&self, inner: &Inner) {
        let memory = inner.memory().map(|(memory, _)| memory.root());
        let new = root::Component {
            slot: self.slot.into(),
            enabled: inner.enabled.into(),
            level: inner.level.map_or(0, |level| level as u8),
            mode: self.discard.load(Relaxed),
            attached: inner.attached().into(),
            size_kb: inner.size_kb,
            ring_kb: inner.ring_kb,
            memory: memory.map_or(0, |memory| ptr::from_ref(memory) as u64),
            lost: ptr::from_ref(&self.lost) as u64,
            name: name_field(self.name.to_bytes()),
            ..NO_COMPONENT
        };
        // SAFETY: The lock is held, under which alone it is changed.
        unsafe { self.root.update(|root| *root = new) };
    }

    /// The counts that belong to no ring, without what `clear` has hidden.
    pub(crate) fn loose(&self, inner: &mut Inner) -> Loose {
        inner.settle_marks();
        self.all_loose(inner).sub(&inner.cleared)
    }

    /// The counts that belong to no ring, whatever `clear` has hidden.
    pub(crate) fn all_loose(&self, inner: &Inner) -> Loose {
        let mut loose = Loose::default();
        if let Some((memory, _)) = inner.memory() {
            loose.add(memory.pool.gone_records(), &memory.pool.gone_lost());
        }
        loose.add(0, &self.lost.each_ref().map(|n| n.load(Relaxed)));
        loose
    }

    /// Whether a driver is behind the component.
    pub(crate) fn attached(&self) -> bool {
        self.with(|inner| inner.attached())
    }

    /// Whether `raw` is attached.
    pub(crate) fn is_attached_to(&self, raw: *const RawComponent) -> bool {
        self.with(|inner| inner.raw == raw)
    }

    /// Connects the driver's side, and switches it on where that is wanted.
    ///
    /// # Safety
    ///
    /// `raw` stays valid until [`Self::detach`].
    pub(crate) unsafe fn attach(&self, raw: *const RawComponent) {
        self.with(|inner| {
            inner.raw = raw;
            // SAFETY: `raw` is valid by this function's requirement. Nobody reads these fields
            // while its threshold is 0.
            unsafe {
                (*raw)
                    .state
                    .store(ptr::from_ref(self).cast_mut().cast(), Relaxed);
                (*raw).slot.store(self.slot.into(), Relaxed);
            }
            if let Some((memory, _)) = inner.memory() {
                // SAFETY: As above.
                // ORDERING: Release: who finds the table finds its entries.
                unsafe { (*raw).percpu.store(memory.percpu(), Release) };
            }
            if inner.enabled {
                if let Err(e) = self.enable(inner) {
                    inner.enabled = false;
                    pr_warn!("{}: stays off: {:?}\n", &*self.name, e);
                }
            }
        });
    }

    /// Forgets the driver's side, whose memory may go after this. The settings stay.
    ///
    /// Only when nobody can log to it any more.
    pub(crate) fn detach(&self) {
        // The static key isn't switched: it goes with the module, and jump labels have forgotten
        // it already.
        self.with(|inner| inner.raw = ptr::null());
    }

    /// Makes the driver's side do what the settings say.
    fn apply(&self, inner: &Inner) {
        // SAFETY: A `raw` that isn't null is valid, by the requirement of `attach`.
        let Some(raw) = (unsafe { inner.raw.as_ref() }) else {
            return;
        };
        let threshold = match (inner.enabled, inner.level) {
            (false, _) => 0,
            (true, None) => GATE_ON,
            (true, Some(level)) => level as u8 + 1,
        };
        // ORDERING: Release: who sees that it is on also sees slot, state and per-CPU rings.
        raw.threshold.store(threshold, Release);
        #[cfg(CONFIG_JUMP_LABEL)]
        if !self.dynamic {
            let key = (&raw const raw.key)
                .cast_mut()
                .cast::<bindings::static_key>();
            // SAFETY: The key starts with the `static_key`, and is valid with `raw`.
            unsafe { glue::set_key(key, threshold != 0) };
        }
    }

    /// Makes the memory if need be, and switches the component on.
    fn enable(&self, inner: &mut Inner) -> Result {
        if inner.memory.is_none() {
            let (memory, owned) = Memory::new(kb_to_pages(inner.size_kb))?;
            let pointer = ptr::from_ref(&*memory).cast_mut();
            // ORDERING: Release: see `live_memory`.
            self.memory.store(pointer, Release);
            // SAFETY: A `raw` that isn't null is valid, by the requirement of `attach`.
            if let Some(raw) = unsafe { inner.raw.as_ref() } {
                // ORDERING: Release: as in `attach`.
                raw.percpu.store(memory.percpu(), Release);
            }
            inner.memory = Some((memory, owned));
            worker::start();
        }
        inner.enabled = true;
        self.apply(inner);
        Ok(())
    }

    /// Switches the component on or off. A detached one remembers it.
    pub(crate) fn set_enabled(&self, on: bool) -> Result {
        self.with(|inner| {
            if on && inner.attached() {
                return self.enable(inner);
            }
            inner.enabled = on;
            self.apply(inner);
            Ok(())
        })
    }

    /// Sets the level.
    pub(crate) fn set_level(&self, level: Option<Level>) {
        self.with(|inner| {
            inner.level = level;
            self.apply(inner);
        });
    }

    /// Sets what full rings do.
    pub(crate) fn set_mode(&self, mode: Mode) {
        self.with(|_| self.discard.store(u8::from(mode == Mode::Discard), Relaxed));
    }

    /// Sets the budget of one ring. A ring that holds more gives its oldest pages back.
    pub(crate) fn set_ring_kb(&self, kb: u32) -> Result {
        if !RING_KB.contains(&kb) {
            return Err(EINVAL);
        }
        self.with(|inner| {
            inner.ring_kb = kb;
            self.max_bytes.store(kb * 1024, Relaxed);
            if let Some((memory, owned)) = &inner.memory {
                memory.cut_to(owned, kb * 1024);
            }
        });
        Ok(())
    }

    /// Sets the budget of all rings: adds pages, or takes them from those that hold the most.
    ///
    /// `ENOSPC` beyond the limit for all components; `EBUSY` if what live rings write to just now is
    /// more than the new budget.
    pub(crate) fn set_size_kb(&self, kb: u32) -> Result {
        if !SIZE_KB.contains(&kb) {
            return Err(EINVAL);
        }
        // Pages are freed when the lock is no longer held.
        let (result, _doomed) = self.with(|inner| {
            let mut doomed = Doomed::none();
            let mut result = Ok(());
            if let Some((memory, owned)) = &mut inner.memory {
                let pages = kb_to_pages(kb);
                if pages < owned.pages() {
                    match memory.shrink(owned, pages) {
                        Ok(pages) => doomed = pages,
                        Err(e) => result = Err(e),
                    }
                } else {
                    (result, doomed) = memory.raise(owned, pages);
                }
            }
            if result.is_ok() {
                inner.size_kb = kb;
            }
            (result, doomed)
        });
        result
    }

    /// Has the memory reduced to `part` of `whole`, with the budget as it was: when the limit for all
    /// components is lowered. Takes as much as can be had.
    pub(crate) fn shrink(&self, part: usize, whole: usize) -> Doomed {
        self.with(|inner| {
            let Some((memory, owned)) = &mut inner.memory else {
                return Doomed::none();
            };
            let pages = owned.pages() as usize * part / whole.max(1);
            // What the current pages of live rings need stays.
            let pages = (pages as u32).max(memory.least_pages(owned));
            memory.shrink(owned, pages).unwrap_or(Doomed::none())
        })
    }

    /// Looks after the memory, now and then. True: much is being used.
    pub(crate) fn tend(&self) -> bool {
        self.with(|inner| {
            let budget = kb_to_pages(inner.size_kb);
            if !inner.enabled || !inner.attached() {
                return false;
            }
            match &mut inner.memory {
                Some((memory, owned)) => memory.tend(owned, budget),
                None => false,
            }
        })
    }

    /// Forgets all that was logged so far.
    ///
    /// While the component logs, its writers go on undisturbed: what they have written is hidden
    /// from readers, and rings of ended tasks are freed. While it is off or detached, all its
    /// memory is freed, and its counts start again.
    pub(crate) fn clear(&self) -> Result {
        self.with(|inner| {
            if inner.enabled && inner.attached() {
                self.hide(inner)
            } else {
                self.free(inner);
                Ok(())
            }
        })
    }

    /// Frees the memory. The component is off, or nobody can log to it.
    fn free(&self, inner: &mut Inner) {
        // SAFETY: A `raw` that isn't null is valid, by the requirement of `attach`.
        if let Some(raw) = unsafe { inner.raw.as_ref() } {
            raw.threshold.store(0, Relaxed);
            raw.percpu.store(ptr::null_mut(), Relaxed);
        }
        glue::quiesce();
        task::forget(self.slot);
        {
            let _guard = glue::lock_tls();
            self.memory.store(ptr::null_mut(), Relaxed);
        }
        // SAFETY: As in `show`.
        unsafe { self.root.update(|root| (*root).memory = 0) };
        inner.memory = None;
        inner.generation = inner.generation.wrapping_add(1);
        inner.marks = KVVec::new();
        inner.cleared = Loose::default();
        for n in &self.lost {
            n.store(0, Relaxed);
        }
    }

    /// Hides from readers what is in the rings.
    fn hide(&self, inner: &mut Inner) -> Result {
        let Some((memory, owned)) = &inner.memory else {
            return Ok(());
        };
        memory.pool.drain_retired(&memory.store);
        let mut marks = KVVec::with_capacity(owned.rings() as usize, GFP_KERNEL)?;
        for id in 0..owned.rings() {
            let Some(ring) = memory.store.ring(id) else {
                continue;
            };
            if ring.pages() == 0 {
                continue;
            }
            // A ring that changes all the time is tried again a few times; its writer is fast
            // only for so long.
            let mark = (0..1000).find_map(|_| {
                let told = ring.info()?.told;
                let (seq, end, records) = ring.position()?;
                let info = ring.info()?;
                (info.told == told && info.state == RingState::Live).then_some(Mark {
                    ring: id,
                    seq,
                    end,
                    records,
                    told,
                })
            });
            if let Some(mark) = mark {
                marks.push(mark, GFP_KERNEL)?;
                memory.set_cleared(id, mark.seq, mark.end);
            }
        }
        inner.marks = marks;
        inner.cleared = self.all_loose(inner);
        Ok(())
    }
}
