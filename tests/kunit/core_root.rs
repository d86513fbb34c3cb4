// SPDX-License-Identifier: GPL-2.0

// KUnit suite: what crash tools find, and what a crash does. The walk goes from the root by
// addresses and offsets alone, as one in a dump does; what it finds is compared with what was
// logged.

#[kunit_tests(blog_root)]
mod suite {
    use super::rig::*;
    use crate::{
        registry,
        sys::glue, //
    };
    use core::ptr;
    use kernel::{
        bindings,
        blog::{
            root::blog_root,
            wire::{
                dump::{
                    state_letter,
                    Component,
                    Memory,
                    Root,
                    Table,
                    COMPONENT_MAGIC,
                    MEMORY_MAGIC,
                    NO_FIELD,
                    ROOT_MAGIC,
                    STATE_ON,
                    VERSION, //
                },
                file,
                page::{
                    PageInfo,
                    PAGE_HEADER_SIZE,
                    PAGE_MAGIC,
                    SEQ_MASK, //
                },
                record::{
                    Header,
                    Lost,
                    LOST_CAUSES, //
                }, //
            },
            Config, //
        },
        prelude::*,
        str::CString, //
    };

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

    fn root() -> Root {
        // SAFETY: The root is always there.
        unsafe { at(blog_root.get() as u64) }
    }

    /// Calls `f` with the address of each value of a table.
    fn walk(table: &Table, mut f: impl FnMut(u64)) -> u32 {
        let mut values = 0;
        for n in 0..u64::from(table.capacity) {
            // SAFETY: There are so many pointers.
            let chunk: u64 = unsafe { at(table.chunks + 8 * n) };
            if chunk == 0 {
                break;
            }
            for i in 0..u64::from(table.per_chunk) {
                f(chunk + i * u64::from(table.stride));
                values += 1;
            }
        }
        values
    }

    /// The component of this name, as the root has it, and its address.
    fn component(name: &CStr) -> Option<(u64, Component)> {
        let root = root();
        // SAFETY: There are so many addresses.
        let found = (0..root.components_len.into())
            .map(|n| unsafe { at::<u64>(root.components + 8 * n) })
            .filter(|address| *address != 0);
        let mut found = found.map(|address| {
            // SAFETY: A component is there.
            (address, unsafe { at::<Component>(address) })
        });
        found.find(|(_, c)| c.name.starts_with(name.to_bytes_with_nul()))
    }

    /// The memory of a component.
    fn memory(c: &Component) -> Option<Memory> {
        // SAFETY: A memory is there.
        (c.memory != 0).then(|| unsafe { at(c.memory) })
    }

    /// Addresses of the rings of a task.
    fn rings_of(memory: &Memory, pid: i32) -> Result<KVec<u64>> {
        let (layout, mut rings) = (root().ring, KVec::new());
        walk(&memory.rings, |ring| {
            // SAFETY: A ring is there.
            let (state, owner): (u8, i32) = unsafe {
                (
                    at(ring + u64::from(layout.state)),
                    at(ring + u64::from(layout.pid)),
                )
            };
            if state != 0 && owner == pid {
                let _ = rings.push(ring, GFP_KERNEL);
            }
        });
        Ok(rings)
    }

    /// The numbers in the pages of a ring, in order.
    fn numbers_of(memory: &Memory, ring: u64) -> Result<KVec<u64>> {
        let (layout, slots) = (root().ring, root().slot);
        // SAFETY: A ring is there.
        let (id, first): (u32, u64) = unsafe {
            (
                at(ring + u64::from(layout.id)),
                at(ring + u64::from(layout.first_seq)),
            )
        };
        let mut pages = KVec::new();
        walk(&memory.slots, |slot| {
            // SAFETY: A slot is there.
            let (page, shape): (u64, u32) = unsafe {
                (
                    at(slot + u64::from(slots.page)),
                    at(slot + u64::from(slots.shape)),
                )
            };
            let (parts, size) = match shape & 3 {
                _ if page == 0 => return,
                0 => (1, memory.page_size),
                2 => (memory.chunks, memory.chunk_size),
                _ => return,
            };
            for part in 0..parts {
                let header = page + u64::from(part * size);
                // SAFETY: A page is there.
                let info: PageInfo = unsafe { at(header) };
                let seq = info.seq & SEQ_MASK;
                if info.magic == PAGE_MAGIC && info.ring == id && seq >= first && seq != 0 {
                    let _ = pages.push((seq, header, info), GFP_KERNEL);
                }
            }
        });
        let mut numbers = KVec::new();
        let mut last = 0;
        // In the order of their positions.
        while let Some((seq, header, info)) = pages
            .iter()
            .filter(|page| page.0 > last)
            .min_by_key(|page| page.0)
        {
            last = *seq;
            let mut offset = PAGE_HEADER_SIZE as u64;
            while offset < u64::from(info.end()) {
                // SAFETY: A record is there.
                let record: Header = Header(unsafe { at(header + offset) });
                if record.site() != 0 {
                    // SAFETY: As above; the tests write one number into each.
                    let number = unsafe { at::<[u32; 2]>(header + offset + 8) };
                    let number = u64::from(number[0]) | u64::from(number[1]) << 32;
                    numbers.push(number, GFP_KERNEL)?;
                }
                offset += record.size() as u64;
            }
        }
        Ok(numbers)
    }

    #[test]
    fn the_root_says_what_it_is() {
        let root = root();
        assert_eq!(root.magic, ROOT_MAGIC);
        assert_eq!(root.version, VERSION);
        assert_eq!(root.size as usize, size_of::<Root>());
        assert_eq!(root.state, STATE_ON);
        assert_eq!(root.system.pointer_size, 8);
        assert_eq!(root.system.release, glue::uts()[0]);
        assert!(root.ticks_taken > 0);
        assert!(root.start.real > 0 && root.clock.hz > 0);
        assert_eq!(root.crash.frozen, 0);
    }

    #[test]
    fn the_clocks_are_noted_again_and_again() -> Result {
        let before = root().ticks_taken;
        let rig = Rig::new(c"blog_test_ticks", SMALL)?;
        // The worker does it, about once a second.
        until(|| root().ticks_taken > before)?;
        let root = root();
        let last = root.ticks[(root.ticks_taken - 1) as usize % 2];
        assert!(last.pair.mono > root.start.mono);
        assert!(last.pair.clock > root.start.clock);
        // SAFETY: The kernel's own counter is there.
        let jiffies: u64 = unsafe { at(root.jiffies) };
        assert!(last.jiffies <= jiffies);
        assert_eq!(
            u64::from(root.jiffies_hz),
            kernel::time::msecs_to_jiffies(1000) as u64
        );
        drop(rig);
        Ok(())
    }

    #[test]
    fn it_leads_to_what_was_logged() -> Result {
        let rig = Rig::new(c"blog_test_root", SMALL)?;
        let state = rig.state()?;
        let (_, c) = component(c"blog_test_root").ok_or(ENOENT)?;
        assert_eq!(c.magic, COMPONENT_MAGIC);
        assert_eq!(c.size as usize, size_of::<Component>());
        assert_eq!(c.slot, u32::from(state.slot()));
        assert_eq!((c.enabled, c.attached, c.mode), (1, 1, 0));
        assert_eq!((c.size_kb, c.ring_kb), (64, 16));
        let memory = memory(&c).ok_or(ENOENT)?;
        assert_eq!(memory.magic, MEMORY_MAGIC);
        assert_eq!(memory.size as usize, size_of::<Memory>());

        for n in 0..100 {
            assert!(rig.log(n));
        }
        // SAFETY: The current task is valid.
        let pid = unsafe { (*glue::current()).pid };
        let rings = rings_of(&memory, pid)?;
        assert_eq!(rings.len(), 1);
        // A page and a chunk.
        let numbers = numbers_of(&memory, rings[0])?;
        assert!(numbers.iter().copied().eq(0..100));
        // The same as in a snapshot.
        let read = Read::new(Some(state), 4096)?;
        assert_eq!(&*read.only_ring()?.numbers, &*numbers);
        Ok(())
    }

    #[test]
    fn it_knows_each_ring_and_page() -> Result {
        let rig = Rig::new(c"blog_test_all", SMALL)?;
        let state = rig.state()?;
        let (_, c) = component(c"blog_test_all").ok_or(ENOENT)?;
        let memory = memory(&c).ok_or(ENOENT)?;
        let layout = root().slot;
        let mut pages = 0;
        walk(&memory.slots, |slot| {
            // SAFETY: A slot is there.
            pages += u32::from(unsafe { at::<u64>(slot + u64::from(layout.page)) } != 0);
        });
        let ids = root().ring.id;
        let mut next = 0;
        let rings = walk(&memory.rings, |ring| {
            // SAFETY: A ring is there.
            assert_eq!(unsafe { at::<u32>(ring + u64::from(ids)) }, next);
            next += 1;
        });
        state.with(|inner| {
            let (_, owned) = inner.memory().ok_or(ENOENT)?;
            assert_eq!(pages, owned.pages());
            assert_eq!(rings, owned.rings());
            Ok::<_, Error>(())
        })
    }

    #[test]
    fn it_shows_settings_as_they_change() -> Result {
        let rig = Rig::new(c"blog_test_set", SMALL)?;
        let state = rig.state()?;
        let now = || component(c"blog_test_set").map(|(_, c)| c);
        state.set_ring_kb(32)?;
        state.set_level(None);
        state.set_mode(kernel::blog::Mode::Discard);
        let c = now().ok_or(ENOENT)?;
        assert_eq!((c.ring_kb, c.level, c.mode), (32, 0, 1));
        state.set_enabled(false)?;
        assert_eq!(now().map(|c| c.enabled), Some(0));
        assert!(now().is_some_and(|c| c.memory != 0));
        state.clear()?;
        assert!(now().is_some_and(|c| c.memory == 0));
        state.set_enabled(true)?;
        assert!(now().is_some_and(|c| c.memory != 0));
        drop(rig);
        assert!(now().is_none());
        Ok(())
    }

    #[test]
    fn it_lists_the_images_of_the_registry() {
        registry::with_images(|images| {
            let root = root();
            assert_eq!(root.images_len as usize, images.list().len());
            for (i, image) in (0..).zip(images.list()) {
                let address = root.images + i * u64::from(root.image_size);
                // SAFETY: An image is there.
                let listed: file::Image = unsafe { at(address) };
                let entry = image.entry();
                assert_eq!(
                    (listed.first, listed.count, listed.loaded),
                    (entry.first, entry.count, entry.loaded)
                );
                assert_eq!(listed.build_id, entry.build_id);
                assert_eq!(listed.name, entry.name);
            }
        });
    }

    /// The table of `task`, and the address of its first ring.
    fn table_of(task: u64) -> Option<(u64, u64)> {
        let (root, mut found) = (root(), None);
        walk(&root.tables, |table| {
            // SAFETY: A table is there.
            unsafe {
                if at::<u64>(table + u64::from(root.tls.task)) == task {
                    found = Some((table, at(table + u64::from(root.tls.first))));
                }
            }
        });
        found
    }

    #[test]
    fn it_leads_to_tasks_by_offsets() -> Result {
        let rig = Rig::new(c"blog_test_task", SMALL)?;
        let thread = Thread::start(&rig, 0..10)?;
        thread.wait()?;
        let (task, layout) = (thread.task() as u64, root().task);
        let (_, c) = component(c"blog_test_task").ok_or(ENOENT)?;
        let memory = memory(&c).ok_or(ENOENT)?;
        let (table, ring) = table_of(task).ok_or(ENOENT)?;
        assert_eq!(&*rings_of(&memory, thread.pid())?, &[ring]);
        // SAFETY: A ring is there. It is the only one.
        assert_eq!(unsafe { at::<u64>(ring + u64::from(root().ring.next)) }, 0);

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
            assert_eq!(at::<u64>(field(layout.blog_tls)), table);
            let flags: u32 = at(field(layout.flags));
            assert!(flags & bindings::PF_KTHREAD != 0);
            assert!(layout.cpu == NO_FIELD || at::<u32>(field(layout.cpu)) < root().system.cpus);
        }
        // This task is running.
        let this = glue::current() as u64;
        // SAFETY: The current task is valid.
        assert_eq!(unsafe { at::<u8>(this + u64::from(layout.on_cpu)) }, 1);
        // The list of all tasks is that of `init_task`.
        // SAFETY: These are list heads.
        let first: u64 = unsafe { at(root().init_task + u64::from(layout.tasks)) };
        // SAFETY: As above: the first process.
        assert_eq!(
            unsafe { at::<i32>(first - u64::from(layout.tasks) + u64::from(layout.pid)) },
            1
        );
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
                    pr_err!("{state:#x} {exit:#x}: {theirs}\n");
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
        // SAFETY: The current task is valid.
        let this = unsafe { (*glue::current()).pid };
        until(|| {
            let read = rig.state().and_then(|state| Read::new(Some(state), 4096));
            read.is_ok_and(|read| read.task(thread.pid()).is_ok_and(|task| task.state == b'S'))
        })?;

        let read = Read::new(Some(rig.state()?), 4096)?;
        let (task, me) = (read.task(thread.pid())?, read.task(this)?);
        assert_eq!(&task.comm[..10], b"blog_test\0");
        assert_eq!(task.flags, file::TASK_KERNEL);
        assert_eq!(me.state, b'R');
        assert!(me.flags & file::TASK_RUNNING != 0);
        assert!(me.cpu < root().system.cpus);
        // Of one component only those that log to it.
        let read = Read::new(Some(other.state()?), 4096)?;
        assert!(read.task(this).is_ok());
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

    /// What the pages of the only task's ring hold.
    fn kept(name: &CStr, pid: i32) -> Result<KVec<u64>> {
        let (_, c) = component(name).ok_or(ENOENT)?;
        let memory = memory(&c).ok_or(ENOENT)?;
        let rings = rings_of(&memory, pid)?;
        numbers_of(&memory, *rings.first().ok_or(ENOENT)?)
    }

    #[test]
    fn a_crash_keeps_what_is_there() -> Result {
        let name = CString::try_from(c"blog_test_crash")?;
        let rig = Rig::new(&name, SMALL)?;
        // SAFETY: The current task is valid.
        let pid = unsafe { (*glue::current()).pid };
        // So much that it overwrites its oldest pages.
        for n in 0..3000 {
            rig.log(n);
        }
        let before = kept(&name, pid)?;
        let (logged, after) = frozen(|| {
            let mut logged = KVec::new();
            for n in 3000..6000 {
                if rig.log(n) && logged.push(n, GFP_KERNEL).is_err() {
                    break;
                }
            }
            (logged, kept(&name, pid))
        });
        let after = after?;
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
        // Not so in a crash, but for the next tests: it goes on, and tells of it.
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
            let rings = read.rings.iter().filter(|ring| ring.retired);
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
