// SPDX-License-Identifier: GPL-2.0

//! The file `map` of a component: a process maps the component's memory, read only, and reads
//! records without system calls: pages in slots, after a page that says what they are. The reader's
//! side is Documentation/blog/formats.rst, "Mapped memory".
//!
//! Pages as they are hold addresses (of rings, of tasks, in arguments), and nothing is left out of
//! them for a reader. So only who may see addresses opens the file.
//!
//! A mapping counts as a user of each of its pages. So a page that the component gives up stays
//! memory of nobody else until it is unmapped, and a process that maps it harms nobody. Log calls
//! and other readers don't know of mappings.
//!
//! The meta page is what this keeps beside a memory ([`Memory::beside`]), once somebody has mapped
//! it. It starts with a [`Meta`], which doesn't change before the memory ends; but for `pages` and
//! `generation`, which change only under the component's lock.

use kernel::{
    bindings::{
        ENODATA,
        EOPNOTSUPP, //
    },
    blog::wire::{
        self,
        page::RINGS_AT,
        record::WIRE_VERSION, //
    },
    error::from_result, //
};

// Programs that read what it describes have this file, too.
#[allow(dead_code, unreachable_pub)]
mod format;

use self::format::{
    Meta,
    GONE,
    MAGIC,
    VERSION, //
};
use crate::{
    floor::Part,
    memory::{
        block::Block,
        follow::{
            Follower,
            FOLLOWER, //
        },
        pool::Store,
        source,
        Memory,
        RINGS, //
    },
    registry::{
        self,
        state::State, //
    },
    sys::{
        glue::errno,
        hook,
        prelude::*,
        tree::{
            self,
            Folder,
            OpenFile,
            Shape, //
        }, //
    }, //
};

pub(crate) static PART: Part = Part {
    start,
    ..Part::NONE
};

const _: () = assert!(size_of::<Meta>() <= PAGE_SIZE);

fn start() {
    FOLLOWER.populate(Follower { resized, ends });
    // For the owner: a process that maps memory sees all that is in it.
    Folder::Component.add::<Map>(c"map", 0o400);
}

unsafe extern "C" {
    // map.c: a `struct file_operations`
    static blog_map_fops: u8;

    fn blog_area_insert(area: *mut c_void, n: usize, page: *mut c_void) -> c_int;
    fn blog_page_get(at: NonNull<c_void>) -> NonNull<c_void>;
    fn blog_page_put(page: NonNull<c_void>);
}

/// Fills an area of a process with as many pages of what it maps, from page `first` on. From
/// `map.c`.
///
/// # Safety
///
/// It is an open file `map`, and the area is just being made.
#[no_mangle]
unsafe extern "C" fn blog_map(
    file: *const c_void,
    area: *mut c_void,
    first: usize,
    count: usize,
) -> c_int {
    // SAFETY: By this function's requirement.
    let file = unsafe { tree::opened::<Map>(file) };
    from_result(|| file.map(&Area(area), first, count).map(|()| 0))
}

/// A single page of `sys/pages.c` that is about to be mapped: its memory stays that of this page
/// until this is dropped, and as long as it is mapped.
///
/// # Invariants
///
/// `page` is counted as used by this.
struct Mapped(NonNull<c_void>);

impl Mapped {
    /// # Safety
    ///
    /// There is such a page at `at`, which isn't freed during the call.
    unsafe fn new(at: NonNull<u8>) -> Self {
        // INVARIANT: It is from here on.
        // SAFETY: By this function's requirement.
        Self(unsafe { blog_page_get(at.cast()) })
    }

    /// The `struct page`.
    fn as_ptr(&self) -> *mut c_void {
        self.0.as_ptr()
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: By the type invariants.
        unsafe { blog_page_put(self.0) };
    }
}

/// An area of a process that is being made, to be read only; it is there during a call of
/// [`blog_map`].
struct Area(*mut c_void);

impl Area {
    /// Maps a page in the `n`th place.
    fn insert(&self, n: usize, page: &Mapped) -> Result {
        // SAFETY: The area is that of the running mmap(), and `Mapped` owns a page.
        to_result(unsafe { blog_area_insert(self.0, n, page.as_ptr()) })
    }
}

/// An open file `map`.
struct Map {
    state: Arc<State>,
}

impl OpenFile for Map {
    const SHAPE: Shape = Shape::Text;

    fn operations() -> *const c_void {
        (&raw const blog_map_fops).cast()
    }

    fn open(of: u64, file: &File) -> Result<Self> {
        if !hook::shows_addresses(file) {
            return Err(EPERM);
        }
        // A page that isn't the kernel's goes to another component at once, also if it is mapped.
        if source::is_there() {
            return Err(errno(EOPNOTSUPP));
        }
        let state = registry::by_id(of)?.ok_or(EINVAL)?;
        Ok(Self { state })
    }
}

impl Map {
    /// Maps the memory that the component has now. `ENODATA`: it has none; `EAGAIN`: it has just
    /// got another one; `EINVAL` for more pages than there are.
    fn map(&self, area: &Area, first: usize, count: usize) -> Result {
        let look = |memory: &Memory| (file_pages(memory), meta_of(memory).is_some());
        let (there, has_meta) = self.state.read_memory(look).ok_or(errno(ENODATA))?;
        if first.saturating_add(count) > there {
            return Err(EINVAL);
        }
        // Nothing is allocated under the component's lock.
        let mut page = match has_meta {
            true => None,
            false => Some(Block::new(1)?),
        };
        let mut pages = KVVec::with_capacity(count, GFP_KERNEL)?;
        let fill = |memory: &Memory| map(memory, &mut page, first, count, &mut pages);
        self.state.read_memory(fill).ok_or(errno(ENODATA))??;
        (pages.iter().enumerate()).try_for_each(|(n, page)| area.insert(n, page))
    }
}

/// The [`Meta`] of a memory, if there is one.
fn meta_of(memory: &Memory) -> Option<NonNull<Meta>> {
    // ORDERING: Acquire pairs with `make`: it has been filled in.
    NonNull::new(memory.beside.load(Acquire).cast())
}

/// Makes it of this page if there is none; under the component's lock.
fn make(memory: &Memory, page: &mut Option<Block>) -> Option<NonNull<Meta>> {
    if meta_of(memory).is_none() {
        let at = page.take()?.into_page().cast::<Meta>();
        let meta = Meta {
            magic: MAGIC,
            version: VERSION,
            size: size_of::<Meta>() as u32,
            wire_version: WIRE_VERSION,
            page_size: PAGE_SIZE as u32,
            rings_at: RINGS_AT as u32,
            rings: RINGS as u32,
            pages: memory.pool.store.slot_count(),
            generation: GONE + 1,
        };
        // SAFETY: A page has room for it, and this one is nobody else's.
        unsafe { at.write(meta) };
        // ORDERING: Release publishes it.
        memory.beside.store(at.cast(), Release);
    }
    meta_of(memory)
}

/// Says that the places have changed; under the component's lock.
fn resized(memory: &Memory) {
    let Some(at) = meta_of(memory) else { return };
    let at = at.as_ptr();
    // SAFETY: There is one, until the memory ends; what is mapped is read only.
    let (count, generation) = unsafe {
        (
            AtomicU32::from_ptr(&raw mut (*at).pages),
            AtomicU32::from_ptr(&raw mut (*at).generation),
        )
    };
    count.store(memory.pool.store.slot_count(), Relaxed);
    let next = generation.load(Relaxed).wrapping_add(1);
    // ORDERING: Release: who sees the new number sees the new count.
    generation.store(if next == GONE { GONE + 1 } else { next }, Release);
}

/// Processes that have mapped it find out that it is gone. Nobody else knows the memory any more.
fn ends(memory: &Memory) {
    let Some(at) = meta_of(memory) else { return };
    // SAFETY: There is one, and it goes with the memory, after this.
    unsafe { AtomicU32::from_ptr(&raw mut (*at.as_ptr()).generation) }.store(GONE, Relaxed);
    // ORDERING: It comes before what is done to the pages from here on, for a reader that fences
    // between its copy and its second look.
    fence(Release);
}

/// Pages of the file that is mapped: the meta page, and one for each slot.
fn file_pages(memory: &Memory) -> usize {
    1 + memory.pool.store.slot_count() as usize
}

/// Adds `count` pages of the file from `first` on to `to`, which has room for them; `EINVAL` where
/// there are fewer. Under the component's lock; `page` becomes the meta page if there is none yet,
/// and `EAGAIN` says that one is needed.
fn map(
    memory: &Memory,
    page: &mut Option<Block>,
    first: usize,
    count: usize,
    to: &mut KVVec<Mapped>,
) -> Result {
    let last = first.saturating_add(count);
    if last > file_pages(memory) {
        return Err(EINVAL);
    }
    let meta = make(memory, page).ok_or(EAGAIN)?.cast();
    for n in first..last {
        // A place without a page is the meta page again, which holds no ring and no record.
        let number = n.checked_sub(1).map(|n| n as u32);
        let slot = number.and_then(|number| memory.pool.store.slot(number));
        let at = slot.and_then(|slot| NonNull::new(slot.page().cast()));
        // SAFETY: What is in a slot is a single page. Log calls may just take it out, but then it
        // is one of a table of tasks, and isn't freed while a file is open; others take it out
        // under the component's lock.
        let page = unsafe { Mapped::new(at.unwrap_or(meta)) };
        to.push_within_capacity(page).map_err(|_| ENOMEM)?;
    }
    Ok(())
}
