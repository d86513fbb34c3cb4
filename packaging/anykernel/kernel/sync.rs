// SPDX-License-Identifier: GPL-2.0

//! Shared values and locks: `kernel::sync`.

use core::{
    cell::UnsafeCell,
    marker::PhantomData,
    mem::MaybeUninit,
    ops::{Deref, DerefMut},
    pin::Pin,
    ptr::NonNull,
    sync::atomic::{fence, AtomicU8, AtomicUsize, Ordering::*},
};

use crate::{
    alloc::{AllocError, Flags, KBox},
    error::Result,
    types::{NotThreadSafe, Opaque},
};

pub use crate::global_lock;

struct Counted<T: ?Sized> {
    users: AtomicUsize,
    value: T,
}

/// # Invariants
///
/// It is of a box, and counted as a user of the value, which is dropped with the last one.
pub struct Arc<T: ?Sized>(NonNull<Counted<T>>, PhantomData<T>);

// SAFETY: It is a shared reference, and the last one drops the value.
unsafe impl<T: ?Sized + Sync + Send> Send for Arc<T> {}
// SAFETY: As above.
unsafe impl<T: ?Sized + Sync + Send> Sync for Arc<T> {}

impl<T> Arc<T> {
    pub fn new(value: T, flags: Flags) -> Result<Self, AllocError> {
        Ok(UniqueArc::new(value, flags)?.into())
    }
}

impl<T: ?Sized> Arc<T> {
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        core::ptr::addr_eq(this.0.as_ptr(), other.0.as_ptr())
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: By the type invariants.
        unsafe { &self.0.as_ref().value }
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    fn clone(&self) -> Self {
        // SAFETY: By the type invariants.
        unsafe { self.0.as_ref() }.users.fetch_add(1, Relaxed);
        // INVARIANT: It was just counted.
        Self(self.0, PhantomData)
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    fn drop(&mut self) {
        // ORDERING: Release: what this one did with the value comes before the drop.
        // SAFETY: By the type invariants.
        if unsafe { self.0.as_ref() }.users.fetch_sub(1, Release) == 1 {
            // ORDERING: Acquire: the drop comes after all that others did.
            fence(Acquire);
            // SAFETY: By the type invariants; this was the last user.
            drop(unsafe { KBox::from_raw(self.0.as_ptr()) });
        }
    }
}

/// The only user of a value.
pub struct UniqueArc<T: ?Sized>(KBox<Counted<T>>);

impl<T> UniqueArc<T> {
    pub fn new(value: T, flags: Flags) -> Result<Self, AllocError> {
        Ok(Self(KBox::new(Counted { users: AtomicUsize::new(1), value }, flags)?))
    }
}

impl<T: ?Sized> Deref for UniqueArc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T: ?Sized> DerefMut for UniqueArc<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0.value
    }
}

impl<T: ?Sized> From<UniqueArc<T>> for Arc<T> {
    fn from(unique: UniqueArc<T>) -> Self {
        // INVARIANT: It is the user that was counted from the start.
        Self(KBox::leak(unique.0), PhantomData)
    }
}

/// Room for a `struct mutex`; `compat.c` compares.
type RawMutex = Opaque<[u64; 16]>;

unsafe extern "C" {
    fn blog_k_mutex_init(mutex: *mut [u64; 16]);
    fn blog_k_mutex_lock(mutex: *mut [u64; 16]);
    fn blog_k_mutex_unlock(mutex: *mut [u64; 16]);
}

/// Of [`new_mutex!`](crate::new_mutex), it may only be locked in the box that [`KBox::pin_init`]
/// makes; of [`global_lock!`], only after `init`.
pub struct Mutex<T: ?Sized> {
    raw: RawMutex,
    value: UnsafeCell<T>,
}

// SAFETY: The value goes from thread to thread.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: The value is used only by the owner of the lock.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    #[doc(hidden)]
    pub const fn unready(value: T) -> Self {
        Self { raw: Opaque::zeroed(), value: UnsafeCell::new(value) }
    }

    /// # Safety
    ///
    /// Once, before it is locked; and it doesn't move from here on.
    pub unsafe fn init(&self) {
        // SAFETY: By this function's requirement.
        unsafe { blog_k_mutex_init(self.raw.get()) };
    }

    pub fn lock(&self) -> lock::Guard<'_, T, lock::mutex::MutexBackend> {
        // SAFETY: `init` comes before any use, by its requirement.
        unsafe { blog_k_mutex_lock(self.raw.get()) };
        lock::Guard { mutex: self, _backend: (PhantomData, NotThreadSafe) }
    }
}

impl<T> KBox<Mutex<T>> {
    pub fn pin_init(mutex: Mutex<T>, flags: Flags) -> Result<Pin<Self>> {
        let this = Self::new(mutex, flags)?;
        // SAFETY: It is new, and pinned below.
        unsafe { this.init() };
        // SAFETY: Nothing moves out of it.
        Ok(unsafe { Pin::new_unchecked(this) })
    }
}

#[macro_export]
macro_rules! new_mutex {
    ($value:expr) => {
        $crate::sync::Mutex::unready($value)
    };
}

#[macro_export]
macro_rules! global_lock {
    ($(#[$meta:meta])* unsafe(uninit) $vis:vis static $name:ident: Mutex<$ty:ty> = $value:expr;) => {
        $(#[$meta])*
        $vis static $name: $crate::sync::Mutex<$ty> = $crate::sync::Mutex::unready($value);
    };
}

pub mod lock {
    use super::*;

    pub mod mutex {
        pub struct MutexBackend;
    }

    /// Has locked a mutex until it is dropped.
    pub struct Guard<'a, T: ?Sized, B> {
        pub(super) mutex: &'a Mutex<T>,
        pub(super) _backend: (PhantomData<B>, NotThreadSafe),
    }

    impl<T: ?Sized, B> Deref for Guard<'_, T, B> {
        type Target = T;

        fn deref(&self) -> &T {
            // SAFETY: Only the guard has it.
            unsafe { &*self.mutex.value.get() }
        }
    }

    impl<T: ?Sized, B> DerefMut for Guard<'_, T, B> {
        fn deref_mut(&mut self) -> &mut T {
            // SAFETY: Only the guard has it.
            unsafe { &mut *self.mutex.value.get() }
        }
    }

    impl<T: ?Sized, B> Drop for Guard<'_, T, B> {
        fn drop(&mut self) {
            // SAFETY: `lock` has locked it.
            unsafe { blog_k_mutex_unlock(self.mutex.raw.get()) };
        }
    }
}

/// # Invariants
///
/// The value is there from state 2 on.
pub struct SetOnce<T> {
    /// 0: empty, 1: being set, 2: set.
    state: AtomicU8,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: It is set once, and then shared.
unsafe impl<T: Send + Sync> Sync for SetOnce<T> {}

#[allow(clippy::new_without_default)]
impl<T> SetOnce<T> {
    pub const fn new() -> Self {
        Self { state: AtomicU8::new(0), value: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    pub fn as_ref(&self) -> Option<&T> {
        // ORDERING: Acquire pairs with the store in `populate`.
        // SAFETY: By the type invariants.
        (self.state.load(Acquire) == 2).then(|| unsafe { (*self.value.get()).assume_init_ref() })
    }

    pub fn populate(&self, value: T) -> bool {
        if self.state.compare_exchange(0, 1, Relaxed, Relaxed).is_err() {
            return false;
        }
        // SAFETY: One call gets here, and nobody reads the value yet.
        unsafe { (*self.value.get()).write(value) };
        // INVARIANT: It was just stored.
        // ORDERING: Release: a thread that sees the state finds the value.
        self.state.store(2, Release);
        true
    }

    pub fn copy(&self) -> Option<T>
    where
        T: Copy,
    {
        self.as_ref().copied()
    }
}

pub mod rcu {
    use crate::types::NotThreadSafe;

    unsafe extern "C" {
        safe fn blog_k_rcu_lock();
        safe fn blog_k_rcu_unlock();
    }

    pub struct Guard(NotThreadSafe);

    pub fn read_lock() -> Guard {
        blog_k_rcu_lock();
        Guard(NotThreadSafe)
    }

    impl Drop for Guard {
        fn drop(&mut self) {
            blog_k_rcu_unlock();
        }
    }
}

pub mod poll {
    use crate::bindings;
    use core::marker::PhantomData;

    /// What a poll passes on.
    #[repr(transparent)]
    pub struct PollTable<'a>(*mut bindings::poll_table_struct, PhantomData<&'a ()>);

    impl PollTable<'_> {
        /// # Safety
        ///
        /// It is null, or valid for the lifetime.
        pub unsafe fn from_raw(table: *mut bindings::poll_table_struct) -> Self {
            Self(table, PhantomData)
        }
    }
}
