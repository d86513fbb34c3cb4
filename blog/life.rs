// SPDX-License-Identifier: GPL-2.0

//! Components and images come and go here: this makes and removes their parts on all floors. Calls
//! go down, and only main.rs, modules and drivers call this.
//!
//! Static components come and go with their modules: the notifier of `life.c` calls
//! [`blog_module_coming`] before a module's first instruction runs, and [`blog_module_going`] after
//! its last; vmlinux's are attached when BLog starts. Dynamic ones come and go with
//! [`blog_component_register`] and [`blog_component_unregister`]. So a driver needs no init call.
//!
//! A driver may drop an `Instance` under locks that others need to free memory. So the drop only
//! detaches the component. It stays, with what it has logged, until a new component needs its name,
//! its place or its memory, or until somebody clears it. Then these, who may wait, remove it in two
//! steps. After the first one, its place is free and no task has a ring of it, but a log call to
//! another component may still be looking at such a ring. The memory goes after a grace period
//! ([`free_gone`]), one for all that have gone meanwhile: at once where it is needed, else with the
//! worker.

use kernel::{
    blog::{
        wire::file::BUILD_ID_MAX,
        Config,
        RawComponent,
        Site,
        ABI, //
    },
    sync::UniqueArc, //
};

use crate::{
    files,
    floor::{
        self,
        Event, //
    },
    memory::{
        budget,
        Memory, //
    },
    registry::{
        self,
        state::State, //
    },
    sys::{
        glue::shown,
        prelude::*,
        quiesce, //
    },
    write::tables, //
};

unsafe extern "C" {
    /// Starts to call [`blog_module_coming`] and [`blog_module_going`]: for what is built in, and
    /// for modules from then on. Process context.
    #[link_name = "blog_start_modules"]
    pub(crate) safe fn start_modules();

    /// Whether something is in the memory of a module, which must be there.
    #[link_name = "blog_within_module"]
    fn is_within(module: *const c_void, p: *const c_void) -> bool;
}

global_lock! {
    // SAFETY: `init` is called before there are components.
    /// Components that are out of the registry, and whose memory goes after a grace period. The
    /// lock is held while a component gets a place, or loses it.
    unsafe(uninit) static GONE: Mutex<KVec<Arc<State>>> = KVec::new();
}

global_lock! {
    // SAFETY: As above.
    /// Held while their memory goes, which takes a grace period: a component that needs none of it
    /// waits for no other.
    unsafe(uninit) static FREEING: Mutex<()> = ();
}

/// Whether [`init`] was called: not before BLog starts, nor where it can't.
static IS_READY: AtomicBool = AtomicBool::new(false);

/// Makes what the rest needs.
pub(crate) fn init() {
    // SAFETY: Called once, first.
    unsafe {
        GONE.init();
        FREEING.init();
    }
    registry::init();
    #[cfg(CONFIG_BLOG_PARTS)]
    registry::clear::CLEARED.populate(remove_cleared);
    IS_READY.store(true, Release);
}

/// Attaches a component, and switches it on where that is wanted. A dynamic one has its own
/// `RawComponent`, and `raw` is `None`.
fn attach(name: &CStr, config: &Config, raw: Option<&'static RawComponent>) -> Result<Arc<State>> {
    let dynamic = raw.is_none();
    let new = State::new(name, dynamic, config)?;
    let mut new = Some(UniqueArc::new(new, GFP_KERNEL)?);
    let mut gone = GONE.lock();
    let (state, is_new) = loop {
        match registry::attach(&mut new, name, raw) {
            Err(ENOSPC) if remove(registry::give_way(dynamic, false), &mut gone) => (),
            result => break result?,
        }
    };
    if is_new {
        // SAFETY: `remove` undoes this when it goes, and has the state.
        unsafe { tables::publish(&state) };
        floor::event(Event::New(&state));
        files::create(&state);
    }
    let lacks = budget::lacks(state.wants());
    let pages = |state: &Arc<State>| state.read_memory(Memory::pages_in_all).unwrap_or(0);
    while gone.iter().map(pages).fold(0, u32::saturating_add) < lacks
        && remove(registry::give_way(false, true), &mut gone)
    {}
    drop(gone);
    if lacks > 0 {
        free_gone();
    }
    state.start(&state.control());
    Ok(state)
}

/// Takes away what belongs to a component that is out of the registry, but for its memory: that is
/// for `gone`. False: there is none.
fn remove(state: Option<Arc<State>>, gone: &mut KVec<Arc<State>>) -> bool {
    let Some(state) = state else {
        return false;
    };
    files::remove(&state);
    floor::event(Event::Gone(&state));
    tables::unpublish(state.slot());
    if gone.push(state.clone(), GFP_KERNEL).is_err() {
        // It goes right here.
        quiesce::quiesce();
    }
    true
}

/// Frees the memory of components that have gone. Process context.
///
/// A snapshot or stream that is being read keeps it until its file is closed.
pub(crate) fn free_gone() {
    // A caller that needs memory also waits for what another one is freeing.
    let _freeing = FREEING.lock();
    let gone = mem::take(&mut *GONE.lock());
    if !gone.is_empty() {
        quiesce::quiesce();
    }
}

/// Removes the component with memory that its driver has left first. False: there is none.
#[cfg(CONFIG_BLOG_TESTS)]
pub(crate) fn give_way() -> bool {
    let mut gone = GONE.lock();
    remove(registry::give_way(false, true), &mut gone)
}

/// Removes a component that its driver has left.
#[cfg(CONFIG_BLOG_KUNIT_TEST)]
pub(crate) fn take_out(state: &State) {
    let mut gone = GONE.lock();
    remove(registry::take(state, true), &mut gone);
}

/// Removes a component if its driver has left it, and it has no records: it may have got new ones
/// since it was cleared.
#[cfg(CONFIG_BLOG_PARTS)]
pub(crate) fn remove_cleared(state: &State) {
    let removed = {
        // Before it loses its place.
        let mut gone = GONE.lock();
        remove(registry::take(state, false), &mut gone)
    };
    if removed {
        free_gone();
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

/// What drivers must be built for: `life.c` compares.
#[no_mangle]
static blog_abi: u32 = ABI;

// As a driver's crate has it; scripts/core-asm looks for it.
core::arch::global_asm!(".set __blog_abi, {}", const ABI);

/// Takes up the sites and components of an image: vmlinux's, or those of a module that has not run
/// yet.
///
/// # Safety
///
/// Called by `life.c`, with what the linker, or `struct module`, says.
#[no_mangle]
pub(crate) unsafe extern "C" fn blog_module_coming(
    name: *const c_char,
    build_id: *const u8,
    sites: *const Site,
    num_sites: u32,
    components: *const &'static RawComponent,
    num_components: u32,
) {
    // SAFETY: By this function's requirement; all stays until the image is going, and then `going`
    // comes first.
    let (name, build_id, sites, components) = unsafe {
        (
            CStr::from_char_ptr(name).to_bytes(),
            build_id.cast::<[u8; BUILD_ID_MAX]>().read(),
            from_c(sites, num_sites),
            from_c(components, num_components),
        )
    };
    if let Err(e) = registry::with_images(|images| images.add(name, build_id, sites)) {
        let name = BStr::from_bytes(name);
        match e {
            ENOSPC => {
                kernel::pr_warn_once!("{name} and later modules can't log: no site ids are left\n")
            }
            EINVAL => {
                pr_warn!("{name} can't log: its build has not run blog-fmt-sidetable on it\n")
            }
            e => pr_warn!("{name}: its sites can't log: {e:?}\n"),
        }
    }
    floor::event(Event::Images);
    for (i, &raw) in components.iter().enumerate() {
        // Each file of a module that is captured names the module's component.
        if components[..i].iter().any(|known| ptr::eq(*known, raw)) {
            continue;
        }
        let name = raw.name().unwrap_or_default();
        if let Err(e) = attach(name, raw.config(), Some(raw)) {
            pr_warn!("component {} can't log: {e:?}\n", shown(name));
        }
    }
    floor::event(Event::Came);
}

/// Lets go of what is in memory that goes: of an image's sites, and of components.
pub(crate) fn going(is_within: impl Fn(*const c_void) -> bool) {
    for state in registry::components() {
        let is_its = |raw: &RawComponent| is_within(ptr::from_ref(raw).cast());
        if state.read(|locked| locked.component().is_some_and(is_its)) {
            let _control = state.control();
            floor::event(Event::Detaches(&state));
            state.detach();
        }
    }
    if registry::with_images(|images| images.remove(is_within)) {
        floor::event(Event::Images);
    }
}

/// A module will not run any more, or has failed to start. It may not have been announced, nor have
/// anything of ours.
///
/// # Safety
///
/// Called by `life.c`, with a module whose memory is there.
#[no_mangle]
pub(crate) unsafe extern "C" fn blog_module_going(module: *const c_void) {
    // SAFETY: By this function's requirement.
    going(|p| unsafe { is_within(module, p) });
}

/// Makes a component at run time: see `kernel::blog::call::abi`.
///
/// # Safety
///
/// Both are valid.
#[no_mangle]
pub(crate) unsafe extern "C" fn blog_component_register(
    name: *const c_char,
    config: *const Config,
    abi: u32,
) -> *const RawComponent {
    if abi != ABI {
        // The kernel log has a line of its module, whose static components aren't on either.
        return registry::inert();
    }
    if !IS_READY.load(Acquire) {
        // There are no locks yet, and it wouldn't be known whose rings are whose when tasks end.
        return registry::inert();
    }
    // SAFETY: By this function's requirement.
    let (name, config) = unsafe { (CStr::from_char_ptr(name), &*config) };
    match attach(name, config, None) {
        Ok(state) => {
            floor::event(Event::Came);
            state.read(|locked| locked.component().map_or(ptr::null(), ptr::from_ref))
        }
        // What a component is for must not fail because of its log.
        Err(e) => {
            kernel::pr_warn_once!(
                "component {}, and perhaps others, can't log: {e:?}\n",
                shown(name)
            );
            registry::inert()
        }
    }
}

/// Ends such a component: see `kernel::blog::call::abi`.
///
/// # Safety
///
/// It is registered, and nobody logs to it any more.
#[no_mangle]
pub(crate) unsafe extern "C" fn blog_component_unregister(raw: *const RawComponent) {
    // SAFETY: By this function's requirement; nothing is stored.
    let state = unsafe { (*raw).switch() }.state.load(Relaxed);
    let state = state.cast::<State>();
    if state.is_null() {
        registry::INERT_INSTANCES.fetch_sub(1, Relaxed);
        return;
    }
    // SAFETY: The registry has it as long as it is attached.
    registry::end(unsafe { &*state });
}
