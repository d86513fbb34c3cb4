// SPDX-License-Identifier: GPL-2.0

//! Debug messages of a captured driver in C: those of `c_capture.c`. On the host, BLog's tests
//! compare them with what dynamic debug prints.

use kernel::prelude::*;

#[kunit_tests(blog_api_capture)]
mod tests {
    use core::sync::atomic::{
        AtomicU32,
        Ordering::Relaxed, //
    };
    use kernel::blog::{
        component::is_on,
        ring_of,
        Level,
        RawComponent, //
    };

    unsafe extern "C" {
        safe static blog_captured_blog_api_kunit: RawComponent;
        safe fn blog_kunit_capture(which: u32);
        safe static blog_kunit_captured_evaluated: AtomicU32;
    }

    /// How many records the current task's ring has had.
    fn records() -> u64 {
        // SAFETY: The ring stays while the component is on.
        let ring = unsafe { ring_of(&blog_captured_blog_api_kunit).as_ref() };
        ring.and_then(|ring| ring.position()).map_or(0, |at| at.2)
    }

    /// How many a call adds.
    fn added(which: u32) -> u64 {
        // The first one gets the task its ring.
        blog_kunit_capture(0);
        let before = records();
        blog_kunit_capture(which);
        records() - before
    }

    #[test]
    fn the_component_is_the_module() {
        assert!(is_on(&blog_captured_blog_api_kunit));
        assert_eq!(
            blog_captured_blog_api_kunit
                .name()
                .map(|name| name.to_bytes()),
            Some(&b"blog_api_kunit"[..])
        );
    }

    #[test]
    fn each_kind_of_message_is_recorded() {
        for which in [0, 1, 2, 3, 9, 10, 11] {
            assert_eq!(added(which), 1);
        }
    }

    #[test]
    fn records_have_the_limits_of_what_is_printed() {
        for which in [4, 7, 8] {
            assert_eq!(added(which), 10);
        }
        for which in [5, 6] {
            assert_eq!(added(which), 1);
        }
    }

    #[test]
    fn at_the_level_trace_there_is_no_limit() {
        // SAFETY: The component is on, and stays on: only its level changes.
        let threshold = unsafe { &blog_captured_blog_api_kunit.switch().threshold };
        let before = threshold.swap(Level::Trace as u8 + 1, Relaxed);
        let records = added(4);
        threshold.store(before, Relaxed);
        assert_eq!(records, 20);
    }

    #[test]
    fn what_cannot_be_stored_is_left_out() {
        assert_eq!(added(12), 0);
    }

    #[test]
    fn arguments_are_evaluated_once() {
        let before = blog_kunit_captured_evaluated.load(Relaxed);
        assert_eq!(added(13), 1);
        assert_eq!(blog_kunit_captured_evaluated.load(Relaxed), before + 1);
    }

    #[test]
    fn arguments_of_any_type_are_stored() {
        assert_eq!(added(14), 1);
    }
}
