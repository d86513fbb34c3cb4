// SPDX-License-Identifier: GPL-2.0

// KUnit suite: the worker. Included by blog/main.rs.

#[kunit_tests(blog_worker)]
mod suite {
    use super::rig::{
        blog_wake_cpus,
        until,
        Rig, //
    };
    use crate::write::worker;
    use core::sync::atomic::Ordering::Relaxed;
    use kernel::{
        blog::Config,
        prelude::*,
        time::{
            Delta,
            Instant,
            Monotonic, //
        }, //
    };

    const SMALL: Config = Config::new().size_kb(64).ring_kb(16);

    #[test]
    fn it_comes_once_a_second_however_much_is_logged() -> Result {
        let rig = Rig::new(c"blog_test_worker", SMALL)?;
        let (start, before) = (Instant::<Monotonic>::now(), worker::LOOKS.load(Relaxed));
        until(|| {
            for n in 0..1000 {
                rig.log(n);
            }
            blog_wake_cpus();
            worker::LOOKS.load(Relaxed) > before + 1
        })?;
        let looks = worker::LOOKS.load(Relaxed) - before;
        assert!(start.elapsed() >= Delta::from_millis(900 * (looks as i64 - 1)));
        Ok(())
    }
}
