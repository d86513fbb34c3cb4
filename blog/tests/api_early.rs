// SPDX-License-Identifier: GPL-2.0

//! Calls while the kernel boots. If BLog is built in, it starts with the early initcalls, before
//! all drivers. Code may run before even that: in early parameters, before there are per-CPU areas
//! or an allocator. The calls are in `early.c`, which calls [`blog_kunit_early`].

use kernel::{
    blog::{
        blog_component,
        blog_log, //
    },
    prelude::*,
    sync::atomic::{
        ordering::Relaxed,
        Atomic, //
    }, //
};

blog_component! { EARLY, name: "kunit_early", size_kb: 64, ring_kb: 16, level: Trace }
blog_component! {
    KEEP, name: "kunit_early_keep", size_kb: 64, ring_kb: 16, level: Trace, mode: Discard
}

/// How often it is logged to each component, by stage: in all initcalls together, more than their
/// rings hold.
const BURST: [u32; 2] = [1, 500];

/// Calls so far, by stage of the boot: 0 early parameters, 1 initcalls.
static CALLS: [Atomic<u32>; 2] = [const { Atomic::new(0) }; 2];
/// How many of them were logged: arguments are evaluated only if a call logs.
static LOGGED: [Atomic<u32>; 2] = [const { Atomic::new(0) }; 2];

/// Counts one more. While it boots, the kernel does one thing at a time.
fn count(counts: &[Atomic<u32>], stage: usize) -> usize {
    counts[stage].store(counts[stage].load(Relaxed) + 1, Relaxed);
    stage
}

/// Logs; for `early.c`.
#[no_mangle]
extern "C" fn blog_kunit_early(stage: u32) {
    let stage = stage as usize % CALLS.len();
    for _ in 0..BURST[stage] {
        count(&CALLS, stage);
        blog_log!(EARLY, "stage {}", count(&LOGGED, stage));
        count(&CALLS, stage);
        blog_log!(KEEP, "stage {}", count(&LOGGED, stage));
    }
}

#[kunit_tests(blog_api_early)]
mod tests {
    use super::*;
    use kernel::blog::Component;

    /// Before the logger is there, a call is a call to nothing.
    #[test]
    fn calls_in_early_parameters_log_nothing() {
        assert_eq!(LOGGED[0].load(Relaxed), 0);
    }

    /// That they are in a ring or counted as lost, the suite blog_registry shows.
    #[test]
    fn calls_in_initcalls_from_the_early_ones_on_log() {
        let built_in = cfg!(not(MODULE));
        assert_eq!(built_in, CALLS[1].load(Relaxed) != 0);
        assert_eq!(LOGGED[1].load(Relaxed), CALLS[1].load(Relaxed));
    }

    #[test]
    fn the_same_call_logs_now() {
        assert!(EARLY.is_on() && KEEP.is_on());
        let before = LOGGED[0].load(Relaxed);
        blog_kunit_early(0);
        assert_eq!(LOGGED[0].load(Relaxed), before + 2);
        // Cases may run again.
        LOGGED[0].store(before, Relaxed);
    }
}
