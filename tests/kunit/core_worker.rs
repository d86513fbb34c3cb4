// SPDX-License-Identifier: GPL-2.0

// KUnit suite: when the worker comes, and when not. Included by blog/main.rs.

/// The worker, armed and parked.
#[kunit_tests(blog_worker)]
mod suite {
    use super::rig::{
        frozen,
        until,
        Rig, //
    };
    use crate::{
        sys::glue,
        write::worker::{
            self,
            is_parked, //
        }, //
    };
    use kernel::{
        blog::Config,
        prelude::*,
        time::{
            delay::fsleep,
            Delta, //
        }, //
    };

    const SMALL: Config = Config::new().size_kb(64).ring_kb(16);

    /// Logs until a page has been turned at least once.
    fn turn_pages(rig: &Rig) {
        for n in 0..1000 {
            rig.log(n);
        }
    }

    #[test]
    fn without_records_it_does_not_come() -> Result {
        let rig = Rig::new(c"blog_test_worker_quiet", SMALL)?;
        assert!(rig.log(1));
        until(is_parked)?;
        let looks = worker::looks();
        // This many times it would have come.
        fsleep(Delta::from_millis(500));
        assert!(is_parked());
        assert_eq!(worker::looks(), looks);
        // Nor for one in a page that has room.
        assert!(rig.log(2));
        assert!(is_parked());
        Ok(())
    }

    #[test]
    fn a_burst_wakes_it_and_then_it_parks_again() -> Result {
        let rig = Rig::new(c"blog_test_worker_burst", SMALL)?;
        until(is_parked)?;
        for _ in 0..3 {
            let looks = worker::looks();
            turn_pages(&rig);
            assert!(!is_parked());
            until(|| worker::looks() > looks)?;
            until(is_parked)?;
        }
        Ok(())
    }

    #[test]
    fn a_burst_with_interrupts_off_wakes_it() -> Result {
        let rig = Rig::new(c"blog_test_worker_irq_off", SMALL)?;
        until(is_parked)?;
        let looks = worker::looks();
        // The lock of a task table, for the interrupts.
        let guard = glue::lock_tls(0);
        for n in 0..1000 {
            rig.log(n);
        }
        assert!(!is_parked());
        drop(guard);
        until(|| worker::looks() > looks)
    }

    #[test]
    fn a_crashed_machine_does_not_wake_it() -> Result {
        let rig = Rig::new(c"blog_test_worker_frozen", SMALL)?;
        assert!(rig.log(1));
        until(is_parked)?;
        let parked = frozen(|| {
            turn_pages(&rig);
            is_parked()
        });
        assert!(parked);
        Ok(())
    }

    #[test]
    fn a_new_budget_wakes_it() -> Result {
        let rig = Rig::new(c"blog_test_worker_budget", SMALL)?;
        until(is_parked)?;
        let looks = worker::looks();
        rig.state()?.set_size_kb(128)?;
        until(|| worker::looks() > looks)
    }
}
