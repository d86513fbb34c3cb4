// SPDX-License-Identifier: GPL-2.0

//! The registry: the components, and the images with sites.
//!
//! `life.rs` makes them come and go, on all floors.
//!
//! # Locks
//!
//! One lock protects the places; components' own locks nest in it. Another lock protects the
//! images. Nobody waits or allocates under the first two, as a task that frees memory may wait for
//! them. Entries are made before, and freed after.

use core::{
    iter,
    ptr,
    sync::atomic::Ordering::Relaxed, //
};
use kernel::{
    blog::{
        task::MAX_COMPONENTS,
        wire::name,
        Config,
        RawComponent, //
    },
    prelude::*,
    sync::{
        global_lock,
        Arc,
        UniqueArc, //
    }, //
};

use self::{
    images::Images,
    state::State, //
};
use crate::{
    memory::{
        block::Chain,
        budget,
        Memory, //
    },
    sys::{
        params,
        quiesce,
        work, //
    }, //
};

pub(crate) mod images;
pub(crate) mod inert;
pub(crate) mod state;
pub(crate) mod words;

/// Components by slot.
struct Places([Option<Arc<State>>; MAX_COMPONENTS]);

global_lock! {
    // SAFETY: `init` is called before anything else here.
    unsafe(uninit) static PLACES: Mutex<Places> = Places([const { None }; MAX_COMPONENTS]);
}

global_lock! {
    // SAFETY: As above.
    unsafe(uninit) static IMAGES: Mutex<Images> = Images::new();
}

/// Most components that are made at run time. The other places are for modules to come: users who
/// may mount file systems can't take these.
const MOST_INSTANCES: usize = MAX_COMPONENTS - 128;

pub(crate) fn with_images<R>(f: impl FnOnce(&mut Images) -> R) -> R {
    f(&mut IMAGES.lock())
}

/// All components. No lock is held between two.
pub(crate) fn components() -> impl Iterator<Item = Arc<State>> {
    let mut slot = 0;
    iter::from_fn(move || {
        let state = PLACES.lock().all_from(slot, false).next().cloned()?;
        slot = usize::from(state.slot()) + 1;
        Some(state)
    })
}

/// The component of a number; `None` of 0, which none has. `ENODEV`: it is gone.
pub(crate) fn by_id(id: u64) -> Result<Option<Arc<State>>> {
    let places = PLACES.lock();
    match id {
        0 => Ok(None),
        _ => places
            .there()
            .find(|state| state.id() == id)
            .cloned()
            .map(Some)
            .ok_or(ENODEV),
    }
}

pub(crate) fn has(state: &State) -> bool {
    PLACES.lock().find(state).is_some()
}

impl Places {
    /// Components in sight, or those that are going, from a slot on.
    fn all_from(&self, slot: usize, going: bool) -> impl Iterator<Item = &Arc<State>> {
        let states = self.0.iter().skip(slot).flatten();
        states.filter(move |state| state.going.load(Relaxed) == going)
    }

    fn there(&self) -> impl Iterator<Item = &Arc<State>> {
        self.all_from(0, false)
    }

    fn going(&self) -> impl Iterator<Item = &Arc<State>> {
        self.all_from(0, true)
    }

    fn find(&self, state: *const State) -> Option<&Arc<State>> {
        self.there().find(|there| ptr::eq(&***there, state))
    }

    /// Gives a new component a place and a name, about as it is `wanted`; or finds the place that
    /// one of the same name has left. Connects it to `raw`, or where that is null to its own.
    /// True: it was new.
    ///
    /// `EAGAIN` where that is for when those are gone which are just going.
    ///
    /// # Safety
    ///
    /// `raw` is null or valid until it is detached.
    unsafe fn put(
        &mut self,
        new: &mut Option<UniqueArc<State>>,
        wanted: &CStr,
        raw: *const RawComponent,
    ) -> Result<(Arc<State>, bool)> {
        let dynamic = raw.is_null();
        let mut n = 0;
        let name = loop {
            n += 1;
            let name = name::fit(wanted.to_bytes(), n);
            if name::is_reserved(name_bytes(&name)) {
                continue;
            }
            let same = |state: &&Arc<State>| state.name().to_bytes() == name_bytes(&name);
            if self.going().any(|state| same(&state)) {
                return Err(EAGAIN);
            }
            match self.there().find(same) {
                None => break name,
                Some(known) if dynamic == known.dynamic() && !known.attached() => {
                    // SAFETY: By this function's requirement.
                    unsafe { known.connect(raw) };
                    return Ok((known.clone(), false));
                }
                Some(_) => (),
            }
        };
        let most = if dynamic {
            MOST_INSTANCES
        } else {
            MAX_COMPONENTS
        };
        let mut places = self.0.iter().take(most);
        let Some(slot) = places.position(Option::is_none) else {
            let may_come = self.give_way().is_some() || self.going().next().is_some();
            work::queue_reap();
            return Err(if may_come { EAGAIN } else { ENOSPC });
        };
        let mut unique = new.take().ok_or(EINVAL)?;
        unique.set_place(slot as u16, name);
        let state = Arc::from(unique);
        // SAFETY: By this function's requirement.
        unsafe { state.connect(raw) };
        if let Some(place) = self.0.get_mut(slot) {
            *place = Some(state.clone());
        }
        Ok((state, true))
    }

    /// Takes what the instance has left that ended first out of sight; returns how many pages it
    /// takes. The caller sees to the rest.
    fn give_way(&self) -> Option<u32> {
        let left = |state: &&Arc<State>| state.dynamic() && !state.attached();
        let left = self.there().filter(left);
        let state = left.min_by_key(|state| state.look(|inner| inner.ended))?;
        state.going.store(true, Relaxed);
        Some(state.look_at_memory(Memory::pages_in_all).unwrap_or(0))
    }

    /// Takes a component out of sight to which nobody is connected, and has it taken away soon.
    fn remove(&self, state: &State) {
        state.going.store(true, Relaxed);
        work::queue_reap();
    }
}

/// Finds a place for a component: a new one, or that which one of its name has left. A
/// dynamic one has its own `RawComponent`, and `raw` is null. `sweep` frees the places of those
/// that are going. True: it is new, and nobody knows it.
///
/// # Safety
///
/// `raw` is null or valid until it is detached.
pub(crate) unsafe fn attach(
    name: &CStr,
    config: &Config,
    raw: *const RawComponent,
    sweep: impl Fn(),
) -> Result<(Arc<State>, bool)> {
    let new = State::new(name, raw.is_null(), config)?;
    let mut new = Some(UniqueArc::new(new, GFP_KERNEL)?);
    loop {
        // SAFETY: By this function's requirement.
        let result = unsafe { PLACES.lock().put(&mut new, name, raw) };
        // The lock isn't held any more.
        match result {
            Err(e) if e == EAGAIN => sweep(),
            result => return result,
        }
    }
}

/// Ends a dynamic component, to which nobody can log any more: what it has logged stays until a new
/// one of its name goes on with it, or [`give_way`] takes it.
pub(crate) fn end(state: &State) {
    // In between, a new one of its name would be connected to what this takes away.
    let places = PLACES.lock();
    if !state.end() {
        places.remove(state);
    }
}

/// Has components of instances that ended give way, the first ones first, until as many pages are
/// free as a new one lacks. True: the caller is to have them taken away.
pub(crate) fn give_way(mut pages: u32) -> bool {
    let places = PLACES.lock();
    let mut any = false;
    while pages > 0 {
        let Some(gone) = places.give_way() else {
            break;
        };
        pages = pages.saturating_sub(gone);
        any = true;
    }
    any
}

/// Removes a component that its instance has left.
#[cfg(CONFIG_BLOG_KUNIT_TEST)]
pub(crate) fn remove(state: &State) {
    PLACES.lock().remove(state);
}

/// Removes a component if its module is gone, which has left it here, and it has no records: it may
/// have got new ones since it was cleared.
pub(crate) fn remove_left(state: &State) {
    let places = PLACES.lock();
    // Under this lock it would be connected again.
    if state.look(|inner| !inner.attached() && inner.memory().is_none()) {
        places.remove(state);
    }
}

/// A component that was removed and still has its place.
pub(crate) fn going() -> Option<Arc<State>> {
    PLACES.lock().going().next().cloned()
}

/// Frees the place of a component that was removed.
pub(crate) fn free_place(state: &State) {
    if let Some(place) = PLACES.lock().0.get_mut(usize::from(state.slot())) {
        // The memory isn't freed here: the caller has the state.
        *place = None;
    }
}

/// The bytes of a NUL padded name.
pub(crate) fn name_bytes(field: &[u8]) -> &[u8] {
    field.split(|b| *b == 0).next().unwrap_or(field)
}

/// How often components are asked for pages: some can't give their part.
const TRIES: u32 = 8;

/// `blog.max_kb` has been set: components give up what is too much, each in proportion to what it
/// can spare. Waits until that is free. From `sys/params.c`, one at a time.
///
/// `EBUSY` if they can't give up so much: then they keep what they have.
extern "C" fn max_kb_changed() -> c_int {
    let (limit, mut gone) = (budget::limit(), Chain::new());
    if budget::used() <= limit {
        return 0;
    }
    let spare = || {
        let each = components().filter_map(|state| state.look_at_memory(Memory::spare));
        each.fold(0, u32::saturating_add)
    };
    if budget::used().saturating_sub(spare()) > limit {
        return EBUSY.to_errno();
    }
    for _ in 0..TRIES {
        let need = (budget::used() - gone.counted()).saturating_sub(limit);
        let all = spare();
        if need == 0 || all == 0 {
            break;
        }
        for state in components() {
            let _control = state.control();
            state.look_at_memory(|memory| {
                let part = u64::from(memory.spare()) * u64::from(need);
                let part = part.div_ceil(u64::from(all)) as u32;
                memory.shrink_to(memory.pages_in_all().saturating_sub(part), &mut gone);
            });
        }
    }
    quiesce::quiesce();
    drop(gone);
    match budget::used() <= limit {
        true => 0,
        false => EBUSY.to_errno(),
    }
}

/// Makes what the rest needs.
pub(crate) fn init() {
    // SAFETY: Called once, first.
    unsafe {
        PLACES.init();
        IMAGES.init();
    }
    inert::init();
    params::start(max_kb_changed);
    if params::is_quiet() {
        pr_info!("this is a kdump kernel: nothing is recorded without kdump=1\n");
    }
}
