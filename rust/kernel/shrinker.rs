// SPDX-License-Identifier: GPL-2.0

//! Shrinkers: how a cache gives memory back when the system is short of it.
//!
//! C header: [`include/linux/shrinker.h`](srctree/include/linux/shrinker.h)
//!
//! # Examples
//!
//! A cache of pages, of which as many are dropped as are asked for:
//!
//! ```
//! use kernel::{
//!     new_mutex,
//!     page::Page,
//!     shrinker::{
//!         Control,
//!         Count,
//!         Registration,
//!         Scan,
//!         Shrinker, //
//!     },
//!     sync::{
//!         Arc,
//!         ArcBorrow,
//!         Mutex, //
//!     }, //
//! };
//!
//! #[pin_data]
//! struct Cache {
//!     #[pin]
//!     pages: Mutex<KVec<Page>>,
//! }
//!
//! impl Shrinker for Cache {
//!     type Ptr = Arc<Cache>;
//!
//!     fn count(cache: ArcBorrow<'_, Cache>, _control: &Control<'_>) -> Count {
//!         match cache.pages.try_lock() {
//!             Some(pages) => Count::of(pages.len()),
//!             None => Count::UNKNOWN,
//!         }
//!     }
//!
//!     fn scan(cache: ArcBorrow<'_, Cache>, control: &mut Control<'_>) -> Scan {
//!         // Who holds the lock may be waiting for memory just now.
//!         let Some(mut pages) = cache.pages.try_lock() else {
//!             return Scan::STOP;
//!         };
//!         let before = pages.len();
//!         pages.truncate(before.saturating_sub(control.nr_to_scan()));
//!         Scan::freed(before - pages.len())
//!     }
//! }
//!
//! let cache = Arc::pin_init(
//!     pin_init!(Cache {
//!         pages <- new_mutex!(KVec::new()),
//!     }),
//!     GFP_KERNEL,
//! )?;
//! let _registration = Registration::<Cache>::new(c"example", cache)?;
//! # Ok::<(), Error>(())
//! ```

use crate::{
    bindings,
    error::{
        code::ENOMEM,
        Result, //
    },
    ffi::c_ulong,
    str::CStr,
    types::ForeignOwnable, //
};
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};

/// A cache that gives memory back.
pub trait Shrinker {
    /// What the callbacks get. They may run on several CPUs at once.
    type Ptr: ForeignOwnable + Send + Sync;

    /// Says how many objects could be freed.
    ///
    /// Called in reclaim: it must not allocate memory, nor wait for a lock that somebody may hold
    /// who does.
    fn count(data: <Self::Ptr as ForeignOwnable>::Borrowed<'_>, control: &Control<'_>) -> Count;

    /// Frees objects, about as many as [`Control::nr_to_scan`] says.
    ///
    /// Called in reclaim, as [`Self::count`], and only if that has found something.
    fn scan(data: <Self::Ptr as ForeignOwnable>::Borrowed<'_>, control: &mut Control<'_>) -> Scan;
}

/// What [`Shrinker::count`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(c_ulong);

impl Count {
    /// There is nothing to free: `SHRINK_EMPTY`.
    pub const EMPTY: Self = Self(c_ulong::MAX - 1);
    /// It can't be told now, or isn't worth the while.
    pub const UNKNOWN: Self = Self(0);

    /// So many objects.
    pub const fn of(objects: usize) -> Self {
        match objects {
            0 => Self::EMPTY,
            // The two highest numbers mean something else.
            n if n >= Self::EMPTY.0 => Self(Self::EMPTY.0 - 1),
            n => Self(n),
        }
    }
}

/// What [`Shrinker::scan`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan(c_ulong);

impl Scan {
    /// It can't go on without the risk of a deadlock; this reclaim doesn't ask again:
    /// `SHRINK_STOP`.
    pub const STOP: Self = Self(c_ulong::MAX);

    /// So many objects were freed, or will be soon.
    pub const fn freed(objects: usize) -> Self {
        match objects {
            c_ulong::MAX => Self(c_ulong::MAX - 1),
            n => Self(n),
        }
    }
}

/// What the kernel asks for: `struct shrink_control`.
///
/// # Invariants
///
/// `control` is valid, and this callback's alone.
pub struct Control<'a> {
    control: NonNull<bindings::shrink_control>,
    _borrows: PhantomData<&'a mut bindings::shrink_control>,
}

impl Control<'_> {
    /// How many objects are to be looked at, and freed if possible.
    pub fn nr_to_scan(&self) -> usize {
        // SAFETY: By the type invariants.
        unsafe { self.control.as_ref() }.nr_to_scan
    }

    /// Says how many objects were looked at, where these were not [`Self::nr_to_scan`].
    pub fn set_nr_scanned(&mut self, objects: usize) {
        // SAFETY: By the type invariants.
        unsafe { self.control.as_mut() }.nr_scanned = objects;
    }
}

/// A shrinker that the kernel calls, until this is dropped.
///
/// # Invariants
///
/// `shrinker` is registered, with the callbacks of `T`, and its `private_data` is what
/// `T::Ptr::into_foreign` returned.
pub struct Registration<T: Shrinker> {
    shrinker: NonNull<bindings::shrinker>,
    _data: PhantomData<T::Ptr>,
}

// SAFETY: It can be dropped on any thread, with the data, which can be sent.
unsafe impl<T: Shrinker> Send for Registration<T> {}
// SAFETY: Nothing can be done with a shared reference.
unsafe impl<T: Shrinker> Sync for Registration<T> {}

impl<T: Shrinker> Registration<T> {
    /// Registers a shrinker, with a name for debugfs.
    pub fn new(name: &CStr, data: T::Ptr) -> Result<Self> {
        // SAFETY: Both are C strings, and the format takes one.
        let shrinker = unsafe { bindings::shrinker_alloc(0, c"%s".as_ptr().cast(), name.as_ptr()) };
        let shrinker = NonNull::new(shrinker).ok_or(ENOMEM)?;
        // SAFETY: It was just made, and is not registered.
        unsafe {
            let raw = shrinker.as_ptr();
            (*raw).count_objects = Some(Self::count_objects);
            (*raw).scan_objects = Some(Self::scan_objects);
            (*raw).private_data = data.into_foreign().cast();
            bindings::shrinker_register(raw);
        }
        // INVARIANT: As just done.
        Ok(Self {
            shrinker,
            _data: PhantomData,
        })
    }

    /// # Safety
    ///
    /// Called by the kernel for a registered shrinker of this type.
    unsafe extern "C" fn count_objects(
        shrinker: *mut bindings::shrinker,
        control: *mut bindings::shrink_control,
    ) -> c_ulong {
        // SAFETY: By this function's requirement; the data stays until the shrinker is freed, which
        // waits for this.
        let data = unsafe { T::Ptr::borrow((*shrinker).private_data.cast()) };
        // INVARIANT: By this function's requirement.
        let control = Control {
            // SAFETY: As above.
            control: unsafe { NonNull::new_unchecked(control) },
            _borrows: PhantomData,
        };
        T::count(data, &control).0
    }

    /// # Safety
    ///
    /// As for [`Self::count_objects`].
    unsafe extern "C" fn scan_objects(
        shrinker: *mut bindings::shrinker,
        control: *mut bindings::shrink_control,
    ) -> c_ulong {
        // SAFETY: As in `count_objects`.
        let data = unsafe { T::Ptr::borrow((*shrinker).private_data.cast()) };
        // INVARIANT: By this function's requirement.
        let mut control = Control {
            // SAFETY: As above.
            control: unsafe { NonNull::new_unchecked(control) },
            _borrows: PhantomData,
        };
        T::scan(data, &mut control).0
    }
}

impl<T: Shrinker> Drop for Registration<T> {
    fn drop(&mut self) {
        // SAFETY: By the type invariants; it stays until it is freed.
        let data = unsafe { (*self.shrinker.as_ptr()).private_data };
        // SAFETY: By the type invariants. No callback runs any more on return.
        unsafe { bindings::shrinker_free(self.shrinker.as_ptr()) };
        // SAFETY: That is what `into_foreign` returned, and nobody borrows it any more.
        drop(unsafe { T::Ptr::from_foreign(data.cast()) });
    }
}
