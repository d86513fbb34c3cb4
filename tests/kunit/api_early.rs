// SPDX-License-Identifier: GPL-2.0

//! Calls while the kernel boots. Where BLog is built in, it starts with the early initcalls, before
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

/// Calls so far, by stage of the boot: 0 early parameters, 1 initcalls.
static CALLS: [Atomic<u32>; 2] = [const { Atomic::new(0) }; 2];
/// How many of them were logged: arguments are evaluated only if a call logs.
static LOGGED: [Atomic<u32>; 2] = [const { Atomic::new(0) }; 2];

/// Logs once; for `early.c`. While it boots, the kernel does one thing at a time.
#[no_mangle]
extern "C" fn blog_kunit_early(stage: u32) {
    let stage = stage as usize % CALLS.len();
    CALLS[stage].store(CALLS[stage].load(Relaxed) + 1, Relaxed);
    blog_log!(EARLY, "stage {}", {
        LOGGED[stage].store(LOGGED[stage].load(Relaxed) + 1, Relaxed);
        stage
    });
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

    /// That they are in a ring, the suite blog_registry shows.
    #[test]
    fn calls_in_initcalls_from_the_early_ones_on_log() {
        let built_in = cfg!(not(MODULE));
        assert_eq!(built_in, CALLS[1].load(Relaxed) != 0);
        assert_eq!(LOGGED[1].load(Relaxed), CALLS[1].load(Relaxed));
    }

    #[test]
    fn the_same_call_logs_now() {
        assert!(EARLY.is_on());
        let before = LOGGED[0].load(Relaxed);
        blog_kunit_early(0);
        assert_eq!(LOGGED[0].load(Relaxed), before + 1);
        // Cases may run again.
        LOGGED[0].store(before, Relaxed);
    }
}
