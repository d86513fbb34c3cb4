// SPDX-License-Identifier: GPL-2.0

//! The registry: which components there are, and which images have sites.
//!
//! `life.rs` makes them come and go, on all floors.
//!
//! # Locks
//!
//! All of this runs in process context. One lock protects the places, another one the images. Under
//! the places' lock a component's own lock is taken, never the other way round. Nobody waits or
//! allocates under any of these three: what is to be put in is made before, what was taken out is
//! freed after.

use core::{
    mem,
    ptr, //
};
use kernel::{
    blog::{
        ring::MAX_COMPONENTS,
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
    images::{
        BuildId,
        Images,
        Sites, //
    },
    names::name_bytes,
    state::State, //
};
use crate::sys::work;

pub(crate) mod images;
pub(crate) mod inert;
mod limit;
pub(crate) mod names;
pub(crate) mod state;

/// A place for a component.
enum Seat {
    Free,
    There(Arc<State>),
    /// Out of sight; its files may still be there.
    Going(Arc<State>),
}

/// All places, by slot.
struct Places([Seat; MAX_COMPONENTS]);

global_lock! {
    // SAFETY: `init` is called before anything else here.
    unsafe(uninit) static PLACES: Mutex<Places> = Places([const { Seat::Free }; MAX_COMPONENTS]);
}

global_lock! {
    // SAFETY: As above.
    unsafe(uninit) static IMAGES: Mutex<Images> = Images::new();
}

/// Most components that are made at run time. The other places are for modules to come: whoever may
/// mount file systems can't take these.
const MOST_INSTANCES: usize = MAX_COMPONENTS - 128;

/// Calls `f` with the images locked. It must not allocate, nor wait.
pub(crate) fn with_images<R>(f: impl FnOnce(&mut Images) -> R) -> R {
    f(&mut IMAGES.lock())
}

/// All components, in the order of their places, each as it is when it is asked for.
pub(crate) struct Components {
    slot: usize,
}

/// All components. No lock is held between two.
pub(crate) const fn components() -> Components {
    Components { slot: 0 }
}

impl Iterator for Components {
    type Item = Arc<State>;

    fn next(&mut self) -> Option<Arc<State>> {
        let places = PLACES.lock();
        let mut places = places.0.iter().skip(self.slot);
        let state = places.find_map(|place| match place {
            Seat::There(state) => Some(state),
            _ => None,
        })?;
        self.slot = usize::from(state.slot()) + 1;
        Some(state.clone())
    }
}

/// Whether a component is still there.
pub(crate) fn has(state: &State) -> bool {
    PLACES.lock().find(state).is_some()
}

impl Places {
    fn there(&self) -> impl Iterator<Item = &Arc<State>> {
        self.0.iter().filter_map(|place| match place {
            Seat::There(state) => Some(state),
            _ => None,
        })
    }

    fn going(&self) -> impl Iterator<Item = &Arc<State>> {
        self.0.iter().filter_map(|place| match place {
            Seat::Going(state) => Some(state),
            _ => None,
        })
    }

    /// The state at this address, if it is there.
    fn find(&self, state: *const State) -> Option<&Arc<State>> {
        self.there().find(|there| ptr::eq(&***there, state))
    }

    /// Gives a new component a place and a name, about as it is `wanted`; or finds the place that
    /// one of the same name has left behind. Connects it to `raw`, or where that is null to its
    /// own. True: it was new.
    ///
    /// `EAGAIN` where that is for when those are gone which are just going.
    ///
    /// # Safety
    ///
    /// `raw` is null or valid until it is detached.
    unsafe fn put(
        &mut self,
        new: &mut Option<Pin<UniqueArc<State>>>,
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
                Some(known) if !dynamic && !known.dynamic() && !known.attached() => {
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
        let Some(slot) = places.position(|place| matches!(place, Seat::Free)) else {
            let may_come = self.going().next().is_some();
            return Err(if may_come { EAGAIN } else { ENOSPC });
        };
        let mut unique = new.take().ok_or(EINVAL)?;
        unique.as_mut().set_place(slot as u16, name);
        let state = Arc::from(unique);
        // SAFETY: By this function's requirement.
        unsafe { state.connect(raw) };
        if let Some(place) = self.0.get_mut(slot) {
            *place = Seat::There(state.clone());
        }
        Ok((state, true))
    }

    /// Takes a component out of sight, if it is there. The caller has it taken away.
    fn hide(&mut self, state: *const State) -> bool {
        let is_there =
            |seat: &&mut Seat| matches!(seat, Seat::There(there) if ptr::eq(&**there, state));
        let Some(seat) = self.0.iter_mut().find(is_there) else {
            return false;
        };
        if let Seat::There(state) = mem::replace(seat, Seat::Free) {
            *seat = Seat::Going(state);
        }
        true
    }
}

/// Finds a place for a component: a new one, or that which one of its name has left behind. A
/// dynamic one has its own `RawComponent`, and `raw` is null. `sweep` frees the places of those that
/// are going. True: it is new, and nobody knows it.
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
    let new = State::new(name, raw.is_null(), config.start());
    let mut new = Some(UniqueArc::pin_init(new, GFP_KERNEL)?);
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

/// Removes a component. Nobody can log to it. What belongs to it is taken away soon.
pub(crate) fn remove(state: &State) {
    if PLACES.lock().hide(state) {
        work::queue_reap();
    }
}

/// Removes a component if its module is gone, which has left it behind.
pub(crate) fn remove_left(state: &State) {
    let mut places = PLACES.lock();
    // Under this lock it would be connected again.
    if !state.attached() && places.hide(state) {
        work::queue_reap();
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
        *place = Seat::Free;
    }
}

/// Adds an image, with room that is made before the lock is taken.
pub(crate) fn add_image(name: &[u8], build_id: BuildId, sites: Sites) -> Result {
    let addresses = sites.addresses()?;
    let mut room = KVVec::new();
    loop {
        let len = {
            let mut images = IMAGES.lock();
            if images.has_room(&mut room) {
                return images.add(name, build_id, sites, &addresses);
            }
            images.list().len()
        };
        room = KVVec::with_capacity(len + len / 2 + 16, GFP_KERNEL)?;
    }
}

/// Forgets where an image's sites are that is in memory which goes. False: there is none.
pub(crate) fn remove_image(is_within: impl Fn(*const c_void) -> bool) -> bool {
    let found = IMAGES.lock().loaded(|first| is_within(first.cast()));
    let Some((first, count)) = found else {
        return false;
    };
    // Without memory, it is forgotten which sites were switched.
    let gates = KVVec::with_capacity(count as usize, GFP_KERNEL).unwrap_or_default();
    let rest = IMAGES.lock().remove(first, gates);
    drop(rest);
    true
}

/// Makes what the rest, [`stop`] included, needs.
pub(crate) fn init() {
    // SAFETY: Called once, first.
    unsafe {
        PLACES.init();
        IMAGES.init();
        state::KEYS.init();
    }
    inert::init();
}

/// Forgets all images, when all components are gone.
pub(crate) fn stop() {
    // A module's statics are not dropped.
    let images = mem::replace(&mut *IMAGES.lock(), Images::new());
    drop(images);
}
