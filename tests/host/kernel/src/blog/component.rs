// SPDX-License-Identifier: GPL-2.0

//! A component on the host: one ring, with a clock and a slow path that the test gives it.

use super::{
    args::BlogArgs,
    record,
    ring::{Place, Ring},
    site::Site,
};
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// A component with one ring.
pub struct RawComponent {
    /// As in the kernel.
    pub threshold: AtomicU8,
    /// The ring that all calls log to.
    pub ring: &'static Ring,
    /// The clock.
    pub clock: fn() -> u64,
    /// What `blog_reserve` does.
    pub reserve: fn(&Ring, u32, u64, bool) -> Place,
}

/// As in the kernel.
pub trait Component {
    /// Whether anything is logged at all.
    fn is_on(&self) -> bool;
    /// The component in memory.
    fn raw(&self) -> &RawComponent;
}

impl Component for RawComponent {
    fn is_on(&self) -> bool {
        self.threshold.load(Relaxed) != 0
    }

    fn raw(&self) -> &RawComponent {
        self
    }
}

impl<T: Component + ?Sized> Component for &T {
    fn is_on(&self) -> bool {
        (**self).is_on()
    }

    fn raw(&self) -> &RawComponent {
        (**self).raw()
    }
}

/// As in the kernel.
pub fn check<T: Component + ?Sized>(component: &T) -> &T {
    component
}

/// As in the kernel, to the component's one ring. One thread at a time may log.
pub fn log<A: BlogArgs>(component: &RawComponent, site: &Site, args: A) {
    let bytes = (record::HEADER_SIZE + args.size()) as u32;
    // SAFETY: The test logs from one thread at a time; `reserve` and `args` as in the kernel.
    unsafe {
        Ring::write(
            component.ring,
            bytes,
            site.id_shl8.load(Relaxed),
            |_| (component.clock)(),
            |ts, begun| (component.reserve)(component.ring, bytes, ts, begun),
            |dst| args.store(dst),
        );
    }
}
