// SPDX-License-Identifier: GPL-2.0

//! Pages for records and rings from memory that survives a reboot, as long as there are any.
//!
//! `format.rs` describes the region. Log calls don't know of it: it is where their pages come
//! from. What says whose a page is, the next boot finds beside the pages; it is stored when a page
//! comes and goes, not when somebody logs. Process context, but for [`disown`].

use kernel::blog::wire::{
    file,
    page::RINGS_AT,
    record::WIRE_VERSION, //
};

use super::format::{
    Facts,
    Region,
    MAGIC,
    NOBODY,
    NONE,
    OWNER,
    VERSION, //
};
use crate::{
    memory::{
        source::{
            self,
            PageSource, //
        },
        RINGS, //
    },
    sys::{
        glue,
        prelude::*, //
    }, //
};

/// Of a region, this part goes to each copy of the facts; but no less and no more than these.
const FACTS_PART: usize = 64;
const FACTS: core::ops::RangeInclusive<usize> = 4 * PAGE_SIZE..=1 << 20;
/// A smaller region isn't worth while.
const LEAST_FRAMES: usize = 16;

/// The region of this boot.
///
/// # Invariants
///
/// `at` leads to memory that is ours for good, as large as `layout` says. There are owners where
/// that says, which are only used as atomics; [`NOBODY`]'s frames are nobody's.
struct Reserved {
    at: NonNull<u8>,
    layout: Region,
    /// Frames that are free, and where to look for one.
    free: AtomicU32,
    next: AtomicU32,
}

// SAFETY: It owns what it points to; owners are atomics, and a frame that was taken is its taker's.
unsafe impl Send for Reserved {}
// SAFETY: As above.
unsafe impl Sync for Reserved {}

unsafe extern "C" {
    // region.c
    fn blog_keep(memory: *mut u8, size: usize);
    fn blog_reserved(name: *const c_char, size: &mut usize) -> *mut u8;
    static blog_param_persist: *const c_char;
}

/// The parameter `blog.persist`.
pub(super) fn name() -> &'static CStr {
    // SAFETY: The parameter is a C string that doesn't change once BLog starts.
    unsafe { CStr::from_char_ptr(blog_param_persist) }
}

/// Memory that the command line reserves by this name. It is in whole pages, stays, and may have
/// what an earlier boot has stored there.
pub(super) fn reserved(name: &CStr) -> Option<NonNull<[u8]>> {
    let mut size = 0;
    // SAFETY: The name is a C string.
    let at = NonNull::new(unsafe { blog_reserved(name.as_char_ptr(), &mut size) })?;
    Some(NonNull::slice_from_raw_parts(at, size))
}

static SOURCE: PageSource = PageSource {
    take,
    give,
    has,
    free,
    own,
    disown,
};

static KEPT: SetOnce<Reserved> = SetOnce::new();

global_lock! {
    // SAFETY: `start` is called before the facts are written.
    unsafe(uninit) static GENERATION: Mutex<u64> = 0;
}

impl Reserved {
    fn at(&self, at: u64) -> *mut u8 {
        self.at.as_ptr().wrapping_add(at as usize)
    }

    fn owner(&self, n: u32) -> &AtomicU64 {
        let at = self.at(self.layout.owners_at() + u64::from(n) * OWNER as u64);
        // SAFETY: By the type invariants; callers have numbers of frames.
        unsafe { AtomicU64::from_ptr(at.cast()) }
    }
}

/// Takes the region, of which nothing is needed any more, and has components take pages from there,
/// if it wasn't taken already. `ENOSPC`: it is too small. One at a time.
///
/// # Safety
///
/// It is memory that nobody else uses, ever, and starts at a page.
pub(super) unsafe fn start(region: NonNull<[u8]>) -> Result {
    if KEPT.as_ref().is_some() {
        return Ok(());
    }
    let (at, bytes) = (region.cast::<u8>(), region.len());
    let facts = (bytes / FACTS_PART).clamp(*FACTS.start(), *FACTS.end());
    let facts = facts.next_multiple_of(PAGE_SIZE);
    // The owners end in the middle of a page.
    let rest = bytes.saturating_sub(2 * PAGE_SIZE + 2 * facts);
    let frames = rest / (PAGE_SIZE + OWNER);
    if frames < LEAST_FRAMES {
        return Err(ENOSPC);
    }
    let mut layout = Region {
        magic: MAGIC,
        version: VERSION,
        endian: file::ENDIAN,
        wire_version: WIRE_VERSION,
        snapshot_version: file::VERSION,
        page_size: PAGE_SIZE as u32,
        rings_at: RINGS_AT as u32,
        rings: RINGS as u32,
        frames: frames.min(u32::MAX as usize / 2) as u32,
        facts: facts as u32,
        rings_before: [0; 20],
        crc: 0,
    };
    layout.crc = glue::crc32(0, layout.bytes().split_at(Region::SUMMED).0);
    // Should the machine stop in here, the next boot finds no region, rather than a wrong one.
    // SAFETY: By this function's requirement. There is room for so much.
    unsafe {
        at.write_bytes(0, Region::SIZE);
        // ORDERING: What the next boot finds is what has reached memory; full fences keep the
        // order, here and below.
        fence(SeqCst);
        at.add(PAGE_SIZE)
            .write_bytes(0, layout.frames_at() as usize - PAGE_SIZE);
        fence(SeqCst);
        at.cast().write(layout);
        GENERATION.init();
    }
    // SAFETY: All that is done with it is to write caches back.
    unsafe { blog_keep(at.as_ptr(), bytes) };
    // INVARIANT: By this function's requirement; all owners are `NOBODY`.
    KEPT.populate(Reserved {
        at,
        layout,
        free: AtomicU32::new(layout.frames),
        next: AtomicU32::new(0),
    });
    source::set(&SOURCE);
    Ok(())
}

/// How many frames are free.
fn free() -> u32 {
    KEPT.as_ref().map_or(0, |kept| kept.free.load(Relaxed))
}

/// The number of the frame at this address, and the region that it is in.
fn frame(at: *const u8) -> Option<(&'static Reserved, u32)> {
    let kept = KEPT.as_ref()?;
    let first = kept.at(kept.layout.frames_at()).addr();
    let n = at.addr().checked_sub(first)? / PAGE_SIZE;
    (n < kept.layout.frames as usize).then_some((kept, n as u32))
}

/// Whether a page is a frame.
pub(super) fn has(at: *const u8) -> bool {
    frame(at).is_some()
}

/// Takes a frame, of zeroes, whose content the next boot doesn't look at before [`own`].
fn take() -> Option<NonNull<u8>> {
    let kept = KEPT.as_ref()?;
    let less = |n: u32| n.checked_sub(1);
    // It counts as taken before it is: so each finds one.
    kept.free.fetch_update(Relaxed, Relaxed, less).ok()?;
    let (frames, from) = (kept.layout.frames, kept.next.load(Relaxed));
    let mut all = Iterator::chain(from..frames, 0..from.min(frames));
    let free = all.find(|n| {
        let owner = kept.owner(*n);
        owner.load(Relaxed) == NOBODY.into()
            // ORDERING: Acquire pairs with `give`: what was done to the frame came before.
            && owner.compare_exchange(NOBODY.into(), NONE.into(), Acquire, Relaxed).is_ok()
    });
    let Some(n) = free else {
        // Another one has taken it just where this had looked.
        kept.free.fetch_add(1, Relaxed);
        return None;
    };
    kept.next.store(n + 1, Relaxed);
    let at = kept.layout.frames_at() + u64::from(n) * PAGE_SIZE as u64;
    let at = NonNull::new(kept.at(at))?;
    // SAFETY: By the type invariants, it is this one's now.
    unsafe { at.write_bytes(0, PAGE_SIZE) };
    Some(at)
}

/// Gives a page back.
///
/// # Safety
///
/// It is of [`take`], and nobody uses it.
unsafe fn give(at: *const u8) {
    let Some((kept, n)) = frame(at) else {
        return;
    };
    // ORDERING: Release: whatever was done to it comes before the next one takes it.
    kept.owner(n).store(NOBODY.into(), Release);
    kept.free.fetch_add(1, Relaxed);
}

/// Says whose a page is, if it is a frame: of the component in this slot, in its memory with this
/// number. It has a header.
fn own(at: *const u8, slot: u16, memory: u32) {
    if let Some((kept, n)) = frame(at) {
        let owner = u64::from(component(slot)) | u64::from(memory) << 32;
        // ORDERING: Release: the header comes before it.
        kept.owner(n).store(owner, Release);
    }
}

/// A page holds nothing for readers, if it is a frame. Any context.
pub(super) fn disown(at: *const u8) {
    if let Some((kept, n)) = frame(at) {
        kept.owner(n).store(NONE.into(), Relaxed);
    }
}

/// The id of the component in a slot, in the region.
pub(super) fn component(slot: u16) -> u32 {
    u32::from(slot) + 1
}

/// Writes another copy of the facts, if there is a region: `fill` writes the sections, and returns
/// their length.
pub(super) fn facts(fill: impl FnOnce(&mut [u8]) -> Result<usize>) -> Result {
    let Some(kept) = KEPT.as_ref() else {
        return Ok(());
    };
    let mut generation = GENERATION.lock();
    let at = kept.at(kept.layout.facts_at(*generation as usize % 2));
    // SAFETY: By the type invariants, and the lock.
    let copy = unsafe { slice::from_raw_parts_mut(at, kept.layout.facts as usize) };
    let (head, sections) = copy.split_at_mut_checked(Facts::SIZE).ok_or(EINVAL)?;
    // The other copy is whole meanwhile.
    let len = fill(sections)?;
    let mut facts = Facts {
        generation: *generation + 1,
        len: len as u32,
        crc: 0,
    };
    let crc = glue::crc32(0, facts.bytes().split_at(Facts::SUMMED).0);
    facts.crc = glue::crc32(crc, sections.get(..len).ok_or(EINVAL)?);
    glue::copy(head, &facts.bytes());
    *generation += 1;
    // ORDERING: All of it comes before the copy that takes the place of the other one.
    fence(SeqCst);
    Ok(())
}
