// SPDX-License-Identifier: GPL-2.0

//! Planted bugs: `sanitize` runs these one by one, and each must be reported. They are ignored
//! otherwise.

use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::Barrier;

struct Racy(UnsafeCell<u64>);

// SAFETY: It is not: that is what ThreadSanitizer must say.
unsafe impl Sync for Racy {}

#[test]
#[ignore = "a planted race, for ThreadSanitizer"]
fn planted_race() {
    let racy = Racy(UnsafeCell::new(0));
    let start = Barrier::new(2);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let racy = black_box(&racy);
                start.wait();
                for _ in 0..2000 {
                    // SAFETY: See above.
                    unsafe { *racy.0.get() += 1 };
                    std::thread::yield_now();
                }
            });
        }
    });
    black_box(&racy);
}

#[test]
#[ignore = "a planted overrun, for AddressSanitizer"]
fn planted_overrun() {
    let bytes = black_box(vec![0u8; 64]);
    // SAFETY: It is not: that is what AddressSanitizer must say.
    black_box(unsafe { bytes.as_ptr().add(64).read() });
}
