// SPDX-License-Identifier: GPL-2.0

// KUnit suite: counts of call sites.

use kernel::prelude::*;

#[kunit_tests(blog_hits)]
mod suite {
    use super::super::page;
    use crate::{
        life,
        tests::rig::{
            config,
            Read,
            Rig,
            Thread,
            SITE, //
        }, //
    };
    use core::sync::atomic::Ordering::Relaxed;
    use kernel::{
        blog::ring::Mode,
        prelude::*, //
    };

    #[test]
    fn each_record_is_in_a_ring_or_in_the_count_of_its_site() -> Result {
        life::free_gone();
        let count = || page(0).map_or(0, |page| page[SITE as usize].load(Relaxed));
        let before = count();
        let rig = Rig::new(c"blog_test_counts", config(64, 16, Mode::Overwrite))?;
        if page(0).is_none() {
            // Without the parameter, a snapshot has none.
            assert!((0..10_000).all(|n| rig.log(n)));
            assert_eq!(Read::new(None, 4096)?.counts, [0; 2]);
            return Ok(());
        }
        let mut threads = KVec::new();
        for _ in 0..8 {
            threads.push(Thread::start(&rig, 0..10_000)?, GFP_KERNEL)?;
        }
        let mut all = 80_000;
        for thread in &threads {
            all -= thread.wait()?;
        }
        let in_rings = || -> Result<u64> {
            let read = Read::new(Some(rig.state()?), 4096)?;
            Ok(read
                .rings
                .iter()
                .map(|ring| ring.numbers.len() as u64)
                .sum())
        };
        let held = in_rings()?;
        assert!(held > 1000 && count() - before > 40_000);
        assert_eq!(count() - before + held, all);
        // Those of tasks that have ended.
        drop(threads);
        all += (0..10_000).filter(|n| rig.log(*n)).count() as u64;
        assert_eq!(count() - before + in_rings()?, all);
        // A snapshot of all has it twice, one of a component doesn't.
        let read = Read::new(None, 4096)?;
        assert_eq!(read.counts, [count(); 2]);
        assert_eq!(Read::new(Some(rig.state()?), 4096)?.counts, [0; 2]);
        // With the component, its records leave the rings.
        drop(rig);
        life::free_gone();
        assert_eq!(count() - before, all);
        Ok(())
    }
}
