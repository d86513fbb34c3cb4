// SPDX-License-Identifier: GPL-2.0

//! Components, which drivers log to.
//!
//! `blog_component!` declares a static component; an [`Instance`](super::instance::Instance) is
//! made at run time, for a mount or a device. Both are a [`RawComponent`]: `blog/` fills it in when
//! it attaches the component, and the fast path reads it. Nothing here allocates rings or pages,
//! and nothing runs when a static component's module is loaded: `blog/` finds it by its section.

use core::{
    ffi,
    mem::offset_of,
    ptr,
    sync::atomic::{
        AtomicPtr,
        AtomicU32,
        AtomicU8,
        Ordering::Relaxed, //
    }, //
};

use super::super::{
    ring::{
        Mode,
        Ring, //
    },
    wire::{
        record::Level,
        types::Privacy, //
    }, //
};
use crate::{
    alloc::KBox,
    str::CStr,
    sync::Arc, //
};

/// Nothing, on architectures without jump labels.
#[cfg(not(CONFIG_JUMP_LABEL))]
#[doc(hidden)]
pub type StaticKey = ();

/// The static key of a component: a patched branch in front of each call. The C side changes it
/// while others run.
#[cfg(CONFIG_JUMP_LABEL)]
#[doc(hidden)]
pub type StaticKey = crate::types::Opaque<crate::bindings::static_key_false>;

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
    name: *const ffi::c_char,
    /// All its memory, in KiB: rings and their tables.
    pub size_kb: u32,
    /// Limit of one ring, in KiB.
    pub ring_kb: u32,
    /// The least important level that is logged: a number, as C may have written any.
    level: u8,
    /// What full rings do, likewise.
    mode: u8,
    /// Whether the component logs from the start.
    pub enabled: bool,
}

impl Config {
    /// 1 MiB in all, 64 KiB a ring, level [`Level::Info`], overwriting, enabled.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self {
            name: ptr::null(),
            size_kb: 1024,
            ring_kb: 64,
            level: Level::Info as u8,
            mode: Mode::Overwrite as u8,
            enabled: true,
        }
    }

    /// The least important level that is logged; `None` of a number that is none.
    #[doc(hidden)]
    pub const fn known_level(&self) -> Option<Level> {
        Level::from_u8(self.level)
    }

    /// What full rings do; `None` of a number that is none.
    #[doc(hidden)]
    pub const fn known_mode(&self) -> Option<Mode> {
        match self.mode {
            0 => Some(Mode::Overwrite),
            1 => Some(Mode::Discard),
            _ => None,
        }
    }

    /// Sets the name.
    #[doc(hidden)]
    pub const fn name(mut self, name: &'static CStr) -> Self {
        self.name = name.to_bytes_with_nul().as_ptr().cast();
        self
    }

    /// The same, for a name that ends with a NUL.
    #[doc(hidden)]
    pub const fn name_nul(self, name: &'static str) -> Self {
        match CStr::from_bytes_with_nul(name.as_bytes()) {
            Ok(name) => self.name(name),
            Err(_) => self,
        }
    }
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $ty:ty $(=> $to:ty)?;)*) => {
        impl Config {$(
            $(#[$doc])*
            pub const fn $name(mut self, $name: $ty) -> Self {
                self.$name = $name $(as $to)?;
                self
            }
        )*}
    };
}

setters! {
    /// Sets the size of all its memory, in KiB: rings and their tables.
    size_kb: u32;
    /// Sets the limit of one ring, in KiB.
    ring_kb: u32;
    /// Sets the least important level that is logged.
    level: Level => u8;
    /// Sets what full rings do.
    mode: Mode => u8;
    /// Sets whether the component logs from the start.
    enabled: bool;
}

/// A component in memory. The C side calls it `struct blog_component`.
///
/// # Examples
///
/// ```
/// # use kernel::blog::{Config, RawComponent};
/// // `blog_component!` makes one, and `blog/` switches it on.
/// static DISK: RawComponent = RawComponent::new(Config::new().name(c"disk"));
///
/// assert_eq!(DISK.threshold(), 0);
/// ```
///
/// # Invariants
///
/// - `switch.way` is less than [`WAYS`](super::super::task::WAYS). While `threshold` is not
///   0, it is the component's way in each task's table, `slot` is the slot that its rings know,
///   or [none](Switch::slot), `percpu` is null or points to three ring pointers for each possible
///   CPU, and `state` is null, or points to what `blog/` knows of it.
/// - `config.name` is null or outlives the component.
#[repr(C)]
pub struct RawComponent {
    switch: Switch,
    config: Config,
    /// Enabled while `threshold` is not 0, for static components where there are jump labels.
    #[doc(hidden)]
    pub key: StaticKey,
}

// As `struct blog_component` has it, by which C defines components.
const _: () = {
    assert!(offset_of!(RawComponent, switch.threshold) == 0);
    assert!(offset_of!(RawComponent, switch.privacy) == 1);
    assert!(offset_of!(RawComponent, switch.slot) == 4);
    assert!(offset_of!(RawComponent, config.name) == 32);
    assert!(offset_of!(RawComponent, config.size_kb) == 40);
    assert!(offset_of!(RawComponent, config.ring_kb) == 44);
    assert!(offset_of!(RawComponent, config.level) == 48);
    assert!(offset_of!(RawComponent, config.mode) == 49);
    assert!(offset_of!(RawComponent, config.enabled) == 50);
    assert!(offset_of!(RawComponent, key) == 56);
};

/// A slot that no ring has: all calls take the slow path, and show `blog/` what they have stored.
#[cfg(CONFIG_BLOG_PARTS)]
#[doc(hidden)]
pub const WATCHED: u32 = u32::MAX;

/// What `blog/` stores into a component.
#[doc(hidden)]
#[repr(C)]
pub struct Switch {
    /// 0: off. Else a site logs if its gate is at most this: one more than the level.
    pub threshold: AtomicU8,
    /// What is done with private arguments: a number of `Privacy`.
    pub privacy: AtomicU8,
    /// The component's number: see [`Ring::slot`]. Of one that has no rings, or whose calls shall
    /// all take the slow path, none of these.
    pub slot: AtomicU32,
    /// [`way_of`](super::super::task::way_of) that.
    pub way: AtomicU32,
    /// Rings of interrupt contexts, by [`Context::percpu_index`]. Null if there is none yet.
    ///
    /// [`Context::percpu_index`]: super::super::wire::record::Context::percpu_index
    pub percpu: AtomicPtr<AtomicPtr<Ring>>,
    /// For `blog/`.
    pub state: AtomicPtr<ffi::c_void>,
}

// SAFETY: What is shared and changes is atomic, or the C side's static key; `config` is constant,
// and its name outlives the component.
unsafe impl Sync for RawComponent {}

// SAFETY: As for `Sync`: it belongs to no thread.
unsafe impl Send for RawComponent {}

impl RawComponent {
    /// For [`ABI`](super::abi::ABI): what the assertions above don't fix.
    pub(in super::super) const SHAPE: [usize; 3] = [
        size_of::<Self>(),
        offset_of!(Self, switch.way),
        offset_of!(Self, switch.percpu),
    ];

    /// A component that is off and that `blog/` does not know yet.
    pub const fn new(config: Config) -> Self {
        Self {
            switch: Switch {
                threshold: AtomicU8::new(0),
                privacy: AtomicU8::new(Privacy::Hash as u8),
                slot: AtomicU32::new(0),
                way: AtomicU32::new(0),
                percpu: AtomicPtr::new(ptr::null_mut()),
                state: AtomicPtr::new(ptr::null_mut()),
            },
            config,
            // SAFETY: All zeros is a `static_key_false` that is off and has no entries, or `()`.
            key: unsafe { core::mem::zeroed() },
        }
    }

    /// What `blog/` stores to.
    ///
    /// # Safety
    ///
    /// A caller that stores there keeps this type's invariants, and knows that nobody else stores.
    #[doc(hidden)]
    #[inline(always)]
    pub const unsafe fn switch(&self) -> &Switch {
        &self.switch
    }

    /// How the component starts.
    #[doc(hidden)]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The component's name; `None` where it was made without one.
    #[doc(hidden)]
    pub fn name(&self) -> Option<&CStr> {
        // SAFETY: By the type invariants, the name is a C string, or null.
        (!self.config.name.is_null()).then(|| unsafe { CStr::from_ptr(self.config.name) })
    }

    /// The threshold, as READ_ONCE() loads it. An atomic load would do, but LLVM makes an
    /// instruction of its own of one, where it makes this an operand of the comparison.
    #[doc(hidden)]
    #[inline(always)]
    pub fn threshold(&self) -> u8 {
        // SAFETY: A reference is valid. What `blog/` may store meanwhile is one byte, by one
        // instruction, which the kernel's memory model allows.
        unsafe { self.switch.threshold.as_ptr().read_volatile() }
    }

    /// What is done with private arguments.
    #[doc(hidden)]
    #[inline(always)]
    pub fn privacy(&self) -> Privacy {
        let n = self.switch.privacy.load(Relaxed);
        *Privacy::ALL.get(usize::from(n)).unwrap_or(&Privacy::Omit)
    }

    /// What its rings know it by. As [`Self::threshold`] is loaded, and for the same reason.
    #[cfg(CONFIG_BLOG_HOOKS)]
    #[inline(always)]
    pub(in super::super) fn slot(&self) -> u32 {
        // SAFETY: A reference is valid. What `blog/` may store meanwhile is a number, by one
        // instruction.
        unsafe { self.switch.slot.as_ptr().read_volatile() }
    }

    /// Whether `blog/` is to see what is stored.
    #[cfg(CONFIG_BLOG_PARTS)]
    #[doc(hidden)]
    #[inline(always)]
    pub fn is_watched(&self) -> bool {
        self.slot() == WATCHED
    }

    /// Its way in tasks' tables.
    #[cfg(CONFIG_BLOG_HOOKS)]
    #[inline(always)]
    pub fn way(&self) -> usize {
        self.switch.way.load(Relaxed) as usize
    }

    /// Rings of interrupt contexts, of all CPUs.
    #[cfg(CONFIG_BLOG_HOOKS)]
    #[inline(always)]
    pub(super) fn percpu(&self) -> *mut AtomicPtr<Ring> {
        // ORDERING: Acquire pairs with the release store that made the table, whose address this
        // is.
        self.switch
            .percpu
            .load(core::sync::atomic::Ordering::Acquire)
    }
}

/// What `blog_log!` can log to: a static component, an [`Instance`](super::instance::Instance), or
/// a pointer to one.
///
/// # Examples
///
/// ```
/// # use kernel::prelude::*;
/// use kernel::blog::{
///     blog_component,
///     blog_info,
///     Component, //
/// };
///
/// blog_component! { FS, name: "component_fs", enabled: false }
///
/// /// For the module as a whole, and for each mount.
/// fn mounted(log: &impl Component, id: u32) {
///     blog_info!(log, "mount {id}");
/// }
/// # mounted(&FS, 1);
/// ```
///
/// # Safety
///
/// Where [`Self::is_on`] returns true, [`Self::raw`] is a component that `blog/` has switched on,
/// and that it keeps, with all that it leads to, at least as long as the reference lives by which
/// these were called. Both speak of the same one always.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a BLog component",
    label = "expected a component",
    note = "declare one with `blog_component!`, or make an `Instance`"
)]
pub unsafe trait Component {
    /// Whether anything is logged to the component at all. For a static component on x86 this is
    /// a branch that is patched, and costs a no-op while the component is off.
    fn is_on(&self) -> bool;

    /// The component in memory.
    fn raw(&self) -> &RawComponent;
}

macro_rules! impl_pointer {
    ($($ty:ty),*) => {$(
        // SAFETY: Says what `T` says, which this keeps.
        unsafe impl<T: Component + ?Sized> Component for $ty {
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
    component.switch.threshold.load(Relaxed) != 0
}

/// What is in section `.blog_components`: where static components are.
///
/// An atomic, though nobody stores to it: with any relocation model, it is in writable data then,
/// as the symbols around the section are. An assembler keeps data of other kinds apart.
#[doc(hidden)]
#[repr(transparent)]
pub struct Pointer(#[allow(dead_code)] AtomicPtr<RawComponent>);

impl Pointer {
    /// Points to a component.
    pub const fn new(component: &'static RawComponent) -> Self {
        Self(AtomicPtr::new(ptr::from_ref(component).cast_mut()))
    }
}
