// SPDX-License-Identifier: GPL-2.0

//! A growing array whose values never move.
//!
//! `memory.rs` keeps pages and rings in it: log calls hold pointers to them, and look them up by
//! index in any context, while process context adds more. Values are made in chunks and freed only
//! with the whole table. Looking up takes two loads and neither locks nor waits.

use core::{
    marker::PhantomData,
    ptr,
    sync::atomic::{
        AtomicPtr,
        Ordering::{
            Acquire,
            Release, //
        }, //
    }, //
};
use kernel::{
    blog::root,
    prelude::*, //
};

/// Up to as many values as there is room for chunks of `N`.
///
/// # Invariants
///
/// - `chunks` stays where it is, and has null pointers behind those that are not null.
/// - A pointer that isn't null points to `N` values which this table owns.
pub(crate) struct Table<T, const N: usize> {
    chunks: KVVec<AtomicPtr<T>>,
    _owns: PhantomData<T>,
}

impl<T, const N: usize> Table<T, N> {
    /// Makes a table that has no values, and can grow to `most` at least.
    pub(crate) fn new(most: usize) -> Result<Self> {
        let len = most.div_ceil(N);
        let mut chunks = KVVec::with_capacity(len, GFP_KERNEL)?;
        for _ in 0..len {
            chunks.push(AtomicPtr::new(ptr::null_mut()), GFP_KERNEL)?;
        }
        Ok(Self {
            chunks,
            _owns: PhantomData,
        })
    }

    /// Bytes of the table without its values.
    pub(crate) fn bytes(&self) -> usize {
        self.chunks.len() * size_of::<AtomicPtr<T>>()
    }

    /// The table as crash tools find it.
    pub(crate) fn root(&self) -> root::Table {
        root::Table {
            chunks: self.chunks.as_ptr() as u64,
            capacity: self.chunks.len() as u32,
            per_chunk: N as u32,
            stride: size_of::<T>() as u32,
            reserved: 0,
        }
    }

    /// The value at `index`. Any context.
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        let index = index as usize;
        // ORDERING: Acquire pairs with the store in `add_chunk`: the values are there.
        let chunk = self.chunks.get(index / N)?.load(Acquire);
        if chunk.is_null() {
            return None;
        }
        // SAFETY: By the type invariants, there are `N` values, which live as long as the table.
        Some(unsafe { &*chunk.add(index % N) })
    }

    /// Adds `N` values, which `f` makes out of their indices; returns the first index.
    ///
    /// `ENOSPC` where there is no room. Only called by one at a time.
    pub(crate) fn add_chunk(&self, f: impl Fn(u32) -> T) -> Result<u32> {
        // ORDERING: Acquire, though nobody else stores: costs nothing.
        let mut chunks = self.chunks.iter().enumerate();
        let (n, slot) = chunks
            .find(|(_, chunk)| chunk.load(Acquire).is_null())
            .ok_or(ENOSPC)?;
        let first = (n * N) as u32;
        let mut values = KVVec::with_capacity(N, GFP_KERNEL)?;
        for index in (first..).take(N) {
            values.push(f(index), GFP_KERNEL)?;
        }
        let (chunk, _, _) = values.into_raw_parts();
        // ORDERING: Release publishes the values.
        // INVARIANT: There are `N` values, and only `drop` frees them.
        slot.store(chunk, Release);
        Ok(first)
    }
}

impl<T, const N: usize> Drop for Table<T, N> {
    fn drop(&mut self) {
        for chunk in &self.chunks {
            let chunk = chunk.load(Acquire);
            if !chunk.is_null() {
                // SAFETY: `add_chunk` made it from a vector of this type with these numbers, and
                // nobody uses the table any more.
                drop(unsafe { KVVec::<T>::from_raw_parts(chunk, N, N) });
            }
        }
    }
}
