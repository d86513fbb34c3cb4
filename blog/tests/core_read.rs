// SPDX-License-Identifier: GPL-2.0

// A strict reader of snapshots and streams, for suites. It is a part of core_rig.rs.

use super::pages::{
    Account,
    Item, //
};
use crate::{
    read::{
        sections::Form,
        walk::Walk, //
    },
    sys::glue, //
};
use core::{
    array,
    ops::Deref, //
};
use kernel::blog::wire::{
    file::{
        ComponentSection,
        Kind,
        Released,
        RingSection,
        Task,
        ENDIAN,
        FILE_MAGIC,
        FLAG_STREAM,
        SECTION_MAGIC,
        VERSION, //
    },
    record::{
        ControlRecord,
        Lost,
        LOST_CAUSES, //
    }, //
};

/// What a snapshot says of a component.
pub(crate) struct ReadComponent {
    pub(crate) id: u32,
    pub(crate) name: KVec<u8>,
    pub(crate) attached: bool,
    /// What belongs to no ring, without what the rings of this file have. `lost` also has what the
    /// reader of a stream has missed.
    pub(crate) gone: u64,
    pub(crate) lost: [u64; LOST_CAUSES],
    /// What its section says, and said at first; and what the file has of rings that were taken
    /// from their owners.
    raw: (u64, [u64; LOST_CAUSES]),
    first: u64,
    released: (u64, [u64; LOST_CAUSES]),
    /// What is older is left out.
    cleared: u64,
}

impl ReadComponent {
    fn count(&mut self, stream: bool) -> Result {
        check(self.raw.0 >= self.first, "fewer records than before")?;
        let gone = self.raw.0.saturating_sub(self.released.0);
        self.gone = if stream { self.first } else { gone };
        self.lost = array::from_fn(|n| self.raw.1[n].saturating_sub(self.released.1[n]));
        if stream {
            self.lost[Lost::ReaderLag as usize] += gone.saturating_sub(self.first);
        }
        Ok(())
    }
}

/// What a snapshot says of a ring.
pub(crate) struct ReadRing {
    /// Its latest section.
    section: RingSection,
    released: bool,
    /// What came out of it. `missing`: by a stream's reader.
    pub(crate) account: Account,
    /// The numbers in its records.
    pub(crate) numbers: KVVec<u64>,
    /// Their times.
    pub(crate) times: KVVec<u64>,
    /// Task records: how many numbers were before, and the name.
    pub(crate) names: KVVec<(usize, [u8; 16])>,
    /// Records that the selection has left out.
    pub(crate) left: u64,
    /// Pages, and sections about it.
    pub(crate) pages: u32,
    pub(crate) sections: u32,
}

/// What is in a snapshot, or in a stream up to here.
pub(crate) struct Read {
    pub(crate) tasks: KVec<Task>,
    pub(crate) components: KVec<ReadComponent>,
    pub(crate) rings: KVVec<ReadRing>,
    /// Records of the tests that have left the rings: before these were read, and after that.
    pub(crate) counts: [u64; 2],
    /// In a stream, sections may tell more of what is known.
    stream: bool,
    pub(crate) ended: bool,
    at: usize,
    index: u32,
}

/// Appends what there is to read, in reads of `step` bytes.
pub(crate) fn copy(source: &mut Walk, step: usize, file: &mut KVVec<u8>) -> Result {
    loop {
        let bytes = source.peek()?;
        let n = bytes.len().min(step);
        if n == 0 {
            return Ok(());
        }
        file.extend_from_slice(&bytes[..n], GFP_KERNEL)?;
        source.consume(n);
    }
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Result<u32> {
    let bytes = bytes.get(at..at + 4).ok_or(EINVAL)?;
    Ok(u32::from_ne_bytes(bytes.try_into().map_err(|_| EINVAL)?))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Result<u64> {
    let bytes = bytes.get(at..at + 8).ok_or(EINVAL)?;
    Ok(u64::from_ne_bytes(bytes.try_into().map_err(|_| EINVAL)?))
}

/// `EINVAL` unless it holds: for what every snapshot must satisfy.
fn check(holds: bool, what: &str) -> Result {
    if holds {
        return Ok(());
    }
    pr_warn!("snapshot: {what}\n");
    Err(EINVAL)
}

impl Read {
    /// Takes a snapshot of one component, or of all, in reads of `step` bytes, and parses it
    /// strictly.
    pub(crate) fn new(only: Option<Arc<State>>, step: usize) -> Result<Self> {
        let mut file = KVVec::new();
        copy(&mut Walk::new(Form::Snapshot, only, true)?, step, &mut file)?;
        Self::parse(&file)
    }

    /// Nothing yet.
    pub(crate) const fn empty(stream: bool) -> Self {
        Self {
            tasks: KVec::new(),
            components: KVec::new(),
            rings: KVVec::new(),
            counts: [0; 2],
            stream,
            ended: false,
            at: 0,
            index: 0,
        }
    }

    /// Parses a whole file.
    pub(crate) fn parse(file: &[u8]) -> Result<Self> {
        let mut read = Self::empty(false);
        read.go_on(file)?;
        check(read.ended, "no end")?;
        Ok(read)
    }

    /// Parses what has come to a file since the last time.
    pub(crate) fn go_on(&mut self, file: &[u8]) -> Result {
        if self.at == 0 {
            check(file.get(..8) == Some(&FILE_MAGIC), "magic")?;
            check(u32_at(file, 8)? == VERSION, "version")?;
            check(u32_at(file, 12)? == ENDIAN, "endian")?;
            check((u32_at(file, 24)? == FLAG_STREAM) == self.stream, "flags")?;
            check(u32_at(file, 28)? == glue::crc32(0, &file[..28]), "crc")?;
            self.at = 32;
        }
        while self.at < file.len() {
            check(!self.ended, "something after the end")?;
            let header = file.get(self.at..self.at + 32).ok_or(EINVAL)?;
            check(u32_at(header, 0)? == SECTION_MAGIC, "section magic")?;
            let crc = u32_at(header, 28)? == glue::crc32(0, &header[..28]);
            check(crc, "section crc")?;
            check(u32_at(header, 16)? == self.index, "section index")?;
            let len = u64_at(header, 8)? as usize;
            let payload = file.get(self.at + 32..self.at + 32 + len).ok_or(EINVAL)?;
            let crc = u32_at(header, 24)? == glue::crc32(0, payload);
            check(crc, "payload crc")?;
            match Kind::from_u16(u32_at(header, 4)? as u16).ok_or(EINVAL)? {
                Kind::Tasks => self.tasks(payload)?,
                Kind::Component => self.component(payload)?,
                Kind::Ring => self.ring(payload)?,
                Kind::Page => self.page(payload)?,
                Kind::Counts => {
                    let (first, late) = (u32_at(payload, 0)?, u32_at(payload, 4)?);
                    check(late < 2 && payload.len() % 8 == 0, "counts")?;
                    check((late == 0) == self.components.is_empty(), "order of counts")?;
                    if let Some(at) = SITE.checked_sub(first) {
                        self.counts[late as usize] += u64_at(payload, 8 + 8 * at as usize)?;
                    }
                }
                Kind::Released => self.released(payload)?,
                Kind::End => {
                    check(u32_at(payload, 0)? == self.index, "number of sections")?;
                    self.ended = true;
                }
                _ => (),
            }
            self.at += 32 + len.next_multiple_of(8);
            self.index += 1;
        }
        Ok(())
    }

    fn tasks(&mut self, payload: &[u8]) -> Result {
        check(
            self.components.is_empty(),
            "tasks come before all components",
        )?;
        let is_whole = !payload.is_empty() && payload.len() % Task::SIZE == 0;
        check(is_whole, "size of tasks")?;
        for task in payload.chunks_exact(Task::SIZE) {
            let task = Task::read(task).ok_or(EINVAL)?;
            self.tasks.push(task, GFP_KERNEL)?;
        }
        Ok(())
    }

    /// The task with this thread id.
    pub(crate) fn task(&self, pid: i32) -> Result<&Task> {
        let mut tasks = self.tasks.iter().filter(|task| task.pid == pid);
        match (tasks.next(), tasks.next()) {
            (Some(task), None) => Ok(task),
            _ => Err(ENOENT),
        }
    }

    fn component(&mut self, payload: &[u8]) -> Result {
        check(
            payload.len() == ComponentSection::SIZE,
            "size of a component",
        )?;
        let section = ComponentSection::read(payload).ok_or(EINVAL)?;
        let (id, raw) = (section.id, (section.gone_records, section.lost));
        let known = self.components.iter().find(|known| known.id == id);
        let (first, released) = known.map_or((raw.0, (0, [0; LOST_CAUSES])), |known| {
            (known.first, known.released)
        });
        self.components.retain(|known| known.id != id);
        let name = section.name.split(|b| *b == 0).next().unwrap_or(&[]);
        let mut copy = KVec::new();
        copy.extend_from_slice(name, GFP_KERNEL)?;
        let mut new = ReadComponent {
            id,
            name: copy,
            attached: section.attached != 0,
            gone: 0,
            lost: [0; LOST_CAUSES],
            raw,
            first,
            released,
            cleared: section.cleared,
        };
        new.count(self.stream)?;
        Ok(self.components.push(new, GFP_KERNEL)?)
    }

    /// A ring was taken from its owner.
    fn released(&mut self, payload: &[u8]) -> Result {
        check(payload.len() == Released::SIZE, "size of a released ring")?;
        let section = Released::read(payload).ok_or(EINVAL)?;
        let (component, id) = (section.component, section.ring);
        let same = |ring: &&mut ReadRing| ring.is(component, id);
        let ring = self.rings.iter_mut().rev().find(same);
        let ring = ring.filter(|ring| !ring.released);
        let mut lost = [0; LOST_CAUSES];
        if let Some(ring) = ring {
            (ring.released, lost) = (true, ring.lost);
        }
        let mut components = self.components.iter_mut();
        let of = components.find(|c| c.id == component).ok_or(EINVAL)?;
        of.released.0 += section.records;
        for (sum, n) in of.released.1.iter_mut().zip(lost) {
            *sum += n;
        }
        of.count(self.stream)
    }

    fn ring(&mut self, payload: &[u8]) -> Result {
        check(payload.len() == RingSection::SIZE, "size of a ring")?;
        let section = RingSection::read(payload).ok_or(EINVAL)?;
        let same = |known: &ReadRing| known.is(section.component, section.ring);
        let at = self.rings.iter().rposition(same).filter(|at| {
            let known = &self.rings[*at];
            let is_over = known.retired != 0 && section.retired == 0;
            self.stream && !known.released && known.pid == section.pid && !is_over
        });
        if at.is_none() {
            let new = ReadRing {
                section,
                released: false,
                account: Account::default(),
                numbers: KVVec::new(),
                times: KVVec::new(),
                names: KVVec::new(),
                left: 0,
                pages: 0,
                sections: 0,
            };
            self.rings.push(new, GFP_KERNEL)?;
        }
        let at = at.unwrap_or(self.rings.len() - 1);
        let ring = &mut self.rings[at];
        ring.sections += 1;
        ring.section = section;
        Ok(())
    }

    fn page(&mut self, payload: &[u8]) -> Result {
        let (component, id) = (u32_at(payload, 0)?, u32_at(payload, 4)?);
        let same = |ring: &ReadRing| ring.is(component, id);
        let last = self.rings.last().is_some_and(same);
        check(self.stream || last, "page of another ring")?;
        let ring = self.rings.iter_mut().rfind(|ring| same(ring));
        let ring = ring.ok_or(EINVAL)?;
        let end = payload.len().checked_sub(8).ok_or(EINVAL)?;
        let (page, next) = (payload.get(8..end).ok_or(EINVAL)?, u64_at(payload, end)?);
        check(u32_at(page, 8)? == id, "ring of a page")?;
        // Components that the rest of the kernel has may have records of other sites.
        let of_tests = |c: &ReadComponent| c.name.starts_with(b"blog_test_");
        let mut components = self.components.iter();
        let of = components.find(|c| c.id == component);
        let others = !of.is_some_and(of_tests);
        let cleared = of.map_or(0, |c| c.cleared);
        ring.pages += 1;
        let mut take = |item: Item<'_>| -> Result {
            match item {
                Item::Record { site, .. } if others || site != SITE => {
                    check(others, "unknown site")?;
                }
                Item::Record { clock, payload, .. } if clock >= cleared => {
                    ring.numbers.push(u64_at(payload, 0)?, GFP_KERNEL)?;
                    ring.times.push(clock, GFP_KERNEL)?;
                }
                Item::Control(_, ControlRecord::Left(n)) => ring.left += n,
                Item::Control(_, ControlRecord::Task { comm, .. }) => {
                    let names = (ring.numbers.len(), comm);
                    ring.names.push(names, GFP_KERNEL)?;
                }
                Item::Record { .. } | Item::Control(..) => (),
                Item::Wrong(what, _) => check(false, what)?,
            }
            Ok(())
        };
        let mut result = Ok(());
        let due = self.stream.then_some(next);
        ring.account.page(page, due, |item| {
            let taken = take(item);
            result = result.and(taken);
        });
        result
    }

    /// The only ring with records or losses.
    pub(crate) fn only_ring(&self) -> Result<&ReadRing> {
        check(self.rings.len() == 1, "one ring was expected")?;
        self.rings.first().ok_or(EINVAL)
    }
}

impl Deref for ReadRing {
    type Target = RingSection;

    fn deref(&self) -> &RingSection {
        &self.section
    }
}

impl ReadRing {
    fn is(&self, component: u32, id: u32) -> bool {
        (self.component, self.ring) == (component, id)
    }

    /// Losses of this cause.
    pub(crate) fn lost(&self, cause: Lost) -> u64 {
        self.lost[cause as usize]
    }

    /// Records that a stream's reader has missed.
    pub(crate) fn lag(&self) -> u64 {
        self.account.missing
    }

    /// What is wrong, unless it is all that the ring has.
    pub(crate) fn adds_up(&self) -> Result<(), &'static str> {
        self.account.adds_up(self.records, &self.lost, &self.told)
    }

    /// Whether the numbers are `first`, `first + 1`, … without a gap.
    pub(crate) fn counts_from(&self, first: u64) -> bool {
        (first..).zip(&self.numbers).all(|(want, n)| want == *n)
    }
}
