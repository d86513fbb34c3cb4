// SPDX-License-Identifier: GPL-2.0

//! Who waits for a stream, and whether there is anything new for him.

use core::{
    ptr,
    sync::atomic::{
        AtomicU32,
        AtomicU64,
        Ordering::{
            Acquire,
            Relaxed,
            Release, //
        }, //
    }, //
};
use kernel::{
    blog::ring::MAX_COMPONENTS,
    prelude::*, //
};

use crate::{
    memory::pool::Store,
    registry::{
        self,
        state::State, //
    },
    sys::glue, //
};

/// What open streams go by: of the component in a slot, or of all.
pub(super) struct News {
    /// Moves on when anything changes.
    count: AtomicU64,
    /// What [`blog_stream_tick`] saw last.
    seen: AtomicU64,
    /// Streams that are open.
    open: AtomicU32,
}

impl News {
    const fn none() -> Self {
        Self {
            count: AtomicU64::new(1),
            seen: AtomicU64::new(0),
            open: AtomicU32::new(0),
        }
    }

    /// That of a component; of all for `None`.
    pub(super) fn of(only: Option<&State>) -> &'static Self {
        let slot = only.and_then(|state| SLOTS.get(usize::from(state.slot())));
        slot.unwrap_or(&ALL)
    }

    /// A number that differs from that of before if anything has changed since.
    pub(super) fn count(&self) -> u64 {
        // ORDERING: Acquire pairs with the release in `tell`: who sees that there is news, and
        // looks, sees it.
        self.count.load(Acquire)
    }

    /// Tells that something has changed here, and so among all.
    fn tell(&self) {
        for news in [self, &ALL] {
            // ORDERING: See `count`.
            news.count.fetch_add(1, Release);
        }
    }

    fn is_open(&self) -> bool {
        self.open.load(Relaxed) != 0
    }
}

/// By slot.
static SLOTS: [News; MAX_COMPONENTS] = [const { News::none() }; MAX_COMPONENTS];
/// All components.
static ALL: News = News::none();

/// A stream is open.
pub(super) struct Open(&'static News);

impl Open {
    pub(super) fn new(news: &'static News) -> Self {
        news.open.fetch_add(1, Relaxed);
        Self(news)
    }

    /// What it goes by.
    pub(super) fn news(&self) -> &'static News {
        self.0
    }

    /// Waits until there is other news than `old`, or a signal comes.
    pub(super) fn wait(&self, old: u64) -> Result {
        glue::wait_for_stream(&self.0.count, old)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Relaxed);
    }
}

/// How often [`blog_stream_tick`] has looked.
static LOOKS: AtomicU64 = AtomicU64::new(0);

/// How often somebody has looked for news for those who wait.
pub(crate) fn looks() -> u64 {
    LOOKS.load(Relaxed)
}

/// Tells readers that a component is gone.
pub(crate) fn changed(state: &State) {
    News::of(Some(state)).tell();
    glue::wake_streams();
}

/// Ends what wakes readers. No stream is open any more.
pub(crate) fn stop() {
    glue::stop_streams();
}

/// A number that differs whenever a reader could find something new.
fn summary(state: &State) -> u64 {
    let mut sum = 0u64;
    // As in FxHash: quick, and each input changes all of it.
    let mut mix = |n: u64| sum = (sum.rotate_left(5) ^ n).wrapping_mul(0x51_7c_c1_b7_27_22_0a_95);
    state.with(|inner| {
        let (size, ring) = (u64::from(inner.size_kb), u64::from(inner.ring_kb));
        let loose = state.loose(inner);
        let settings = [
            // Another component may have the slot later.
            ptr::from_ref(state).addr() as u64,
            inner.generation,
            u64::from(inner.enabled) | u64::from(inner.attached()) << 1,
            inner.level.map_or(0, |level| level as u64),
            size << 32 | ring,
            state.mode() as u64,
            loose.records,
        ];
        settings.into_iter().for_each(&mut mix);
        loose.lost.into_iter().for_each(&mut mix);
        let Some(memory) = inner.memory() else {
            return;
        };
        for id in 0..memory.store.rings() {
            let Some(info) = memory.store.ring(id).and_then(|ring| ring.info()) else {
                continue;
            };
            mix(u64::from(id));
            mix(info.first_seq << 2 | info.state as u64);
            mix(info.owner.pid as u64);
            mix(info.records);
            let lost = info.lost.iter().zip(&info.told);
            mix(lost.fold(0, |n, (lost, told)| {
                n.wrapping_add(lost << 32).wrapping_add(*told)
            }));
        }
    });
    sum
}

/// Looks for news for whoever waits, from `sys/waiters.c`; returns whether there is any.
#[no_mangle]
extern "C" fn blog_stream_tick() -> bool {
    LOOKS.fetch_add(1, Relaxed);
    let mut any = false;
    for state in registry::components() {
        let news = News::of(Some(&state));
        if !ALL.is_open() && !news.is_open() {
            continue;
        }
        let sum = summary(&state);
        if news.seen.swap(sum, Relaxed) != sum {
            news.tell();
            any = true;
        }
    }
    any
}
