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

use core::iter;
use kernel::{
    blog::{
        task::MAX_COMPONENTS,
        wire::name,
        Config,
        RawComponent, //
    },
    error::from_result,
    sync::UniqueArc, //
};

use self::{
    images::Images,
    state::State, //
};
use crate::sys::{
    params,
    prelude::*, //
};

#[cfg(CONFIG_BLOG_PARTS)]
pub(crate) mod clear;
pub(crate) mod images;
#[cfg(CONFIG_BLOG_PARTS)]
mod limit;
pub(crate) mod parse;
pub(crate) mod settings;
pub(crate) mod state;

global_lock! {
    // SAFETY: `init` is called before anything else here.
    /// Components by slot.
    unsafe(uninit) static REGISTRY: Mutex<[Option<Arc<State>>; MAX_COMPONENTS]> =
        [const { None }; MAX_COMPONENTS];
}

global_lock! {
    // SAFETY: As above.
    unsafe(uninit) static IMAGES: Mutex<Images> = Images::new();
}

/// Stands in for an instance that could not be made: no mount and no device may fail because its
/// log has no place or no memory. It is off for good.
static INERT: RawComponent = RawComponent::new(Config::new());

/// How many instances have that now.
pub(crate) static INERT_INSTANCES: AtomicU32 = AtomicU32::new(0);

/// Counts an instance that has no component.
pub(crate) fn inert() -> *const RawComponent {
    INERT_INSTANCES.fetch_add(1, Relaxed);
    &raw const INERT
}

pub(crate) fn with_images<R>(f: impl FnOnce(&mut Images) -> R) -> R {
    f(&mut IMAGES.lock())
}

/// All components. No lock is held between two.
pub(crate) fn components() -> impl Iterator<Item = Arc<State>> {
    let mut slot = 0;
    iter::from_fn(move || {
        let places = REGISTRY.lock();
        let state = places.get(slot..)?.iter().flatten().next().cloned()?;
        slot = usize::from(state.slot()) + 1;
        Some(state)
    })
}

/// The component of a number; `None` of 0, which none has. `ENODEV`: it is gone.
pub(crate) fn by_id(id: u64) -> Result<Option<Arc<State>>> {
    match id {
        0 => Ok(None),
        _ => REGISTRY
            .lock()
            .iter()
            .flatten()
            .find(|state| state.id() == id)
            .cloned()
            .map(Some)
            .ok_or(ENODEV),
    }
}

/// How many places there are for components of a kind. The last ones are for modules to come: users
/// who may mount file systems can't take these.
fn places_for(dynamic: bool) -> usize {
    match dynamic {
        true => MAX_COMPONENTS - 128,
        false => MAX_COMPONENTS,
    }
}

/// Gives a new component a place and a name, about as it is `wanted`; or finds the place that one
/// of the same name has left. Connects it to `raw`, or where there is none to its own. True: it was
/// new, and nobody knows it.
///
/// `ENOSPC`: no place is free.
pub(crate) fn attach(
    new: &mut Option<UniqueArc<State>>,
    wanted: &CStr,
    raw: Option<&'static RawComponent>,
) -> Result<(Arc<State>, bool)> {
    let (dynamic, mut places, mut n) = (raw.is_none(), REGISTRY.lock(), 0);
    let name = loop {
        n += 1;
        let name = name::fit(wanted.to_bytes(), n);
        if name::is_reserved(name_bytes(&name)) {
            continue;
        }
        let same = |state: &&Arc<State>| state.name().to_bytes() == name_bytes(&name);
        match places.iter().flatten().find(same) {
            None => break name,
            Some(known) if dynamic == known.dynamic() && !known.attached() => {
                known.connect(raw);
                return Ok((known.clone(), false));
            }
            Some(_) => (),
        }
    };
    let mut free = (places.iter_mut().enumerate()).take(places_for(dynamic));
    let (slot, place) = free.find(|(_, place)| place.is_none()).ok_or(ENOSPC)?;
    let mut unique = new.take().ok_or(EINVAL)?;
    unique.set_place(slot as u16, name);
    let state = place.insert(unique.into()).clone();
    state.connect(raw);
    Ok((state, true))
}

/// Ends an instance, to which nobody can log any more: what it has logged stays until a new one of
/// its name goes on with it, or it is taken out.
pub(crate) fn end(state: &State) {
    // Under this lock nobody takes it out before it has been let go here.
    let _places = REGISTRY.lock();
    state.detach();
}

/// Takes the instance out that ended first, so that nobody finds it any more: of those in places
/// for `dynamic` components, one without memory before the others; or if `memory` is what is
/// needed, of those with memory. The caller sees to the rest.
pub(crate) fn give_way(dynamic: bool, memory: bool) -> Option<Arc<State>> {
    let mut places = REGISTRY.lock();
    let age = |state: &Arc<State>| {
        let (attached, has_memory, ended) =
            state.read(|locked| (locked.attached(), locked.memory().is_some(), locked.ended));
        let may_go = state.dynamic() && !attached && (has_memory || !memory);
        may_go.then_some((has_memory, ended))
    };
    let here = places.iter_mut().take(places_for(dynamic));
    let left = here.filter_map(|place| Some((age(place.as_ref()?)?, place)));
    let (_, place) = left.min_by_key(|(age, _)| *age)?;
    take_out(place)
}

/// Takes a component out that its driver has left: one with records only if it `may_have` any.
#[cfg(any(CONFIG_BLOG_PARTS, CONFIG_BLOG_KUNIT_TEST))]
pub(crate) fn take(state: &State, may_have: bool) -> Option<Arc<State>> {
    let mut places = REGISTRY.lock();
    let place = places.get_mut(usize::from(state.slot()))?;
    // Under this lock it would be connected again.
    let may_go =
        |locked: &state::Locked| !locked.attached() && (may_have || locked.memory().is_none());
    if state.is_gone() || !state.read(may_go) {
        return None;
    }
    take_out(place)
}

fn take_out(place: &mut Option<Arc<State>>) -> Option<Arc<State>> {
    let state = place.take()?;
    state.gone.store(true, Relaxed);
    Some(state)
}

/// The bytes of a NUL padded name.
pub(crate) fn name_bytes(field: &[u8]) -> &[u8] {
    field.split(|b| *b == 0).next().unwrap_or(field)
}

#[cfg(CONFIG_BLOG_PARTS)]
use self::limit::make_room;

/// `EBUSY`: components have more than the limit is now.
#[cfg(not(CONFIG_BLOG_PARTS))]
fn make_room() -> Result {
    use crate::memory::budget;

    match budget::used() <= budget::limit() {
        true => Ok(()),
        false => Err(EBUSY),
    }
}

/// `blog.max_kb` has been set; on an error, it will be what it was. From `sys/params.c`, one at a
/// time.
extern "C" fn max_kb_changed() -> c_int {
    from_result(|| make_room().map(|()| 0))
}

/// Makes what the rest needs.
pub(crate) fn init() {
    // SAFETY: Called once, first.
    unsafe {
        REGISTRY.init();
        IMAGES.init();
    }
    params::start(max_kb_changed);
    if params::is_quiet() {
        pr_info!("this is a kdump kernel: nothing is recorded without kdump=1\n");
    }
}
