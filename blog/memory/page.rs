// SPDX-License-Identifier: GPL-2.0

//! Pages in memory, and what becomes of them, and of rings, when they go.
//!
//! A page that goes is first taken out of the pool and out of its slot: nobody finds it any more.
//! But somebody may have found it before: a log call that looks at the oldest page of another ring
//! while that is taken away, or a reader that follows a ring's pointer to its current page. None of
//! these sleeps as long as it may look at the page. So the page's memory is freed after
//! [`glue::quiesce`], which has waited until everybody has slept or left the kernel: see
//! [`Doomed`].

use core::{
    mem,
    ptr,
    sync::atomic::{
        AtomicUsize,
        Ordering::Relaxed, //
    }, //
};
use kernel::{
    blog::ring::{
        PageHeader,
        Ring, //
    },
    page::{
        Page,
        PAGE_SIZE, //
    },
    prelude::*,
    sync::global_lock, //
};

use super::budget::{
    Budget,
    Charge,
    FLAGS, //
};
use crate::sys::{
    glue,
    kept::KeptVec, //
};

/// A page that BLog owns, and what it was charged as.
pub(super) struct OwnedPage {
    page: Page,
    _charge: Charge,
}

impl OwnedPage {
    /// Allocates a page of zeroes.
    pub(super) fn new(budget: &Budget) -> Result<Self> {
        let (page, _charge) =
            budget.pay(PAGE_SIZE, || Ok(Page::alloc_page(FLAGS | __GFP_ZERO)?))?;
        Ok(Self { page, _charge })
    }

    /// Its memory.
    pub(super) fn header(&self) -> *mut PageHeader {
        glue::page_address(&self.page).cast()
    }
}

/// What a doomed page has at its end. Who still looks at the page copies these bytes at most, and
/// then finds that the page has changed.
struct Tail {
    page: OwnedPage,
    next: *mut Tail,
}

/// Rings that were allocated together, and what they were charged as.
pub(super) struct Rings {
    _rings: KeptVec<Ring>,
    _charge: Charge,
    next: Option<KBox<Self>>,
}

impl Rings {
    /// Rings, for [`Doomed::push_rings`].
    pub(super) fn new((_rings, _charge): (KeptVec<Ring>, Charge)) -> Self {
        Self {
            _rings,
            _charge,
            next: None,
        }
    }
}

/// Pages, and rings without any, that nobody finds any more. Dropping it waits until nobody looks
/// at them, and frees them: process context, and not under a lock that others wait for.
///
/// It needs no memory but theirs for pages.
///
/// # Invariants
///
/// `first` and the `next` of each, up to null, are at the ends of pages that they own, and which
/// are this list's.
#[must_use]
pub(crate) struct Doomed {
    first: *mut Tail,
    /// How many pages these are.
    count: usize,
    rings: Option<KBox<Rings>>,
}

// SAFETY: It owns what it points to.
unsafe impl Send for Doomed {}

impl Doomed {
    /// No pages.
    pub(crate) const fn none() -> Self {
        Self {
            first: ptr::null_mut(),
            count: 0,
            rings: None,
        }
    }

    /// Adds rings without pages, which are in no table.
    pub(super) fn push_rings(&mut self, mut rings: KBox<Rings>) {
        rings.next = self.rings.take();
        self.rings = Some(rings);
    }

    fn pop_rings(&mut self) -> Option<KBox<Rings>> {
        let mut rings = self.rings.take()?;
        self.rings = rings.next.take();
        Some(rings)
    }

    /// Adds a page, which is in no slot and no ring.
    pub(super) fn push(&mut self, page: OwnedPage) {
        let tail = page
            .header()
            .wrapping_byte_add(PAGE_SIZE - size_of::<Tail>())
            .cast::<Tail>();
        let next = self.first;
        // INVARIANT: The page owns itself now, as the first one of this list.
        // SAFETY: That is the end of a page, of which nobody else has more than a look.
        unsafe { tail.write(Tail { page, next }) };
        self.first = tail;
        self.count += 1;
    }

    /// Takes a page out, of which others may still have a look.
    pub(super) fn pop(&mut self) -> Option<OwnedPage> {
        if self.first.is_null() {
            return None;
        }
        // SAFETY: By the type invariants, it leads to a tail.
        let Tail { page, next } = unsafe { self.first.read() };
        // INVARIANT: The page is the caller's.
        self.first = next;
        self.count -= 1;
        Some(page)
    }

    /// Adds what another one has, so that one wait does for both.
    pub(crate) fn append(&mut self, mut other: Self) {
        while let Some(page) = other.pop() {
            self.push(page);
        }
        while let Some(rings) = other.pop_rings() {
            self.push_rings(rings);
        }
    }

    /// Has it dropped soon, without waiting. Process context, also in reclaim and under locks that
    /// others wait for.
    pub(crate) fn later(self) {
        if !self.is_empty() {
            WAITING.fetch_add(self.count, Relaxed);
            LATER.lock().append(self);
            glue::queue_reap();
        }
    }

    fn is_empty(&self) -> bool {
        self.first.is_null() && self.rings.is_none()
    }
}

impl Drop for Doomed {
    fn drop(&mut self) {
        if !self.is_empty() {
            glue::quiesce();
        }
        while self.pop().is_some() {}
        while self.pop_rings().is_some() {}
    }
}

global_lock! {
    // SAFETY: `init` is called before anything can be doomed.
    unsafe(uninit) static LATER: SpinLock<Doomed> = Doomed::none();
}

/// Makes [`Doomed::later`] ready.
pub(crate) fn init() {
    // SAFETY: Called once, first.
    unsafe { LATER.init() };
}

/// Pages that were left for later, and aren't free yet.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// How many these are.
pub(crate) fn waiting() -> usize {
    WAITING.load(Relaxed)
}

/// Frees what was left for later.
pub(crate) fn free_left() {
    // The lock isn't held any more when they are dropped.
    let doomed = mem::replace(&mut *LATER.lock(), Doomed::none());
    let count = doomed.count;
    drop(doomed);
    WAITING.fetch_sub(count, Relaxed);
}
