// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The snapshot file, version 4: a stream of sections that each stand alone.
//!
//! `blog/` writes it through its files, and crash tools build it out of a dump.
//! Documentation/blog/ has the order of the sections.
//!
//! Every section starts on a multiple of 8 bytes, has its own magic, length and checksums, and
//! names the ring and the component that it belongs to. So a reader of a damaged file goes to the
//! next header whose checksum is right, and loses only what lies between. Checksums are CRC-32
//! (IEEE 802.3, reflected, as in zlib).
//!
//! All integers are in the byte order of the machine that wrote the file; [`FileHeader::endian`]
//! shows it. Strings are UTF-8 or at least bytes without NUL, padded with NULs, in fixed arrays, or
//! a `u16` length and the bytes where the text says so. All structures are `repr(C)` without
//! implicit padding, and may grow at the end in a later version: a reader takes the length from the
//! section, not from the structure.

use super::{
    field::Field,
    record::LOST_CAUSES, //
};

/// Version of the file layout.
pub const VERSION: u32 = 4;
/// First 8 bytes of the file.
pub const FILE_MAGIC: [u8; 8] = *b"BLOGSNAP";
/// In [`FileHeader::flags`]: written by a file `stream`. Sections repeat as things change, Page
/// sections are pieces, and there is no [`Kind::End`] as long as the stream has not ended.
pub const FLAG_STREAM: u32 = 1;
/// First 4 bytes of each section, read as a native integer.
pub const SECTION_MAGIC: u32 = u32::from_le_bytes(*b"BLSE");
/// Value of [`FileHeader::endian`] as the writer's machine sees it.
pub const ENDIAN: u32 = 0x0102_0304;
/// Longest payload of a section in bytes. A reader refuses a larger one as damage.
pub const SECTION_MAX: u64 = 16 << 20;
/// Most sections [`Kind::Table`] of a file.
pub const TABLES_MAX: usize = 1024;
/// Longest side table in one, in bytes.
pub const TABLE_MAX: usize = 2048;
/// Longest build ID in bytes.
pub const BUILD_ID_MAX: usize = 20;
pub use super::name::NAME_MAX;

#[cfg(any(CONFIG_BLOG_PARTS, not(CONFIG_RUST)))]
pub use super::waits::*;
/// Room for a task's name, as the kernel's `TASK_COMM_LEN`.
pub const COMM_LEN: usize = 16;

blog_wire! {
    /// The file's first 32 bytes.
    #[derive(Clone, Copy, Debug)]
    pub struct FileHeader: 32 {
        /// [`FILE_MAGIC`].
        pub magic: [u8; 8],
        /// [`VERSION`].
        pub version: u32,
        /// [`ENDIAN`].
        pub endian: u32,
        /// Version of records and pages: `record::WIRE_VERSION`.
        pub wire_version: u32,
        /// Size of this header in bytes.
        pub header_size: u32,
        /// [`FLAG_STREAM`], or 0.
        pub flags: u32,
        /// CRC-32 of the 28 bytes before.
        pub crc: u32,
    }
}

numbered! {
    /// Kinds of section.
    Kind: u16, from_u16 {
        /// Payload [`System`].
        System = 1,
        /// Payload [`Clock`], then [`Clock::pairs`] times [`ClockPair`].
        Clock = 2,
        /// Payload: any number of [`Image`].
        Images = 3,
        /// Payload [`ComponentSection`].
        Component = 4,
        /// Payload [`RingSection`].
        Ring = 5,
        /// Payload [`Page`], then the page's bytes from its start up to its published end
        /// (`record::PageInfo` and the records), and a [`PageEnd`].
        Page = 6,
        /// Payload [`End`].
        End = 7,
        /// Payload: any number of [`Task`].
        Tasks = 8,
        /// Payload: what the part `hits` counts, see `Counts` in its folder.
        Counts = 9,
        /// Payload: a side table, as a file has it, of a later [`Image`] that a probe is.
        Table = 10,
        /// Payload: any number of [`Wait`].
        Waits = 11,
        /// Payload [`Released`].
        Released = 12,
        /// Reserved for files that a program saves. Payload: a side table of an image, as a file
        /// has it.
        SideTable = 13,
        /// Reserved for files that a program saves. Payload: the kernel's log, as `/dev/kmsg` has
        /// it.
        KernelLog = 14,
        /// Reserved for files that a program saves. Payload: the settings of the components, a line
        /// of text for each.
        Settings = 15,
    }
}

blog_wire! {
    /// What stands before each section's payload: 32 bytes. The payload is padded with zeros to a
    /// multiple of 8 bytes; the padding is in neither length nor checksum.
    #[derive(Clone, Copy, Debug)]
    pub struct SectionHeader: 32 {
        /// [`SECTION_MAGIC`].
        pub magic: u32,
        /// [`Kind`].
        pub kind: u16,
        /// 0.
        pub flags: u16,
        /// Length of the payload in bytes, at most [`SECTION_MAX`].
        pub len: u64,
        /// Position of this section in the file, from 0.
        pub index: u32,
        /// 0.
        pub reserved: u32,
        /// CRC-32 of the payload.
        pub payload_crc: u32,
        /// CRC-32 of the 28 bytes before.
        pub crc: u32,
    }
}

blog_wire! {
    /// Payload of [`Kind::System`].
    #[derive(Clone, Copy, Debug)]
    pub struct System: 224 {
        /// Size of a kernel page in bytes.
        pub page_size: u32,
        /// Number of possible CPUs.
        pub cpus: u32,
        /// Bytes of a pointer: 8.
        pub pointer_size: u32,
        /// 0.
        pub reserved: u32,
        /// `uname -r`, NUL padded.
        pub release: [u8; 64],
        /// `uname -m`, NUL padded.
        pub machine: [u8; 64],
        /// `uname -n`, NUL padded.
        pub host: [u8; 64],
        /// Random id of this boot, all zero if there is none.
        pub boot_id: [u8; 16],
    }
}

/// What the ring's clock is: [`Clock::kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ClockKind {
    /// `ktime_get_mono_fast_ns()`: nanoseconds of CLOCK_MONOTONIC.
    MonoFast = 1,
    /// The processor's raw counter, as x86's TSC; [`Clock::pairs`] show its rate.
    Counter = 2,
    /// First the counter and then the other one, as the machine slept or the counter could not be
    /// trusted any more; [`Clock::pairs`] show the rates.
    Mixed = 3,
}

blog_wire! {
    /// Payload of [`Kind::Clock`].
    #[derive(Clone, Copy, Debug)]
    pub struct Clock: 16 {
        /// [`ClockKind`].
        pub kind: u32,
        /// Number of [`ClockPair`]s that follow, at least 1, in the order of time: from when BLog
        /// started, from before and after each change of the clock and each sleep of the machine,
        /// from between them, and from when this section was written. What lies on a line between
        /// others may be left out. A stream's later sections have those since the section before.
        pub pairs: u32,
        /// Nominal rate in Hz of the clock now; 0 where it isn't known.
        pub hz: u64,
    }
}

blog_wire! {
    /// One instant in all clocks. A straight line between two pairs converts ring time.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct ClockPair: 40 from 32 {
        /// The ring's clock.
        pub clock: u64,
        /// CLOCK_MONOTONIC in ns.
        pub mono: u64,
        /// CLOCK_BOOTTIME in ns.
        pub boot: u64,
        /// CLOCK_REALTIME in ns since 1970.
        pub real: u64,
        /// The kernel's `local_clock()` in ns, by which it times its log and ftrace by default
        /// times events; 0 where it isn't known.
        pub local: u64,
    }
}

blog_wire! {
    /// Entry of [`Kind::Images`]: the sites of one build of vmlinux or of a module.
    #[derive(Clone, Copy, Debug)]
    pub struct Image: 96 {
        /// Id of the image's first site.
        pub first: u32,
        /// Number of sites.
        pub count: u32,
        /// 1: loaded now. 0: was loaded since this boot.
        pub loaded: u32,
        /// Length of the build ID in bytes, at most [`BUILD_ID_MAX`].
        pub build_id_len: u32,
        /// Build ID (GNU note), zero padded.
        pub build_id: [u8; BUILD_ID_MAX],
        /// 0.
        pub reserved: u32,
        /// `vmlinux` or the module's name, NUL padded.
        pub name: [u8; NAME_MAX],
    }
}

/// In [`Task::flags`]: it is running on [`Task::cpu`].
pub const TASK_RUNNING: u8 = 1;
/// In [`Task::flags`]: it is a kernel thread.
pub const TASK_KERNEL: u8 = 2;
blog_wire! {
    /// Entry of [`Kind::Tasks`]: what a task that has rings was doing when this was written.
    ///
    /// Each such task is there once, whatever number of rings it has in how many components. Tasks
    /// that have ended are not.
    #[derive(Clone, Copy, Debug)]
    pub struct Task: 32 {
        /// Thread id.
        pub pid: i32,
        /// Process id.
        pub tgid: i32,
        /// Name, NUL padded.
        pub comm: [u8; COMM_LEN],
        /// State letter as in ps (`R`, `S`, `D`, …).
        pub state: u8,
        /// [`TASK_RUNNING`], [`TASK_KERNEL`], [`TASK_CRASHED`].
        pub flags: u8,
        /// 0.
        pub reserved: u16,
        /// CPU that it runs on, or ran on last; `u32::MAX` where it isn't known.
        pub cpu: u32,
    }
}

blog_wire! {
    /// Payload of [`Kind::Component`].
    #[derive(Clone, Copy, Debug)]
    pub struct ComponentSection: 160 from 152 {
        /// Id of the component in this file.
        pub id: u32,
        /// 1: enabled.
        pub enabled: u8,
        /// `record::Level` as a number, 0: off.
        pub level: u8,
        /// 0: overwrite, 1: discard.
        pub mode: u8,
        /// 1: its driver is loaded; 0: detached, only its history is kept.
        pub attached: u8,
        /// Budget of the component in KiB.
        pub size_kb: u32,
        /// Budget of one ring in KiB.
        pub ring_kb: u32,
        /// Number of Ring sections that follow, 0: not known. Only crash tools know it.
        pub rings: u32,
        /// 0.
        pub reserved: u32,
        /// Records of rings that were taken from their owners.
        ///
        /// In a stream, the first section of a component has what was gone before, and 0 if it came
        /// later. What this has more than that and than the sum of [`Released::records`] is what
        /// the reader has missed.
        pub gone_records: u64,
        /// Losses that belong to no ring, by `record::Lost`; those of [`Released`] rings are among
        /// them.
        pub lost: [u64; LOST_CAUSES],
        /// Name, NUL padded.
        pub name: [u8; NAME_MAX],
        /// When the component was cleared, in the ring's clock; 0: never.
        /// Programs leave out earlier records and losses. Counts go on. In a stream, the time of
        /// the last `clear` before the stream began.
        pub cleared: u64,
    }
}

blog_wire! {
    /// Payload of [`Kind::Ring`].
    #[derive(Clone, Copy, Debug)]
    pub struct RingSection: 192 {
        /// [`ComponentSection::id`].
        pub component: u32,
        /// Id of the ring within its component.
        pub ring: u32,
        /// `record::Context` as a number.
        pub context: u8,
        /// 1: the task has ended.
        pub retired: u8,
        /// State letter of the task as in ps (`R`, `S`, `D`, …), 0 where it isn't known.
        pub task_state: u8,
        /// 0.
        pub reserved: u8,
        /// CPU of a per-CPU ring, else `u32::MAX`.
        pub cpu: u32,
        /// Thread id of a task's ring, else -1.
        pub pid: i32,
        /// Process id of a task's ring, else -1.
        pub tgid: i32,
        /// Name of the task when it got the ring, NUL padded.
        /// [`Control::Task`](super::record::Control::Task) has later ones.
        pub comm: [u8; COMM_LEN],
        /// When the task ended, in the ring's clock; 0 while it lives.
        pub exit_clock: u64,
        /// Records that the ring has taken since it was made, those overwritten since then
        /// included. Read before the pages were: pages may hold newer ones.
        pub records: u64,
        /// Records lost, by `record::Lost`, in all.
        pub lost: [u64; LOST_CAUSES],
        /// Of these, those that lost records in the ring report. The difference came after the last
        /// record.
        pub told: [u64; LOST_CAUSES],
        /// Pages that the ring held when this section was written. Fewer Page sections may follow:
        /// the writer takes its oldest pages back while they are being copied. What that cost is
        /// the gap between [`PageInfo::first`](super::page::PageInfo::first) and what came before.
        pub pages: u32,
        /// 0.
        pub reserved2: u32,
    }
}

blog_wire! {
    /// Payload of [`Kind::Page`], before the page's bytes.
    #[derive(Clone, Copy, Debug)]
    pub struct Page: 8 {
        /// [`ComponentSection::id`].
        pub component: u32,
        /// [`RingSection::ring`].
        pub ring: u32,
    }
}

blog_wire! {
    /// The end of the payload of [`Kind::Page`], after the page's bytes.
    #[derive(Clone, Copy, Debug)]
    pub struct PageEnd: 8 {
        /// The record of the ring that would have been next in this file. If the page begins with a
        /// later one, the reader was too slow for those between. What was gone before the file
        /// began is not between.
        pub next: u64,
    }
}

blog_wire! {
    /// Payload of [`Kind::Released`]: a ring was taken from the owner that it had. Its records and
    /// losses are among those of the component that belong to no ring, when the component's section
    /// comes again. A later [`RingSection`] with its id is about another owner.
    #[derive(Clone, Copy, Debug)]
    pub struct Released: 16 {
        /// [`ComponentSection::id`].
        pub component: u32,
        /// [`RingSection::ring`].
        pub ring: u32,
        /// How many of its records the file accounts for: what it has, and what was missing before
        /// that. The owner may have logged more.
        pub records: u64,
    }
}

blog_wire! {
    /// Payload of [`Kind::End`].
    #[derive(Clone, Copy, Debug)]
    pub struct End: 16 {
        /// Sections before this one.
        pub sections: u32,
        /// 0.
        pub reserved: [u32; 3],
    }
}

/// The state letter of a task, as ps has it, from the fields of its task_struct: as the kernel's
/// `task_state_to_char()`, which is that of Linux 7.3.
pub const fn state_letter(state: u32, exit_state: u32) -> u8 {
    /// `TASK_IDLE`: `TASK_UNINTERRUPTIBLE | TASK_NOLOAD`.
    const IDLE: u32 = 0x402;
    /// `TASK_RTLOCK_WAIT | TASK_FROZEN`.
    const LIKE_BLOCKED: u32 = 0x9000;
    /// `TASK_REPORT`: running, interruptible, uninterruptible, stopped, traced, dead, zombie,
    /// parked.
    const REPORT: u32 = 0x7f;

    if state & LIKE_BLOCKED != 0 {
        return b'D';
    }
    if state & IDLE == IDLE {
        return b'I';
    }
    match u32::BITS - ((state | exit_state) & REPORT).leading_zeros() {
        0 => b'R',
        1 => b'S',
        2 => b'D',
        3 => b'T',
        4 => b't',
        5 => b'X',
        6 => b'Z',
        _ => b'P',
    }
}
