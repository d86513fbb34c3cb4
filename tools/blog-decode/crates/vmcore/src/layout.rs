// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Reads the kernel's root and its layouts out of memory: `rust/kernel/blog/wire/dump.rs` has the
//! structures.
//!
//! It checks magic, version, sizes, and that every field lies within its structure, so later code
//! can trust a layout.

use std::{mem::offset_of, ops::RangeInclusive};

use crate::{
    error::Error,
    memory::{counters, word, Fault, Memory as Mem},
    record::Version,
    snapshot::VERSIONS,
    table::array,
    wire::{
        dump::{
            ComponentRoot, Crash, MemoryRoot, Root, SlotLayout, TableRoot, TaskLayout, Tick,
            TlsLayout, CHUNKS_DOUBLE, COMPONENT_MAGIC, ENDIAN, MEMORY_MAGIC, NO_FIELD, ROOT_MAGIC,
            SINCE_HEAD, VERSION,
        },
        field::Field,
        file::{self, ClockPair, Image},
        page::PAGE_HEADER_SIZE,
        ring::{RingHead, RING_SIZE},
    },
};

/// Versions of the root that are read.
pub const READS: RangeInclusive<u32> = 3..=VERSION;
/// The largest structure of the kernel that is believed, in bytes.
const MAX_STRUCT: u32 = 1 << 16;
/// The most values that a table is believed to have.
const MAX_VALUES: u64 = 1 << 24;
/// The most values that are believed to be allocated together.
const MAX_CHUNK: u32 = 1 << 14;

/// The most counts that a component is believed to keep apart.
const MAX_COUNTS: u32 = 1 << 10;

/// Reads the start of a structure of `N` bytes in this version, of which the dump's kernel may
/// have had fewer, or more.
fn read_struct<const N: usize>(
    memory: &impl Mem,
    addr: u64,
    size_at: usize,
) -> Result<Vec<u8>, Fault> {
    let mut bytes = vec![0; N];
    let mut head = [0; 4];
    memory.read(addr.wrapping_add(size_at as u64), &mut head)?;
    let size = (u32::from_le_bytes(head) as usize).min(N);
    memory.read(addr, &mut bytes[..size])?;
    Ok(bytes)
}

/// Reads the root; the error says what is wrong with it.
pub(super) fn root(memory: &impl Mem, addr: u64) -> Result<Box<Root>, Error> {
    let at = |e: Fault| Error::File(format!("blog_root at {addr:#x}: {e}"));
    let bytes = read_struct::<{ Root::SIZE }>(memory, addr, 12).map_err(at)?;
    let root = parse_root(&bytes);
    let wrong = if root.magic != ROOT_MAGIC {
        "there is something else (wrong magic)".into()
    } else if root.endian == ENDIAN.swap_bytes() {
        "it is of a big-endian machine".into()
    } else if !READS.contains(&root.version) {
        format!(
            "it has version {}, but this program reads {} to {}",
            root.version,
            READS.start(),
            READS.end()
        )
    } else if let Err(e) = Version::from_number(root.wire_version) {
        format!("records have {e}")
    } else if !VERSIONS.contains(&root.snapshot_version) {
        format!(
            "descriptions have version {}, but this program reads {} to {}",
            root.snapshot_version,
            VERSIONS.start(),
            VERSIONS.end()
        )
    } else {
        return Ok(root);
    };
    Err(Error::File(format!("blog_root at {addr:#x}: {wrong}")))
}

/// Fields of a structure of `size` bytes: offset and size of each, all within it.
fn fits(size: u32, fields: &[(u32, u32)]) -> bool {
    (1..=MAX_STRUCT).contains(&size)
        && fields.iter().all(|(at, len)| at.checked_add(*len).is_some_and(|end| end <= size))
}

/// Makes of the fields of a ring, and the bytes of each, what says where they are.
macro_rules! ring_layout {
    ($($field:ident: $len:literal,)*) => {
        /// Where the fields of a ring are, in bytes from its start; what they say, [`RingHead`] has.
        #[derive(Clone, Copy)]
        #[allow(missing_docs)]
        pub struct RingLayout {
            pub size: u32,
            $(pub $field: u32,)*
        }

        impl RingLayout {
            /// Since rings begin with a [`RingHead`].
            pub const NOW: Self = Self {
                size: RING_SIZE as u32,
                $($field: ring_layout!(@at $field) as u32,)*
            };

            /// That of older kernels, which a root or a region has told.
            pub fn before(told: &[u32; 20]) -> Self {
                let [size, $($field),*] = *told;
                Self { size, $($field),* }
            }

            /// Whether rings can be read by this; `room`: whether they have pages of their own.
            pub(super) fn fits(&self, room: bool) -> bool {
                let page = (self.room, if room { PAGE_HEADER_SIZE as u32 } else { 4 });
                fits(self.size, &[page, $((self.$field, $len)),*])
            }
        }
    };
    // The ring's own page, or before there were these, something else.
    (@at room) => { RingHead::SIZE };
    (@at $field:ident) => { offset_of!(RingHead, $field) };
}

ring_layout! {
    busy: 4, page: 8, seq: 8, pages: 4, room: 4, lost: 64, told: 64, id: 4, version: 4, state: 1,
    context: 1, cpu: 4, pid: 4, tgid: 4, comm: 16, exit_clock: 8, first_seq: 8, taken: 8, next: 8,
}

impl RingLayout {
    /// That of a dump.
    pub fn from_root(root: &Root) -> Self {
        if root.version < SINCE_HEAD {
            Self::before(&root.rings)
        } else {
            Self::NOW
        }
    }
}

/// Whether slots can be read by this.
pub(super) fn slot_fits(l: &SlotLayout) -> bool {
    fits(l.size, &[(l.page, 8), (l.shape, 4), (l.rings, 8)])
}

/// Whether tasks' tables can be read by this.
pub(super) fn tls_fits(l: &TlsLayout) -> bool {
    fits(l.size, &[(l.first, 8), (l.task, 8)])
}

/// Whether tasks can be read by this. Fields that the kernel doesn't have are no obstacle.
pub(super) fn task_fits(l: &TaskLayout) -> bool {
    let fields = task_fields(l);
    let (needed, others) = fields.split_at(3);
    fits(l.size, needed) && others.iter().all(|f| f.0 == NO_FIELD || fits(l.size, &[*f]))
}

/// Where the fields are that are read, and their size; the first three are always there, and the last
/// one is BLog's.
pub(super) fn task_fields(l: &TaskLayout) -> [(u32, u32); 9] {
    [
        (l.pid, 4),
        (l.tgid, 4),
        (l.comm, 16),
        (l.state, 4),
        (l.exit_state, 4),
        (l.flags, 4),
        (l.on_cpu, 1),
        (l.cpu, 4),
        (l.blog_tls, 8),
    ]
}

/// Whether values of `size` bytes can be in this table.
pub(super) fn table_fits(table: &TableRoot, size: u32) -> bool {
    let last = table.capacity.checked_sub(1);
    let per_chunk = |n: u32| u64::from(n) * u64::from(table.per_chunk);
    let values = match table.doubling {
        0 => Some(per_chunk(table.capacity)),
        CHUNKS_DOUBLE => last.and_then(|n| Some(table.chunk(n)?.end.into())),
        _ => last.and_then(|n| Some(per_chunk(array(table, n)?.end))),
    };
    table.stride >= size
        && table.stride <= MAX_STRUCT
        && values.is_some_and(|n| n <= MAX_VALUES)
        && (1..=MAX_CHUNK).contains(&table.per_chunk)
        && table.chunks.checked_add(MAX_VALUES * 8).is_some()
}

/// Reads a component; `None`: there is something else.
pub(super) fn component(memory: &impl Mem, addr: u64) -> Result<Option<ComponentRoot>, Fault> {
    let bytes = read_struct::<{ ComponentRoot::SIZE }>(memory, addr, 4)?;
    let c = ComponentRoot::get(&bytes);
    Ok((c.magic == COMPONENT_MAGIC).then_some(c))
}

/// Reads what a component has in memory; `None`: there is something else.
pub(super) fn memory(memory: &impl Mem, addr: u64) -> Result<Option<MemoryRoot>, Fault> {
    let bytes = read_struct::<{ MemoryRoot::SIZE }>(memory, addr, 4)?;
    let m = MemoryRoot::get(&bytes);
    let parts = u64::from(m.chunks) * u64::from(m.chunk_size);
    let sound = m.magic == MEMORY_MAGIC
        && (256..=MAX_STRUCT).contains(&m.page_size)
        && m.page_size.is_power_of_two()
        && parts <= u64::from(m.page_size)
        && (m.chunks == 0 || m.chunk_size >= 64 && m.chunk_size % 8 == 0)
        && m.gone_count <= MAX_COUNTS
        && m.gone_stride <= MAX_STRUCT;
    Ok(sound.then_some(m))
}

/// Records and losses that belong to no ring of a component: `lost` is the address of some of the
/// latter.
pub(super) fn loose(
    mem: &impl Mem,
    lost: u64,
    memory: Option<&MemoryRoot>,
) -> Result<(u64, [u64; 8]), Fault> {
    let (mut records, mut all) = (0u64, [0u64; 8]);
    let mut add = |addr| -> Result<(), Fault> {
        for (to, n) in all.iter_mut().zip(counters(mem, addr)?) {
            *to = to.wrapping_add(n);
        }
        Ok(())
    };
    if lost != 0 {
        add(lost)?;
    }
    if let Some(memory) = memory {
        for n in 0..u64::from(memory.gone_count) {
            let addr = (memory.gone).wrapping_add(n * u64::from(memory.gone_stride));
            records = records.wrapping_add(word(mem, addr)?);
            add(addr.wrapping_add(8))?;
        }
    }
    Ok((records, all))
}

/// Takes an image's entry apart; `None`: it makes no sense.
pub(super) fn image(bytes: &[u8]) -> Option<Image> {
    let image = Image::get(bytes);
    (image.build_id_len as usize <= file::BUILD_ID_MAX && image.first != 0).then_some(image)
}

/// The root that these bytes are, of any version that is read.
fn parse_root(bytes: &[u8]) -> Box<Root> {
    match u32::get(bytes.get(offset_of!(Root, version)..).unwrap_or_default()) {
        ..=3 => root_3(bytes),
        _ => Box::new(Root::get(bytes)),
    }
}

/// A root of version 3, which had other ticks and [`ClockPair::LEAST`] bytes of each pair, as one of
/// today: where its parts were is where they are now, less what has come before them.
fn root_3(old: &[u8]) -> Box<Root> {
    /// When BLog started.
    const START: usize = offset_of!(Root, clock_base);
    const PAIR: usize = ClockPair::LEAST;
    const TICK: usize = PAIR + 8;
    /// How many ticks were taken; and the last one of each second, of an even and of an odd number.
    const TAKEN: usize = START + PAIR;
    const JIFFIES: usize = TAKEN + 8 + 2 * TICK;
    const CRASH: usize = JIFFIES + 16;
    const LAYOUTS: usize = CRASH + Crash::SIZE - (ClockPair::SIZE - PAIR);
    /// A list of its own: instants before and after sleeps, and before and after the clock became
    /// another one. Number `n` is at `n % 64`; the oldest two may just be being stored.
    const BREAKS: usize = LAYOUTS + offset_of!(Root, task_notes) - offset_of!(Root, rings);
    const KEPT: u64 = 64;
    const NOTES: usize = BREAKS + 16 + KEPT as usize * TICK;

    let part = |from: usize, to: usize| old.get(from..to).unwrap_or_default();
    let mut new = vec![0; Root::SIZE];
    let mut put = |at: usize, part: &[u8]| {
        let room = new.len().saturating_sub(at).min(part.len());
        new[at..at + room].copy_from_slice(&part[..room]);
    };
    put(0, part(0, START));
    put(offset_of!(Root, jiffies), part(JIFFIES, CRASH));
    let pair = CRASH + offset_of!(Crash, pair);
    put(offset_of!(Root, crash), part(CRASH, pair + PAIR));
    put(offset_of!(Root, crash) + offset_of!(Crash, task), part(pair + PAIR, LAYOUTS));
    put(offset_of!(Root, rings), part(LAYOUTS, BREAKS));
    put(offset_of!(Root, task_notes), part(NOTES, old.len()));
    let mut root = Box::new(Root::get(&new));

    let tick = |at: usize| Tick {
        pair: ClockPair::get(part(at, at + PAIR)),
        jiffies: u64::get(part(at + PAIR, at + TICK)),
    };
    let start = Tick { jiffies: 0, ..tick(START) };
    let seconds = u64::get(part(TAKEN, TAKEN + 8));
    let last = (seconds != 0).then(|| tick(TAKEN + 8 + (seconds + 1) as usize % 2 * TICK));
    let breaks = u64::get(part(BREAKS + 8, BREAKS + 16));
    let breaks = (breaks.saturating_sub(KEPT - 2)..breaks)
        .map(|n| tick(BREAKS + 16 + (n % KEPT) as usize * TICK));
    let ticks = [start].into_iter().chain(last).chain(breaks);
    root.ticks_len = 0;
    for (to, tick) in root.ticks.iter_mut().zip(ticks) {
        *to = tick;
        root.ticks_len += 1;
    }
    root
}

/// A root without anything.
#[cfg(test)]
pub(super) fn nothing() -> Box<Root> {
    parse_root(&[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Fault;

    struct Bytes(Vec<u8>);

    impl Mem for Bytes {
        fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), Fault> {
            let len = buf.len();
            buf.copy_from_slice(&self.0[addr as usize..][..len]);
            Ok(())
        }
    }

    /// A root of version 3, with so many seconds and breaks taken: of the first, the clock has the
    /// number, of the others 100 more.
    fn old(seconds: u64, breaks: u64) -> Box<Root> {
        let mut raw = vec![0; 3328];
        let mut put = |at: usize, words: &[u64]| {
            for (n, word) in words.iter().enumerate() {
                raw[at + 8 * n..][..8].copy_from_slice(&word.to_le_bytes());
            }
        };
        put(0, &[u64::from_le_bytes(ROOT_MAGIC), 3 | 3328 << 32]);
        put(16, &[u64::from(ENDIAN) | 2 << 32, 1 | 1 << 32]);
        put(256, &[2, 3_000_000_000]);
        put(272, &[1, 10, 20, 30, seconds]);
        for n in 1..=seconds {
            let at = 312 + 40 * ((n - 1) % 2) as usize;
            put(at, &[n, 11, 21, 31, 250 * n]);
        }
        put(392, &[0x1234, 250]);
        put(408, &[1 | 1 << 32, 999, 12, 22, 32, 0xaaaa]);
        put(728, &[0x5678, 1, breaks]);
        for n in 0..breaks {
            let at = 752 + 40 * (n % 64) as usize;
            put(at, &[100 + n, 13, 23, 33, 7]);
        }
        put(3312, &[0x9abc, 9 | 32 << 32]);
        root(&Bytes(raw), 0).unwrap()
    }

    #[test]
    fn roots_of_before_are_read() {
        let root = old(5, 4);
        let ticks: Vec<_> = root.ticks().map(|t| (t.pair.clock, t.jiffies)).collect();
        assert_eq!(ticks, [(1, 0), (5, 1250), (100, 7), (101, 7), (102, 7), (103, 7)]);
        let pair = root.crash.pair;
        assert_eq!((pair.clock, pair.mono, pair.boot, pair.real, pair.local), (999, 12, 22, 32, 0));
        assert_eq!((root.crash.task, root.init_task), (0xaaaa, 0x5678));
        assert_eq!((root.jiffies, root.jiffies_hz), (0x1234, 250));
        assert_eq!((root.task_notes, root.task_notes_len), (0x9abc, 9));
        assert_eq!(root.clock.hz, 3_000_000_000);
    }

    #[test]
    fn of_more_breaks_than_were_kept_the_newest_are_read() {
        let root = old(2, 100);
        let clocks: Vec<_> = root.ticks().map(|t| t.pair.clock).collect();
        let breaks: Vec<_> = (100 + 38..200).collect();
        assert_eq!(clocks, [&[1, 2][..], &breaks].concat());
    }
}
