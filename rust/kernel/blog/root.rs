// SPDX-License-Identifier: GPL-2.0

//! The post-mortem root in live memory, and the switch that freezes all rings at a crash.
//!
//! `wire/dump.rs` has the layout. The root is here, in the kernel crate, because that is always in
//! vmlinux, even if `blog/` is a module. So VMCOREINFO can name it, and it is valid, if empty, at
//! any time. `blog/parts/dumps` fills it in. [`Live`] compiles on the host unchanged.

use super::wire::{
    dump::{
        ComponentRoot,
        MemoryRoot,
        Root,
        SideTable,
        TableRoot,
        TaskNote,
        ENDIAN,
        ROOT_MAGIC,
        VERSION, //
    },
    file,
    record::WIRE_VERSION, //
};
use crate::transmute::FromBytes;
use core::{
    cell::UnsafeCell,
    mem,
    sync::atomic::{
        fence,
        Ordering::SeqCst, //
    }, //
};

/// A structure of `wire/dump.rs` that crash tools look at, and that `blog/` changes.
///
/// Nobody in the running kernel reads it but who changes it, so the only order that matters is that
/// in which stores reach memory before a machine stops: see [`Self::update`].
#[repr(transparent)]
pub struct Live<T>(UnsafeCell<T>);

// SAFETY: All access goes through raw pointers, whose users see to it that there is one at a time,
// or use atomics.
unsafe impl<T: Send> Sync for Live<T> {}

impl<T: Copy> Live<T> {
    /// Makes one.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Its address.
    pub const fn get(&self) -> *mut T {
        self.0.get()
    }

    /// Changes it. All stores of `change` come after what was stored before, and before what is
    /// stored after; so whatever stops the machine, a dump shows them in that order.
    ///
    /// # Safety
    ///
    /// Nobody else changes or reads meanwhile what `change` does, but crash tools.
    pub unsafe fn update(&self, change: impl FnOnce(*mut T)) {
        // ORDERING: A dump sees what had reached memory, in the order in which this CPU stored it,
        // as other CPUs would. Full fences keep that order, and keep the compiler from leaving
        // stores out that nobody seems to read.
        fence(SeqCst);
        change(self.get());
        fence(SeqCst);
    }
}

impl<T: FromBytes> Live<T> {
    /// Makes one that is all zeros.
    pub const fn zeroed() -> Self {
        // SAFETY: Any bytes are a `T`.
        unsafe { mem::zeroed() }
    }
}

macro_rules! from_bytes {
    ($($ty:ty)*) => {$(
        // SAFETY: All fields are integers, and arrays and structures of these.
        unsafe impl FromBytes for $ty {}
    )*};
}

from_bytes!(ComponentRoot MemoryRoot Root SideTable TableRoot TaskNote file::Image);

/// The root of a kernel that doesn't log yet.
pub const fn empty() -> Root {
    Root {
        magic: ROOT_MAGIC,
        version: VERSION,
        size: size_of::<Root>() as u32,
        endian: ENDIAN,
        wire_version: WIRE_VERSION,
        snapshot_version: file::VERSION,
        image_size: size_of::<file::Image>() as u32,
        task_note_size: size_of::<TaskNote>() as u32,
        side_table_size: size_of::<SideTable>() as u32,
        ..Live::zeroed().0.into_inner()
    }
}

/// The root.
#[cfg(CONFIG_BLOG_HOOKS)]
#[no_mangle]
#[allow(non_upper_case_globals)]
pub static blog_root: Live<Root> = Live::new(empty());

#[cfg(CONFIG_BLOG_HOOKS)]
pub use self::freeze::*;

/// At a crash.
#[cfg(CONFIG_BLOG_HOOKS)]
mod freeze {
    use super::{
        super::wire::{
            dump::CLOCK_COUNTER,
            file::{
                ClockPair,
                COMM_LEN, //
            }, //
        },
        blog_root, //
    };
    use core::{
        ffi::c_void,
        sync::atomic::{
            AtomicU32,
            AtomicU64,
            Ordering::*, //
        }, //
    };

    fn flag() -> &'static AtomicU32 {
        // SAFETY: The root is there, and this field of it is only used as an atomic.
        unsafe { AtomicU32::from_ptr(&raw mut (*blog_root.get()).crash.frozen) }
    }

    /// Whether rings keep what they have: no page is overwritten, nor taken by another ring. For
    /// the slow path of log calls; any context.
    #[inline]
    pub fn frozen() -> bool {
        flag().load(Relaxed) != 0
    }

    /// Which clock that of the rings is: see
    /// [`Root::clock_base`](super::super::wire::dump::Root::clock_base). Any context.
    #[inline]
    pub fn clock_base() -> u64 {
        // SAFETY: The root is there, and this field of it is only used as an atomic.
        let base = unsafe { AtomicU64::from_ptr(&raw mut (*blog_root.get()).clock_base) };
        // ORDERING: Acquire: what is read of that clock is read after this.
        base.load(Acquire)
    }

    /// Freezes all rings, and notes when and where that was: what `blog_crash()` in hook.c does.
    /// The first call counts.
    ///
    /// In any context. Other CPUs may go on meanwhile: what they log goes where there is room.
    ///
    /// # Safety
    ///
    /// The machine crashes, and `task` is the current task, with these numbers and this name.
    #[no_mangle]
    unsafe extern "C" fn blog_root_freeze(
        counter: u64,
        mono: u64,
        boot: u64,
        real: u64,
        local: u64,
        cpu: u32,
        task: *const c_void,
        pid: i32,
        tgid: i32,
        comm: *const [u8; COMM_LEN],
    ) {
        if flag().swap(1, SeqCst) != 0 {
            return;
        }
        // SAFETY: By this function's requirement. It may be just changing.
        let comm = unsafe { comm.read_volatile() };
        let pair = ClockPair {
            clock: match clock_base() {
                CLOCK_COUNTER => counter,
                base => mono.wrapping_add(base),
            },
            mono,
            boot,
            real,
            local,
        };
        // SAFETY: Only the first call gets here, and nobody else stores to these fields. Other CPUs
        // still look at `frozen`, which is left alone.
        unsafe {
            blog_root.update(|root| {
                let crash = &raw mut (*root).crash;
                (*crash).pair = pair;
                (*crash).task = task as u64;
                (*crash).cpu = cpu;
                (*crash).pid = pid;
                (*crash).tgid = tgid;
                (*crash).comm = comm;
            });
            blog_root.update(|root| (*root).crash.noted = 1);
        }
    }
}
