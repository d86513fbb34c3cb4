// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Locks that tasks wait for.

use super::field::Field;

/// In [`Task::flags`]: the machine crashed on its CPU while it was running there.
pub const TASK_CRASHED: u8 = 4;
/// In [`Task::flags`]: it is here as the holder of a lock, whether it has rings or not. If it has,
/// it may be here once more.
pub const TASK_HOLDER: u8 = 8;

numbered! {
    /// The kinds of locks whose waiting tasks the kernel knows (`CONFIG_DETECT_HUNG_TASK_BLOCKER`),
    /// one more than in `linux/hung_task.h`.
    LockKind: u32, from_u32 {
        /// A mutex.
        Mutex = 1,
        /// A semaphore, whose holder is the last taker.
        Semaphore = 2,
        /// A read-write semaphore, to read.
        RwsemRead = 3,
        /// A read-write semaphore, to write.
        RwsemWrite = 4,
    }
}

/// [`Wait::flags`]: readers hold the lock. The holder is one who was the last to take it, and may
/// have given it back.
pub const WAIT_READERS: u32 = 1;
/// [`Wait::flags`]: somebody holds the lock who isn't there any more: a thread that has ended.
pub const WAIT_GONE: u32 = 2;

blog_wire! {
    /// Entry of [`Kind::Waits`]: a task waits for a lock.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Wait: 24 {
        /// The lock: the same for all who wait for it in this file. 0: not known.
        pub lock: u64,
        /// Thread id of the waiting task.
        pub pid: i32,
        /// Thread id of the lock's holder; 0: nobody, or not known.
        pub holder: i32,
        /// [`LockKind`].
        pub kind: u32,
        /// [`WAIT_READERS`], [`WAIT_GONE`].
        pub flags: u32,
    }
}

/// Links that a chain of tasks that wait for each other is followed at most.
pub const WAIT_LINKS: usize = 8;
