// SPDX-License-Identifier: GPL-2.0

//! Memory: `kernel::alloc`. All of it is of kvmalloc() or vmalloc().

use core::{
    iter,
    marker::PhantomData,
    mem::{self, MaybeUninit},
    ops::{Deref, DerefMut},
    ptr::NonNull,
    slice,
};

use crate::{ffi::c_void, page::PAGE_SIZE};

unsafe extern "C" {
    safe fn blog_k_alloc(size: usize, pages: bool) -> *mut c_void;
    fn blog_k_free(memory: *mut c_void);
}

/// There are only [`GFP_KERNEL`].
#[derive(Clone, Copy)]
pub struct Flags(());

pub const GFP_KERNEL: Flags = Flags(());

#[derive(Clone, Copy, Debug)]
pub struct AllocError;

pub trait Allocator {
    /// Whether it gives whole pages, which are single ones.
    const PAGES: bool;
}

pub struct KVmalloc;

impl Allocator for KVmalloc {
    const PAGES: bool = false;
}

pub struct Vmalloc;

impl Allocator for Vmalloc {
    const PAGES: bool = true;
}

/// Memory for `n` values; dangling if they have no size.
fn alloc<T, A: Allocator>(n: usize) -> Result<NonNull<T>, AllocError> {
    const { assert!(align_of::<T>() <= PAGE_SIZE) };
    let mut size = n.checked_mul(size_of::<T>()).ok_or(AllocError)?;
    if size == 0 {
        return Ok(NonNull::dangling());
    }
    // kvmalloc() aligns powers of two by themselves, up to a page.
    if align_of::<T>() > align_of::<u64>() {
        size = size.checked_next_power_of_two().ok_or(AllocError)?;
    }
    NonNull::new(blog_k_alloc(size, A::PAGES).cast()).ok_or(AllocError)
}

/// # Invariants
///
/// There is a value, in memory of [`alloc`].
#[repr(transparent)]
#[cfg_attr(BLOG_ANYKERNEL, derive(core::marker::CoercePointee))]
pub struct Box<#[cfg_attr(BLOG_ANYKERNEL, pointee)] T: ?Sized, A: Allocator>(
    NonNull<T>,
    PhantomData<A>,
);

pub type KBox<T> = Box<T, KVmalloc>;

// SAFETY: It owns the value.
unsafe impl<T: ?Sized + Send, A: Allocator> Send for Box<T, A> {}
// SAFETY: As above.
unsafe impl<T: ?Sized + Sync, A: Allocator> Sync for Box<T, A> {}

impl<T, A: Allocator> Box<T, A> {
    pub fn new(value: T, _: Flags) -> Result<Self, AllocError> {
        let memory = alloc::<T, A>(1)?;
        // SAFETY: There is room for it.
        unsafe { memory.write(value) };
        // INVARIANT: It is there.
        Ok(Self(memory, PhantomData))
    }
}

impl<T, A: Allocator> Box<[MaybeUninit<T>], A> {
    /// Room for `n` values.
    fn room(n: usize) -> Result<Self, AllocError> {
        // INVARIANT: Whatever is there will do.
        Ok(Self(NonNull::slice_from_raw_parts(alloc::<_, A>(n)?, n), PhantomData))
    }
}

impl<T: ?Sized, A: Allocator> Box<T, A> {
    pub fn leak(this: Self) -> NonNull<T> {
        mem::ManuallyDrop::new(this).0
    }

    pub fn into_raw(this: Self) -> *mut T {
        Self::leak(this).as_ptr()
    }

    /// # Safety
    ///
    /// It is of [`Self::into_raw`], and nobody else uses it.
    pub unsafe fn from_raw(raw: *mut T) -> Self {
        // INVARIANT: By this function's requirement.
        // SAFETY: Likewise, so it isn't null.
        Self(unsafe { NonNull::new_unchecked(raw) }, PhantomData)
    }
}

impl<T: ?Sized, A: Allocator> Deref for Box<T, A> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: By the type invariants.
        unsafe { self.0.as_ref() }
    }
}

impl<T: ?Sized, A: Allocator> DerefMut for Box<T, A> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: By the type invariants.
        unsafe { self.0.as_mut() }
    }
}

impl<T: ?Sized, A: Allocator> Drop for Box<T, A> {
    fn drop(&mut self) {
        let size = size_of_val(&**self);
        // SAFETY: By the type invariants; nobody uses the value or its memory any more. Without a
        // size, it has none.
        unsafe {
            self.0.drop_in_place();
            if size != 0 {
                blog_k_free(self.0.as_ptr().cast());
            }
        }
    }
}

/// # Invariants
///
/// The first `len` values are there.
pub struct Vec<T, A: Allocator> {
    room: Box<[MaybeUninit<T>], A>,
    len: usize,
}

pub type KVec<T> = Vec<T, KVmalloc>;
pub type KVVec<T> = Vec<T, KVmalloc>;
pub type VVec<T> = Vec<T, Vmalloc>;

impl<T, A: Allocator> Vec<T, A> {
    pub const fn new() -> Self {
        // INVARIANT: There are none, neither values nor their memory.
        let none = NonNull::slice_from_raw_parts(NonNull::dangling(), 0);
        Self { room: Box(none, PhantomData), len: 0 }
    }

    pub fn with_capacity(capacity: usize, flags: Flags) -> Result<Self, AllocError> {
        let mut new = Self::new();
        new.reserve(capacity, flags)?;
        Ok(new)
    }

    pub fn from_elem(value: T, n: usize, flags: Flags) -> Result<Self, AllocError>
    where
        T: Clone,
    {
        let mut new = Self::new();
        new.resize(n, value, flags)?;
        Ok(new)
    }

    /// Makes room for `additional` values more.
    pub fn reserve(&mut self, additional: usize, _: Flags) -> Result<(), AllocError> {
        let least = self.len.checked_add(additional).ok_or(AllocError)?;
        if least <= self.capacity() {
            return Ok(());
        }
        let mut room = Box::room(least.max(self.capacity().saturating_mul(2)).max(4))?;
        for (to, value) in room.iter_mut().zip(&mut *self.room) {
            // INVARIANT: The values are in the new memory from here on.
            *to = mem::replace(value, MaybeUninit::uninit());
        }
        self.room = room;
        Ok(())
    }

    /// Adds as many values as there are, and as there is room for.
    fn add(&mut self, values: impl Iterator<Item = T>) {
        for (place, value) in self.room.iter_mut().skip(self.len).zip(values) {
            // INVARIANT: This one is there.
            place.write(value);
            self.len += 1;
        }
    }

    pub fn capacity(&self) -> usize {
        self.room.len()
    }

    pub fn push(&mut self, value: T, flags: Flags) -> Result<(), AllocError> {
        self.reserve(1, flags)?;
        self.add(iter::once(value));
        Ok(())
    }

    pub fn push_within_capacity(&mut self, value: T) -> Result<(), AllocError> {
        if self.len == self.capacity() {
            return Err(AllocError);
        }
        self.add(iter::once(value));
        Ok(())
    }

    pub fn extend_from_slice(&mut self, values: &[T], flags: Flags) -> Result<(), AllocError>
    where
        T: Clone,
    {
        self.reserve(values.len(), flags)?;
        self.add(values.iter().cloned());
        Ok(())
    }

    pub fn resize(&mut self, len: usize, value: T, flags: Flags) -> Result<(), AllocError>
    where
        T: Clone,
    {
        self.truncate(len);
        let more = len - self.len;
        self.reserve(more, flags)?;
        self.add(iter::repeat_n(value, more));
        Ok(())
    }

    pub fn pop(&mut self) -> Option<T> {
        // INVARIANT: The last one is the caller's from here on.
        self.len = self.len.checked_sub(1)?;
        // SAFETY: It was there, by the type invariants.
        Some(unsafe { self.room.get(self.len)?.assume_init_read() })
    }

    pub fn remove(&mut self, place: usize) -> Result<T, AllocError> {
        if place < self.len {
            self.get_mut(place..).unwrap_or_default().rotate_left(1);
            return self.pop().ok_or(AllocError);
        }
        Err(AllocError)
    }

    pub fn truncate(&mut self, len: usize) {
        while self.len > len {
            self.pop();
        }
    }

    pub fn clear(&mut self) {
        self.truncate(0);
    }

    pub fn retain(&mut self, mut keep: impl FnMut(&mut T) -> bool) {
        let mut place = 0;
        while let Some(value) = self.get_mut(place) {
            if keep(value) {
                place += 1;
            } else {
                let _ = self.remove(place);
            }
        }
    }
}

impl<T, A: Allocator> Default for Vec<T, A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, A: Allocator> Deref for Vec<T, A> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: By the type invariants.
        unsafe { slice::from_raw_parts(self.room.as_ptr().cast(), self.len) }
    }
}

impl<T, A: Allocator> DerefMut for Vec<T, A> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: By the type invariants.
        unsafe { slice::from_raw_parts_mut(self.room.as_mut_ptr().cast(), self.len) }
    }
}

impl<T, A: Allocator> Drop for Vec<T, A> {
    fn drop(&mut self) {
        self.clear();
    }
}

impl<'a, T, A: Allocator> IntoIterator for &'a Vec<T, A> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T, A: Allocator> IntoIterator for &'a mut Vec<T, A> {
    type Item = &'a mut T;
    type IntoIter = slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}
