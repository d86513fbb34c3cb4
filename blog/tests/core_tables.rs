// SPDX-License-Identifier: GPL-2.0

// KUnit suite: a task that logs to many components. Included by blog/main.rs.

/// Tables of tasks.
#[kunit_tests(blog_tables)]
mod suite {
    use super::rig::*;
    use crate::memory::pool::Store;
    use core::ptr;
    use kernel::{
        blog::{
            ring_of,
            task::{
                way_of,
                WAYS, //
            },
            wire::record::Context,
            Config, //
        },
        prelude::*,
        str::CString, //
    };

    const SMALL: Config = Config::new().size_kb(16).ring_kb(8);

    /// So many components that are on.
    fn rigs(n: usize) -> Result<KVec<Rig>> {
        let mut rigs = KVec::new();
        for n in 0..n {
            let name = CString::try_from_fmt(fmt!("blog_test_table{n}"))?;
            rigs.push(Rig::new(&name, SMALL)?, GFP_KERNEL)?;
        }
        Ok(rigs)
    }

    /// What this task has logged to a component, all of which is in one ring of its own.
    fn is_in_its_ring(rig: &Rig, numbers: &[u64]) -> Result<bool> {
        let read = Read::new(Some(rig.state()?), 4096)?;
        let ring = read.only_ring()?;
        Ok(ring.context == Context::Task as u8 && &*ring.numbers == numbers)
    }

    #[test]
    fn a_task_logs_to_hundreds() -> Result {
        let rigs = rigs(300)?;
        for (n, rig) in (0..).zip(&rigs) {
            assert!(rig.log(n));
        }
        for (n, rig) in rigs.iter().enumerate().rev() {
            assert!(rig.log(1000 + n as u64));
        }
        for (n, rig) in (0..).zip(&rigs) {
            assert!(is_in_its_ring(rig, &[n, 1000 + n])?);
        }
        Rig::drop_all(rigs)
    }

    #[test]
    fn those_that_share_a_place_have_their_rings() -> Result {
        let rigs = rigs(WAYS + 1)?;
        let place = |rig: &Rig| rig.state().map(|state| way_of(state.slot().into()));
        let mut pair = None;
        for (n, a) in rigs.iter().enumerate() {
            for b in &rigs[n + 1..] {
                if place(a)? == place(b)? {
                    pair = Some((a, b));
                }
            }
        }
        let (a, b) = pair.ok_or(EINVAL)?;
        for n in 0..10 {
            assert!(a.log(n));
            // The fast path finds it, and not the other one.
            assert!(!ring_of(a.raw()).is_null() && ring_of(b.raw()).is_null());
            assert!(b.log(n));
            assert!(ring_of(a.raw()).is_null() && !ring_of(b.raw()).is_null());
        }
        assert!(is_in_its_ring(a, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9])?);
        assert!(is_in_its_ring(b, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9])?);
        Rig::drop_all(rigs)
    }

    /// A component knows rings by tasks, of which several use the same place.
    #[test]
    fn a_ring_that_was_kept_is_used_by_its_task_alone() -> Result {
        let rig = Rig::new(c"blog_test_kept", SMALL.size_kb(64))?;
        let state = rig.state()?;
        let thread = Thread::start(&rig, 0..3)?;
        assert_eq!(thread.wait()?, 0);
        assert!(rig.log(10));
        let ids = Read::new(Some(state.clone()), 4096)?;
        for (n, id) in (11..).zip(ids.rings.iter().map(|ring| ring.ring)) {
            state.read_memory(|memory| {
                let ring = memory.pool.store.ring(id)?;
                (0..8).for_each(|table| memory.know(table, ring));
                Some(())
            });
            // SAFETY: There is none, so it takes the slow path.
            assert!(unsafe { log_to(rig.raw(), ptr::null(), n) });
        }
        let read = Read::new(Some(state), 4096)?;
        for ring in read.rings.iter().filter(|ring| ring.records != 0) {
            match ring.pid == this() {
                true => assert_eq!(
                    (ring.numbers[0], ring.records),
                    (10, 1 + ids.rings.len() as u64)
                ),
                false => assert_eq!(&*ring.numbers, &[0, 1, 2]),
            }
        }
        Ok(())
    }
}
