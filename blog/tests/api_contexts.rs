// SPDX-License-Identifier: GPL-2.0

//! The ring that a call logs to: that of the task, of the softirq or of the hard interrupt which it
//! runs in. Timers bring the calls into interrupts; the test's task checks the results.

use kernel::prelude::*;

#[kunit_tests(blog_api_contexts)]
mod tests {
    use kernel::{
        alloc::flags::GFP_KERNEL,
        blog::{
            blog_component,
            blog_log,
            ring_of,
            wire::record::Context,
            Component, //
        },
        impl_has_hr_timer,
        prelude::*,
        sync::{
            atomic::{
                ordering::Relaxed,
                Atomic, //
            },
            Arc, //
        },
        time::{
            delay::fsleep,
            hrtimer::{
                HrTimer,
                HrTimerCallback,
                HrTimerCallbackContext,
                HrTimerMode,
                HrTimerPointer,
                HrTimerRestart,
                RelativeHardMode,
                RelativeSoftMode, //
            },
            Delta,
            Monotonic, //
        }, //
    };

    blog_component! { PLACES, name: "kunit_places", size_kb: 64, ring_kb: 16, level: Trace }

    /// How often a timer fires in a test.
    const SHOTS: u64 = 20;

    /// Where softirqs log: with PREEMPT_RT, tasks run them.
    const SOFTIRQ: Context = if cfg!(CONFIG_PREEMPT_RT) {
        Context::Task
    } else {
        Context::Softirq
    };

    /// What the callbacks saw.
    struct Seen {
        shots: Atomic<u64>,
        /// Records that went into a ring of another context, or into none.
        strays: Atomic<u64>,
    }

    impl Seen {
        fn new() -> Result<Arc<Self>> {
            let seen = Self {
                shots: Atomic::new(0),
                strays: Atomic::new(0),
            };
            Ok(Arc::new(seen, GFP_KERNEL)?)
        }

        /// Waits for the last shot, 10 s at most. By looking: lockdep, with PREEMPT_RT in mind,
        /// forbids that a hard interrupt wakes a task that waits for a completion.
        fn wait(&self) {
            for _ in 0..10_000 {
                if self.shots.load(Relaxed) == SHOTS {
                    return;
                }
                fsleep(Delta::from_millis(1));
            }
        }
    }

    /// Logs one record; whether it went into the calling context's ring, and that is `context`'s.
    fn log_in(context: Context, n: u64) -> bool {
        // SAFETY: The ring stays while the component is on.
        let ring = || unsafe { ring_of(PLACES.raw()).as_ref() };
        let before = ring().map_or(0, |ring| ring.records());
        blog_log!(PLACES, "shot {n}");
        let Some(ring) = ring() else {
            return false;
        };
        ring.records() == before + 1
            && ring.info().is_some_and(|info| {
                info.owner.context == context && (context == Context::Task) == (info.owner.pid >= 0)
            })
    }

    macro_rules! timer {
        ($name:ident, $mode:ident, $context:expr) => {
            #[pin_data]
            struct $name {
                #[pin]
                timer: HrTimer<Self>,
                seen: Arc<Seen>,
            }

            impl $name {
                fn new(seen: Arc<Seen>) -> impl PinInit<Self, Error> {
                    try_pin_init!(Self {
                        timer <- HrTimer::new(),
                        seen,
                    })
                }
            }

            impl HrTimerCallback for $name {
                type Pointer<'a> = Pin<KBox<Self>>;

                fn run(
                    this: Pin<&mut Self>,
                    mut ctx: HrTimerCallbackContext<'_, Self>,
                ) -> HrTimerRestart {
                    let n = this.seen.shots.load(Relaxed);
                    if !log_in($context, n) {
                        let strays = this.seen.strays.load(Relaxed);
                        this.seen.strays.store(strays + 1, Relaxed);
                    }
                    this.seen.shots.store(n + 1, Relaxed);
                    if n + 1 == SHOTS {
                        return HrTimerRestart::NoRestart;
                    }
                    ctx.forward_now(Delta::from_micros(200));
                    HrTimerRestart::Restart
                }
            }

            impl_has_hr_timer! {
                impl HasHrTimer<Self> for $name {
                    mode: $mode<Monotonic>, field: self.timer
                }
            }
        };
    }

    timer!(Hard, RelativeHardMode, Context::Hardirq);
    timer!(Soft, RelativeSoftMode, SOFTIRQ);

    #[test]
    fn a_task_logs_to_its_own_ring() {
        assert!(log_in(Context::Task, 0));
    }

    /// Lets a timer fire to the end. Returns the shots, and how many of them went astray.
    fn fire<T, I>(new: impl FnOnce(Arc<Seen>) -> I) -> Result<(u64, u64)>
    where
        I: PinInit<T, Error>,
        Pin<KBox<T>>: HrTimerPointer<TimerMode: HrTimerMode<Expires = Delta>>,
    {
        let seen = Seen::new()?;
        let timer = KBox::pin_init(new(seen.clone()), GFP_KERNEL)?;
        let handle = timer.start(Delta::from_micros(200));
        seen.wait();
        drop(handle);
        Ok((seen.shots.load(Relaxed), seen.strays.load(Relaxed)))
    }

    #[test]
    fn a_hard_interrupt_logs_to_its_cpu_s_ring() -> Result {
        assert_eq!(fire(Hard::new)?, (SHOTS, 0));
        Ok(())
    }

    #[test]
    fn a_softirq_logs_to_its_cpu_s_ring_or_its_task_s() -> Result {
        assert_eq!(fire(Soft::new)?, (SHOTS, 0));
        Ok(())
    }
}
