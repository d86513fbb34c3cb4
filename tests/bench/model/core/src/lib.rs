// SPDX-License-Identifier: GPL-2.0

//! `core` as the model sees it: the real one, but each atomic access, and each store to a page by
//! pointer, is put down to a cache line and to the CPU that the model says it runs on.
//!
//! A line is in the caches of those who have accessed it since somebody last stored to it; whoever
//! stores has it alone. An access to a line that is not in the caller's cache, but in another one,
//! moves it: that is what costs time where many CPUs work at once. First accesses don't count, nor
//! do lines that leave a cache for lack of room. The model runs all CPUs on one thread, by turns.

pub use ::core::*;

/// Bytes of a cache line.
pub const LINE: usize = 64;

/// What was counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Atomic read-modify-write operations.
    pub rmw: u64,
    /// Accesses that brought a line from another CPU.
    pub moved: u64,
    /// Those of the line that moved most.
    pub hottest: u64,
}

mod lines {
    use std::cell::{Cell, RefCell};
    use std::collections::HashMap;
    use std::hash::{BuildHasherDefault, Hasher};

    /// Spreads the numbers of lines; nobody plays tricks on it.
    #[derive(Default)]
    struct Spread(u64);

    impl Hasher for Spread {
        fn finish(&self) -> u64 {
            self.0
        }
        fn write(&mut self, _: &[u8]) {
            unreachable!("lines have numbers");
        }
        fn write_usize(&mut self, n: usize) {
            self.0 = (n as u64)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(26);
        }
    }

    type Lines = HashMap<usize, Line, BuildHasherDefault<Spread>>;

    /// Who has a line: bits by CPU, and whether the one has stored to it.
    #[derive(Default)]
    struct Line {
        in_caches: [u64; 8],
        moved: u64,
    }

    thread_local! {
        static CPU: Cell<usize> = const { Cell::new(0) };
        static RMW: Cell<u64> = const { Cell::new(0) };
        static LINES: RefCell<Lines> = RefCell::default();
    }

    /// Says on which CPU what follows runs.
    pub fn run_on(cpu: usize) {
        assert!(cpu < 512);
        CPU.set(cpu);
    }

    /// Forgets the counts, but not who has which line.
    pub fn reset() {
        RMW.set(0);
        LINES.with_borrow_mut(|lines| lines.values_mut().for_each(|line| line.moved = 0));
    }

    /// Forgets who has which line: what lay there is gone.
    pub fn forget() {
        LINES.with_borrow_mut(|lines| lines.clear());
    }

    pub fn counts() -> super::Counts {
        LINES.with_borrow(|lines| super::Counts {
            rmw: RMW.get(),
            moved: lines.values().map(|line| line.moved).sum(),
            hottest: lines.values().map(|line| line.moved).max().unwrap_or(0),
        })
    }

    pub(super) fn rmw() {
        RMW.set(RMW.get() + 1);
    }

    pub(super) fn access(address: usize, bytes: usize, stores: bool) {
        let cpu = CPU.get();
        let (word, bit) = (cpu / 64, 1 << (cpu % 64));
        LINES.with_borrow_mut(|lines| {
            for line in address / super::LINE..=(address + bytes - 1) / super::LINE {
                let line = lines.entry(line).or_default();
                let mine = line.in_caches[word] & bit;
                if mine != 0 && !stores {
                    continue;
                }
                line.in_caches[word] &= !bit;
                if line.in_caches.iter().any(|w| *w != 0) {
                    line.moved += 1;
                }
                if stores {
                    line.in_caches = [0; 8];
                }
                line.in_caches[word] |= bit;
            }
        });
    }
}

pub use lines::{counts, forget, reset, run_on};

pub mod ptr {
    //! `core::ptr`, with stores that count.

    pub use ::core::ptr::*;

    /// Stores `value`.
    ///
    /// # Safety
    ///
    /// As for the real one.
    pub unsafe fn write_unaligned<T>(to: *mut T, value: T) {
        crate::lines::access(to as usize, size_of::<T>(), true);
        // SAFETY: By this function's requirement.
        unsafe { ::core::ptr::write_unaligned(to, value) };
    }

    /// Copies `n` values.
    ///
    /// # Safety
    ///
    /// As for the real one.
    pub unsafe fn copy_nonoverlapping<T>(from: *const T, to: *mut T, n: usize) {
        if n != 0 {
            crate::lines::access(to as usize, n * size_of::<T>(), true);
        }
        // SAFETY: By this function's requirement.
        unsafe { ::core::ptr::copy_nonoverlapping(from, to, n) };
    }
}

pub mod sync {
    //! `core::sync`, with atomics that count.

    pub use ::core::sync::*;

    pub mod atomic {
        //! Atomics that count.

        use crate::lines;
        pub use ::core::sync::atomic::{compiler_fence, fence, Ordering};

        macro_rules! atomic {
            ($name:ident, $value:ty $(, $param:ident)?) => {
                /// An atomic that counts.
                #[repr(transparent)]
                pub struct $name $(<$param>)? (::core::sync::atomic::$name $(<$param>)?);

                impl $(<$param>)? $name $(<$param>)? {
                    /// Makes an atomic.
                    pub const fn new(value: $value) -> Self {
                        Self(::core::sync::atomic::$name::new(value))
                    }

                    fn access(&self, stores: bool) {
                        lines::access(self as *const Self as usize, size_of::<Self>(), stores);
                    }

                    fn change(&self) {
                        lines::rmw();
                        self.access(true);
                    }

                    pub fn load(&self, order: Ordering) -> $value {
                        self.access(false);
                        self.0.load(order)
                    }

                    pub fn store(&self, value: $value, order: Ordering) {
                        self.access(true);
                        self.0.store(value, order)
                    }

                    pub fn swap(&self, value: $value, order: Ordering) -> $value {
                        self.change();
                        self.0.swap(value, order)
                    }

                    pub fn compare_exchange(
                        &self,
                        from: $value,
                        to: $value,
                        ok: Ordering,
                        err: Ordering,
                    ) -> Result<$value, $value> {
                        self.change();
                        self.0.compare_exchange(from, to, ok, err)
                    }

                    pub fn compare_exchange_weak(
                        &self,
                        from: $value,
                        to: $value,
                        ok: Ordering,
                        err: Ordering,
                    ) -> Result<$value, $value> {
                        self.compare_exchange(from, to, ok, err)
                    }
                }
            };
        }

        macro_rules! integer {
            ($name:ident, $value:ty) => {
                atomic!($name, $value);

                impl $name {
                    pub fn fetch_add(&self, n: $value, order: Ordering) -> $value {
                        self.change();
                        self.0.fetch_add(n, order)
                    }

                    pub fn fetch_sub(&self, n: $value, order: Ordering) -> $value {
                        self.change();
                        self.0.fetch_sub(n, order)
                    }

                    pub fn fetch_and(&self, bits: $value, order: Ordering) -> $value {
                        self.change();
                        self.0.fetch_and(bits, order)
                    }

                    pub fn fetch_or(&self, bits: $value, order: Ordering) -> $value {
                        self.change();
                        self.0.fetch_or(bits, order)
                    }
                }
            };
        }

        integer!(AtomicU8, u8);
        integer!(AtomicU32, u32);
        integer!(AtomicU64, u64);
        atomic!(AtomicI32, i32);
        atomic!(AtomicPtr, *mut T, T);
    }
}
