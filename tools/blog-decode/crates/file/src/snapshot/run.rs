// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Pages that follow each other: a ring's part of a file, in a few words.
//!
//! A snapshot has the pages of a ring one after the other, and each continues the one before. So it
//! is enough to know the first and the last one: the sections of the others lead from one to the
//! next. In the capture of a stream, [`Links`](super::links) do. The memory for a file doesn't grow
//! with its rings' length.
//!
//! [`Steps`] goes through a [`Run`], and checks that the file still has the same content as when it
//! was opened. If not, one page without bytes stands for all remaining ones, so that their records
//! count as damaged.

use super::{links::Link, parse_section_header, PageRef, Snapshot, ALIGN, SECTION_HEADER};
use crate::wire::{
    file::{Kind, Page},
    page::{PageInfo, PAGE_HEADER_SIZE},
};

/// What is read of a section to find out about its page.
const HEAD: usize = SECTION_HEADER + Page::SIZE + PAGE_HEADER_SIZE;

/// Position of a page in its ring.
pub fn seq(page: &PageRef) -> u64 {
    page.seq
}

/// Ordinal after the last record of a page.
pub fn end_of(page: &PageRef) -> u64 {
    page.first.saturating_add(page.records.into())
}

/// Whether `b` goes on where `a` has ended: it is the next page, or the next piece of the same.
pub fn follows(a: &PageRef, b: &PageRef) -> bool {
    let is_next = seq(b) == seq(a) + 1;
    let is_piece = seq(b) == seq(a) && a.records > 0 && b.records > 0;
    (is_next || is_piece) && b.first == end_of(a) && b.base >= a.base
}

/// Pages of one ring that follow each other in a file.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The first one.
    pub first: PageRef,
    /// The last one.
    pub last: PageRef,
    /// How many there are, at least one.
    pub count: u32,
    /// Component and ring id.
    id: (u32, u32),
    /// Where the sections of the first and of the last page end; in a stream, their numbers among
    /// all pieces are what leads on.
    next: Link,
    after: Link,
    /// Bytes of the longest section, which is at most SECTION_MAX and a header.
    longest: u32,
}

impl Run {
    /// A run of one page, whose section ends at `after`; of a stream, it is the piece of this
    /// number.
    pub fn one(id: (u32, u32), page: PageRef, after: u64, number: u64) -> Self {
        let link = Link { at: after, number };
        Self {
            first: page,
            last: page,
            count: 1,
            id,
            next: link,
            after: link,
            longest: after.saturating_sub(section_of(&page)) as u32,
        }
    }

    /// The number of its last piece.
    pub(super) fn number(&self) -> u64 {
        self.after.number
    }

    /// Whether the section of another run is the next one in the file.
    pub(super) fn is_before(&self, other: &Self) -> bool {
        self.after.at == section_of(&other.first)
    }

    /// Appends a run of one page, which [`Steps`] must be able to reach, if it goes on where this
    /// one ends.
    pub(super) fn append(&mut self, other: &Self) -> bool {
        let count = self.count.checked_add(1).filter(|_| other.count == 1);
        let Some(count) = count.filter(|_| follows(&self.last, &other.first)) else {
            return false;
        };
        self.last = other.last;
        self.count = count;
        self.after = other.after;
        self.longest = self.longest.max(other.longest);
        true
    }

    /// Appends a run of one page of the same file, if it is the next one there.
    pub fn append_next(&mut self, other: &Self, file: &Snapshot) -> bool {
        let is_next = match file.stream {
            true => {
                let next = file.links.next(self.number());
                next.is_some_and(|next| next.number == other.number())
            }
            false => self.is_before(other),
        };
        is_next && self.append(other)
    }

    /// Its pages, each as a run of its own.
    pub fn pages<'a>(&'a self, file: &'a Snapshot) -> impl Iterator<Item = Self> + 'a {
        let mut steps = self.steps();
        std::iter::from_fn(move || {
            let page = steps.next(self, file, None)?;
            Some(Self::one(self.id, page, steps.at.at, steps.at.number))
        })
    }

    /// Its records.
    pub fn records(&self) -> u64 {
        end_of(&self.last).saturating_sub(self.first.first)
    }

    /// Starts before its first page.
    pub fn steps(&self) -> Steps {
        Steps { left: self.count, at: self.next, before: None }
    }

    /// What it has from the first page on that is not to be skipped.
    pub fn skip(&self, file: &Snapshot, is_done: impl Fn(&PageRef) -> bool) -> Option<Self> {
        if is_done(&self.last) {
            return None;
        }
        let mut steps = self.steps();
        while let Some(page) = steps.next(self, file, None) {
            if !is_done(&page) {
                return Some(Self { first: page, next: steps.at, count: steps.left + 1, ..*self });
            }
        }
        None
    }
}

/// Where a page's section begins.
pub fn section_of(page: &PageRef) -> u64 {
    page.offset.saturating_sub((SECTION_HEADER + Page::SIZE) as u64)
}

/// A position in a run.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    /// Pages that are left.
    pub left: u32,
    /// Where the section of the page before ends, and its number in a stream.
    at: Link,
    /// The page before.
    before: Option<PageRef>,
}

impl Steps {
    /// Goes to the next page; reads it into `bytes`, at most as much of it as was there when the file
    /// was opened.
    pub fn next(
        &mut self,
        run: &Run,
        file: &Snapshot,
        bytes: Option<&mut Vec<u8>>,
    ) -> Option<PageRef> {
        self.left = self.left.checked_sub(1)?;
        let page = match (self.before, bytes) {
            (None, bytes) => {
                if let Some(bytes) = bytes {
                    // What can't be read any more counts as damaged by who goes through it.
                    if file.read_page(&run.first, bytes).is_err() {
                        bytes.clear();
                    }
                }
                Some(run.first)
            }
            (Some(before), None) => {
                let mut head = [0; HEAD];
                self.find(run, file, &before, &mut head).map(|(page, _)| page)
            }
            (Some(before), Some(bytes)) => {
                // At most SECTION_MAX and a header.
                bytes.resize((run.longest as usize).max(HEAD), 0);
                let found = self.find(run, file, &before, bytes);
                let end = found
                    .map_or(0, |(page, n)| n.min(SECTION_HEADER + Page::SIZE + page.len as usize));
                bytes.truncate(end);
                bytes.drain(..end.min(SECTION_HEADER + Page::SIZE));
                found.map(|(page, _)| page)
            }
        };
        let page = page.or_else(|| Some(self.rest(run)));
        self.before = page;
        page
    }

    /// Finds the page after `before`, and reads its section into `bytes`: how much there was.
    fn find(
        &mut self,
        run: &Run,
        file: &Snapshot,
        before: &PageRef,
        bytes: &mut [u8],
    ) -> Option<(PageRef, usize)> {
        let next = match file.stream {
            true => file.links.next(self.at.number)?,
            false => self.at,
        };
        let n = file.read_some(next.at, bytes).ok()?;
        let header = parse_section_header(bytes.get(..n)?)?;
        if Kind::from_u16(header.kind) != Some(Kind::Page) {
            return None;
        }
        let payload = next.at + SECTION_HEADER as u64;
        let body = bytes.get(SECTION_HEADER..n)?;
        let head = Page::read(body)?;
        if (head.component, head.ring) != run.id {
            return None;
        }
        let info = PageInfo::read(&body[Page::SIZE..])?;
        let in_section = header.len.checked_sub(Page::SIZE as u64)?;
        let page = PageRef::in_section(payload + Page::SIZE as u64, in_section, info)?;
        self.at = Link { at: payload + header.len.next_multiple_of(ALIGN), number: next.number };
        follows(before, &page).then_some((page, n))
    }

    /// A page without bytes, for all that are left.
    fn rest(&mut self, run: &Run) -> PageRef {
        self.left = 0;
        let before = self.before.unwrap_or(run.first);
        let records = end_of(&run.last).saturating_sub(end_of(&before));
        PageRef {
            offset: self.at.at,
            seq: seq(&run.last),
            base: before.base,
            first: end_of(&before),
            records: records.min(u32::MAX.into()) as u32,
            len: 0,
        }
    }
}
