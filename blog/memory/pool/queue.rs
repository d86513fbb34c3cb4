// SPDX-License-Identifier: GPL-2.0

//! A lock-free queue of indices.
//!
//! Retired rings wait in it. Needs nothing but `core`, and compiles on the host unchanged. Any
//! context, NMI included.

use core::sync::atomic::{
    AtomicU32,
    Ordering::{
        Acquire,
        Relaxed,
        Release, //
    }, //
};

use super::{
    NONE,
    TRIES, //
};

/// A cell of a [`Queue`].
pub(crate) struct Cell {
    turn: AtomicU32,
    index: AtomicU32,
}

impl Cell {
    /// Makes the cell at `position` of an empty queue.
    pub(crate) const fn new(position: u32) -> Self {
        Self {
            turn: AtomicU32::new(position),
            index: AtomicU32::new(NONE),
        }
    }
}

/// A bounded first-in first-out queue of indices (Vyukov's), for many writers and readers.
///
/// Not blocking in the sense that matters here: an operation that is interrupted in its middle
/// makes others fail, never wait. Behind a stuck push the queue looks empty, behind a stuck pop
/// full, until it goes on.
///
/// # Invariants
///
/// - The number of cells is a power of two, and not 1.
/// - `cells[p % n].turn` is `p` when the cell waits for the push at position `p`, and `p + 1` when
///   it waits for the pop at position `p`.
pub(crate) struct Queue {
    head: AtomicU32,
    tail: AtomicU32,
}

impl Queue {
    /// Makes an empty queue.
    pub(crate) const fn new() -> Self {
        Self {
            head: AtomicU32::new(0),
            tail: AtomicU32::new(0),
        }
    }

    fn cell(cells: &[Cell], position: u32) -> Option<&Cell> {
        let mask = (cells.len() as u32).checked_sub(1)?;
        cells.get((position & mask) as usize)
    }

    /// Puts `index` behind the others. False: it is full, or a pop is stuck in its middle.
    pub(crate) fn push(&self, cells: &[Cell], index: u32) -> bool {
        let mut tail = self.tail.load(Relaxed);
        for _ in 0..TRIES {
            let Some(cell) = Self::cell(cells, tail) else {
                return false;
            };
            // ORDERING: Acquire pairs with the release in `pop`, which gives the cell back.
            match cell.turn.load(Acquire).wrapping_sub(tail) as i32 {
                0 => match self.tail.compare_exchange_weak(
                    tail,
                    tail.wrapping_add(1),
                    Relaxed,
                    Relaxed,
                ) {
                    Ok(_) => {
                        cell.index.store(index, Relaxed);
                        // ORDERING: Release publishes the index, and all that the caller did to
                        // what it names, to the `pop` that takes it.
                        cell.turn.store(tail.wrapping_add(1), Release);
                        return true;
                    }
                    Err(now) => tail = now,
                },
                behind if behind < 0 => return false,
                _ => tail = self.tail.load(Relaxed),
            }
        }
        false
    }

    /// Takes the oldest index.
    pub(crate) fn pop(&self, cells: &[Cell]) -> Option<u32> {
        let mut head = self.head.load(Relaxed);
        for _ in 0..TRIES {
            let cell = Self::cell(cells, head)?;
            // ORDERING: Acquire pairs with the release in `push`.
            match cell.turn.load(Acquire).wrapping_sub(head.wrapping_add(1)) as i32 {
                0 => match self.head.compare_exchange_weak(
                    head,
                    head.wrapping_add(1),
                    Relaxed,
                    Relaxed,
                ) {
                    Ok(_) => {
                        let index = cell.index.load(Relaxed);
                        // ORDERING: Release gives the cell, with its index read, to the push of
                        // the next round.
                        cell.turn
                            .store(head.wrapping_add(cells.len() as u32), Release);
                        return Some(index);
                    }
                    Err(now) => head = now,
                },
                behind if behind < 0 => return None,
                _ => head = self.head.load(Relaxed),
            }
        }
        None
    }
}
