// SPDX-License-Identifier: GPL-2.0

//! When calls log, and what they do to their arguments. Each test runs in a task of its own, so
//! the records of that task's ring are the test's.

use kernel::prelude::*;

#[kunit_tests(blog_api_calls)]
mod tests {
    use kernel::{
        blog::{
            blog_component,
            blog_debug,
            blog_err,
            blog_info,
            blog_log,
            blog_trace,
            blog_warn,
            ring_of,
            BlogArg,
            Component,
            Config,
            Instance,
            Level, //
        },
        prelude::*, //
    };

    blog_component! { LOUD, name: "kunit_loud", size_kb: 64, ring_kb: 16, level: Trace }
    blog_component! { QUIET, name: "kunit_quiet", size_kb: 64, ring_kb: 16, level: Warn }
    blog_component! { OFF, name: "kunit_off", size_kb: 64, ring_kb: 16, enabled: false }

    /// How many records the current task has logged to a component.
    fn records(component: &impl Component) -> u64 {
        // SAFETY: The ring stays while the component is on.
        unsafe { ring_of(component.raw()).as_ref() }.map_or(0, |ring| ring.records())
    }

    /// The records that `f` adds.
    fn added(component: &impl Component, f: impl FnOnce()) -> u64 {
        let before = records(component);
        f();
        records(component) - before
    }

    /// Counts the calls that are on.
    fn count(seen: &mut u32) -> u32 {
        *seen += 1;
        *seen
    }

    #[test]
    fn each_level_logs_up_to_the_component_s() {
        let mut seen = [0; 2];
        let [loud, quiet] = &mut seen;
        let all = || {
            blog_err!(LOUD, "err {}", count(loud));
            blog_warn!(LOUD, "warn {}", count(loud));
            blog_info!(LOUD, "info {}", count(loud));
            blog_log!(LOUD, "info, too {}", count(loud));
            blog_debug!(LOUD, "debug {}", count(loud));
            blog_trace!(LOUD, "trace {}", count(loud));
        };
        // Warnings and errors go to rings of their own.
        assert_eq!(added(&LOUD, all), 4);

        let some = || {
            blog_err!(QUIET, "err {}", count(quiet));
            blog_warn!(QUIET, "warn {}", count(quiet));
            blog_info!(QUIET, "info {}", count(quiet));
            blog_log!(QUIET, "info, too {}", count(quiet));
            blog_debug!(QUIET, "debug {}", count(quiet));
            blog_trace!(QUIET, "trace {}", count(quiet));
        };
        assert_eq!(added(&QUIET, some), 0);
        assert_eq!(seen, [6, 2]);
    }

    #[test]
    fn arguments_are_evaluated_once_and_in_order() {
        let mut seen = 0_u32;
        let mut next = |n: u32| {
            seen = seen * 10 + n;
            n
        };
        blog_log!(LOUD, "{1} {0} {0}", next(1), next(2));
        assert_eq!(seen, 12);
    }

    #[test]
    fn arguments_are_not_evaluated_if_the_call_is_off() {
        let mut seen = 0;
        let mut touch = || {
            seen += 1;
            seen
        };
        blog_err!(OFF, "{}", touch());
        blog_info!(QUIET, "{}", touch());
        assert_eq!(seen, 0);
    }

    #[test]
    fn leaving_from_an_argument_logs_nothing_and_breaks_nothing() {
        fn half(n: u32) -> Result<u32> {
            if n % 2 == 0 {
                Ok(n / 2)
            } else {
                Err(EINVAL)
            }
        }
        fn log(n: u32) -> Result<u32> {
            blog_log!(LOUD, "{n} {}", half(n)?);
            blog_log!(LOUD, "{}", if n == 4 { return Ok(0) } else { n });
            Ok(n)
        }
        assert_eq!(added(&LOUD, || assert_eq!(log(3), Err(EINVAL))), 0);
        assert_eq!(added(&LOUD, || assert_eq!(log(4), Ok(0))), 1);
        assert_eq!(added(&LOUD, || assert_eq!(log(6), Ok(6))), 2);
    }

    #[test]
    fn arguments_may_log() {
        fn locked() -> u32 {
            blog_log!(LOUD, "inner");
            1
        }
        assert_eq!(added(&LOUD, || blog_log!(LOUD, "outer {}", locked())), 2);
    }

    #[test]
    fn an_instance_has_a_ring_of_its_own() -> Result {
        let config = Config::new().size_kb(64).ring_kb(16).level(Level::Info);
        let one = LOUD.instance_with(c"kunit_instance1", config);
        let two = LOUD.instance_with(c"kunit_instance2", config.enabled(false));
        assert!(one.is_on());
        assert!(!two.is_on());
        let both = |one: &Instance, two: &Instance| {
            blog_log!(one, "{}", 1);
            blog_debug!(one, "{}", 2);
            blog_log!(two, "{}", 3);
        };
        let before = records(&LOUD);
        assert_eq!(added(&one, || both(&one, &two)), 1);
        assert_eq!(records(&LOUD), before);
        drop(one);

        // The next one of this name goes on with its ring, and with its settings.
        let again = LOUD.instance(c"kunit_instance1");
        assert_eq!(records(&again), 1);
        assert_eq!(added(&again, || both(&again, &two)), 1);
        Ok(())
    }

    #[test]
    fn generic_code_logs_each_type() {
        fn log<T: BlogArg<Shown: core::fmt::Debug>>(value: &T) {
            blog_log!(LOUD, "{:?}", value);
        }
        let records = added(&LOUD, || {
            log(&1_u8);
            log(&Some(2_u64));
            log(&[3_u8; 3]);
        });
        assert_eq!(records, 3);
    }
}
