// SPDX-License-Identifier: GPL-2.0

//! The registry: which components there are, and which images have sites.
//!
//! Static components come and go with their modules: the notifier of `sys/modules.c` calls
//! [`blog_module_coming`] before a module's first instruction runs, and [`blog_module_going`] after
//! its last; vmlinux's are attached when BLog starts. Dynamic ones come and go with
//! [`blog_component_register`] and [`blog_component_unregister`]. So a driver needs no init call.
//!
//! # Locks
//!
//! All of this runs in process context. One lock protects the places, another one the images. Under
//! the places' lock a component's own lock is taken, never the other way round. Nobody waits or
//! allocates under any of these three: what is to be put in is made before, what was taken out is
//! freed after.
//!
//! A driver may drop an `Instance` under locks that others need to free memory. So dropping it only
//! takes the component out of its place's sight; the rest, files above all, which must wait for who
//! reads them, goes in a queue of ours. Until then, the place is not free.

use core::{
    mem,
    ptr,
    slice,
    sync::atomic::Ordering::Relaxed, //
};
use kernel::{
    bindings,
    blog::{
        ring::MAX_COMPONENTS,
        wire::{
            file::BUILD_ID_MAX,
            name, //
        },
        Config,
        RawComponent,
        Site, //
    },
    impl_has_work,
    prelude::*,
    str::BStr,
    sync::{
        global_lock,
        Arc,
        UniqueArc, //
    },
    workqueue::WorkItem, //
};

use self::{
    events::events,
    images::{
        BuildId,
        Images,
        Sites, //
    },
    names::name_bytes,
    state::State, //
};
use crate::sys::{
    glue,
    queue::Drained, //
};

pub(crate) mod control;
pub(crate) mod events;
mod gone;
pub(crate) mod images;
pub(crate) mod inert;
pub(crate) mod names;
pub(crate) mod reclaim;
pub(crate) mod state;

/// Where a component can be.
enum Place {
    Free,
    There(Arc<State>),
    /// Out of sight; its files may still be there.
    Going(Arc<State>),
}

/// All places, by slot.
struct Places([Place; MAX_COMPONENTS]);

global_lock! {
    // SAFETY: `init` is called before anything else here.
    unsafe(uninit) static PLACES: Mutex<Places> = Places([const { Place::Free }; MAX_COMPONENTS]);
}

global_lock! {
    // SAFETY: As above.
    unsafe(uninit) static IMAGES: Mutex<Images> = Images::new();
}

/// What takes components away.
static QUEUE: Drained = Drained::new();

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
            Place::There(state) => Some(state),
            _ => None,
        })?;
        self.slot = usize::from(state.slot()) + 1;
        Some(state.clone())
    }
}

/// Calls `f` with each component until it returns false, without waiting for a lock. False: a lock
/// was taken, and perhaps some were left out. For reclaim.
pub(crate) fn try_for_each(mut f: impl FnMut(&State) -> bool) -> bool {
    let Some(places) = PLACES.try_lock() else {
        return false;
    };
    let _ = places.there().all(|state| f(state));
    true
}

/// Whether a component is still there.
pub(crate) fn has(state: &State) -> bool {
    PLACES.lock().find(state).is_some()
}

impl Places {
    fn there(&self) -> impl Iterator<Item = &Arc<State>> {
        self.0.iter().filter_map(|place| match place {
            Place::There(state) => Some(state),
            _ => None,
        })
    }

    fn going(&self) -> impl Iterator<Item = &Arc<State>> {
        self.0.iter().filter_map(|place| match place {
            Place::Going(state) => Some(state),
            _ => None,
        })
    }

    /// The state at this address, if it is there.
    fn find(&self, state: *const State) -> Option<&Arc<State>> {
        self.there().find(|there| ptr::eq(&***there, state))
    }

    /// Gives a new component a place and a name, about as it is `wanted`; or finds the place that
    /// one of the same name has left behind. Connects it to `raw`, or where that is null to its own.
    /// True: it was new.
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
        let Some(slot) = places.position(|place| matches!(place, Place::Free)) else {
            let may_come = self.going().next().is_some();
            return Err(if may_come { EAGAIN } else { ENOSPC });
        };
        let mut unique = new.take().ok_or(EINVAL)?;
        unique.as_mut().set_place(slot as u16, name);
        let state = Arc::from(unique);
        // SAFETY: By this function's requirement.
        unsafe { state.connect(raw) };
        if let Some(place) = self.0.get_mut(slot) {
            *place = Place::There(state.clone());
        }
        Ok((state, true))
    }

    /// Takes a component out of sight. The caller has it taken away.
    fn hide(&mut self, state: *const State) -> Option<Arc<State>> {
        let state = self.find(state)?.clone();
        *self.0.get_mut(usize::from(state.slot()))? = Place::Going(state.clone());
        Some(state)
    }
}

/// Attaches a component: to the state of the same name that was left behind, or to a new one. A
/// dynamic one has its own `RawComponent`, and `raw` is null.
///
/// # Safety
///
/// `raw` is null or valid until it is detached.
unsafe fn attach(name: &CStr, config: &Config, raw: *const RawComponent) -> Result<Arc<State>> {
    let new = State::new(name, raw.is_null(), config.start());
    let mut new = Some(UniqueArc::pin_init(new, GFP_KERNEL)?);
    let (state, is_new) = loop {
        // SAFETY: By this function's requirement.
        let result = unsafe { PLACES.lock().put(&mut new, name, raw) };
        // The lock isn't held any more.
        match result {
            Err(e) if e == EAGAIN => QUEUE.flush(),
            result => break result?,
        }
    };
    if is_new {
        (events().came)(&state);
    }
    state.start();
    Ok(state)
}

/// Attaches static components; says which don't fit.
///
/// # Safety
///
/// `components` are valid until they are detached.
unsafe fn attach_all(components: &[*const RawComponent]) {
    for (i, &raw) in components.iter().enumerate() {
        // Each file of a module that is captured names the module's component.
        if components[..i].contains(&raw) {
            continue;
        }
        // SAFETY: By this function's requirement.
        let (config, name) = unsafe { ((*raw).config(), (*raw).name().unwrap_or_default()) };
        // SAFETY: As above.
        if let Err(e) = unsafe { attach(name, config, raw) } {
            pr_warn!("component {name} can't log: {e:?}\n");
        }
    }
}

impl_has_work! {
    impl HasWork<Self> for State { self.work }
}

impl WorkItem for State {
    type Pointer = Arc<Self>;

    /// Takes away what belongs to a component that is out of sight.
    ///
    /// A snapshot or stream that is being read keeps the memory until its file is closed.
    fn run(state: Arc<Self>) {
        (events().gone)(&state);
        if let Some(place) = PLACES.lock().0.get_mut(usize::from(state.slot())) {
            // The memory isn't freed here: this still has the state.
            *place = Place::Free;
        }
        gone::leave(state);
    }
}

/// Removes a component and all that belongs to it. Nobody can log to it.
pub(crate) fn remove(state: &State) {
    let hidden = PLACES.lock().hide(state);
    if let Some(state) = hidden {
        QUEUE.enqueue(state);
    }
}

/// Whether a component that was removed still has its place.
pub(crate) fn removing() -> bool {
    PLACES.lock().going().next().is_some()
}

/// Forgets all that a component has logged so far; if its module is gone, it goes too.
pub(crate) fn clear(state: &State) {
    state.clear();
    let hidden = {
        let mut places = PLACES.lock();
        // Under this lock it would be connected again.
        match state.attached() {
            true => None,
            false => places.hide(state),
        }
    };
    if let Some(state) = hidden {
        QUEUE.enqueue(state);
    }
}

/// A slice out of what C gives.
///
/// # Safety
///
/// `first` points to `count` values that stay valid for `'a`, if there are any.
unsafe fn from_c<'a, T>(first: *const T, count: u32) -> &'a [T] {
    if count == 0 || first.is_null() {
        return &[];
    }
    // SAFETY: By this function's requirement.
    unsafe { slice::from_raw_parts(first, count as usize) }
}

/// What a component is connected to, or was last; else null.
///
/// # Safety
///
/// `raw` is valid.
unsafe fn state_of(raw: *const RawComponent) -> *const State {
    // SAFETY: By this function's requirement; nothing is stored.
    unsafe { (*raw).switch() }.state.load(Relaxed).cast()
}

/// Takes up the sites and components of an image.
///
/// # Safety
///
/// All is valid until the image goes.
unsafe fn coming(
    name: &[u8],
    build_id: [u8; BUILD_ID_MAX],
    sites: *const Site,
    num_sites: u32,
    components: &[*const RawComponent],
) {
    // SAFETY: By this function's requirement.
    let sites = unsafe { Sites::new(sites, num_sites) };
    if let Err(e) = add_image(name, BuildId::new(build_id), sites) {
        with_images(|images| images.refuse(sites));
        let name = BStr::from_bytes(name);
        match e {
            ENOSPC => {
                kernel::pr_warn_once!("{name} and later modules can't log: no site ids are left\n")
            }
            e => pr_warn!("{name}: its sites can't log: {e:?}\n"),
        }
    }
    (events().images)();
    // SAFETY: By this function's requirement.
    unsafe { attach_all(components) };
}

/// Adds an image, with room that is made before the lock is taken.
fn add_image(name: &[u8], build_id: BuildId, sites: Sites) -> Result {
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

/// A module is loaded, and has not run yet.
///
/// # Safety
///
/// Called by `sys/modules.c`, with what `struct module` says.
#[no_mangle]
pub(crate) unsafe extern "C" fn blog_module_coming(
    name: *const c_char,
    build_id: *const u8,
    sites: *const Site,
    num_sites: u32,
    components: *const *const RawComponent,
    num_components: u32,
) {
    // SAFETY: By this function's requirement; they stay until the module is going.
    unsafe {
        coming(
            CStr::from_char_ptr(name).to_bytes(),
            build_id.cast::<[u8; BUILD_ID_MAX]>().read(),
            sites,
            num_sites,
            from_c(components, num_components),
        )
    };
}

/// Lets go of what is in memory that goes: of an image's sites, and of components.
pub(crate) fn going(is_within: impl Fn(*const c_void) -> bool) {
    for state in components() {
        if is_within(state.attached_to().cast()) {
            state.detach();
        }
    }
    let found = IMAGES.lock().loaded(|first| is_within(first.cast()));
    if let Some((first, count)) = found {
        // Without memory, it is forgotten which sites were switched.
        let gates = KVVec::with_capacity(count as usize, GFP_KERNEL).unwrap_or_default();
        let rest = IMAGES.lock().remove(first, gates);
        drop(rest);
        (events().images)();
    }
}

/// A module will not run any more, or has failed to start. It may not have been announced, nor have
/// anything of ours.
///
/// # Safety
///
/// Called by `sys/modules.c`, with a module whose memory is there.
#[no_mangle]
pub(crate) unsafe extern "C" fn blog_module_going(module: *const bindings::module) {
    // SAFETY: By this function's requirement.
    going(|p| unsafe { glue::is_within(module, p) });
}

/// Makes a component at run time: see `kernel::blog::abi`.
///
/// # Safety
///
/// Both are valid.
#[no_mangle]
pub(crate) unsafe extern "C" fn blog_component_register(
    name: *const c_char,
    config: *const Config,
) -> *const RawComponent {
    // SAFETY: By this function's requirement.
    let (name, config) = unsafe { (CStr::from_char_ptr(name), &*config) };
    // SAFETY: There is no `raw`.
    match unsafe { attach(name, config, ptr::null()) } {
        Ok(state) => state.own(),
        // What a component is for must not fail because of its log.
        Err(e) => {
            kernel::pr_warn_once!("component {name}, and perhaps others, can't log: {e:?}\n");
            inert::take(config)
        }
    }
}

/// Removes such a component: see `kernel::blog::abi`.
///
/// # Safety
///
/// It is registered, and nobody logs to it any more.
#[no_mangle]
pub(crate) unsafe extern "C" fn blog_component_unregister(raw: *const RawComponent) {
    // SAFETY: By this function's requirement.
    let state = unsafe { state_of(raw) };
    if state.is_null() {
        return inert::put();
    }
    // SAFETY: The registry has it until it is removed.
    remove(unsafe { &*state });
}

/// Makes what the rest, [`stop`] included, needs.
pub(crate) fn init() {
    gone::init();
    reclaim::init();
    // SAFETY: Called once, first.
    unsafe {
        PLACES.init();
        IMAGES.init();
        state::KEYS.init();
    }
    inert::init();
}

/// Starts with what is built in, and with modules from now on.
pub(crate) fn start() -> Result {
    QUEUE.start(c"blog")?;
    let vmlinux = glue::vmlinux();
    // SAFETY: vmlinux stays.
    unsafe {
        coming(
            b"vmlinux",
            vmlinux.build_id,
            vmlinux.sites,
            vmlinux.sites_len,
            from_c(vmlinux.components, vmlinux.components_len),
        )
    };
    reclaim::start();
    glue::start_modules()
}

/// Ends all that. No module that uses BLog is loaded any more.
pub(crate) fn stop() {
    glue::stop_modules();
    reclaim::stop();
    components().for_each(|state| remove(&state));
    QUEUE.stop();
    // A module's statics are not dropped.
    let images = mem::replace(&mut *IMAGES.lock(), Images::new());
    drop(images);
}
