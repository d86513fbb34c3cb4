// SPDX-License-Identifier: GPL-2.0

//! Log calls of drivers in C, which are in `c_calls.c`: how many records there are, and how long.
//! The host tests what they decode to.

use kernel::prelude::*;

#[kunit_tests(blog_api_c)]
mod tests {
    use core::sync::atomic::{
        AtomicU32,
        Ordering::Relaxed, //
    };
    use kernel::blog::{
        component::is_on,
        ring_of,
        RawComponent, //
    };

    unsafe extern "C" {
        safe static blog_kunit_c: RawComponent;
        safe static blog_kunit_c_off: RawComponent;
        safe static blog_kunit_c_evaluated: AtomicU32;
        safe fn blog_kunit_c_call(which: u32);
        safe fn blog_kunit_print_all(seed: u32) -> u32;
    }

    /// Where the current task's ring is, and how many records it has had.
    fn position() -> Option<(u64, u32, u64)> {
        // SAFETY: The ring stays while the component is on.
        unsafe { ring_of(&blog_kunit_c).as_ref() }.and_then(|ring| ring.position())
    }

    /// The records that a call adds, and their bytes without headers, where they are in one page.
    fn added(which: u32) -> Option<(u64, u32)> {
        // The first one gets the task its ring; and one may lead to the next page.
        blog_kunit_c_call(0);
        for _ in 0..2 {
            let before = position()?;
            blog_kunit_c_call(which);
            let after = position()?;
            let records = after.2 - before.2;
            if after.0 == before.0 {
                return Some((records, after.1 - before.1 - 8 * records as u32));
            }
        }
        None
    }

    /// How many arguments a call evaluates.
    fn evaluates(which: u32) -> u32 {
        let before = blog_kunit_c_evaluated.load(Relaxed);
        blog_kunit_c_call(which);
        blog_kunit_c_evaluated.load(Relaxed) - before
    }

    #[test]
    fn components_start_as_declared() {
        assert!(is_on(&blog_kunit_c));
        assert!(!is_on(&blog_kunit_c_off));
        assert_eq!(
            blog_kunit_c.name().map(|name| name.to_bytes()),
            Some(&b"kunit_c"[..])
        );
    }

    #[test]
    fn numbers_take_their_size() {
        assert_eq!(added(0), Some((1, 0)));
        assert_eq!(added(1), Some((1, 12)));
        assert_eq!(added(2), Some((1, 1 + 2 + 4 + 8 + 1)));
        assert_eq!(added(7), Some((1, 16)));
    }

    #[test]
    fn what_is_pointed_to_is_stored() {
        assert_eq!(added(3), Some((1, 5 + 5 + 3)));
        assert_eq!(added(5), Some((1, 5 + 5)));
        assert_eq!(added(6), Some((1, 4 + 5 + 4)));
    }

    #[test]
    fn bad_pointers_are_text() {
        assert_eq!(added(4), Some((1, 7 + 9 + 9)));
    }

    #[test]
    fn private_arguments_are_hashes() {
        assert_eq!(added(12), Some((1, 9 + 9 + 9)));
        assert_eq!(added(13), Some((1, 9)));
    }

    #[test]
    fn an_inlined_call_logs_each_time() {
        assert_eq!(added(8), Some((2, 8)));
    }

    #[test]
    fn warnings_go_to_rings_of_their_own() {
        assert_eq!(added(14), Some((0, 0)));
    }

    #[test]
    fn arguments_are_evaluated_only_if_the_call_logs() {
        assert_eq!(evaluates(9), 1);
        assert_eq!(evaluates(10), 0);
        assert_eq!(evaluates(11), 0);
    }

    /// Whether they decode to what is printed is for `tests/suites/test_printf.py`.
    #[test]
    fn formats_are_logged_and_printed() {
        assert!(blog_kunit_print_all(1) > 2000);
    }
}
