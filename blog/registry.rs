// SPDX-License-Identifier: GPL-2.0

//! The registry: which components there are, and which images have sites.
//!
//! Static components come and go with their modules: glue.c's notifier calls
//! [`blog_module_coming`] before a module's first instruction runs, and [`blog_module_going`] after
//! its last; vmlinux's are attached when BLog starts. Dynamic ones come and go with
//! [`blog_component_register`] and [`blog_component_unregister`]. So a driver needs no init call.
//!
//! All of this runs in process context. One lock protects it; under it the components' own locks
//! and those of static keys are taken, never the other way round. Files are removed without it,
//! because that waits for readers and writers of files, who take it.

use core::{
    slice, //
};
use kernel::{
    blog::{
        ring::MAX_COMPONENTS,
        snapshot::{
            BUILD_ID_MAX,
            NAME_MAX, //
        },
        RawComponent,
        Site, //
    },
    error::from_result,
    prelude::*,
    str::{
        BStr,
        CString, //
    },
    sync::{
        global_lock,
        Arc, //
    }, //
};

use crate::{
    component::State,
    files,
    glue,
    images::{
        BuildId,
        Images,
        Sites, //
    },
    root,
    stream,
    task, //
};

/// What the registry's lock protects.
pub(crate) struct Registry {
    components: [Option<Arc<State>>; MAX_COMPONENTS],
    images: Images,
    /// The images for crash tools.
    listed: root::List,
}

global_lock! {
    // SAFETY: `init` is called before anything else here.
    unsafe(uninit) static REGISTRY: Mutex<Registry> = Registry {
        components: [const { None }; MAX_COMPONENTS],
        images: Images::new(),
        listed: root::List::new(),
    };
}

/// Calls `f` with the images locked.
pub(crate) fn with_images<R>(f: impl FnOnce(&mut Images) -> R) -> R {
    f(&mut REGISTRY.lock().images)
}

/// The first component from `slot` on.
pub(crate) fn component_from(slot: usize) -> Option<Arc<State>> {
    let registry = REGISTRY.lock();
    registry
        .components
        .iter()
        .skip(slot)
        .flatten()
        .next()
        .cloned()
}

/// Whether a component is still there.
pub(crate) fn has(state: &Arc<State>) -> bool {
    let registry = REGISTRY.lock();
    let place = registry.components.get(usize::from(state.slot()));
    place.is_some_and(|there| {
        there
            .as_ref()
            .is_some_and(|there| Arc::ptr_eq(there, state))
    })
}

/// Whether a component may have this name: it becomes a directory beside our files.
fn check_name(name: &[u8]) -> Result {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"_-.:+".contains(b);
    if name.is_empty()
        || name.len() >= NAME_MAX
        || !name.iter().all(plain)
        || name.first() == Some(&b'.')
        || files::is_global(name)
    {
        return Err(EINVAL);
    }
    Ok(())
}

impl Registry {
    /// Attaches a component: to the state of the same name that was left behind, or to a new one.
    ///
    /// # Safety
    ///
    /// `raw` is valid until it is detached or removed.
    unsafe fn attach(&mut self, raw: *const RawComponent, name: &CStr, dynamic: bool) -> Result {
        check_name(name.to_bytes())?;
        let known = self
            .components
            .iter()
            .flatten()
            .find(|state| state.name() == name);
        if let Some(state) = known {
            if dynamic || state.dynamic() || state.attached() {
                return Err(EEXIST);
            }
            // SAFETY: By this function's requirement.
            unsafe { state.attach(raw) };
            return Ok(());
        }
        let slot = self.components.iter().position(Option::is_none);
        let slot = slot.ok_or(ENOSPC)?;
        // SAFETY: `raw` is valid.
        let config = unsafe { &(*raw).config };
        let state = Arc::pin_init(
            State::new(CString::try_from(name)?, slot as u8, dynamic, config),
            GFP_KERNEL,
        )?;
        // SAFETY: The state is unpublished before the registry gives it up.
        unsafe { task::publish(&state) };
        files::create(&state);
        // SAFETY: By this function's requirement.
        unsafe { state.attach(raw) };
        // SAFETY: As above.
        unsafe { root::publish(&state) };
        if let Some(place) = self.components.get_mut(slot) {
            *place = Some(state);
        }
        Ok(())
    }

    /// Attaches static components; says which don't fit.
    ///
    /// # Safety
    ///
    /// `components` are valid until they are detached.
    unsafe fn attach_all(&mut self, components: &[*const RawComponent]) {
        for &raw in components {
            // SAFETY: By this function's requirement, with the name that the macro stored.
            let name = unsafe { CStr::from_char_ptr((*raw).config.name.cast()) };
            // SAFETY: By this function's requirement.
            if let Err(e) = unsafe { self.attach(raw, name, false) } {
                pr_warn!("component {name} can't log: {e:?}\n");
            }
        }
    }

    /// Tells crash tools about the images.
    fn list_images(&mut self) {
        self.listed.set(&self.images);
    }

    /// The component that `raw` is attached to.
    fn find(&self, raw: *const RawComponent) -> Option<Arc<State>> {
        let mut states = self.components.iter().flatten();
        states.find(|state| state.is_attached_to(raw)).cloned()
    }
}

/// Removes a component and all that belongs to it.
///
/// Nobody can log to it. A snapshot or stream that is being read keeps the memory until its file is
/// closed.
pub(crate) fn remove(state: &Arc<State>) {
    files::remove(state);
    state.detach();
    task::unpublish(state.slot());
    root::unpublish(&REGISTRY.lock(), state.slot());
    if let Some(place) = REGISTRY
        .lock()
        .components
        .get_mut(usize::from(state.slot()))
    {
        *place = None;
    }
    stream::changed(state.slot());
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
    let mut registry = REGISTRY.lock();
    // SAFETY: By this function's requirement.
    let sites = unsafe { Sites::new(sites, num_sites) };
    if let Err(e) = registry.images.add(name, BuildId::new(build_id), sites) {
        pr_warn!("{}: its sites can't log: {:?}\n", BStr::from_bytes(name), e);
    }
    registry.list_images();
    // SAFETY: By this function's requirement.
    unsafe { registry.attach_all(components) };
}

/// A module is loaded, and has not run yet.
///
/// # Safety
///
/// Called by glue.c, with what `struct module` says.
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

/// A module will not run any more, or has failed to start. It may not have been announced.
///
/// # Safety
///
/// As for [`blog_module_coming`].
#[no_mangle]
pub(crate) unsafe extern "C" fn blog_module_going(
    sites: *const Site,
    _num_sites: u32,
    components: *const *const RawComponent,
    num_components: u32,
) {
    let mut registry = REGISTRY.lock();
    // SAFETY: By this function's requirement.
    for &raw in unsafe { from_c(components, num_components) } {
        if let Some(state) = registry.find(raw) {
            state.detach();
        }
    }
    registry.images.remove(sites);
    registry.list_images();
}

/// Attaches a component made at run time: see `kernel::blog::abi`.
///
/// # Safety
///
/// Both stay valid until [`blog_component_unregister`].
#[no_mangle]
pub(crate) unsafe extern "C" fn blog_component_register(
    raw: *const RawComponent,
    name: *const c_char,
) -> c_int {
    from_result(|| {
        // SAFETY: By this function's requirement.
        unsafe { REGISTRY.lock().attach(raw, CStr::from_char_ptr(name), true) }?;
        Ok(0)
    })
}

/// Removes such a component: see `kernel::blog::abi`.
///
/// # Safety
///
/// It is registered, and nobody logs to it any more.
#[no_mangle]
pub(crate) unsafe extern "C" fn blog_component_unregister(raw: *const RawComponent) {
    let state = REGISTRY.lock().find(raw);
    if let Some(state) = state {
        remove(&state);
    }
}

/// Starts with what is built in, and with modules from now on.
pub(crate) fn init() -> Result {
    // SAFETY: Called once, first.
    unsafe { REGISTRY.init() };
    files::init();
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
    glue::start_modules()
}

/// Ends all that. No module that uses BLog is loaded any more.
pub(crate) fn stop() {
    glue::stop_modules();
    while let Some(state) = component_from(0) {
        remove(&state);
    }
    files::stop();
    // A module's statics are not dropped.
    let mut registry = REGISTRY.lock();
    registry.images = Images::new();
    registry.listed = root::List::new();
}
