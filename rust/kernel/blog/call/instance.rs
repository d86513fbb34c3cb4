// SPDX-License-Identifier: GPL-2.0

//! [`Instance`]: a component that is made at run time, for a mount or a device.

use core::ptr::NonNull;

use super::{
    abi,
    component::{
        is_on,
        Component,
        Config,
        RawComponent, //
    }, //
};
use crate::{
    str::CStr,
    task::might_sleep, //
};

/// What stands for a component of a crate that can't reach the logger: never on.
static OFF: RawComponent = RawComponent::new(Config::new());

/// A component that is made at run time: one for each mount, or each device. It has rings and
/// files of its own. When it is dropped, what it has logged stays until a new component needs the
/// memory; one of the same name goes on with it.
///
/// Made by `instance()` of a static component.
///
/// # Examples
///
/// ```
/// # use kernel::prelude::*;
/// use kernel::blog::{
///     blog_component,
///     blog_info,
///     Config,
///     Instance, //
/// };
///
/// blog_component! { FS, name: "instance_fs", enabled: false }
///
/// fn mount(dev: &CStr) -> Instance {
///     let log = FS.instance_with(dev, Config::new().ring_kb(16));
///     blog_info!(log, "mounted {dev}");
///     log
/// }
/// ```
///
/// # Where it may be made and dropped
///
/// In process context, where one may sleep. Making it allocates, and may wait a moment. Dropping it
/// does neither, so it may be done under locks that are taken to free memory.
///
/// # Invariants
///
/// `raw` is valid. If `unregister` is not `None`, then `raw` is registered, and calling it undoes
/// that.
pub struct Instance {
    raw: NonNull<RawComponent>,
    unregister: Option<unsafe extern "C" fn(*const RawComponent)>,
}

// SAFETY: It belongs to no thread, and a `RawComponent` is `Sync`.
unsafe impl Send for Instance {}

// SAFETY: All that threads share of it is a `RawComponent`, which is `Sync`.
unsafe impl Sync for Instance {}

impl Instance {
    /// Makes a component of this name, or about: what isn't allowed in a name is replaced, and
    /// where the name is taken, a number is added. It never fails: without a place or memory it
    /// counts what it loses. `LINKED` says whether the calling crate can reach the logger; if not,
    /// the component is never on.
    ///
    /// Call `instance()` of a static component instead: it knows.
    #[doc(hidden)]
    #[inline]
    pub fn new<const LINKED: bool>(name: &CStr, config: Config) -> Self {
        if !LINKED {
            // INVARIANT: A static is valid.
            return Self {
                raw: NonNull::from(&OFF),
                unregister: None,
            };
        }
        // SAFETY: The name is a C string, and both outlive the call.
        let raw = unsafe { abi::blog_component_register(name.as_ptr(), &config, abi::ABI) };
        // INVARIANT: It was just registered, and stays until it is unregistered.
        Self {
            // SAFETY: Where there is no place, the function returns a stand-in, never null.
            raw: unsafe { NonNull::new_unchecked(raw.cast_mut()) },
            unregister: Some(abi::blog_component_unregister),
        }
    }
}

// SAFETY: `blog/` switches a component on that is registered, and keeps it until `drop`.
unsafe impl Component for Instance {
    #[inline(always)]
    fn is_on(&self) -> bool {
        is_on(self.raw())
    }

    #[inline(always)]
    fn raw(&self) -> &RawComponent {
        // SAFETY: By the type invariants.
        unsafe { self.raw.as_ref() }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        might_sleep();
        if let Some(unregister) = self.unregister {
            // SAFETY: By the type invariants, `raw` is registered. Nobody logs to it any more:
            // that needs a reference.
            unsafe { unregister(self.raw.as_ptr()) };
        }
    }
}
