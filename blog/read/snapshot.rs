// SPDX-License-Identifier: GPL-2.0

//! The snapshot file: everything there is in the rings, as one self-contained file.
//!
//! There is a file `snapshot` for each component and one for all: [`Snapshot`]. The format is that
//! of `rust/kernel/blog/wire/file.rs`. An open file has a [`Progress`], which holds one section at
//! a time and, for the component that it is at, the list of its rings and pages: so memory is
//! bounded, whatever is read.
//!
//! Writers are never stopped, and don't know. The lists are made once for a component, rings first;
//! then each page is copied, and the copy dropped if the writer has taken the page meanwhile. In
//! that case, the ring's newer pages are looked for, a few times, so that a busy ring doesn't come
//! out empty. What is missing at the end shows in the counts.

use kernel::{
    blog::{
        ring::{
            Info,
            State as RingState, //
        },
        wire::{
            page::PageInfo,
            record::Context, //
        }, //
    },
    fs::{
        file::Offset,
        operations::FileOperations,
        File, //
    },
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        ArcBorrow,
        Mutex, //
    },
    uaccess::UserSliceWriter, //
};

use crate::{
    memory::{
        pool::Store,
        Memory, //
    },
    read::{
        sections::{
            component_section,
            copy_out,
            ring_section,
            Sections,
            Source, //
        }, //
    },
    registry::{
        self,
        state::{
            Inner,
            State, //
        },
        Components, //
    },
    sys::{
        glue,
        room::{
            fill,
            Room, //
        },
        sort::sort_by_key, //
    },
    write::tables::{
        self,
        Writer, //
    }, //
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
}

/// What readers want to know of a ring; `None` where it is free, or changes hands all the time.
pub(crate) fn info_of(memory: &Memory, id: u32) -> Option<Info> {
    let ring = memory.store.ring(id)?;
    (0..100).find_map(|_| ring.info())
}

/// Lists the rings that have something to tell. `writers` are in the order of their rings' ids.
fn list_rings(inner: &Inner, writers: &[Writer], list: &mut Room<'_, ListedRing>) {
    let Some(memory) = inner.memory() else {
        return;
    };
    for id in 0..memory.store.rings() {
        let Some(mut info) = info_of(memory, id) else {
            continue;
        };
        if info.records == 0 && info.lost.iter().all(|n| *n == 0) {
            continue;
        }
        let mut task_state = 0;
        if info.state == RingState::Live && info.owner.context == Context::Task {
            let writer = writers.binary_search_by_key(&id, |writer| writer.ring);
            let task = writer.ok().and_then(|at| Some(writers.get(at)?.task));
            // The ring may have another owner by now.
            if let Some(task) = task.filter(|task| task.pid == info.owner.pid) {
                task_state = task.state;
                info.owner.comm = task.comm;
            }
        }
        list.push(ListedRing {
            id,
            info,
            task_state,
        });
    }
}

/// Lists the pages in rings for which `wanted` holds, by ring and position.
fn list_pages(state: &State, list: &mut KVVec<Listed>, wanted: impl Fn(&Listed) -> bool) -> Result {
    fill(list, |list| {
        state.with(|inner| {
            let Some(memory) = inner.memory() else {
                return;
            };
            memory.for_each_page(|index, page| {
                let seq = page.seq();
                let listed = Listed {
                    ring: page.ring(),
                    index,
                    seq,
                };
                if seq != 0 && wanted(&listed) {
                    list.push(listed);
                }
            });
        })
    })?;
    sort_by_key(list, |page| (page.ring, page.seq));
    Ok(())
}

/// Copies a page of a ring to `to`; returns its length. `Err`: it is not there any more.
fn copy_page(
    inner: &Inner,
    ring: &ListedRing,
    page: &Listed,
    to: &mut [u8],
) -> Result<usize, Gone> {
    let memory = inner.memory().ok_or(Gone)?;
    let len = memory.copy(page.index, page.seq, to).ok_or(Gone)?;
    // The position is unique within a ring, but the page may have gone to another ring, or the ring
    // to another task, since it was listed.
    let info = info_of(memory, ring.id).ok_or(Gone)?;
    if PageInfo::read(to).map(|page| page.ring) != Some(ring.id)
        || info.first_seq != ring.info.first_seq
    {
        return Err(Gone);
    }
    Ok(len)
}

/// A page went away before it was copied.
struct Gone;

/// What comes next.
#[derive(Clone, Copy)]
enum Step {
    Head,
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
    /// The components that are still to come, and whether the only one was listed.
    components: Components,
    listed_only: bool,
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
    /// Starts at the beginning. `addresses`: whether who reads may see them.
    pub(crate) fn new(only: Option<Arc<State>>, addresses: bool) -> Result<Self> {
        Ok(Self {
            only,
            step: Step::Head,
            out: Sections::new(addresses)?,
            task: 0,
            components: registry::components(),
            listed_only: false,
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
            Step::Head => match self.out.head(0)? {
                true => Step::Head,
                false => Step::Images,
            },
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
        self.current = match &self.only {
            Some(_) if self.listed_only => None,
            Some(state) => Some(state.clone()),
            None => self.components.next(),
        };
        self.listed_only = true;
        let Some(state) = self.current.clone() else {
            return Ok(Step::LateImages);
        };
        let generation = &mut self.generation;
        let writers = tables::writers(state.slot())?;
        let mut section = fill(&mut self.list, |list| {
            state.with(|inner| {
                *generation = inner.generation;
                list_rings(inner, &writers, list);
                let loose = state.loose(inner);
                component_section(state.slot().into(), &state, inner, &loose)
            })
        })?;
        section.rings = self.list.len() as u32;
        list_pages(&state, &mut self.listed, |_| true)?;
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
            self.next_newer = 0;
            let last = self.last;
            list_pages(&state, &mut self.newer, |page| {
                page.ring == id && page.seq > last
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
                Ok(len) => Some((len, ())),
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

/// A snapshot file; of a component, or of all where it was made without one.
#[pin_data]
pub(crate) struct Snapshot {
    #[pin]
    progress: Mutex<Progress>,
}

#[vtable]
impl FileOperations for Snapshot {
    type Inode = State;
    type Data = Pin<KBox<Self>>;

    const STREAM: bool = true;

    fn open(of: Option<&State>, file: &File) -> Result<Self::Data> {
        let addresses = glue::may_open(file)?;
        // SAFETY: Such a file is of a component in an `Arc`, which is there during the call.
        let only = of.map(|state| Arc::from(unsafe { ArcBorrow::from_raw(state) }));
        KBox::pin_init(
            try_pin_init!(Self {
                progress <- new_mutex!(Progress::new(only, addresses)?),
            }),
            GFP_KERNEL,
        )
    }

    fn read(
        snapshot: Pin<&Self>,
        _file: &File,
        to: &mut UserSliceWriter,
        _at: &mut Offset,
    ) -> Result<usize> {
        copy_out(&mut *snapshot.progress.lock(), to, || false)
    }
}
