// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The wire format, version 2: what a record, a control record and a page look like in memory.
//!
//! A record is an 8-byte [`Header`], which one store writes: from the high bits down, the low 36
//! bits of the clock, the site (0: a control record) and the payload's length. The payload of 0 to
//! 1023 bytes follows: the arguments in natural size, in order, without padding.
//!
//! Nothing is rounded: the next record starts at the next byte. All fields are in the byte order of
//! the machine that wrote them; a snapshot names it.

/// Version of everything that this file describes.
pub const WIRE_VERSION: u32 = 2;

/// Bits of the clock that a record header keeps.
pub const TS_BITS: u32 = 36;
/// Mask of the bits of the clock that a record header keeps.
pub const TS_MASK: u64 = (1 << TS_BITS) - 1;
/// Bits of the payload's length.
pub const LEN_BITS: u32 = 10;
/// Bits of a site id: what is left.
pub const SITE_BITS: u32 = 64 - TS_BITS - LEN_BITS;
/// The largest site id.
pub const SITE_MAX: u32 = (1 << SITE_BITS) - 1;
/// Size of a record header in bytes.
pub const HEADER_SIZE: usize = 8;
/// The longest payload in bytes.
pub const PAYLOAD_MAX: usize = (1 << LEN_BITS) - 1;
/// The longest record in bytes.
pub const RECORD_MAX: usize = HEADER_SIZE + PAYLOAD_MAX;

/// The header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Header(pub u64);

const _: () = assert!(core::mem::size_of::<Header>() == HEADER_SIZE);

impl Header {
    /// Makes a header from a full clock value, a site id and a payload length, which is at most
    /// [`PAYLOAD_MAX`].
    #[inline(always)]
    pub const fn new(clock: u64, site: u32, payload: u32) -> Self {
        Self::from_parts(clock, site << LEN_BITS, payload + HEADER_SIZE as u32)
    }

    /// Makes a header from what the fast path has at hand: the site id already shifted left by
    /// [`LEN_BITS`] and the size of the whole record in bytes.
    #[inline(always)]
    pub const fn from_parts(clock: u64, site_shl10: u32, bytes: u32) -> Self {
        let payload = bytes - HEADER_SIZE as u32;
        Self((clock << (64 - TS_BITS)) | (site_shl10 | payload) as u64)
    }

    /// The low 36 bits of the clock.
    #[inline(always)]
    pub const fn ts(self) -> u64 {
        self.0 >> (64 - TS_BITS)
    }

    /// The full clock. `base` is that of the page's start, or of the latest time-extend record
    /// after it.
    ///
    /// All that follows times goes by this. It is exact: there is a time-extend record before the
    /// first record whose upper bits differ, also where they have become less. So a record whose
    /// low bits are less than those of the one before is earlier, and no turn of them is missing.
    #[inline(always)]
    pub const fn clock(self, base: u64) -> u64 {
        base & !TS_MASK | self.ts()
    }

    /// The site id; 0 for a control record.
    #[inline(always)]
    pub const fn site(self) -> u32 {
        (self.0 >> LEN_BITS) as u32 & SITE_MAX
    }

    /// The same of a record without a payload.
    #[inline(always)]
    pub const fn without_payload(self) -> Self {
        Self(self.0 & !(PAYLOAD_MAX as u64))
    }

    /// The payload's length in bytes.
    #[inline(always)]
    pub const fn payload(self) -> usize {
        self.0 as usize & PAYLOAD_MAX
    }

    /// The size of the whole record in bytes.
    #[inline(always)]
    pub const fn size(self) -> usize {
        HEADER_SIZE + self.payload()
    }
}

numbered! {
    /// What a control record (site 0) says: the low byte of its first payload word.
    ///
    /// The second byte of that word is the [`Lost`] cause for [`Control::Lost`] and the [`Context`]
    /// for [`Control::Task`], else 0. The upper half is the CPU for [`Control::Task`], else 0. A
    /// decoder skips a kind that it doesn't know by the record's length.
    Control: u8, from_u8 {
        /// Payload: word, full clock (`u64`). The bits above [`TS_BITS`] of all that follows in
        /// this page.
        TimeExtend = 1,
        /// Payload: word with the cause, count (`u64`) of records lost since the last such record.
        Lost = 2,
        /// Payload: word with the [`Context`], pid (`i32`), tgid (`i32`), comm (16 bytes). The
        /// writer from here on in this page, of a [`Context::Shared`] ring or of a task that has
        /// been renamed. Pid and tgid are -1 and comm is empty for an interrupt.
        Task = 3,
        /// Payload: word, count (`u64`) of records that stood here, and that the selection of the
        /// reader has left out. They count among the page's records. Not in a ring.
        Left = 4,
    }
}

impl Control {
    /// The kind after a first payload word, where this version knows it.
    pub const fn from_word(word: u32) -> Option<Self> {
        Self::from_u8(word as u8)
    }
}

/// A control record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlRecord {
    /// [`Control::TimeExtend`]: the full clock.
    TimeExtend(u64),
    /// [`Control::Lost`].
    Lost {
        /// A [`Lost`] as a number, or something newer.
        cause: u8,
        /// How many.
        count: u64,
    },
    /// [`Control::Task`].
    Task {
        /// A [`Context`] as a number, or something newer.
        context: u8,
        /// CPU that the writer ran on.
        cpu: u16,
        /// Thread id, or -1.
        pid: i32,
        /// Process id, or -1.
        tgid: i32,
        /// Name of the task, NUL padded.
        comm: [u8; 16],
    },
    /// [`Control::Left`]: how many.
    Left(u64),
}

impl ControlRecord {
    /// Size of the whole record in bytes.
    pub const fn size(&self) -> usize {
        match self {
            Self::TimeExtend(_) | Self::Lost { .. } | Self::Left(_) => CONTROL_SIZE as usize,
            Self::Task { .. } => TASK_SIZE as usize,
        }
    }

    /// The record at this time: the first [`Self::size`] bytes.
    pub fn bytes(&self, clock: u64) -> [u8; TASK_SIZE as usize] {
        let header = Header::from_parts(clock, 0, self.size() as u32);
        let (word, [a, b, c]) = match *self {
            Self::TimeExtend(clock) => (Control::TimeExtend as u32, [clock, 0, 0]),
            Self::Left(count) => (Control::Left as u32, [count, 0, 0]),
            Self::Lost { cause, count } => {
                let word = Control::Lost as u32 | (cause as u32) << 8;
                (word, [count, 0, 0])
            }
            Self::Task {
                context,
                cpu,
                pid,
                tgid,
                comm,
            } => {
                let word = Control::Task as u32 | (context as u32) << 8 | (cpu as u32) << 16;
                let comm = u128::from_le_bytes(comm);
                let ids = u64::from(pid as u32) | u64::from(tgid as u32) << 32;
                (word, [ids, comm as u64, (comm >> 64) as u64])
            }
        };
        let mut bytes = [0; TASK_SIZE as usize];
        let (head, rest) = bytes.split_at_mut(HEADER_SIZE);
        head.copy_from_slice(&header.0.to_le_bytes());
        let (first, rest) = rest.split_at_mut(4);
        first.copy_from_slice(&word.to_le_bytes());
        for (to, word) in rest.chunks_exact_mut(8).zip([a, b, c]) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// What a control record of this payload says; `None` where that is too short, or of a kind
    /// that this version doesn't know.
    pub fn from_payload(payload: &[u8]) -> Option<Self> {
        let word = u32::from_le_bytes(*payload.first_chunk()?);
        let value = |n: usize| {
            Some(u64::from_le_bytes(
                *payload.get(4 + n * 8..)?.first_chunk()?,
            ))
        };
        Some(match Control::from_word(word)? {
            Control::TimeExtend => Self::TimeExtend(value(0)?),
            Control::Left => Self::Left(value(0)?),
            Control::Lost => Self::Lost {
                cause: (word >> 8) as u8,
                count: value(0)?,
            },
            Control::Task => {
                let ids = value(0)?;
                let comm = u128::from(value(1)?) | u128::from(value(2)?) << 64;
                Self::Task {
                    context: (word >> 8) as u8,
                    cpu: (word >> 16) as u16,
                    pid: ids as i32,
                    tgid: (ids >> 32) as i32,
                    comm: comm.to_le_bytes(),
                }
            }
        })
    }
}

/// Size in bytes of a whole control record that isn't a task record.
pub const CONTROL_SIZE: u32 = (HEADER_SIZE + 12) as u32;
/// Size in bytes of a whole task record.
pub const TASK_SIZE: u32 = (HEADER_SIZE + 28) as u32;

named! {
    /// Why records were lost. The number is the second byte of a lost record's first payload word,
    /// and the index of a ring's counter.
    Lost {
        /// The pool had no page to give, and the ring had none of its own to reuse.
        NoPage = 0 "no-page",
        /// A writer interrupted another one in the same ring, in the middle of a record.
        Nested = 1 "nested",
        /// The record would not have fitted into an empty page.
        TooLong = 2 "too-long",
        /// The component was switched off between the start and the end of the record.
        Disabled = 3 "disabled",
        /// A consuming reader was too slow.
        ReaderLag = 4 "reader-lag",
        /// The ring is full and keeps its oldest records (discard mode).
        Full = 5 "full",
        /// There was no ring to be had: no ring or task table was free.
        NoRing = 6 "no-ring",
        /// The machine had crashed, and nothing was to be overwritten any more.
        Frozen = 7 "frozen",
    }
}

/// Number of [`Lost`] causes, and of counters that a ring has.
pub const LOST_CAUSES: usize = Lost::ALL.len();

named! {
    /// The level of a site, and the threshold of a component: the most important come first.
    Level {
        /// Something failed.
        Err = 1 "err",
        /// Something is odd, and was coped with.
        Warn = 2 "warn",
        /// What happens in normal work; the level of `blog_log!`.
        Info = 3 "info",
        /// Details for the developer of the component.
        Debug = 4 "debug",
        /// Everything.
        Trace = 5 "trace",
    }
}

/// The `gate` of a site that never logs (not registered yet, or switched off).
pub const GATE_OFF: u8 = 255;
/// The `gate` of a site that logs at any level of its component.
pub const GATE_ON: u8 = 1;

/// Of a site's `flags`: an address is among the call's arguments.
pub const SITE_ADDRESS: u16 = 1;
/// Of a site's `flags`: it is a C call, whose format `blog-fmt-sidetable` has yet to compile.
pub const SITE_UNCOMPILED: u16 = 2;

named! {
    /// Where a ring's writers run.
    Context {
        /// A task: one ring for each task.
        Task = 0 "task",
        /// A softirq: one ring for each CPU.
        Softirq = 1 "softirq",
        /// A hard interrupt: one ring for each CPU.
        Hardirq = 2 "hardirq",
        /// A non-maskable interrupt: one ring for each CPU.
        Nmi = 3 "nmi",
        /// Writers without a ring of their own: [`Control::Task`] records name them.
        Shared = 4 "shared",
    }
}

impl Context {
    /// Number of interrupt contexts, of each of which every CPU has a ring.
    pub const INTERRUPTS: usize = 3;

    /// Where the ring of an interrupt context is in the table of those of all CPUs; `None` for
    /// other contexts.
    #[inline(always)]
    pub const fn percpu_index(self, cpu: usize) -> Option<usize> {
        match self {
            Self::Softirq | Self::Hardirq | Self::Nmi => {
                Some(cpu * Self::INTERRUPTS + (self as usize - Self::Softirq as usize))
            }
            Self::Task | Self::Shared => None,
        }
    }
}
