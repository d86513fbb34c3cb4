// SPDX-License-Identifier: GPL-2.0

//! The snapshot file: everything there is in the rings, as one self-contained stream.
//!
//! `files.rs` makes a file `snapshot` for each component and one for all; glue.c opens, reads and
//! closes them. The format is that of `rust/kernel/blog/snapshot.rs`. An open file has a
//! [`Cursor`], which holds one section at a time and, for the component that it is at, the list of
//! its rings and pages: so memory is bounded, whatever is read.
//!
//! Writers are never stopped, and don't know. The lists are made once for a component, rings first;
//! then each page is copied, and the copy dropped if the writer has taken the page meanwhile. In
//! that case, the ring's newer pages are looked for, a few times, so that a busy ring doesn't come
//! out empty. What is missing at the end shows in the counts.

use core::mem::size_of;
use kernel::{
    blog::{
        record::{
            Context,
            Control,
            Header,
            PAGE_HEADER_SIZE,
            WIRE_VERSION, //
        },
        ring::{
            Info,
            PageHeader,
            State as RingState, //
        },
        snapshot::{
            self as format,
            Kind, //
        }, //
    },
    cpu::nr_cpu_ids,
    error::from_result,
    new_mutex,
    page::PAGE_SIZE,
    prelude::*,
    sync::{
        Arc,
        ArcBorrow,
        Mutex,
        SetOnce, //
    },
    types::ForeignOwnable,
    uaccess::{
        UserPtr,
        UserSlice,
        UserSliceWriter, //
    }, //
};

use crate::{
    clock,
    component::{
        Inner,
        Mark,
        State, //
    },
    glue,
    images::name_field,
    memory::Memory,
    pool::Store,
    registry,
    sort::sort_by_key,
    task::{
        self,
        Writer, //
    }, //
};

/// How often the newer pages of a ring are looked for, after its writer has taken some away.
const RESCANS: u32 = 8;
/// Images in one section.
const IMAGES: usize = 64;
/// Room for the largest section: its header, a page and what stands before it; or images.
const ROOM: usize = {
    let page = size_of::<format::SectionHeader>() + size_of::<format::Page>() + PAGE_SIZE + 8;
    let images = size_of::<format::SectionHeader>() + IMAGES * size_of::<format::Image>() + 8;
    if page > images {
        page
    } else {
        images
    }
};

/// Random id of this run of BLog, within which site ids are unique.
static BOOT_ID: SetOnce<[u8; 16]> = SetOnce::new();

/// Called once, when BLog starts.
pub(crate) fn init() {
    BOOT_ID.populate(glue::random());
}

/// Structures of the file format: `repr(C)`, integers only, without padding.
///
/// # Safety
///
/// Implementers have no padding bytes.
unsafe trait Plain: Sized {
    fn as_bytes(&self) -> &[u8] {
        // SAFETY: All bytes are initialised, as there is no padding.
        unsafe { core::slice::from_raw_parts(core::ptr::from_ref(self).cast(), size_of::<Self>()) }
    }
}

macro_rules! plain {
    ($($ty:ident)*) => {$(
        // SAFETY: All fields are integers that follow each other without gaps: their sizes add up
        // to the size that the format's own assertions demand.
        unsafe impl Plain for format::$ty {}
    )*};
}

plain!(FileHeader SectionHeader System Clock ClockPair Image Component Ring Page End);

/// A page that is to be copied.
#[derive(Clone, Copy)]
struct Listed {
    ring: u32,
    seq: u64,
    /// Index in the pool.
    index: u32,
}

/// A ring that is to be written.
struct ListedRing {
    id: u32,
    info: Info,
    task_state: u8,
    /// What of it is hidden.
    mark: Option<Mark>,
}

/// What readers want to know of a ring; `None` where it is free, or changes hands all the time.
fn info_of(memory: &Memory, id: u32) -> Option<Info> {
    let ring = memory.store.ring(id)?;
    (0..100).find_map(|_| ring.info())
}

/// Lists the rings that have something to tell.
fn list_rings(state: &State, inner: &Inner, list: &mut KVVec<ListedRing>) -> Result {
    let Some((memory, owned)) = inner.memory() else {
        return Ok(());
    };
    let mut writers = KVVec::new();
    let mut result = Ok(());
    task::for_each_writer(state.slot(), |writer| {
        if result.is_ok() {
            result = writers.push(writer, GFP_KERNEL);
        }
    });
    result?;
    sort_by_key(&mut writers, |writer: &Writer| writer.ring);

    for id in 0..owned.rings() {
        let Some(mut info) = info_of(memory, id) else {
            continue;
        };
        let mark = inner.mark(id, &info).copied();
        if let Some(mark) = &mark {
            info.records = info.records.saturating_sub(mark.records);
            for (i, told) in mark.told.into_iter().enumerate() {
                info.lost[i] = info.lost[i].saturating_sub(told);
                info.told[i] = info.told[i].saturating_sub(told);
            }
        }
        if info.records == 0 && info.lost.iter().all(|n| *n == 0) {
            continue;
        }
        let mut task_state = 0;
        if info.state == RingState::Live && info.owner.context == Context::Task {
            if let Ok(at) = writers.binary_search_by_key(&id, |writer| writer.ring) {
                task_state = writers[at].state;
                info.owner.comm = writers[at].comm;
            }
        }
        let ring = ListedRing {
            id,
            info,
            task_state,
            mark,
        };
        list.push(ring, GFP_KERNEL)?;
    }
    Ok(())
}

/// Lists the pages in rings for which `wanted` holds, by ring and position.
fn list_pages(inner: &Inner, list: &mut KVVec<Listed>, wanted: impl Fn(&Listed) -> bool) -> Result {
    let Some((memory, owned)) = inner.memory() else {
        return Ok(());
    };
    for index in 0..owned.indices() {
        // SAFETY: A page that isn't null stays while the component is locked.
        let Some(page) = (unsafe { memory.store.page(index).as_ref() }) else {
            continue;
        };
        let seq = page.seq();
        let listed = Listed {
            ring: page.ring(),
            index,
            seq,
        };
        if seq != 0 && wanted(&listed) {
            list.push(listed, GFP_KERNEL)?;
        }
    }
    sort_by_key(list, |page| (page.ring, page.seq));
    Ok(())
}

/// Copies a page of a ring to `to`; `None` where it is not there any more.
fn copy_page(inner: &Inner, ring: &ListedRing, page: &Listed, to: &mut [u8]) -> Option<usize> {
    let (memory, _) = inner.memory()?;
    let from = memory.store.page(page.index);
    if from.is_null() {
        return None;
    }
    // SAFETY: A page that isn't null is formatted, and stays while the component is locked.
    let len = unsafe { PageHeader::copy(from, PAGE_SIZE as u32, page.seq, to) }?;
    // The position is unique within a ring, but the page may have gone to another ring, or the ring
    // to another task, since it was listed.
    let owner = u32::from_ne_bytes(to.get(8..12)?.try_into().ok()?);
    let info = info_of(memory, ring.id)?;
    (owner == ring.id && info.first_seq == ring.info.first_seq).then_some(len)
}

/// Takes out of a copy of a page what `clear` has hidden. False: nothing is left of it.
///
/// The copy is one of `PageHeader::copy`, and so well-formed; where it isn't, nothing is left.
pub(crate) fn cut(page: &mut KVVec<u8>, start: usize, mark: &Mark) -> bool {
    let Some(copy) = page.get_mut(start..) else {
        return false;
    };
    let get = |copy: &[u8], at: usize| -> Option<u64> {
        let bytes = copy.get(at..at.checked_add(8)?)?;
        Some(u64::from_ne_bytes(bytes.try_into().ok()?))
    };
    let put = |copy: &mut [u8], at: usize, n: u64| {
        if let Some(to) = copy.get_mut(at..at + 8) {
            to.copy_from_slice(&n.to_ne_bytes());
        }
    };
    let done = (|| {
        // Offsets in `PageInfo`.
        let (seq, mut base) = (get(copy, 16)?, get(copy, 24)?);
        let (first, commit) = (get(copy, 32)?, get(copy, 40)?);
        let end = commit as u32 as usize;
        if seq > mark.seq {
            put(copy, 32, first.saturating_sub(mark.records));
            return Some(end);
        }
        let hidden = mark.end as usize;
        if seq < mark.seq || end <= hidden || end > copy.len() {
            return None;
        }
        let mut at = PAGE_HEADER_SIZE;
        let mut records = 0;
        while at < hidden {
            let header = Header(get(copy, at)?);
            if header.site() != 0 {
                records += 1;
            } else {
                let word = get(copy, at + 8)? as u32;
                if Control::from_word(word) == Some(Control::TimeExtend) {
                    // The time from which what follows counts.
                    base = get(copy, at + 12)?;
                }
            }
            at = at.checked_add(header.size())?;
        }
        if at != hidden {
            return None;
        }
        copy.copy_within(hidden..end, PAGE_HEADER_SIZE);
        let end = PAGE_HEADER_SIZE + (end - hidden);
        put(copy, 24, base);
        let before = first.wrapping_add(records);
        put(copy, 32, before.saturating_sub(mark.records));
        let left = (commit >> 32).saturating_sub(records);
        put(copy, 40, left << 32 | end as u64);
        Some(end)
    })();
    match done {
        Some(end) => {
            page.truncate(start + end);
            true
        }
        None => false,
    }
}

/// What comes next.
#[derive(Clone, Copy)]
enum Step {
    File,
    System,
    Clock,
    Images,
    Component,
    Ring(usize),
    /// Pages of the ring with this place in the list.
    Pages(usize),
    LateImages,
    End,
    Done,
}

/// Where the reader of a snapshot is.
pub(crate) struct Progress {
    /// The only component, or all of them.
    only: Option<Arc<State>>,
    step: Step,
    /// The section that is being read, and how much of it has been.
    out: KVVec<u8>,
    read: usize,
    /// Sections, rings and pages so far.
    sections: u32,
    rings: u32,
    pages: u32,
    /// Images so far.
    images: usize,
    /// Where to look for the next component.
    slot: usize,
    /// The component that it is at, its rings and pages in order.
    current: Option<Arc<State>>,
    generation: u64,
    list: KVVec<ListedRing>,
    listed: KVVec<Listed>,
    /// The next page in `listed`.
    next: usize,
    /// Newer pages of the ring that it is at, and the next one of them.
    newer: KVVec<Listed>,
    next_newer: usize,
    /// Position of the last page of the ring that was tried.
    last: u64,
    /// Whether a page was gone, and how often newer ones may still be looked for.
    missed: bool,
    rescans: u32,
}

impl Progress {
    /// Starts at the beginning.
    pub(crate) fn new(only: Option<Arc<State>>) -> Result<Self> {
        Ok(Self {
            only,
            step: Step::File,
            out: KVVec::with_capacity(ROOM, GFP_KERNEL)?,
            read: 0,
            sections: 0,
            rings: 0,
            pages: 0,
            images: 0,
            slot: 0,
            current: None,
            generation: 0,
            list: KVVec::new(),
            listed: KVVec::new(),
            next: 0,
            newer: KVVec::new(),
            next_newer: 0,
            last: 0,
            missed: false,
            rescans: 0,
        })
    }

    /// The bytes that come next; empty at the end.
    pub(crate) fn peek(&mut self) -> Result<&[u8]> {
        while self.read >= self.out.len() && !matches!(self.step, Step::Done) {
            self.out.clear();
            self.read = 0;
            self.advance()?;
        }
        Ok(self.out.get(self.read..).unwrap_or(&[]))
    }

    /// Goes on by `n` bytes.
    pub(crate) fn consume(&mut self, n: usize) {
        self.read = self.read.saturating_add(n);
    }

    fn push(&mut self, bytes: &[u8]) -> Result {
        Ok(self.out.extend_from_slice(bytes, GFP_KERNEL)?)
    }

    /// Starts a section; what is pushed from here on is its payload.
    fn begin(&mut self) -> Result {
        self.push(&[0; size_of::<format::SectionHeader>()])
    }

    /// Ends the section.
    fn end(&mut self, kind: Kind) -> Result {
        const SIZE: usize = size_of::<format::SectionHeader>();
        let payload = self.out.get(SIZE..).unwrap_or(&[]);
        let mut header = format::SectionHeader {
            magic: format::SECTION_MAGIC,
            kind: kind as u16,
            flags: 0,
            len: payload.len() as u64,
            index: self.sections,
            reserved: 0,
            payload_crc: glue::crc32(0, payload),
            crc: 0,
        };
        let pad = payload.len().next_multiple_of(8) - payload.len();
        header.crc = glue::crc32(0, header.as_bytes().get(..SIZE - 4).unwrap_or(&[]));
        if let Some(place) = self.out.get_mut(..SIZE) {
            place.copy_from_slice(header.as_bytes());
        }
        self.push([0; 8].get(..pad).unwrap_or(&[]))?;
        self.sections += 1;
        Ok(())
    }

    fn section(&mut self, kind: Kind, payload: &impl Plain) -> Result {
        self.begin()?;
        self.push(payload.as_bytes())?;
        self.end(kind)
    }

    /// Makes the next section, or none where there is nothing to say.
    fn advance(&mut self) -> Result {
        self.step = match self.step {
            Step::File => {
                self.file()?;
                Step::System
            }
            Step::System => {
                self.system()?;
                Step::Clock
            }
            Step::Clock => {
                self.clock()?;
                Step::Images
            }
            Step::Images => match self.images()? {
                true => Step::Images,
                false => Step::Component,
            },
            Step::Component => self.component()?,
            Step::Ring(n) => self.ring(n)?,
            Step::Pages(n) => self.page(n)?,
            // Modules that were loaded meanwhile.
            Step::LateImages => match self.images()? {
                true => Step::LateImages,
                false => Step::End,
            },
            Step::End => {
                let end = format::End {
                    sections: self.sections,
                    rings: self.rings,
                    pages: self.pages,
                    reserved: 0,
                };
                self.section(Kind::End, &end)?;
                Step::Done
            }
            Step::Done => Step::Done,
        };
        Ok(())
    }

    fn file(&mut self) -> Result {
        let mut header = format::FileHeader {
            magic: format::FILE_MAGIC,
            version: format::VERSION,
            endian: format::ENDIAN,
            wire_version: WIRE_VERSION,
            header_size: size_of::<format::FileHeader>() as u32,
            flags: 0,
            crc: 0,
        };
        let bytes = header.as_bytes();
        header.crc = glue::crc32(0, bytes.get(..bytes.len() - 4).unwrap_or(&[]));
        self.push(header.as_bytes())
    }

    fn system(&mut self) -> Result {
        let [release, machine, host] = glue::uts();
        let system = format::System {
            page_size: PAGE_SIZE as u32,
            cpus: nr_cpu_ids(),
            pointer_size: size_of::<usize>() as u32,
            reserved: 0,
            release,
            machine,
            host,
            boot_id: BOOT_ID.as_ref().copied().unwrap_or_default(),
        };
        self.section(Kind::System, &system)
    }

    fn clock(&mut self) -> Result {
        self.begin()?;
        self.push(clock::section().as_bytes())?;
        for pair in clock::pairs() {
            self.push(pair.as_bytes())?;
        }
        self.end(Kind::Clock)
    }

    /// Writes the images that were not written yet, as far as they fit; false: there are none.
    fn images(&mut self) -> Result<bool> {
        let (from, total) = (self.images, registry::with_images(|i| i.list().len()));
        if from >= total {
            return Ok(false);
        }
        self.begin()?;
        for at in from..total.min(from + IMAGES) {
            let entry = registry::with_images(|i| i.list().get(at).map(|image| image.entry()));
            if let Some(entry) = entry {
                self.push(entry.as_bytes())?;
            }
            self.images = at + 1;
        }
        self.end(Kind::Images)?;
        Ok(true)
    }

    /// Goes to the next component, makes its lists and writes its section.
    fn component(&mut self) -> Result<Step> {
        self.list.clear();
        self.listed.clear();
        self.current = match &self.only {
            Some(_) if self.slot > 0 => None,
            Some(state) => Some(state.clone()),
            None => registry::component_from(self.slot),
        };
        let Some(state) = self.current.clone() else {
            return Ok(Step::LateImages);
        };
        self.slot = usize::from(state.slot()) + 1;
        let (list, listed) = (&mut self.list, &mut self.listed);
        let generation = &mut self.generation;
        let section = state.with(|inner| -> Result<_> {
            *generation = inner.generation;
            list_rings(&state, inner, list)?;
            list_pages(inner, listed, |_| true)?;
            let loose = state.loose(inner);
            Ok(format::Component {
                id: u32::from(state.slot()),
                enabled: u8::from(inner.enabled),
                level: inner.level.map_or(0, |level| level as u8),
                mode: state.mode() as u8,
                attached: u8::from(inner.attached()),
                size_kb: inner.size_kb,
                ring_kb: inner.ring_kb,
                rings: list.len() as u32,
                reserved: 0,
                gone_records: loose.records,
                lost: loose.lost,
                name: name_field(state.name().to_bytes()),
            })
        })?;
        self.next = 0;
        self.section(Kind::Component, &section)?;
        Ok(Step::Ring(0))
    }

    /// Writes the section of a ring.
    fn ring(&mut self, n: usize) -> Result<Step> {
        let (Some(ring), Some(state)) = (self.list.get(n), &self.current) else {
            return Ok(Step::Component);
        };
        let info = &ring.info;
        let section = format::Ring {
            component: u32::from(state.slot()),
            ring: ring.id,
            context: info.owner.context as u8,
            retired: u8::from(info.state == RingState::Retired),
            task_state: ring.task_state,
            reserved: 0,
            cpu: info.owner.cpu,
            pid: info.owner.pid,
            tgid: info.owner.tgid,
            comm: info.owner.comm,
            exit_clock: info.exit_clock,
            records: info.records,
            lost: info.lost,
            told: info.told,
            pages: info.pages,
            reserved2: 0,
        };
        self.section(Kind::Ring, &section)?;
        self.rings += 1;
        self.newer.clear();
        self.next_newer = 0;
        self.last = 0;
        self.missed = false;
        self.rescans = RESCANS;
        Ok(Step::Pages(n))
    }

    /// The next page of the ring `id`.
    fn next_page(&mut self, id: u32) -> Option<Listed> {
        while let Some(page) = self.listed.get(self.next).copied() {
            if page.ring > id {
                break;
            }
            self.next += 1;
            // Rings that are new since the rings were listed are passed over.
            if page.ring == id {
                return Some(page);
            }
        }
        let page = self.newer.get(self.next_newer).copied()?;
        self.next_newer += 1;
        Some(page)
    }

    /// Writes the section of the next page of a ring.
    fn page(&mut self, n: usize) -> Result<Step> {
        let (Some(id), Some(state)) = (self.list.get(n).map(|r| r.id), self.current.clone()) else {
            return Ok(Step::Component);
        };
        let Some(page) = self.next_page(id) else {
            if !self.missed || self.rescans == 0 {
                return Ok(Step::Ring(n + 1));
            }
            self.missed = false;
            self.rescans -= 1;
            self.newer.clear();
            self.next_newer = 0;
            let (newer, last) = (&mut self.newer, self.last);
            state.with(|inner| {
                list_pages(inner, newer, |page| page.ring == id && page.seq > last)
            })?;
            return Ok(Step::Pages(n));
        };
        if page.seq <= self.last {
            return Ok(Step::Pages(n));
        }
        self.last = page.seq;
        self.begin()?;
        let section = format::Page {
            component: u32::from(state.slot()),
            ring: id,
        };
        self.push(section.as_bytes())?;
        let start = self.out.len();
        self.out.resize(start + PAGE_SIZE, 0, GFP_KERNEL)?;
        if self.copy(&state, n, &page, start) {
            self.end(Kind::Page)?;
            self.pages += 1;
        } else {
            self.out.clear();
        }
        Ok(Step::Pages(n))
    }

    /// Copies a page behind what `out` has up to `start`. False: there is nothing to write.
    fn copy(&mut self, state: &State, n: usize, page: &Listed, start: usize) -> bool {
        let (Some(ring), Some(to)) = (self.list.get(n), self.out.get_mut(start..)) else {
            return false;
        };
        let generation = self.generation;
        let len = state.with(|inner| match inner.generation == generation {
            true => copy_page(inner, ring, page, to),
            // Ids and indices mean something else now.
            false => None,
        });
        let Some(len) = len else {
            self.missed = true;
            return false;
        };
        self.out.truncate(start + len);
        match &ring.mark {
            Some(mark) => cut(&mut self.out, start, mark),
            None => true,
        }
    }
}

/// An open snapshot file.
#[pin_data]
struct Cursor {
    #[pin]
    progress: Mutex<Progress>,
}

/// Opens a snapshot: of the component that `data` points to, or of all where it is null.
///
/// # Safety
///
/// `data` is null or came from `Arc::into_raw`, and the component is there during the call;
/// `cursor` is valid for a write.
#[no_mangle]
unsafe extern "C" fn blog_snapshot_open(data: *mut c_void, cursor: *mut *mut c_void) -> c_int {
    from_result(|| {
        let only = if data.is_null() {
            None
        } else {
            // SAFETY: By this function's requirement.
            Some(Arc::from(unsafe {
                ArcBorrow::from_raw(data.cast::<State>())
            }))
        };
        let new = KBox::pin_init(
            try_pin_init!(Cursor {
                progress <- new_mutex!(Progress::new(only)?),
            }),
            GFP_KERNEL,
        )?;
        // SAFETY: `cursor` is valid for a write.
        unsafe { *cursor = new.into_foreign().cast() };
        Ok(0)
    })
}

/// Reads on.
///
/// # Safety
///
/// `cursor` came from [`blog_snapshot_open`].
#[no_mangle]
unsafe extern "C" fn blog_snapshot_read(
    cursor: *mut c_void,
    buf: *mut c_void,
    count: usize,
) -> isize {
    // SAFETY: By this function's requirement.
    let cursor = unsafe { &*cursor.cast::<Cursor>() };
    let mut to = UserSlice::new(UserPtr::from_ptr(buf), count).writer();
    let result = copy_out(&mut cursor.progress.lock(), &mut to);
    let done = count - to.len();
    match result {
        Err(e) if done == 0 => e.to_errno() as isize,
        // An error comes back with the next read.
        _ => done as isize,
    }
}

fn copy_out(progress: &mut Progress, to: &mut UserSliceWriter) -> Result {
    while !to.is_empty() {
        let from = progress.peek()?;
        let n = from.len().min(to.len());
        if n == 0 {
            break;
        }
        to.write_slice(from.get(..n).unwrap_or(&[]))?;
        progress.consume(n);
    }
    Ok(())
}

/// Closes it.
///
/// # Safety
///
/// `cursor` came from [`blog_snapshot_open`], and this is its last use.
#[no_mangle]
unsafe extern "C" fn blog_snapshot_release(cursor: *mut c_void) {
    // SAFETY: By this function's requirement.
    drop(unsafe { <Pin<KBox<Cursor>>>::from_foreign(cursor) });
}
