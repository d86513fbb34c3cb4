// SPDX-License-Identifier: GPL-2.0

// KUnit suite: the root for crash tools, and the effects of a crash. On the host, the suite "crash"
// of BLog's repository finds the records in real dumps.

#[kunit_tests(blog_root)]
mod suite {
    use super::rig::*;
    use crate::{
        registry,
        sys::params,
        tasks, //
    };
    use core::ptr;
    use kernel::{
        blog::{
            root::blog_root,
            task,
            wire::{
                dump::{
                    state_letter,
                    ComponentRoot,
                    Root,
                    COMPONENT_MAGIC,
                    NO_FIELD,
                    ROOT_MAGIC,
                    STATE_ON,
                    VERSION, //
                },
                file,
                record::{
                    Lost,
                    LOST_CAUSES, //
                }, //
            },
            Config, //
        },
        prelude::*, //
    };

    /// Of a kernel thread's `flags`.
    const PF_KTHREAD: u32 = 0x0020_0000;
    const SMALL: Config = Config::new().size_kb(64).ring_kb(16);

    /// Reads what is at an address.
    ///
    /// # Safety
    ///
    /// There is a `T`, or what it looked like a moment ago.
    unsafe fn at<T: Copy>(address: u64) -> T {
        // SAFETY: By this function's requirement.
        unsafe { ptr::read_volatile(address as *const T) }
    }

    /// A copy. It has 3,768 bytes, too many for the stack.
    #[inline(never)]
    fn root() -> Result<KBox<Root>> {
        // SAFETY: The root is always there.
        let root = unsafe { at(blog_root.get() as u64) };
        Ok(KBox::new(root, GFP_KERNEL)?)
    }

    /// The component of this name, as the root has it, and its address.
    fn component(name: &CStr) -> Option<(u64, ComponentRoot)> {
        let root = root().ok()?;
        // SAFETY: There are so many addresses.
        let found = (0..root.components_len.into())
            .map(|n| unsafe { at::<u64>(root.components + 8 * n) })
            .filter(|address| *address != 0);
        let mut found = found.map(|address| {
            // SAFETY: A component is there.
            (address, unsafe { at::<ComponentRoot>(address) })
        });
        found.find(|(_, c)| c.name.starts_with(name.to_bytes_with_nul()))
    }

    #[test]
    fn the_root_says_what_it_is() -> Result {
        let root = root()?;
        assert_eq!(root.magic, ROOT_MAGIC);
        assert_eq!(root.version, VERSION);
        assert_eq!(root.size as usize, size_of::<Root>());
        assert_eq!(root.state, STATE_ON);
        assert_eq!(root.system.pointer_size, 8);
        assert_eq!(root.system.release, params::uts()[0]);
        assert!(root.ticks_len > 0);
        assert!(root.ticks[0].pair.real > 0 && root.clock.hz > 0);
        // SAFETY: The kernel's own counter is there.
        assert!(root.ticks[0].jiffies <= unsafe { at::<u64>(root.jiffies) });
        assert_eq!(
            u64::from(root.jiffies_hz),
            kernel::time::msecs_to_jiffies(1000) as u64
        );
        assert_eq!(root.crash.frozen, 0);
        Ok(())
    }

    #[test]
    fn it_shows_settings_as_they_change() -> Result {
        let rig = Rig::new(c"blog_test_set", SMALL)?;
        let state = rig.state()?;
        let now = || component(c"blog_test_set").map(|(_, c)| c);
        state.set(Key::RingKb, 32)?;
        state.set(Key::Level, 0)?;
        state.set(Key::Mode, 1)?;
        let c = now().ok_or(ENOENT)?;
        assert_eq!(
            (c.magic, c.size as usize),
            (COMPONENT_MAGIC, size_of::<ComponentRoot>())
        );
        assert_eq!((c.slot, c.enabled, c.attached), (state.slot().into(), 1, 1));
        assert_eq!((c.size_kb, c.ring_kb, c.level, c.mode), (64, 32, 0, 1));
        // A dump shows when it was cleared.
        assert_eq!(c.cleared, 0);
        state.clear();
        assert!(now().is_some_and(|c| c.cleared != 0));
        state.set(Key::Enable, 0)?;
        assert_eq!(now().map(|c| c.enabled), Some(0));
        assert!(now().is_some_and(|c| c.memory != 0));
        state.clear();
        assert!(now().is_some_and(|c| c.memory == 0 && c.cleared == 0));
        state.set(Key::Enable, 1)?;
        assert!(now().is_some_and(|c| c.memory != 0));
        drop(rig);
        assert!(now().is_none());
        Ok(())
    }

    #[test]
    fn it_lists_the_images_of_the_registry() -> Result {
        registry::with_images(|images| {
            let root = root()?;
            assert_eq!(root.images_len as usize, images.list().len());
            for (i, image) in (0..).zip(images.list()) {
                let address = root.images + i * u64::from(root.image_size);
                // SAFETY: An image is there.
                let listed: file::Image = unsafe { at(address) };
                let entry = image.entry;
                assert_eq!(
                    (listed.first, listed.count, listed.loaded),
                    (entry.first, entry.count, entry.loaded)
                );
                assert_eq!(listed.build_id, entry.build_id);
                assert_eq!(listed.name, entry.name);
            }
            Ok(())
        })
    }

    #[test]
    fn offsets_lead_to_what_tasks_have() -> Result {
        let rig = Rig::new(c"blog_test_task", SMALL)?;
        let thread = Thread::start(&rig, 0..10)?;
        thread.wait()?;
        let (task, layout) = (thread.task() as u64, root()?.task);
        let field = |offset: u32| task + u64::from(offset);
        // It sleeps until it is to end.
        until(|| {
            // SAFETY: The task is there until it is ended; these are its fields.
            let (state, exit) = unsafe { (at(field(layout.state)), at(field(layout.exit_state))) };
            state_letter(state, exit) == b'S'
        })?;
        // SAFETY: As above.
        unsafe {
            assert_eq!(at::<i32>(field(layout.pid)), thread.pid());
            assert_eq!(at::<i32>(field(layout.tgid)), thread.pid());
            assert_eq!(&at::<[u8; 9]>(field(layout.comm)), b"blog_test");
            let flags: u32 = at(field(layout.flags));
            assert!(flags & PF_KTHREAD != 0);
            assert!(layout.cpu == NO_FIELD || at::<u32>(field(layout.cpu)) < root()?.system.cpus);
            // Its table says whose it is.
            let table = task::table(thread.task())
                .map(ptr::from_ref)
                .ok_or(ENOENT)? as u64;
            assert!(layout.blog_tls == NO_FIELD || at::<u64>(field(layout.blog_tls)) == table);
            assert_eq!(at::<u64>(table + u64::from(root()?.tls.task)), task);
            // This task is running.
            let this = tasks::current() as u64;
            assert_eq!(at::<u8>(this + u64::from(layout.on_cpu)), 1);
            // The list of all tasks is that of `init_task`; next is the first process.
            let first: u64 = at(root()?.init_task + u64::from(layout.tasks));
            let pid = first - u64::from(layout.tasks) + u64::from(layout.pid);
            assert_eq!(at::<i32>(pid), 1);
        }
        drop(thread);
        Ok(())
    }

    #[test]
    fn states_have_the_kernels_letters() {
        extern "C" {
            fn blog_state_letter(state: u32, exit_state: u32) -> c_char;
        }
        for state in 0..0x1_0000 {
            for exit in [0, 0x10, 0x20, 0x30] {
                // SAFETY: No requirements.
                let theirs = unsafe { blog_state_letter(state, exit) } as u8;
                if theirs != state_letter(state, exit) {
                    pr_warn!("{state:#x} {exit:#x}: {theirs}\n");
                    assert_eq!(theirs, state_letter(state, exit));
                }
            }
        }
    }

    #[test]
    fn snapshots_tell_what_tasks_do() -> Result {
        let rig = Rig::new(c"blog_test_facts", SMALL)?;
        let other = Rig::new(c"blog_test_facts2", SMALL)?;
        let thread = Thread::start(&rig, 0..10)?;
        thread.wait()?;
        assert!(rig.log(1) && other.log(2));
        until(|| {
            let read = rig.state().and_then(|state| Read::new(Some(state), 4096));
            // It looks now and then whether it is to stop: then it runs.
            read.is_ok_and(|read| {
                let task = read.task(thread.pid());
                task.is_ok_and(|task| task.state == b'S' && task.flags == file::TASK_KERNEL)
            })
        })?;

        let read = Read::new(Some(rig.state()?), 4096)?;
        let (task, me) = (read.task(thread.pid())?, read.task(this())?);
        assert_eq!(&task.comm[..10], b"blog_test\0");
        assert!(task.flags & file::TASK_KERNEL != 0);
        assert_eq!(me.state, b'R');
        assert!(me.flags & file::TASK_RUNNING != 0);
        assert!(me.cpu < root()?.system.cpus);
        // Of one component only those that log to it.
        let read = Read::new(Some(other.state()?), 4096)?;
        assert!(read.task(this()).is_ok());
        assert!(read.task(thread.pid()).is_err());
        drop(thread);
        Ok(())
    }

    #[test]
    fn more_tasks_than_fit_into_one_section() -> Result {
        let rig = Rig::new(c"blog_test_crowd", SMALL.size_kb(1024))?;
        let mut threads = KVec::new();
        for n in 0..150 {
            threads.push(Thread::start(&rig, n..n + 1)?, GFP_KERNEL)?;
        }
        for thread in &threads {
            thread.wait()?;
        }
        let read = Read::new(Some(rig.state()?), 4096)?;
        // Those that got no ring of their own are in none of the tables.
        let owned = read.rings.iter().filter(|ring| ring.pid > 0).count();
        assert!(owned > 128);
        assert_eq!(read.tasks.len(), owned);
        for thread in &threads {
            let has = read.rings.iter().any(|ring| ring.pid == thread.pid());
            assert_eq!(read.task(thread.pid()).is_ok(), has);
        }
        threads.clear();
        Ok(())
    }

    #[test]
    fn a_crash_keeps_what_is_there() -> Result {
        let rig = Rig::new(c"blog_test_crash", SMALL)?;
        let pid = this();
        let kept = || -> Result<_> {
            let mut rings = Read::new(Some(rig.state()?), 4096)?.rings;
            let at = rings.iter().position(|ring| ring.pid == pid);
            Ok(rings.remove(at.ok_or(ENOENT)?)?.numbers)
        };
        // So much that it overwrites its oldest pages.
        for n in 0..3000 {
            rig.log(n);
        }
        let before = kept()?;
        let logged = frozen(|| {
            let mut logged = KVec::new();
            for n in 3000..6000 {
                if rig.log(n) && logged.push(n, GFP_KERNEL).is_err() {
                    break;
                }
            }
            logged
        });
        let after = kept()?;
        assert!(before.len() > 500);
        // All of it is still there; and what came into this ring or into the shared one went
        // where there was room.
        assert!(after.starts_with(&before));
        assert!(logged.len() < 700);
        let more = &after[before.len()..];
        assert!(logged.starts_with(more));
        let read = Read::new(Some(rig.state()?), 4096)?;
        let sum = |cause: Lost| {
            let rings = read.rings.iter().map(|r| r.lost[cause as usize]);
            rings.sum::<u64>()
        };
        assert_eq!(sum(Lost::Frozen), 3000 - logged.len() as u64);
        for cause in Lost::ALL {
            assert!(cause == Lost::Frozen || sum(cause) == 0);
        }
        // Not so in a crash, but for the next tests: it goes on, and reports the losses.
        assert!(rig.log(6000));
        let read = Read::new(Some(rig.state()?), 4096)?;
        let ring = read.rings.iter().find(|ring| ring.pid == pid);
        let ring = ring.ok_or(ENOENT)?;
        assert_eq!(ring.told[Lost::Frozen as usize], sum(Lost::Frozen));
        assert_eq!(ring.numbers.last(), Some(&6000));
        Ok(())
    }

    #[test]
    fn a_crash_keeps_the_rings_of_ended_tasks() -> Result {
        let rig = Rig::new(c"blog_test_ended", SMALL.size_kb(16))?;
        let thread = Thread::start(&rig, 0..50)?;
        thread.wait()?;
        drop(thread);
        let retired = || -> Result<u32> {
            let read = Read::new(Some(rig.state()?), 4096)?;
            let rings = read.rings.iter().filter(|ring| ring.retired != 0);
            Ok(rings.map(|ring| ring.numbers.len() as u32).sum())
        };
        until(|| retired() == Ok(50))?;
        // Tasks that never logged before: they get no ring, but what is left of a shared one.
        let lost = frozen(|| -> Result<u64> {
            let mut lost = 0;
            for n in 0..4 {
                let thread = Thread::start(&rig, n * 1000..(n + 1) * 1000)?;
                lost += thread.wait()?;
            }
            Ok(lost)
        })?;
        assert_eq!(retired(), Ok(50));
        let read = Read::new(Some(rig.state()?), 4096)?;
        let mut counts = [0; LOST_CAUSES];
        let mut add = |lost: [u64; LOST_CAUSES]| {
            for (sum, n) in counts.iter_mut().zip(lost) {
                *sum += n;
            }
        };
        read.rings.iter().for_each(|ring| add(ring.lost));
        read.components.iter().for_each(|c| add(c.lost));
        assert!(lost > 3000);
        assert_eq!(counts[Lost::Frozen as usize], lost);
        assert_eq!(counts.iter().sum::<u64>(), lost);
        Ok(())
    }
}
