// SPDX-License-Identifier: GPL-2.0

//! A component as BLog sees it: its settings, its memory, its losses, and how long all that lives.
//!
//! [`State`] is separate from a static component's `RawComponent`, which goes away with its module.
//! When a module goes, its static components are *detached*: rings, pages, files and settings stay,
//! tasks keep their rings, and when a component of the same name comes back it goes on with them.
//! A dynamic component's `RawComponent` is in its state. When its `Instance` is dropped, it is
//! detached in the same way, but it goes when a new component needs its place or its memory.
//!
//! The registry makes, attaches, detaches and removes states; `files/` changes settings; log
//! calls (`write/slow.rs`) read what is atomic here and never wait for the lock.
//!
//! # Lifetimes
//!
//! Log calls use a state and its memory without any reference, and so does the task hook, with
//! interrupts off. A component is detached or removed only when nobody can log to it: its module's
//! code has ended, or its `Instance` is being dropped. A probe may reach a dynamic one until it is
//! removed, and finds it off; one of a static component is removed before that is detached.
//! Memory is dropped only with the state, or by `clear` while the component is off. In both cases
//! no task has a ring in it any more, and `quiesce()` has waited since for all of them, also for
//! log calls to other components, which walk through all rings of a task.
//!
//! # Locks
//!
//! Nobody waits or allocates under a component's lock. So the holder of [`State::control`], one at
//! a time, takes memory before and frees it after. That lock also keeps the driver's side while its
//! static key is switched, which takes long. Neither readers nor a drop of an `Instance` take it.

use kernel::{
    blog::{
        component::Switch,
        ring::{
            Info,
            Mode, //
        },
        task::{
            way_of,
            MAX_COMPONENTS, //
        },
        wire::{
            file::ComponentSection,
            name::NAME_MAX,
            record::{
                Lost,
                GATE_ON,
                LOST_CAUSES, //
            }, //
        },
        Config,
        RawComponent, //
    },
    cpu::nr_cpu_ids,
    sync::lock::{
        mutex::MutexBackend,
        Guard, //
    }, //
};

#[cfg(CONFIG_BLOG_PARTS)]
mod cleared;
#[cfg(CONFIG_BLOG_ROOT)]
mod dumped;
#[cfg(CONFIG_BLOG_PARTS)]
pub(crate) mod observed;
#[cfg(CONFIG_BLOG_PARTS)]
mod resized;

#[cfg(CONFIG_BLOG_ROOT)]
use kernel::blog::{
    root::{
        self,
        Live, //
    },
    wire::dump, //
};

use super::settings::{
    self,
    Key,
    COUNT, //
};
use crate::{
    memory::{
        budget::PAGE_KB,
        pool::Store,
        Memory,
        Owned,
        MOST_PAGES, //
    },
    sys::{
        glue::shown,
        hook,
        pages::Kept,
        params,
        prelude::*, //
    }, //
};

/// A slot that no component gets: no ring is of it.
const NOBODYS_SLOT: u16 = MAX_COMPONENTS as u16;

const _: () = assert!((1 << 20) / PAGE_KB <= MOST_PAGES);

static LAST_ID: AtomicU64 = AtomicU64::new(0);
static LAST_END: AtomicU64 = AtomicU64::new(0);

/// How a part counts what a component has lost and nobody has counted. Set before there are
/// components.
pub(crate) static MISSED: SetOnce<fn(&State)> = SetOnce::new();

/// Has that done: the counts are about to be read.
pub(crate) fn count(state: &State) {
    if let Some(count) = MISSED.as_ref() {
        count(state);
    }
}

/// How many want that all components keep what they have.
pub(crate) static ALL_FROZEN: AtomicU32 = AtomicU32::new(0);

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
}

/// What the component's lock protects.
pub(crate) struct Locked {
    /// The driver's side, until it is detached.
    raw: Option<&'static RawComponent>,
    /// Of one that is detached: which one of all that was.
    pub(super) ended: u64,
    /// Keeps what `State::memory` points to.
    memory: Option<Owned>,
    /// Whether it was said that it has less memory than it may have.
    warned: bool,
    /// How often the memory was freed: for those who keep ids or indices without the lock.
    pub(crate) generation: u64,
    /// When it was cleared, in the ring's clock; 0: never. Decoders leave out older records.
    pub(crate) cleared: u64,
}

impl Locked {
    pub(crate) fn attached(&self) -> bool {
        self.raw.is_some()
    }

    /// The driver's side; it stays while the lock is held.
    pub(crate) fn component(&self) -> Option<&RawComponent> {
        self.raw
    }

    /// The driver's side, as log calls see it.
    fn switch(&self) -> Option<&Switch> {
        // SAFETY: Nobody but this file stores there, all but the slot under the component's lock;
        // and only what is of the component's state, settings and memory.
        Some(unsafe { self.raw?.switch() })
    }

    /// The memory, if the component has been switched on.
    pub(crate) fn memory(&self) -> Option<&Memory> {
        self.memory.as_deref()
    }

    /// The rings that are not free, with their ids.
    pub(crate) fn rings(&self) -> impl Iterator<Item = (u32, Info)> + '_ {
        self.memory().into_iter().flat_map(|memory| {
            (0..memory.pool.store.rings()).filter_map(|id| Some((id, memory.info(id)?)))
        })
    }
}

/// What crash tools find of a component.
struct Described {
    #[cfg(CONFIG_BLOG_ROOT)]
    root: Live<dump::ComponentRoot>,
    /// Records that never got a ring.
    lost: [AtomicU64; LOST_CAUSES],
}

/// See [`State::control`].
pub(crate) type Control<'a> = Guard<'a, (), MutexBackend>;

pub(crate) struct State {
    /// NUL padded.
    pub(crate) name: [u8; NAME_MAX],
    slot: u16,
    /// Like no other component's, ever; not 0.
    id: u64,
    /// Whether it is out of the registry; its files may still be there.
    pub(super) gone: AtomicBool,
    /// What is logged to, if it was made at run time.
    own: Option<RawComponent>,
    /// [`Locked::memory`], for log calls and the task hook; null until it is there.
    memory: AtomicPtr<Memory>,
    /// How many want that it keeps what it has: see [`Self::is_frozen`].
    pub(crate) frozen: AtomicU32,
    /// Settings, by [`Key`]; they are changed under the component's lock.
    settings: [AtomicU32; COUNT],
    found: Kept<Described>,
    /// Held while somebody changes what is logged, or where to.
    control: Pin<KBox<Mutex<()>>>,
    locked: Pin<KBox<Mutex<Locked>>>,
}

impl State {
    /// Makes a component that has no place and no name, is not attached and has no memory. It is to
    /// be called about like `wanted`.
    pub(crate) fn new(wanted: &CStr, dynamic: bool, config: &Config) -> Result<Self> {
        // Until somebody switches it on.
        let is_off = hook::boots_off() || params::is_quiet();
        let (settings, fits) = settings::of_config(config, is_off);
        if !fits {
            pr_warn!(
                "{}: settings are out of range, so they are others\n",
                shown(wanted)
            );
        }
        // It has the name and the settings here.
        let own = dynamic.then(|| RawComponent::new(Config::new()));
        let locked = Locked {
            raw: None,
            ended: 0,
            memory: None,
            warned: false,
            generation: 0,
            cleared: 0,
        };
        Ok(Self {
            name: [0; NAME_MAX],
            slot: NOBODYS_SLOT,
            id: LAST_ID.fetch_add(1, Relaxed) + 1,
            gone: AtomicBool::new(false),
            own,
            memory: AtomicPtr::new(ptr::null_mut()),
            frozen: AtomicU32::new(0),
            settings: settings.map(AtomicU32::new),
            found: Kept::new(Described {
                #[cfg(CONFIG_BLOG_ROOT)]
                root: Live::zeroed(),
                lost: [const { AtomicU64::new(0) }; LOST_CAUSES],
            })?,
            control: KBox::pin_init(new_mutex!(()), GFP_KERNEL)?,
            locked: KBox::pin_init(new_mutex!(locked), GFP_KERNEL)?,
        })
    }

    pub(crate) fn name(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.name).unwrap_or_default()
    }

    /// What its files know it by.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Its place in the registry, and what its rings know it by.
    pub(crate) fn slot(&self) -> u16 {
        self.slot
    }

    /// Gives it its place and its name, before anybody knows it.
    pub(super) fn set_place(&mut self, slot: u16, name: [u8; NAME_MAX]) {
        self.name = name;
        self.slot = slot;
    }

    /// Whether it is out of the registry: nobody finds it any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Relaxed)
    }

    /// Whether it was made at run time.
    pub(crate) fn dynamic(&self) -> bool {
        self.own.is_some()
    }

    /// What is logged to, if it was made at run time.
    fn own(&self) -> Option<&'static RawComponent> {
        // SAFETY: A state doesn't move once it has a place, and goes when nobody logs to it.
        self.own.as_ref().map(|own| unsafe { &*ptr::from_ref(own) })
    }

    /// A setting. Any context.
    pub(crate) fn get(&self, key: Key) -> u32 {
        self.settings[key as usize].load(Relaxed)
    }

    fn is_enabled(&self) -> bool {
        self.get(Key::Enable) != 0
    }

    /// What full rings do. Any context.
    pub(crate) fn mode(&self) -> Mode {
        match self.get(Key::Mode) {
            0 => Mode::Overwrite,
            _ => Mode::Discard,
        }
    }

    /// How many pages a ring may hold. Any context.
    pub(crate) fn max_pages(&self) -> u32 {
        self.get(Key::RingKb) / PAGE_KB
    }

    /// Pages that it takes when it is switched on.
    pub(crate) fn wants(&self) -> u32 {
        match self.is_enabled() && self.read(|locked| locked.memory.is_none()) {
            true => self.get(Key::SizeKb) / PAGE_KB,
            false => 0,
        }
    }

    /// KiB of its budget that its memory lacks, if it has any.
    pub(crate) fn missing_kb(&self, locked: &Locked) -> u32 {
        let whole = self.get(Key::SizeKb) / PAGE_KB * PAGE_KB;
        let missing = |memory: &Memory| whole.saturating_sub((memory.bytes() / 1024) as u32);
        locked.memory().map_or(0, missing)
    }

    /// The memory, for log calls and, with interrupts off, the task hook.
    ///
    /// # Safety
    ///
    /// The caller is a log call to this component, or has interrupts off for as long as it uses the
    /// result.
    pub(crate) unsafe fn live_memory(&self) -> Option<&Memory> {
        // ORDERING: Acquire pairs with the store in `switch_on`: the memory is initialised.
        // SAFETY: See "Lifetimes" above: it is dropped only when neither can use it.
        unsafe { self.memory.load(Acquire).as_ref() }
    }

    /// Counts records that never got a ring. Any context.
    pub(crate) fn count_lost(&self, cause: Lost, n: u64) {
        if let Some(lost) = self.found.lost.get(cause as usize) {
            lost.fetch_add(n, Relaxed);
        }
    }

    /// Whether it keeps what it has, as in a crash: no page is overwritten, and none goes to
    /// another ring. Any context.
    pub(crate) fn is_frozen(&self) -> bool {
        #[cfg(CONFIG_BLOG_ROOT)]
        if root::frozen() {
            return true;
        }
        self.frozen.load(Relaxed) != 0 || ALL_FROZEN.load(Relaxed) != 0
    }

    /// Keeps others from changing what is logged, or where to.
    pub(crate) fn control(&self) -> Control<'_> {
        self.control.lock()
    }

    /// Calls `f` with the component locked, to look at it.
    pub(crate) fn read<R>(&self, f: impl FnOnce(&Locked) -> R) -> R {
        f(&self.locked.lock())
    }

    /// The same at its memory, if it has any.
    pub(crate) fn read_memory<R>(&self, f: impl FnOnce(&Memory) -> R) -> Option<R> {
        self.read(|locked| locked.memory().map(f))
    }

    /// Calls `f` with the component locked, to change it, and shows crash tools what has changed.
    pub(crate) fn update<R>(&self, f: impl FnOnce(&mut Locked) -> R) -> R {
        let mut locked = self.locked.lock();
        let result = f(&mut locked);
        #[cfg(CONFIG_BLOG_ROOT)]
        self.describe(&locked);
        result
    }

    /// What a file says of it, with this id and these counts.
    pub(crate) fn section(
        &self,
        locked: &Locked,
        id: u32,
        loose: &Loose,
        cleared: u64,
    ) -> ComponentSection {
        ComponentSection {
            id,
            enabled: self.get(Key::Enable) as u8,
            level: self.get(Key::Level) as u8,
            mode: self.get(Key::Mode) as u8,
            attached: locked.attached().into(),
            size_kb: self.get(Key::SizeKb),
            ring_kb: self.get(Key::RingKb),
            rings: 0,
            reserved: 0,
            gone_records: loose.records,
            lost: loose.lost,
            name: self.name,
            cleared,
        }
    }

    /// The counts that belong to no ring.
    pub(crate) fn loose(&self, locked: &Locked) -> Loose {
        let mut loose = Loose::default();
        if let Some(memory) = locked.memory() {
            for shelf in memory.pool.store.shelves() {
                let (records, lost) = shelf.gone.get();
                loose.add(records, &lost);
            }
        }
        loose.add(0, &self.found.lost.each_ref().map(|n| n.load(Relaxed)));
        loose
    }

    pub(crate) fn attached(&self) -> bool {
        self.read(|locked| locked.attached())
    }

    /// Connects the driver's side, or where there is none, its own.
    pub(super) fn connect(&self, raw: Option<&'static RawComponent>) {
        self.update(|locked| {
            locked.raw = raw.or(self.own());
            // Nobody reads these fields while its threshold is 0.
            let Some(switch) = locked.switch() else {
                return;
            };
            let state = ptr::from_ref(self).cast_mut().cast();
            switch.state.store(state, Relaxed);
            #[cfg(CONFIG_BLOG_PARTS)]
            self.show_slot(&switch.slot);
            #[cfg(not(CONFIG_BLOG_PARTS))]
            switch.slot.store(self.slot.into(), Relaxed);
            // INVARIANT: It is a way.
            switch.way.store(way_of(self.slot.into()), Relaxed);
            if let Some(memory) = locked.memory() {
                // ORDERING: Release: who finds the table finds its entries.
                switch.percpu.store(memory.percpu(), Release);
            }
        });
    }

    /// Switches it on where that is wanted, when it was connected or cleared.
    ///
    /// Without memory, it counts what it loses until somebody switches it on again.
    pub(crate) fn start(&self, control: &Control<'_>) {
        if !self.is_enabled() {
            return;
        }
        if let Err(e) = self.switch_on(control) {
            pr_warn!("{}: has no memory: {e:?}\n", shown(self.name()));
            self.read(|locked| self.apply(locked));
            self.apply_key(control);
        }
    }

    /// Forgets the driver's side, whose memory may go after this. Settings and records stay.
    ///
    /// Only when nobody can log to it any more; of a static one, whose static key may be switched,
    /// with its [`Self::control`].
    pub(crate) fn detach(&self) {
        // The static key isn't switched: it goes with the module, and jump labels have forgotten
        // it already.
        self.update(|locked| {
            if let Some(switch) = locked.switch() {
                switch.threshold.store(0, Relaxed);
                switch.percpu.store(ptr::null_mut(), Relaxed);
            }
            locked.raw = None;
            locked.ended = LAST_END.fetch_add(1, Relaxed);
        });
    }

    /// Makes the memory and the driver's side do what the settings say, but for its static key.
    fn apply(&self, locked: &Locked) {
        if let Some(memory) = locked.memory() {
            let share = self.get(Key::WarnShare);
            memory.pool.warn_share.store(share, Relaxed);
        }
        if let Some(switch) = locked.switch() {
            switch.privacy.store(self.get(Key::Private) as u8, Relaxed);
            // What a site's gate must not exceed: one more than the level.
            const { assert!(GATE_ON == 1) };
            let threshold = self.get(Key::Enable) * (self.get(Key::Level) + 1);
            // ORDERING: Release: who sees that it is on also sees slot, state and per-CPU rings.
            switch.threshold.store(threshold as u8, Release);
        }
    }

    /// Makes the static key of the driver's side do what the settings say.
    fn apply_key(&self, _control: &Control<'_>) {
        #[cfg(CONFIG_JUMP_LABEL)]
        if !self.dynamic() {
            let (raw, on) = self.read(|locked| (locked.raw, self.is_enabled()));
            let Some(key) = raw.map(|raw| raw.key.get().cast()) else {
                return;
            };
            // SAFETY: The key starts with the `static_key`. The driver's side stays until `detach`,
            // which waits for the control that the caller has.
            unsafe {
                match on {
                    true => bindings::static_key_enable(key),
                    false => bindings::static_key_disable(key),
                }
            }
        }
    }

    /// Changes a setting; a detached component remembers it. `EINVAL` out of its range.
    ///
    /// `Enable`: `ENOSPC` or `ENOMEM` if there isn't even memory for the smallest component.
    /// `SizeKb`: see [`Self::resize`].
    pub(crate) fn set(&self, key: Key, value: u32) -> Result {
        if !key.range().contains(&value) {
            return Err(EINVAL);
        }
        let control = self.control();
        match (key, value) {
            (Key::SizeKb, kb) => return self.resize(kb),
            (Key::Enable, 1) => return self.switch_on(&control),
            _ => self.store(key, value),
        }
        if key == Key::Enable {
            self.apply_key(&control);
        }
        Ok(())
    }

    fn store(&self, key: Key, value: u32) {
        self.update(|locked| {
            self.settings[key as usize].store(value, Relaxed);
            self.apply(locked);
            // A ring that holds more gives its oldest pages back.
            if let Some(memory) = locked.memory().filter(|_| key == Key::RingKb) {
                memory.trim(self.max_pages());
            }
        });
    }

    /// Switches the component on, with new memory if need be. A detached one remembers it.
    fn switch_on(&self, control: &Control<'_>) -> Result {
        let size_kb = self.get(Key::SizeKb);
        let needs = self.read(|locked| locked.memory.is_none() && locked.attached());
        let made = needs
            .then(|| Owned::new(self.slot, size_kb / PAGE_KB, nr_cpu_ids()))
            .transpose()?;
        let missing = self.update(|locked| {
            if let Some(made) = made {
                let memory: &Memory = &made;
                let pointer = ptr::from_ref(memory).cast_mut();
                // ORDERING: Release: see `live_memory`.
                self.memory.store(pointer, Release);
                // The table lives as long as the memory: until `take_memory`, and somewhat longer.
                if let Some(switch) = locked.switch() {
                    // ORDERING: Release: as in `connect`.
                    switch.percpu.store(memory.percpu(), Release);
                }
                locked.memory = Some(made);
            }
            self.settings[Key::Enable as usize].store(1, Relaxed);
            self.apply(locked);
            let missing = self.missing_kb(locked);
            let is_new = needs && missing > 0 && !mem::replace(&mut locked.warned, true);
            is_new.then_some(missing)
        });
        self.apply_key(control);
        if let Some(missing) = missing {
            pr_warn!(
                "{}: has {} KiB of memory, not {size_kb}\n",
                shown(self.name()),
                size_kb - missing
            );
        }
        Ok(())
    }

    /// Sets the budget of all rings. `EBUSY` once it has memory.
    #[cfg(not(CONFIG_BLOG_PARTS))]
    fn resize(&self, kb: u32) -> Result {
        self.update(|locked| {
            if locked.memory.is_some() {
                return Err(EBUSY);
            }
            self.settings[Key::SizeKb as usize].store(kb, Relaxed);
            Ok(())
        })
    }
}
