// SPDX-License-Identifier: GPL-2.0

// KUnit suite: locks and waiting. A long operation on one component, or one that somebody holds up,
// must not delay the others. Nothing that a driver needs to free memory may wait for memory. The
// tests release what they hold up after a while, so that a test fails rather than hangs.

#[kunit_tests(blog_locks)]
mod suite {
    use super::rig::*;
    use crate::{
        life,
        write::worker, //
    };
    use core::{
        hint::spin_loop,
        sync::atomic::{
            AtomicBool,
            Ordering::{
                Acquire,
                Relaxed,
                Release, //
            }, //
        }, //
    };
    use kernel::{
        blog::{
            Config,
            Instance, //
        },
        prelude::*,
        sync::Arc,
        time::{
            delay::fsleep,
            Delta,
            Instant,
            Monotonic, //
        },
        workqueue, //
    };

    const SMALL: Config = Config::new().size_kb(32).ring_kb(16);
    /// How long something is held up at most. Less than what RCU calls a stall.
    const LIMIT: Delta = Delta::from_millis(15_000);

    /// What is done elsewhere meanwhile.
    struct Meanwhile {
        begun: AtomicBool,
        /// It may end.
        enough: AtomicBool,
        done: AtomicBool,
    }

    impl Meanwhile {
        /// Has `f` run by another task.
        fn run(f: impl FnOnce(&Self) + Send + 'static) -> Result<Arc<Self>> {
            let this = Arc::new(
                Self {
                    begun: AtomicBool::new(false),
                    enough: AtomicBool::new(false),
                    done: AtomicBool::new(false),
                },
                GFP_KERNEL,
            )?;
            let there = this.clone();
            workqueue::system_unbound().try_spawn(GFP_KERNEL, move || {
                there.begun.store(true, Release);
                f(&there);
                there.done.store(true, Release);
            })?;
            until(|| this.begun.load(Acquire))?;
            Ok(this)
        }

        /// Calls `f` until it may end, or has held up the others for too long.
        fn hold(&self, f: impl Fn()) {
            let start = Instant::<Monotonic>::now();
            while !self.enough.load(Acquire) && start.elapsed() < LIMIT {
                f();
            }
        }

        fn done(&self) -> bool {
            self.done.load(Acquire)
        }

        /// Lets it end.
        fn end(&self) -> Result {
            self.enough.store(true, Release);
            until(|| self.done())
        }
    }

    /// What others do all the time, with another component. That goes with the result: its memory
    /// waits for all log calls, wherever they are.
    fn go_on() -> Result<Rig> {
        let other = Rig::new(c"blog_test_others", SMALL)?;
        let state = other.state()?;
        assert!(other.log(1));
        state.set(Key::Level, 0)?;
        state.set(Key::SizeKb, 64)?;
        state.set(Key::RingKb, 32)?;
        state.set(Key::Enable, 0)?;
        state.set(Key::Enable, 1)?;
        state.clear();
        assert!(other.log(2));
        let read = Read::new(Some(state), 4096)?;
        assert_eq!(&*read.only_ring()?.numbers, &[2]);
        Ok(other)
    }

    #[test]
    fn a_clear_that_waits_for_log_calls_delays_nobody_else() -> Result {
        if kernel::cpu::nr_cpu_ids() < 2 {
            // The task that holds it up has the only CPU.
            return Ok(());
        }
        let rig = Rig::new(c"blog_test_slow", SMALL)?;
        let state = rig.state()?;
        assert!(rig.log(1));
        state.set(Key::Enable, 0)?;

        // A task that runs and never sleeps could be in a log call.
        let busy = Meanwhile::run(|this| this.hold(spin_loop))?;
        let cleared = state.clone();
        let clear = Meanwhile::run(move |_| cleared.clear())?;
        until(|| clear.done() || state.update(|locked| locked.memory().is_none()))?;

        let _other = go_on()?;
        // The worker, too.
        let before = worker::LOOKS.load(Relaxed);
        until(|| {
            // Without preemption, that would wait for the busy task.
            if cfg!(CONFIG_PREEMPTION) {
                blog_wake_cpus();
            }
            worker::LOOKS.load(Relaxed) > before + 1
        })?;
        // Nor a reader of this one. A task that switches it on waits.
        let wanted = state.clone();
        let on = Meanwhile::run(move |_| {
            let _ = wanted.set(Key::Enable, 1);
        })?;
        assert!(!rig.log(2));
        assert!(Read::new(Some(state.clone()), 4096)?.rings.is_empty());
        assert!(!clear.done() && !on.done());

        busy.end()?;
        until(|| clear.done() && on.done())?;
        assert!(rig.log(3));
        let read = Read::new(Some(state), 4096)?;
        assert_eq!(&*read.only_ring()?.numbers, &[3]);
        Ok(())
    }

    #[test]
    fn components_come_and_go_while_another_one_is_locked() -> Result {
        let rig = Rig::new(c"blog_test_locked", SMALL)?;
        let state = rig.state()?;
        let locked = Meanwhile::run(move |this| {
            state.update(|_| this.hold(|| fsleep(Delta::from_millis(1))));
        })?;
        let _other = go_on()?;
        assert!(state_of(c"blog_test_locked").is_ok());
        assert!(!locked.done());
        locked.end()?;
        drop(rig);
        Ok(())
    }

    /// In a kernel with lockdep (suite debug), this fails where a lock that it takes was ever held
    /// while memory was allocated, however indirectly.
    #[test]
    fn an_instance_is_dropped_where_memory_is_freed() -> Result {
        unsafe extern "C" {
            safe fn blog_pretend_reclaim(begin: bool);
        }
        let instance = Instance::new::<true>(c"blog_test_reclaim", SMALL);
        blog_pretend_reclaim(true);
        drop(instance);
        blog_pretend_reclaim(false);
        let state = state_of(c"blog_test_reclaim")?;
        assert!(!state.attached());
        life::take_out(&state);
        Ok(())
    }
}
