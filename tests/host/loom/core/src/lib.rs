// SPDX-License-Identifier: GPL-2.0

//! `core` as the models see it: the real one, but for atomics and for what stores to pages by
//! pointer (`ptr::write_unaligned`, `ptr::copy_nonoverlapping`), which are atomic stores here.
//!
//! The crate with the models says `extern crate model_core as core`, so that the kernel's files,
//! which name `core` by path, get this one without a change. There are two kinds of models:
//!
//! - of orders, with loom: from its first thread on, loom has the value of each atomic and shows a
//!   reader every one that no ordering forbids. An atomic here has the size of the real one, as it
//!   lies in pages and in `repr(C)` structures; loom's object for it is found by its address, so it
//!   must not move once it is used. Plain stores of records are relaxed atomic ones for loom, word
//!   by word. What this can't show: a load that is delayed past a later store (loom runs a load
//!   at once), and nested writers (these run as calls in the middle of a record, in the ordinary
//!   tests).
//! - of cache lines, on one thread: [`lines`] counts each access.

pub mod lines;

pub use ::core::*;

pub mod ptr {
    //! `core::ptr`, with stores that loom sees.

    pub use ::core::ptr::*;

    use crate::sync::atomic::{AtomicU32, Ordering::Relaxed};

    /// Stores `value`, which is made of 4-byte words without padding, as words.
    ///
    /// # Safety
    ///
    /// As for the real one; `to` is aligned to 4 and stays valid to the end of the execution.
    pub unsafe fn write_unaligned<T: Copy>(to: *mut T, value: T) {
        // SAFETY: By this function's requirement.
        unsafe { copy_nonoverlapping(&raw const value, to, 1) };
    }

    /// Copies `n` values, which are made of 4-byte words without padding, as words.
    ///
    /// # Safety
    ///
    /// As for [`write_unaligned`], and `from` is no memory that loom knows as atomics.
    pub unsafe fn copy_nonoverlapping<T: Copy>(from: *const T, to: *mut T, n: usize) {
        let bytes = n * size_of::<T>();
        assert!(to.cast::<u32>().is_aligned() && bytes % 4 == 0);
        for i in 0..bytes / 4 {
            // SAFETY: Both are valid for that many words.
            unsafe {
                let word = from.cast::<u32>().add(i).read_unaligned();
                (*to.cast::<AtomicU32>().add(i)).store(word, Relaxed);
            }
        }
    }
}

pub mod sync {
    //! `core::sync`, with loom's atomics.

    pub use ::core::sync::*;

    pub mod atomic {
        //! Atomics that loom sees.

        pub use ::core::sync::atomic::{compiler_fence, Ordering};

        use crate::lines::{self, ByAddress, Kind};
        use std::cell::{RefCell, UnsafeCell};
        use std::rc::Rc;

        /// What loom has for one atomic.
        struct Pair {
            /// What it stood at when `value` was 0.
            base: u64,
            value: loom::sync::atomic::AtomicU64,
            /// Stored to before each load of `value`. Loom goes back and tries another order only
            /// where the last access of an atomic conflicts with the next one. So a thread that
            /// loads and then stores hides from it that another one had loaded before. Two stores
            /// always conflict.
            mark: loom::sync::atomic::AtomicU64,
        }

        impl Pair {
            fn new(value: u64) -> Self {
                Pair {
                    base: 0,
                    value: loom::sync::atomic::AtomicU64::new(value),
                    mark: loom::sync::atomic::AtomicU64::new(0),
                }
            }
        }

        type Object = Rc<Pair>;

        #[derive(Default)]
        struct Objects {
            /// Those in use, by the address of their atomic.
            used: ByAddress<Object>,
            /// Those not yet in use. They are made before there are threads, as loom wants an
            /// object to be there before the threads that use it.
            spare: Vec<Pair>,
            /// How many of these there are to be.
            room: usize,
            /// There are threads. Until then nothing can be seen in another order, so an atomic is
            /// plain memory, and loom is spared all that leads to what a model is about.
            threads: bool,
            /// Atomics that bits were set in before, by their address, and what gives their value.
            bits: ByAddress<unsafe fn(usize) -> u64>,
        }

        thread_local! {
            // Loom runs all threads of an execution on one thread.
            static OBJECTS: RefCell<Objects> = RefCell::default();
        }

        /// Forgets all atomics, and wants room for some. To be called when an execution starts.
        pub fn reset(room: usize) {
            OBJECTS.replace(Objects { room, ..Objects::default() });
        }

        /// To be called before each thread.
        pub fn begin_threads() {
            OBJECTS.with_borrow_mut(|objects| {
                if objects.threads {
                    return;
                }
                objects.threads = true;
                objects.spare = (0..objects.room).map(|_| Pair::new(0)).collect();
                for (address, value) in &objects.bits {
                    // SAFETY: The model set bits there, and still has that memory.
                    let value = unsafe { value(*address) };
                    objects.used.insert(*address, Rc::new(Pair::new(value)));
                }
            });
        }

        /// How many atomics this execution has used.
        pub fn used() -> usize {
            OBJECTS.with_borrow(|objects| objects.used.len())
        }

        /// Loom's object for an atomic that stands at `value`; none if there are no threads yet.
        fn object(address: usize, value: impl FnOnce() -> u64) -> Option<Object> {
            OBJECTS.with_borrow_mut(|objects| {
                let Objects { used, spare, .. } = objects;
                objects.threads.then(|| {
                    let new = || Pair {
                        base: value(),
                        ..spare.pop().expect("more atomics than there is room for")
                    };
                    used.entry(address).or_insert_with(|| Rc::new(new())).clone()
                })
            })
        }

        /// A fence, if there are threads.
        pub fn fence(order: Ordering) {
            if OBJECTS.with_borrow(|objects| objects.threads) {
                loom::sync::atomic::fence(order);
            }
        }

        macro_rules! atomic {
            ($name:ident, $value:ty $(, $param:ident)?) => {
                /// An atomic. Its own memory holds what it was when threads began; loom's object
                /// how much larger it is now.
                #[repr(transparent)]
                pub struct $name $(<$param>)? (UnsafeCell<$value>);

                // SAFETY: With threads, the memory is read only; loom has the value.
                unsafe impl $(<$param>)? Sync for $name $(<$param>)? {}
                // SAFETY: As above.
                unsafe impl $(<$param>)? Send for $name $(<$param>)? {}

                impl $(<$param>)? $name $(<$param>)? {
                    /// Makes an atomic.
                    pub const fn new(value: $value) -> Self {
                        Self(UnsafeCell::new(value))
                    }

                    /// Changes its value to what `f` says, and returns the one before: plainly if
                    /// there are no threads, else by `threads`.
                    fn change(
                        &self,
                        kind: Kind,
                        f: impl FnOnce($value) -> $value,
                        threads: impl FnOnce(&Pair, &dyn Fn($value) -> u64) -> u64,
                    ) -> $value {
                        lines::access(self.0.get() as usize, size_of::<Self>(), kind);
                        // SAFETY: There are no threads, or nobody writes there.
                        let old = unsafe { *self.0.get() };
                        match object(self.0.get() as usize, || old as u64) {
                            Some(pair) => {
                                let base = pair.base;
                                threads(&pair, &|value| (value as u64).wrapping_sub(base))
                                    .wrapping_add(base) as $value
                            }
                            None => {
                                // SAFETY: There are no threads.
                                unsafe { *self.0.get() = f(old) };
                                old
                            }
                        }
                    }

                    pub fn load(&self, order: Ordering) -> $value {
                        self.change(Kind::Load, |old| old, |pair, _| {
                            pair.mark.store(0, Ordering::Relaxed);
                            pair.value.load(order)
                        })
                    }

                    pub fn store(&self, value: $value, order: Ordering) {
                        self.change(Kind::Store, |_| value, |pair, more| {
                            pair.value.store(more(value), order);
                            0
                        });
                    }

                    pub fn swap(&self, value: $value, order: Ordering) -> $value {
                        self.change(Kind::Both, |_| value, |pair, more| {
                            pair.value.swap(more(value), order)
                        })
                    }

                    pub fn compare_exchange(
                        &self,
                        from: $value,
                        to: $value,
                        ok: Ordering,
                        err: Ordering,
                    ) -> Result<$value, $value> {
                        let plain = |old| if old == from { to } else { old };
                        let old = self.change(Kind::Both, plain, |pair, more| {
                            pair.value
                                .compare_exchange(more(from), more(to), ok, err)
                                .unwrap_or_else(|old| old)
                        });
                        if old == from {
                            Ok(old)
                        } else {
                            Err(old)
                        }
                    }
                }
            };
        }

        macro_rules! integer {
            ($name:ident, $value:ty) => {
                atomic!($name, $value);

                // Not for counters that wrap: loom's object is wider.
                impl $name {
                    pub fn fetch_add(&self, n: $value, order: Ordering) -> $value {
                        let sum = |old: $value| old.wrapping_add(n);
                        self.change(Kind::Both, sum, |pair, _| {
                            pair.value.fetch_add(n as u64, order)
                        })
                    }

                    pub fn fetch_sub(&self, n: $value, order: Ordering) -> $value {
                        let rest = |old: $value| old.wrapping_sub(n);
                        self.change(Kind::Both, rest, |pair, _| {
                            let old = pair.value.fetch_sub(n as u64, order);
                            assert!(old.wrapping_add(pair.base) >= n as u64);
                            old
                        })
                    }

                    pub fn fetch_update(
                        &self,
                        set: Ordering,
                        fetch: Ordering,
                        mut f: impl FnMut($value) -> Option<$value>,
                    ) -> Result<$value, $value> {
                        let mut now = self.load(fetch);
                        while let Some(next) = f(now) {
                            match self.compare_exchange(now, next, set, fetch) {
                                Ok(old) => return Ok(old),
                                Err(other) => now = other,
                            }
                        }
                        Err(now)
                    }

                    /// Only for what was 0, or had bits set in, before there were threads:
                    /// otherwise the bits are not those of loom's object.
                    pub fn fetch_or(&self, bits: $value, order: Ordering) -> $value {
                        self.has_bits();
                        self.change(
                            Kind::Both,
                            |old| old | bits,
                            |pair, _| {
                                assert_eq!(pair.base, 0);
                                pair.value.fetch_or(bits as u64, order)
                            },
                        )
                    }

                    /// As [`Self::fetch_or`].
                    pub fn fetch_and(&self, bits: $value, order: Ordering) -> $value {
                        self.has_bits();
                        self.change(
                            Kind::Both,
                            |old| old & bits,
                            |pair, _| {
                                assert_eq!(pair.base, 0);
                                pair.value.fetch_and(bits as u64, order)
                            },
                        )
                    }

                    fn has_bits(&self) {
                        /// # Safety
                        ///
                        /// There are no threads, and this is an atomic's address.
                        unsafe fn value(address: usize) -> u64 {
                            // SAFETY: By this function's requirement.
                            unsafe { *(address as *const $value) as u64 }
                        }
                        OBJECTS.with_borrow_mut(|objects| {
                            if !objects.threads {
                                objects.bits.insert(self.0.get() as usize, value);
                            }
                        });
                    }
                }
            };
        }

        integer!(AtomicU8, u8);
        integer!(AtomicU16, u16);
        integer!(AtomicU32, u32);
        integer!(AtomicU64, u64);
        atomic!(AtomicI32, i32);
        atomic!(AtomicPtr, *mut T, T);
    }
}
