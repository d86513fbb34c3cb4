// SPDX-License-Identifier: GPL-2.0

//! `core` as the models see it: the real one, but for atomics and for what stores to pages by
//! pointer (`ptr::write_unaligned`, `ptr::copy_nonoverlapping`), which go to loom.
//!
//! The crate with the models says `extern crate model_core as core`, so that the kernel's files,
//! which name `core` by path, get this one without a change. An atomic here has the size of the
//! real one, as it lies in pages and in `repr(C)` structures; loom's object for it is found by its
//! address, so it must not move once it is used. Plain stores of records are relaxed atomic ones
//! for loom, word by word: it then shows a reader every value that no ordering forbids.
//!
//! What this can't show: a load that is delayed behind a later store (loom runs a load at once),
//! and nested writers (these run as calls in the middle of a record, in the ordinary tests).

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
        assert!(to.cast::<u32>().is_aligned() && bytes.is_multiple_of(4));
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
        pub use loom::sync::atomic::fence;

        use std::cell::{RefCell, UnsafeCell};
        use std::collections::HashMap;
        use std::rc::Rc;

        /// What loom has for one atomic.
        struct Pair {
            value: loom::sync::atomic::AtomicU64,
            /// Stored to before each load of `value`. Loom goes back and tries another order only
            /// where the last access of an atomic conflicts with the next one. So a thread that
            /// loads and then stores hides from it that another one had loaded before. Two stores
            /// always conflict.
            mark: loom::sync::atomic::AtomicU64,
        }

        impl Pair {
            fn new() -> Object {
                let zero = || loom::sync::atomic::AtomicU64::new(0);
                Rc::new(Pair {
                    value: zero(),
                    mark: zero(),
                })
            }
        }

        type Object = Rc<Pair>;

        #[derive(Default)]
        struct Objects {
            /// Those in use, by the address of their atomic.
            used: HashMap<usize, Object>,
            /// Those not yet in use. They are made when an execution starts, as loom wants an
            /// object to be there before the threads that use it.
            spare: Vec<Object>,
        }

        thread_local! {
            // Loom runs all threads of an execution on one thread.
            static OBJECTS: RefCell<Objects> = RefCell::default();
        }

        /// Forgets all atomics, and makes room for some. To be called when an execution starts.
        pub fn reset(atomics: usize) {
            let spare = (0..atomics).map(|_| Pair::new()).collect();
            OBJECTS.replace(Objects {
                spare,
                ..Objects::default()
            });
        }

        fn object(address: usize) -> Object {
            OBJECTS.with_borrow_mut(|Objects { used, spare }| {
                used.entry(address)
                    .or_insert_with(|| spare.pop().expect("more atomics than said"))
                    .clone()
            })
        }

        macro_rules! atomic {
            ($name:ident, $value:ty $(, $param:ident)?) => {
                /// An atomic. Its own memory holds what it was made with; loom's object how much
                /// larger it is now.
                #[repr(transparent)]
                pub struct $name $(<$param>)? (UnsafeCell<$value>);

                // SAFETY: The memory is read only; loom has the value.
                unsafe impl $(<$param>)? Sync for $name $(<$param>)? {}
                // SAFETY: As above.
                unsafe impl $(<$param>)? Send for $name $(<$param>)? {}

                impl $(<$param>)? $name $(<$param>)? {
                    /// Makes an atomic.
                    pub const fn new(value: $value) -> Self {
                        Self(UnsafeCell::new(value))
                    }

                    fn object(&self) -> Object {
                        object(self.0.get() as usize)
                    }

                    fn inward(&self, value: $value) -> u64 {
                        // SAFETY: Nobody writes there once it is used as an atomic.
                        (value as u64).wrapping_sub(unsafe { *self.0.get() } as u64)
                    }

                    fn outward(&self, more: u64) -> $value {
                        // SAFETY: As above.
                        more.wrapping_add(unsafe { *self.0.get() } as u64) as $value
                    }

                    pub fn load(&self, order: Ordering) -> $value {
                        let object = self.object();
                        object.mark.store(0, Ordering::Relaxed);
                        self.outward(object.value.load(order))
                    }

                    pub fn store(&self, value: $value, order: Ordering) {
                        self.object().value.store(self.inward(value), order)
                    }

                    pub fn swap(&self, value: $value, order: Ordering) -> $value {
                        self.outward(self.object().value.swap(self.inward(value), order))
                    }

                    pub fn compare_exchange(
                        &self,
                        from: $value,
                        to: $value,
                        ok: Ordering,
                        err: Ordering,
                    ) -> Result<$value, $value> {
                        self.object()
                            .value
                            .compare_exchange(self.inward(from), self.inward(to), ok, err)
                            .map(|n| self.outward(n))
                            .map_err(|n| self.outward(n))
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

                // Not for counters that wrap: loom's object is wider.
                impl $name {
                    pub fn fetch_add(&self, n: $value, order: Ordering) -> $value {
                        self.outward(self.object().value.fetch_add(n as u64, order))
                    }

                    pub fn fetch_sub(&self, n: $value, order: Ordering) -> $value {
                        let old = self.outward(self.object().value.fetch_sub(n as u64, order));
                        assert!(old >= n);
                        old
                    }

                    /// Only for what was made as 0: otherwise the bits are not those of loom's
                    /// object.
                    pub fn fetch_or(&self, bits: $value, order: Ordering) -> $value {
                        assert_eq!(self.inward(0), 0);
                        self.object().value.fetch_or(bits as u64, order) as $value
                    }

                    /// As [`Self::fetch_or`].
                    pub fn fetch_and(&self, bits: $value, order: Ordering) -> $value {
                        assert_eq!(self.inward(0), 0);
                        self.object().value.fetch_and(bits as u64, order) as $value
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
