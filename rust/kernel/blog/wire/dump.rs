// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The post-mortem root, version 7: a crash tool finds everything from here, without DWARF.
//!
//! `SYMBOL(blog_root)` in VMCOREINFO is the address of a [`Root`], which is always in vmlinux.
//! If BLog is a module of a kernel without its patches, an [`Anchor`] leads to it. `blog/` fills it
//! in when it starts. `blog-decode` finds its way through a dump by this file.
//! `root.rs` has the root of the running kernel.
//!
//! The structures of this file are `repr(C)`, without implicit padding, and only grow at the end:
//! each has its size beside its magic. Rings begin with a [`RingHead`](super::ring::RingHead). For
//! what else is laid out by the compiler, the root has sizes and offsets ([`SlotLayout`],
//! [`TlsLayout`], [`TaskLayout`]). All addresses are virtual ones of the kernel, or 0. Counts
//! beside an address bound each walk.
//!
//! # What a dump may show
//!
//! The machine may have stopped anywhere. A pointer here is stored when its target is complete, and
//! cleared before the target goes; a count never exceeds the number of complete entries. So a
//! reader that starts from the root never finds a half-made structure, with two exceptions: the
//! owner of a ring while its `version` is odd; and a page whose `seq` has no position, or whose
//! `ring` is not the ring that led to it, which holds nothing of that ring.

use core::ops::Range;

use super::field::Field;
pub use super::file::state_letter;
use super::file::{
    Clock,
    ClockPair,
    System,
    COMM_LEN,
    NAME_MAX, //
};

/// Version of the structures of this file. A change that isn't growth at the end makes a new one.
///
/// Until version 6, the root had the offsets of a ring's fields. Until version 5, pages could be
/// split into chunks, rings had no room of their own, and slots were in parts that arrays lead to.
/// Until version 4, all tables were flat. In version 3, the root had other ticks, and pairs of
/// clocks without `local`.
pub const VERSION: u32 = 7;
/// From this version on, each ring has a page of its own.
pub const SINCE_ROOM: u32 = 6;
/// From this version on, rings begin with a [`RingHead`](super::ring::RingHead).
pub const SINCE_HEAD: u32 = 7;
/// Name of the [`Root`] in VMCOREINFO (`SYMBOL(blog_root)`) and among the kernel's symbols.
pub const SYMBOL: &str = "blog_root";
/// [`Root::magic`].
pub const ROOT_MAGIC: [u8; 8] = *b"BLOGROOT";
/// The kernel's list that an [`Anchor`] is in.
pub const ANCHORED: &str = "panic_notifier_list";
/// [`Anchor::magic`].
pub const ANCHOR_MAGIC: u64 = u64::from_le_bytes(*b"blogroot");
/// [`ComponentRoot::magic`].
pub const COMPONENT_MAGIC: u32 = u32::from_le_bytes(*b"BLCO");
/// [`MemoryRoot::magic`].
pub const MEMORY_MAGIC: u32 = u32::from_le_bytes(*b"BLME");
/// Value of [`Root::endian`] as the machine that crashed sees it.
pub const ENDIAN: u32 = 0x0102_0304;
/// The most components that there can be at a time, and rings that a task can have.
pub const COMPONENTS: usize = 1024;
/// Instants in [`Root::ticks`].
pub const TICKS: usize = 64;
/// [`Root::clock_base`] while the clock is the counter.
pub const CLOCK_COUNTER: u64 = 1;
/// An offset of what this kernel doesn't have.
pub const NO_FIELD: u32 = u32::MAX;
/// [`TableRoot::doubling`]: each chunk but the first is as long as all before it together.
pub const CHUNKS_DOUBLE: u32 = u32::MAX;
/// [`Root::state`]: nothing is logged (the module isn't loaded, or is coming).
pub const STATE_OFF: u32 = 0;
/// [`Root::state`]: all that the root leads to is there.
pub const STATE_ON: u32 = 1;

blog_wire! {
    /// An array of arrays, of which nothing moves: `capacity` pointers at `chunks`, each of which
    /// leads to `per_chunk` values, or is null.
    ///
    /// By `doubling`, chunks may differ in length; or until version 5, such pointers were in arrays
    /// themselves, to which the pointers at `chunks` lead, or are null.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct TableRoot: 24 {
        /// Address of the array of pointers.
        pub chunks: u64,
        /// Pointers in it.
        pub capacity: u32,
        /// Values that each pointer leads to if it isn't null.
        pub per_chunk: u32,
        /// Bytes from one value to the next.
        pub stride: u32,
        /// 0; [`CHUNKS_DOUBLE`]; or until version 5, the length of the first array of pointers:
        /// each further one is as long as all before it.
        pub doubling: u32,
    }
}

impl TableRoot {
    /// The numbers of the values in the `n`-th chunk.
    pub fn chunk(&self, n: u32) -> Option<Range<u32>> {
        let (first, len) = match (self.doubling, n) {
            (CHUNKS_DOUBLE, 1..) => {
                let before = self.per_chunk.checked_mul(1u32.checked_shl(n - 1)?)?;
                (before, before)
            }
            _ => (n.checked_mul(self.per_chunk)?, self.per_chunk),
        };
        Some(first..first.checked_add(len)?)
    }

    /// The number of the chunk that has a value, and the value's place there.
    pub fn place(&self, value: u32) -> Option<(u32, u32)> {
        let mut n = value.checked_div(self.per_chunk)?;
        if self.doubling == CHUNKS_DOUBLE {
            n = u32::BITS - n.leading_zeros();
        }
        Some((n, value.checked_sub(self.chunk(n)?.start)?))
    }

    /// Where a value is, by what `word` reads at an address; since version 6.
    pub fn find(&self, value: u32, word: impl Fn(u64) -> Option<u64>) -> Option<u64> {
        let at =
            |base: u64, n: u32, stride: u32| base.wrapping_add(u64::from(n) * u64::from(stride));
        let (n, place) = self.place(value)?;
        let chunk = (n < self.capacity).then(|| word(at(self.chunks, n, 8)))??;
        Some(at(chunk, place, self.stride))
    }
}

blog_wire! {
    /// Where the fields of a slot, the place of a page, are.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SlotLayout: 16 {
        /// Size of a slot.
        pub size: u32,
        /// `u64`: address of the page, 0: there is none.
        pub page: u32,
        /// 0. Until version 5, `u32`: bit 0: the page is just being split, or made whole again, and
        /// in no ring; else bit 1: it is split into chunks ([`MemoryRoot::chunk_size`]), each with
        /// a page header of its own.
        pub shape: u32,
        /// `u64`: in the `n`-th slot, address of the first ring in the `n`-th page of rings, 0:
        /// there is none; see [`MemoryRoot::rings`].
        pub rings: u32,
    }
}

blog_wire! {
    /// Where the fields of a task's table of rings are.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct TlsLayout: 16 {
        /// Size of a table.
        pub size: u32,
        /// `u64`: address of the task's first ring; 0: it has none. The others follow by
        /// [`RingHead::next`](super::ring::RingHead::next).
        pub first: u32,
        /// `u64`: address of the task_struct; 0: the table is free.
        pub task: u32,
        /// 0.
        pub reserved: u32,
    }
}

blog_wire! {
    /// Where the fields of `struct task_struct` are; [`NO_FIELD`] for those that this kernel
    /// doesn't have.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct TaskLayout: 72 {
        /// Size of a task_struct, without what follows it.
        pub size: u32,
        /// `i32`.
        pub pid: u32,
        /// `i32`.
        pub tgid: u32,
        /// `[u8; 16]`.
        pub comm: u32,
        /// `u32`: `__state`, see [`state_letter`].
        pub state: u32,
        /// `u32`: `exit_state`.
        pub exit_state: u32,
        /// `u32`: `PF_…`.
        pub flags: u32,
        /// `u8`: 1: it is running on [`Self::cpu`].
        pub on_cpu: u32,
        /// `u32`: the CPU that it runs on, or ran on last.
        pub cpu: u32,
        /// `u64`: its table of rings; where it has none, of a table that names no task. Else it
        /// equals the address of the table that names this task.
        pub blog_tls: u32,
        /// `list_head`: all processes, from [`Root::init_task`] on.
        pub tasks: u32,
        /// `list_head`: the threads of a process, in the list at [`Self::thread_head`].
        pub thread_node: u32,
        /// `u64`: address of the `signal_struct`.
        pub signal: u32,
        /// Of `signal_struct`: the `list_head` of its threads.
        pub thread_head: u32,
        /// `u64`: address of the process's first thread.
        pub group_leader: u32,
        /// `u64`: start of the kernel stack.
        pub stack: u32,
        /// `u64`: jiffies when the hung-task detector first saw the task switched out for as long
        /// as it is now.
        pub last_switch_time: u32,
        /// `u64`: address of the lock that it waits for, with the kind in the lowest two bits
        /// (those of `file::LockKind`, less 1); 0: it waits for none that the kernel knows. This
        /// offset is 0 in dumps of kernels that don't have it, too.
        pub blocker: u32,
    }
}

blog_wire! {
    /// Where locks have their holders: a `u64` each, the address of a task with flags below it;
    /// [`NO_FIELD`], or all 0, where this kernel doesn't have that.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct LockLayout: 16 {
        /// In a mutex; three bits of flags.
        pub mutex: u32,
        /// In a semaphore; no flags.
        pub semaphore: u32,
        /// In a read-write semaphore; bit 0: readers hold it, bit 1 is a flag.
        pub rwsem: u32,
        /// 0.
        pub reserved: u32,
    }
}

blog_wire! {
    /// All clocks at one instant, for calibration.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct Tick: 48 {
        /// The clocks. Where `clock` is 0, the rest is just being stored.
        pub pair: ClockPair,
        /// The low 64 bits at [`Root::jiffies`] at that time; 0 where they aren't known.
        pub jiffies: u64,
    }
}

blog_wire! {
    /// What was noted when the machine crashed.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct Crash: 88 {
        /// 1: rings are frozen: no page is overwritten or taken any more.
        pub frozen: u32,
        /// 1: all that follows is there.
        pub noted: u32,
        /// All clocks at that time.
        pub pair: ClockPair,
        /// Address of the task_struct that was current on the CPU that crashed.
        pub task: u64,
        /// That CPU.
        pub cpu: u32,
        /// The task's thread id.
        pub pid: i32,
        /// The task's process id.
        pub tgid: i32,
        /// 0.
        pub reserved: u32,
        /// The task's name.
        pub comm: [u8; COMM_LEN],
    }
}

blog_wire! {
    /// What a task was doing when the machine crashed, where a dump may lack that part of the task:
    /// the fields of [`TaskLayout`] that have these names. Of very many tasks, those that just
    /// waited for something to do may have none.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct TaskNote: 32 {
        /// Address of the task_struct.
        pub task: u64,
        /// `__state`.
        pub state: u32,
        /// `exit_state`.
        pub exit_state: u32,
        /// `PF_…`.
        pub flags: u32,
        /// The CPU.
        pub cpu: u32,
        /// 1: it was running there.
        pub on_cpu: u32,
        /// 0.
        pub reserved: u32,
    }
}

blog_wire! {
    /// What is in the list of panic notifiers while BLog is loaded, for kernels whose VMCOREINFO
    /// doesn't name the root.
    #[derive(Clone, Copy, Debug)]
    pub struct Anchor: 40 {
        /// As `struct notifier_block`.
        pub call: u64,
        /// Address of the next one, of which only those of BLog are anchors.
        pub next: u64,
        /// Its priority.
        pub priority: i32,
        /// 0.
        pub reserved: u32,
        /// [`ANCHOR_MAGIC`].
        pub magic: u64,
        /// Address of the [`Root`].
        pub root: u64,
    }
}

blog_wire! {
    /// The root: what `SYMBOL(blog_root)` or an [`Anchor`] leads to.
    ///
    /// The first 32 bytes are valid from the link on; everything else while `state` is
    /// [`STATE_ON`].
    #[derive(Clone, Copy)]
    pub struct Root: 3784 {
        /// [`ROOT_MAGIC`].
        pub magic: [u8; 8],
        /// [`VERSION`].
        pub version: u32,
        /// Size of this structure in bytes.
        pub size: u32,
        /// [`ENDIAN`].
        pub endian: u32,
        /// Version of records and pages: `record::WIRE_VERSION`.
        pub wire_version: u32,
        /// Version of [`System`], [`Clock`] and `file::Image` here: `file::VERSION`.
        pub snapshot_version: u32,
        /// [`STATE_OFF`] or [`STATE_ON`].
        pub state: u32,

        /// The machine, as in a snapshot; its name when BLog started.
        pub system: System,
        /// The clock of all records. [`Clock::pairs`] is 0: pairs are in `ticks` and
        /// [`Crash::pair`].
        pub clock: Clock,
        /// [`CLOCK_COUNTER`], or what is added to `ktime_get_mono_fast_ns()`, which is an even
        /// number.
        pub clock_base: u64,
        /// How many ticks there are.
        pub ticks_len: u32,
        /// 0.
        pub reserved3: u32,
        /// The pairs of a snapshot: see [`Clock::pairs`]. Some may be there twice, out of order, if
        /// the machine stopped while one was left out.
        pub ticks: [Tick; TICKS],
        /// Address of the kernel's `jiffies_64`, to know about how long ago the last tick was.
        pub jiffies: u64,
        /// How many of these a second has.
        pub jiffies_hz: u32,
        /// 0.
        pub reserved: u32,
        /// The crash.
        pub crash: Crash,

        /// 0. Until version 6, where the fields of a ring were.
        pub rings: [u32; 20],
        /// Layout of slots.
        pub slot: SlotLayout,
        /// Layout of tasks' tables of rings.
        pub tls: TlsLayout,
        /// Layout of tasks.
        pub task: TaskLayout,

        /// Address of an array of `file::Image`.
        pub images: u64,
        /// Images in it.
        pub images_len: u32,
        /// Size of each.
        pub image_size: u32,
        /// Address of an array of addresses of [`ComponentRoot`]s, attached or not; 0: there is
        /// none.
        pub components: u64,
        /// How many it has.
        pub components_len: u32,
        /// 0.
        pub reserved2: u32,
        /// All tables of rings that tasks have, or had.
        pub tables: TableRoot,
        /// Address of `init_task`, where the list of all processes starts.
        pub init_task: u64,
        /// Address of an array of [`TaskNote`]; 0: there is none.
        pub task_notes: u64,
        /// How many it has.
        pub task_notes_len: u32,
        /// Size of each.
        pub task_note_size: u32,
        /// Counts by site: `u64`, as `Counts` of the part `hits` says.
        pub counts: TableRoot,
        /// Address of an array of [`SideTable`]; 0: there is none.
        pub side_tables: u64,
        /// How many it has.
        pub side_tables_len: u32,
        /// Size of each.
        pub side_table_size: u32,
        /// Layout of locks, for [`TaskLayout::blocker`].
        pub locks: LockLayout,
    }
}

blog_wire! {
    /// A side table, as a file has it, of an image that a probe is.
    #[derive(Clone, Copy, Debug)]
    pub struct SideTable: 16 {
        /// Address of its bytes.
        pub bytes: u64,
        /// How many there are.
        pub len: u32,
        /// The image's place in [`Root::images`]; until version 6, 0.
        pub image: u32,
    }
}

impl Root {
    /// The ticks that are whole.
    pub fn ticks(&self) -> impl Iterator<Item = &Tick> {
        let ticks = self.ticks.iter().take(self.ticks_len as usize);
        ticks.filter(|tick| tick.pair.clock != 0)
    }
}

blog_wire! {
    /// A component.
    ///
    /// Losses that belong to no ring are the sum of `lost` here and of what is at
    /// [`MemoryRoot::gone`].
    #[derive(Clone, Copy, Debug)]
    pub struct ComponentRoot: 104 {
        /// [`COMPONENT_MAGIC`].
        pub magic: u32,
        /// Size of this structure in bytes.
        pub size: u32,
        /// Its place in [`Root::components`]; its id in a snapshot.
        pub slot: u32,
        /// 1: enabled.
        pub enabled: u8,
        /// `record::Level` as a number, 0: off.
        pub level: u8,
        /// 0: overwrite, 1: discard.
        pub mode: u8,
        /// 1: its driver is loaded.
        pub attached: u8,
        /// Budget of the component in KiB.
        pub size_kb: u32,
        /// Budget of one ring in KiB.
        pub ring_kb: u32,
        /// Address of a [`MemoryRoot`]; 0: it has none.
        pub memory: u64,
        /// Address of `[u64; 8]`, by `record::Lost`.
        pub lost: u64,
        /// Name, NUL padded.
        pub name: [u8; NAME_MAX],
        /// When it was cleared: `file::ComponentSection::cleared`.
        pub cleared: u64,
    }
}

blog_wire! {
    /// The memory of a component: its rings and pages.
    #[derive(Clone, Copy, Debug)]
    pub struct MemoryRoot: 88 {
        /// [`MEMORY_MAGIC`].
        pub magic: u32,
        /// Size of this structure in bytes.
        pub size: u32,
        /// All rings: live and retired ones of tasks, per-CPU ones, shared ones, free ones. A
        /// ring's place in the table is its id. If [`TableRoot::chunks`] is 0, the pointers are in
        /// the slots: [`SlotLayout::rings`].
        pub rings: TableRoot,
        /// The places of all pages.
        pub slots: TableRoot,
        /// Size of a page in bytes.
        pub page_size: u32,
        /// 0. Until version 5, size of each chunk of a split page.
        pub chunk_size: u32,
        /// 0. Until version 5, chunks of a split page.
        pub chunks: u32,
        /// 0.
        pub reserved: u32,
        /// Address of counts: a `u64`, records of rings that were given to another task, and
        /// `[u64; 8]`, losses of these, by `record::Lost`. To be summed up over all that there are.
        pub gone: u64,
        /// How many of these counts there are.
        pub gone_count: u32,
        /// Bytes from one to the next.
        pub gone_stride: u32,
    }
}
