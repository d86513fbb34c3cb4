// SPDX-License-Identifier: GPL-2.0

//! The snapshot file: everything there is in the rings, as one self-contained file.
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

use kernel::{
    blog::{
        record::Context,
        ring::{
            Info,
            State as RingState, //
        },
        snapshot as format, //
    },
    error::from_result,
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        ArcBorrow,
        Mutex, //
    },
    types::ForeignOwnable,
    uaccess::{
        UserPtr,
        UserSlice, //
    }, //
};

use crate::{
    component::{
        Inner,
        Mark,
        State, //
    },
    images::name_field,
    memory::Memory,
    piece,
    pool::Store,
    registry,
    sections::{
        copy_out,
        ring_section,
        Sections,
        Source, //
    },
    sort::sort_by_key,
    task, //
};

/// How often the newer pages of a ring are looked for, after its writer has taken some away.
const RESCANS: u32 = 8;

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
pub(crate) fn info_of(memory: &Memory, id: u32) -> Option<Info> {
    let ring = memory.store.ring(id)?;
    (0..100).find_map(|_| ring.info())
}

/// Lists the rings that have something to tell.
fn list_rings(state: &State, inner: &Inner, list: &mut KVVec<ListedRing>) -> Result {
    let Some((memory, owned)) = inner.memory() else {
        return Ok(());
    };
    let writers = task::writers(state.slot())?;

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
                task_state = writers[at].task.state;
                info.owner.comm = writers[at].task.comm;
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
    let Some((memory, _)) = inner.memory() else {
        return Ok(());
    };
    let mut result = Ok(());
    memory.for_each_page(|index, page| {
        let seq = page.seq();
        let listed = Listed {
            ring: page.ring(),
            index,
            seq,
        };
        if seq != 0 && result.is_ok() && wanted(&listed) {
            result = list.push(listed, GFP_KERNEL);
        }
    });
    result?;
    sort_by_key(list, |page| (page.ring, page.seq));
    Ok(())
}

/// Copies a page of a ring to `to`, and takes out what `clear` has hidden; returns what is left.
/// `Err`: it is not there any more.
fn copy_page(
    inner: &Inner,
    ring: &ListedRing,
    page: &Listed,
    to: &mut [u8],
) -> Result<Option<usize>, Gone> {
    let (memory, _) = inner.memory().ok_or(Gone)?;
    let len = memory.copy(page.index, page.seq, to).ok_or(Gone)?;
    // The position is unique within a ring, but the page may have gone to another ring, or the ring
    // to another task, since it was listed.
    let info = info_of(memory, ring.id).ok_or(Gone)?;
    if piece::ring_of(to) != Some(ring.id) || info.first_seq != ring.info.first_seq {
        return Err(Gone);
    }
    let Some(mark) = &ring.mark else {
        return Ok(Some(len));
    };
    let from = piece::From {
        seq: mark.seq,
        end: mark.end,
        hidden: mark.records,
        next: None,
    };
    Ok(piece::cut(to, &from).map(|piece| piece.len))
}

/// A page went away before it was copied.
struct Gone;

/// What comes next.
#[derive(Clone, Copy)]
enum Step {
    File,
    System,
    Clock,
    Images,
    Tasks,
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
    out: Sections,
    /// Where to look for the next task.
    task: u32,
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
            out: Sections::new()?,
            task: 0,
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

    /// Makes the next section, or none where there is nothing to say.
    fn advance(&mut self) -> Result {
        self.step = match self.step {
            Step::File => {
                self.out.file(0)?;
                Step::System
            }
            Step::System => {
                self.out.system()?;
                Step::Clock
            }
            Step::Clock => {
                self.out.clock()?;
                Step::Images
            }
            Step::Images => match self.out.images()? {
                true => Step::Images,
                false => Step::Tasks,
            },
            Step::Tasks => {
                let only = self.only.as_ref().map(|state| state.slot());
                match self.out.tasks(&mut self.task, only)? {
                    true => Step::Tasks,
                    false => Step::Component,
                }
            }
            Step::Component => self.component()?,
            Step::Ring(n) => self.ring(n)?,
            Step::Pages(n) => self.page(n)?,
            // Modules that were loaded meanwhile.
            Step::LateImages => match self.out.images()? {
                true => Step::LateImages,
                false => Step::End,
            },
            Step::End => {
                self.out.end_of_file()?;
                Step::Done
            }
            Step::Done => Step::Done,
        };
        Ok(())
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
        self.out.component(&section)?;
        Ok(Step::Ring(0))
    }

    /// Writes the section of a ring.
    fn ring(&mut self, n: usize) -> Result<Step> {
        let (Some(ring), Some(state)) = (self.list.get(n), &self.current) else {
            return Ok(Step::Component);
        };
        let mut section = ring_section(state.slot().into(), ring.id, &ring.info);
        section.task_state = ring.task_state;
        self.out.ring(&section)?;
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
        let (list, generation, missed) = (&self.list, self.generation, &mut self.missed);
        self.out.page(state.slot().into(), id, |to| {
            let copied = state.with(|inner| match list.get(n) {
                Some(ring) if inner.generation == generation => copy_page(inner, ring, &page, to),
                // Ids and indices mean something else now.
                _ => Err(Gone),
            });
            match copied {
                Ok(len) => Some((len?, ())),
                Err(Gone) => {
                    *missed = true;
                    None
                }
            }
        })?;
        Ok(Step::Pages(n))
    }
}

impl Source for Progress {
    fn peek(&mut self) -> Result<&[u8]> {
        while self.out.pending().is_empty() && !matches!(self.step, Step::Done) {
            self.advance()?;
        }
        Ok(self.out.pending())
    }

    fn consume(&mut self, n: usize) {
        self.out.consume(n);
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
    let result = copy_out(&mut *cursor.progress.lock(), &mut to, || false);
    let done = count - to.len();
    match result {
        Err(e) if done == 0 => e.to_errno() as isize,
        // An error comes back with the next read.
        _ => done as isize,
    }
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
