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
//! detaches the component, or hides it if it has no memory. What it has logged stays until a new
//! component needs the name, the place or the memory. A work item takes away what is hidden
//! ([`reap`]), in two steps. A new component that needs the place may have done the first step
//! ([`sweep`]): then no task has a ring of the old one any more, but a log call to another
//! component may still be looking at such a ring. One grace period covers all components that have
//! gone meanwhile.

use core::{
    iter,
    slice,
    sync::atomic::Ordering::Relaxed, //
};
use kernel::{
    blog::{
        wire::file::BUILD_ID_MAX,
        Config,
        RawComponent,
        Site,
        ABI, //
    },
    prelude::*,
    str::BStr,
    sync::{
        global_lock,
        Arc, //
    }, //
};

use crate::{
    crash::describe,
    files,
    floor::{
        self,
        Event, //
    },
    memory::budget,
    registry::{
        self,
        inert,
        state::{
            Inner,
            State, //
        }, //
    },
    sys::{
        glue::shown,
        quiesce,
        work, //
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
    unsafe(uninit) static GONE: Mutex<Option<Arc<State>>> = None;
}

/// Makes what the rest needs.
pub(crate) fn init() {
    // SAFETY: Called once, first.
    unsafe { GONE.init() };
    work::start_reaping(reap);
    registry::init();
}

/// Attaches a component, and switches it on where that is wanted. A dynamic one has its own
/// `RawComponent`, and `raw` is null.
///
/// # Safety
///
/// `raw` is null or valid until it is detached.
unsafe fn attach(name: &CStr, config: &Config, raw: *const RawComponent) -> Result<Arc<State>> {
    // SAFETY: By this function's requirement.
    let (state, is_new) = unsafe { registry::attach(name, config, raw, sweep) }?;
    if is_new {
        // SAFETY: `sweep` undoes this when it goes, and has the state.
        unsafe { tables::publish(&state) };
        floor::event(Event::New(&state));
        files::create(&state);
        // SAFETY: Likewise.
        unsafe { describe::publish(state.slot(), Some(&state)) };
    }
    // What ended instances have left is there until it is needed.
    let wants = state.look(Inner::wants);
    if wants > 0 && registry::give_way(budget::lacks(wants)) {
        reap();
    }
    state.start(&state.control());
    Ok(state)
}

/// Takes away what belongs to components that are out of sight, but for their memory, and frees
/// their places.
fn sweep() {
    let mut gone = GONE.lock();
    while let Some(state) = registry::going() {
        files::remove(&state);
        floor::event(Event::Gone(&state));
        tables::unpublish(state.slot());
        // SAFETY: There is none any more.
        unsafe { describe::publish(state.slot(), None) };
        registry::free_place(&state);
        let before = gone.replace(state.clone());
        state.with(|inner| inner.gone_before = before);
    }
}

/// Takes away all that belongs to components that are out of sight. From the work item of
/// [`work::queue_reap`].
///
/// A snapshot or stream that is being read keeps the memory until its file is closed.
extern "C" fn reap() {
    sweep();
    let last = GONE.lock().take();
    if last.is_some() {
        quiesce::quiesce();
    }
    // One after the other, so that no drop is inside another one.
    let before = |state: &Arc<State>| state.with(|inner| inner.gone_before.take());
    iter::successors(last, before).for_each(drop);
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
    components: *const *const RawComponent,
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
    describe::list();
    for (i, &raw) in components.iter().enumerate() {
        // Each file of a module that is captured names the module's component.
        if components[..i].contains(&raw) {
            continue;
        }
        // SAFETY: As above.
        let (config, name) = unsafe { ((*raw).config(), (*raw).name().unwrap_or_default()) };
        // SAFETY: As above.
        if let Err(e) = unsafe { attach(name, config, raw) } {
            pr_warn!("component {} can't log: {e:?}\n", shown(name));
        }
    }
    floor::event(Event::Came);
}

/// Lets go of what is in memory that goes: of an image's sites, and of components.
pub(crate) fn going(is_within: impl Fn(*const c_void) -> bool) {
    for state in registry::components() {
        if is_within(state.look(|inner| inner.raw).cast()) {
            let control = state.control();
            floor::event(Event::Detaches(&state));
            state.detach(&control);
        }
    }
    if registry::with_images(|images| images.remove(is_within)) {
        describe::list();
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

/// Makes a component at run time: see `kernel::blog::abi`.
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
        return inert::take(&Config::new().enabled(false));
    }
    // SAFETY: By this function's requirement.
    let (name, config) = unsafe { (CStr::from_char_ptr(name), &*config) };
    // SAFETY: There is no `raw`.
    match unsafe { attach(name, config, core::ptr::null()) } {
        Ok(state) => {
            floor::event(Event::Came);
            state.own()
        }
        // What a component is for must not fail because of its log.
        Err(e) => {
            kernel::pr_warn_once!(
                "component {}, and perhaps others, can't log: {e:?}\n",
                shown(name)
            );
            inert::take(config)
        }
    }
}

/// Ends such a component: see `kernel::blog::abi`.
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
        return inert::put();
    }
    // SAFETY: The registry has it until it is removed.
    registry::end(unsafe { &*state });
}
