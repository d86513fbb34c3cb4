// SPDX-License-Identifier: GPL-2.0

//! What is built in, and modules that come and go: the Rust side of `modules.c`.

use kernel::{
    bindings,
    blog::{
        wire::file::BUILD_ID_MAX,
        RawComponent,
        Site, //
    },
    error::to_result,
    prelude::*, //
};

unsafe extern "C" {
    fn blog_start_modules() -> c_int;

    /// Ends that; no call runs any more on return.
    #[link_name = "blog_stop_modules"]
    pub(crate) safe fn stop_modules();
}

/// What is built in.
pub(crate) struct Vmlinux {
    /// Build ID, where vmlinux has sites or components.
    pub(crate) build_id: [u8; BUILD_ID_MAX],
    /// Its sites.
    pub(crate) sites: *const Site,
    /// Their number.
    pub(crate) sites_len: u32,
    /// Its components.
    pub(crate) components: *const *const RawComponent,
    /// Their number.
    pub(crate) components_len: u32,
}

/// What is built in. Empty where BLog is a module: what is built in can't call it.
pub(crate) fn vmlinux() -> Vmlinux {
    #[cfg(MODULE)]
    return Vmlinux {
        build_id: [0; BUILD_ID_MAX],
        sites: core::ptr::null(),
        sites_len: 0,
        components: core::ptr::null(),
        components_len: 0,
    };
    #[cfg(not(MODULE))]
    {
        // From the linker script.
        unsafe extern "C" {
            static __start_blog_sites: Site;
            static __stop_blog_sites: Site;
            static __start_blog_components: *const RawComponent;
            static __stop_blog_components: *const RawComponent;
        }
        fn len<T>(start: *const T, stop: *const T) -> u32 {
            ((stop.addr() - start.addr()) / size_of::<T>()) as u32
        }
        let (sites, components) = (
            &raw const __start_blog_sites,
            &raw const __start_blog_components,
        );
        Vmlinux {
            // SAFETY: It is there, and doesn't change.
            build_id: unsafe { (&raw const bindings::vmlinux_build_id).read() },
            sites,
            sites_len: len(sites, &raw const __stop_blog_sites),
            components,
            components_len: len(components, &raw const __stop_blog_components),
        }
    }
}

/// Whether something is in the memory of a module.
///
/// # Safety
///
/// The module is there.
pub(crate) unsafe fn is_within(module: *const bindings::module, p: *const c_void) -> bool {
    // SAFETY: By this function's requirement.
    unsafe { bindings::blog_within_module(p as c_ulong, module) }
}

/// Starts to tell [`crate::registry`] about modules.
pub(crate) fn start_modules() -> Result {
    // SAFETY: What the notifier calls is ready.
    to_result(unsafe { blog_start_modules() })
}
