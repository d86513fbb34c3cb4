// SPDX-License-Identifier: GPL-2.0

//! A growing array whose values never move.
//!
//! Pages, rings and task tables are kept in it: log calls hold pointers to them, and look them up
//! by index in any context, while process context adds more. Values are made in chunks. Its size
//! is in proportion to the values': also the array of pointers to the chunks starts small, and is
//! replaced by a larger one as it fills up. Looking up takes four loads and neither locks nor
//! waits.

use core::{
    marker::PhantomData,
    ptr,
    sync::atomic::{
        AtomicPtr,
        AtomicU32,
        AtomicUsize,
        Ordering::{
            Acquire,
            Relaxed,
            Release, //
        }, //
    }, //
};
use kernel::{
    blog::wire::dump,
    prelude::*, //
};

use super::budget::{
    Budget,
    Charge,
    FLAGS, //
};
use crate::sys::kept::{
    rounded,
    KeptVec, //
};

/// Pointers in the first array, and one.
const FIRST: u32 = 8;

/// An array of pointers to chunks: one that leads to a chunk, or is null; in the last one, to the
/// array that this one has replaced.
type Pointers = AtomicPtr<()>;

/// Chunks of `N` values each.
///
/// # Invariants
///
/// - `pointers` is null and `len` 0; or `pointers` leads to at least `len` pointers to chunks, and
///   one more, to the array before this one, which has half as many (with the one more), or null.
/// - Arrays stay until the table is dropped.
/// - A pointer to a chunk that isn't null leads to `N` values which this table owns.
/// - `bytes` is the sum of what was charged for all that.
pub(crate) struct Table<T, const N: usize> {
    pointers: AtomicPtr<Pointers>,
    len: AtomicU32,
    bytes: AtomicUsize,
    _owns: PhantomData<T>,
}

/// A vector of `n` values of `f` with no room for more, and what it has cost.
pub(super) fn paid_vec<T>(
    budget: &Budget,
    n: usize,
    f: impl Fn(u32) -> T,
) -> Result<(KeptVec<T>, Charge)> {
    budget.pay(rounded(n * size_of::<T>()), || {
        let mut vec = KeptVec::with_capacity(n, FLAGS)?;
        for i in 0..n {
            vec.push_within_capacity(f(i as u32)).map_err(|_| ENOMEM)?;
        }
        Ok(vec)
    })
}

impl<T, const N: usize> Table<T, N> {
    /// Makes a table that has no values.
    pub(crate) const fn new() -> Self {
        Self {
            pointers: AtomicPtr::new(ptr::null_mut()),
            len: AtomicU32::new(0),
            bytes: AtomicUsize::new(0),
            _owns: PhantomData,
        }
    }

    /// The table as crash tools find it. It is to be told anew when the table has grown.
    pub(crate) fn root(&self) -> dump::Table {
        dump::Table {
            chunks: self.pointers.load(Relaxed) as u64,
            capacity: self.len.load(Relaxed),
            per_chunk: N as u32,
            stride: size_of::<T>() as u32,
            reserved: 0,
        }
    }

    /// The first index that the next chunk gets.
    pub(crate) fn next(&self) -> u32 {
        let free = |n: &u32| self.pointer(*n).is_none_or(|p| p.load(Relaxed).is_null());
        (0..).find(free).unwrap_or(u32::MAX / N as u32) * N as u32
    }

    fn pointer(&self, n: u32) -> Option<&Pointers> {
        // ORDERING: Acquire pairs with the store in `widen`: there is an array of that length.
        if n >= self.len.load(Acquire) {
            return None;
        }
        // ORDERING: Acquire: the array's pointers are there.
        let pointers = self.pointers.load(Acquire);
        // SAFETY: By the type invariants, there are more than `n`, and they stay.
        Some(unsafe { &*pointers.add(n as usize) })
    }

    /// The value at `index`. Any context.
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        // ORDERING: Acquire pairs with the store in `add_chunk`: the values are there.
        let chunk = self.pointer(index / N as u32)?.load(Acquire).cast::<T>();
        if chunk.is_null() {
            return None;
        }
        // SAFETY: By the type invariants, there are `N` values, which live as long as the table.
        Some(unsafe { &*chunk.add(index as usize % N) })
    }

    /// Replaces the array of pointers by one of double length.
    fn widen(&self, budget: &Budget) -> Result {
        let (old, len) = (self.pointers.load(Relaxed), self.len.load(Relaxed));
        let all = match len {
            0 => FIRST,
            len => (len + 1) * 2,
        };
        let (vec, charge) = paid_vec(budget, all as usize, |n| match self.pointer(n) {
            Some(chunk) => Pointers::new(chunk.load(Relaxed)),
            None if n + 1 == all => Pointers::new(old.cast()),
            None => Pointers::new(ptr::null_mut()),
        })?;
        let (new, _, _) = vec.into_raw_parts();
        // INVARIANT: The new array is as long as it has to be and has what the old one had.
        // ORDERING: Release publishes its pointers; and it comes before its length, so that nobody,
        // nor a dump, finds an array that is shorter than that.
        self.pointers.store(new, Release);
        self.len.store(all - 1, Release);
        self.bytes.fetch_add(charge.keep(), Relaxed);
        Ok(())
    }

    /// Adds `N` values, which `f` makes out of their indices; returns the first index.
    ///
    /// Only called by one at a time.
    pub(super) fn add_chunk(&self, budget: &Budget, f: impl Fn(u32) -> T) -> Result<u32> {
        let first = self.next();
        let n = first / N as u32;
        if n >= self.len.load(Relaxed) {
            self.widen(budget)?;
        }
        let (vec, charge) = paid_vec(budget, N, |i| f(first + i))?;
        let (chunk, _, _) = vec.into_raw_parts();
        if let Some(pointer) = self.pointer(n) {
            // INVARIANT: There are `N` values, which are the table's.
            // ORDERING: Release publishes the values.
            pointer.store(chunk.cast(), Release);
        }
        self.bytes.fetch_add(charge.keep(), Relaxed);
        Ok(first)
    }
}

impl<T, const N: usize> Table<T, N> {
    /// Takes a chunk out, whose first index is `first`, with what it was charged as.
    ///
    /// Others may still use its values who have found them before. Only called by one at a time.
    pub(super) fn remove(&self, first: u32) -> Option<(KeptVec<T>, Charge)> {
        let pointer = self.pointer(first / N as u32)?;
        let chunk = pointer.swap(ptr::null_mut(), Relaxed).cast::<T>();
        if chunk.is_null() {
            return None;
        }
        let charge = Charge::of(rounded(N * size_of::<T>()));
        self.bytes.fetch_sub(charge.bytes(), Relaxed);
        // SAFETY: `add_chunk` made it from a vector of this type with these numbers; it is not the
        // table's any more.
        Some((unsafe { KeptVec::from_raw_parts(chunk, N, N) }, charge))
    }
}

#[cfg(CONFIG_BLOG_KUNIT_TEST)]
impl<T, const N: usize> Table<T, N> {
    /// Calls `f` with the address of each chunk and each array of pointers.
    pub(super) fn for_each_allocation(&self, f: &mut impl FnMut(*const c_void)) {
        let len = self.len.load(Acquire);
        for pointer in (0..len).filter_map(|n| self.pointer(n)) {
            let chunk = pointer.load(Acquire);
            if !chunk.is_null() {
                f(chunk.cast());
            }
        }
        let (mut pointers, mut all) = (self.pointers.load(Acquire), len as usize + 1);
        while !pointers.is_null() {
            f(pointers.cast());
            // SAFETY: By the type invariants, the last pointer leads to the array before.
            pointers = unsafe { &*pointers.add(all - 1) }.load(Acquire).cast();
            all /= 2;
        }
    }
}

impl<T, const N: usize> Drop for Table<T, N> {
    fn drop(&mut self) {
        let (mut pointers, len) = (*self.pointers.get_mut(), *self.len.get_mut() as usize);
        for n in 0..len as u32 {
            let chunk = self.pointer(n).map_or(ptr::null_mut(), |p| p.load(Relaxed));
            if !chunk.is_null() {
                // SAFETY: `add_chunk` made it from a vector of this type with these numbers, and
                // nobody uses the table any more.
                drop(unsafe { KeptVec::<T>::from_raw_parts(chunk.cast(), N, N) });
            }
        }
        let mut all = len + 1;
        while !pointers.is_null() {
            // SAFETY: By the type invariants it is an array with this many; `widen` made it from a
            // vector of that length.
            let vec = unsafe { KeptVec::from_raw_parts(pointers, all, all) };
            pointers = vec
                .last()
                .map_or(ptr::null_mut(), |p: &Pointers| p.load(Relaxed))
                .cast();
            all /= 2;
        }
        drop(Charge::of(*self.bytes.get_mut()));
    }
}
