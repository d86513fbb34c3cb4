// SPDX-License-Identifier: GPL-2.0

//! Components: what a driver logs to.
//!
//! A static component is declared by `blog_component!`; [`Instance`] is one that is made at run
//! time, for a mount or a device. Both are a [`RawComponent`], which `blog/` fills in when it
//! attaches the component, and which the fast path reads. Nothing here allocates rings or pages,
//! and nothing runs when a static component's module is loaded: `blog/` finds it by its section.

use core::{
    ffi::{
        c_char,
        c_void, //
    },
    ptr,
    sync::atomic::{
        AtomicPtr,
        AtomicU32,
        AtomicU8,
        Ordering::Relaxed, //
    }, //
};

use super::{
    abi,
    record::Level,
    ring::{
        Mode,
        Ring, //
    }, //
};
use crate::{
    alloc::KBox,
    error::to_result,
    prelude::*,
    str::{
        CStr,
        CString, //
    },
    sync::Arc, //
};

/// The static key of a component: a patched branch in front of each call.
#[cfg(CONFIG_JUMP_LABEL)]
pub type StaticKey = crate::bindings::static_key_false;

/// Nothing, on architectures without jump labels.
#[cfg(not(CONFIG_JUMP_LABEL))]
pub type StaticKey = ();

/// How a component starts; all of it can be changed at run time through its control files.
///
/// # Examples
///
/// ```
/// use kernel::blog::{Config, Level, Mode};
///
/// const SMALL: Config = Config::new()
///     .size_kb(128)
///     .ring_kb(16)
///     .level(Level::Debug)
///     .mode(Mode::Discard);
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Config {
    /// The component's name, NUL terminated. Null in a [`Config`] that is in no component.
    pub name: *const c_char,
    /// Limit of all rings together, in KiB.
    pub size_kb: u32,
    /// Limit of one ring, in KiB.
    pub ring_kb: u32,
    /// A number of [`Level`].
    pub level: u8,
    /// What full rings do: 0 [`Mode::Overwrite`], 1 [`Mode::Discard`].
    pub mode: u8,
    /// 1 if the component logs from the start, else 0.
    pub enabled: u8,
    /// Reserved, 0.
    pub flags: u8,
}

impl Config {
    /// 1 MiB in all, 64 KiB a ring, level [`Level::Info`], overwriting, enabled.
    pub const fn new() -> Self {
        Self {
            name: ptr::null(),
            size_kb: 1024,
            ring_kb: 64,
            level: Level::Info as u8,
            mode: 0,
            enabled: 1,
            flags: 0,
        }
    }

    /// Sets the limit of all rings together, in KiB.
    pub const fn size_kb(mut self, size_kb: u32) -> Self {
        self.size_kb = size_kb;
        self
    }

    /// Sets the limit of one ring, in KiB.
    pub const fn ring_kb(mut self, ring_kb: u32) -> Self {
        self.ring_kb = ring_kb;
        self
    }

    /// Sets the least important level that is logged.
    pub const fn level(mut self, level: Level) -> Self {
        self.level = level as u8;
        self
    }

    /// Sets what full rings do.
    pub const fn mode(mut self, mode: Mode) -> Self {
        self.mode = match mode {
            Mode::Overwrite => 0,
            Mode::Discard => 1,
        };
        self
    }

    /// Sets whether the component logs from the start.
    pub const fn enabled(mut self, enabled: bool) -> Self {
        self.enabled = enabled as u8;
        self
    }

    /// Sets the name.
    #[doc(hidden)]
    pub const fn name(mut self, name: &'static CStr) -> Self {
        self.name = name.to_bytes_with_nul().as_ptr().cast();
        self
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

/// A component in memory. The C side calls it `struct blog_component`.
///
/// # Invariants
///
/// - `slot` is less than [`MAX_COMPONENTS`](super::ring::MAX_COMPONENTS). While `threshold` is not
///   0, it is the component's index into each task's rings, and `percpu` points to three ring
///   pointers for each possible CPU.
/// - All fields but `config` are stored by `blog/` only.
#[repr(C)]
pub struct RawComponent {
    /// 0: off. Else a site logs if its gate is at most this: one more than the level.
    pub threshold: AtomicU8,
    _pad: [u8; 3],
    /// Index into [`Tls::rings`](super::ring::Tls::rings).
    pub slot: AtomicU32,
    /// Rings by CPU times 3 plus context: 0 softirq, 1 hardirq, 2 NMI. Null where there is none
    /// yet.
    pub percpu: AtomicPtr<AtomicPtr<Ring>>,
    /// For `blog/`.
    pub state: AtomicPtr<c_void>,
    /// How the component starts.
    pub config: Config,
    /// Enabled while `threshold` is not 0, for static components where there are jump labels.
    pub key: StaticKey,
}

// SAFETY: What is shared and changes is atomic, or the C side's static key; `config` is constant,
// and its name outlives the component.
unsafe impl Sync for RawComponent {}

// SAFETY: As for `Sync`: it belongs to no thread.
unsafe impl Send for RawComponent {}

impl RawComponent {
    /// A component that is off and that `blog/` does not know yet.
    pub const fn new(config: Config) -> Self {
        Self {
            threshold: AtomicU8::new(0),
            _pad: [0; 3],
            slot: AtomicU32::new(0),
            percpu: AtomicPtr::new(ptr::null_mut()),
            state: AtomicPtr::new(ptr::null_mut()),
            config,
            // SAFETY: All zeros is a `static_key_false` that is off and has no entries, or `()`.
            key: unsafe { core::mem::zeroed() },
        }
    }

    /// The threshold, as READ_ONCE() loads it. An atomic load would do, but LLVM makes an
    /// instruction of its own of one, where it makes this an operand of the comparison.
    #[inline(always)]
    pub(super) fn threshold(&self) -> u8 {
        // SAFETY: A reference is valid. What `blog/` may store meanwhile is one byte, by one
        // instruction, which the kernel's memory model allows.
        unsafe { self.threshold.as_ptr().read_volatile() }
    }
}

/// What `blog_log!` can log to: a static component, an [`Instance`], or a pointer to one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a BLog component",
    label = "expected a component",
    note = "declare one with `blog_component!`, or make an `Instance`"
)]
pub trait Component {
    /// Whether anything is logged to the component at all. For a static component on x86 this is
    /// a branch that is patched, and costs a no-op while the component is off.
    fn is_on(&self) -> bool;

    /// The component in memory.
    fn raw(&self) -> &RawComponent;
}

macro_rules! impl_pointer {
    ($($ty:ty),*) => {$(
        impl<T: Component + ?Sized> Component for $ty {
            #[inline(always)]
            fn is_on(&self) -> bool {
                (**self).is_on()
            }

            #[inline(always)]
            fn raw(&self) -> &RawComponent {
                (**self).raw()
            }
        }
    )*};
}

impl_pointer!(&T, Arc<T>, KBox<T>);

/// Whether the component is on, as its memory says.
#[doc(hidden)]
#[inline(always)]
pub fn is_on(component: &RawComponent) -> bool {
    component.threshold.load(Relaxed) != 0
}

/// What is in section `.blog_components`: where static components are.
#[doc(hidden)]
#[repr(transparent)]
pub struct Pointer(#[allow(dead_code)] pub &'static RawComponent);

/// A component that is made at run time: one for each mount, or each device. It has rings and
/// files of its own, and is gone when it is dropped.
///
/// Made by `instance()` of a static component; see the [module's documentation](super).
///
/// # Invariants
///
/// If `unregister` is not `None`, then `raw` is registered, and calling it undoes that.
pub struct Instance {
    raw: KBox<RawComponent>,
    _name: CString,
    unregister: Option<unsafe extern "C" fn(*const RawComponent)>,
}

impl Instance {
    /// Makes a component of this name. `LINKED` says whether the calling crate can reach the
    /// logger; if not, the component is never on.
    ///
    /// Call `instance()` of a static component instead: it knows.
    #[doc(hidden)]
    #[inline]
    pub fn new<const LINKED: bool>(name: &CStr, config: Config) -> Result<Self> {
        let name = CString::try_from(name)?;
        let config = Config {
            name: name.to_bytes_with_nul().as_ptr().cast(),
            ..config
        };
        let raw = KBox::new(RawComponent::new(config), GFP_KERNEL)?;
        let mut this = Self {
            raw,
            _name: name,
            unregister: None,
        };
        if LINKED {
            // SAFETY: The component and its name have a fixed address, and live until `drop`
            // has unregistered them.
            to_result(unsafe { abi::blog_component_register(&*this.raw, this.raw.config.name) })?;
            // INVARIANT: It was just registered.
            this.unregister = Some(abi::blog_component_unregister);
        }
        Ok(this)
    }
}

impl Component for Instance {
    #[inline(always)]
    fn is_on(&self) -> bool {
        is_on(&self.raw)
    }

    #[inline(always)]
    fn raw(&self) -> &RawComponent {
        &self.raw
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Some(unregister) = self.unregister {
            // SAFETY: By the type invariants, `raw` is registered. Nobody logs to it any more:
            // that needs a reference.
            unsafe { unregister(&*self.raw) };
        }
    }
}
