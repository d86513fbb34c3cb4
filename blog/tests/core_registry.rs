// SPDX-License-Identifier: GPL-2.0

// KUnit suite: components come and go. The suite announces static ones as the module notifier does,
// from memory that stands in for a module's.

#[kunit_tests(blog_registry)]
mod suite {
    use super::rig::*;
    use crate::{
        files,
        life::{
            blog_component_register,
            blog_component_unregister,
            blog_module_coming,
            going,
            remove_cleared,
            take_out, //
        },
        registry::{
            self,
            state::State,
            *, //
        }, //
    };
    use core::{
        ptr,
        sync::atomic::Ordering::Relaxed, //
    };
    use kernel::{
        blog::{
            ring::Mode,
            task::MAX_COMPONENTS,
            wire::record::{
                GATE_OFF,
                SITE_ADDRESS,
                SITE_MAX,
                SITE_UNCOMPILED, //
            },
            Component,
            Config,
            Instance,
            Level,
            RawComponent,
            Site,
            ABI, //
        },
        prelude::*,
        str::CString,
        time::{
            Delta,
            Instant,
            Monotonic, //
        }, //
    };

    const SMALL: Config = Config::new().size_kb(32).ring_kb(16);

    /// A module with one static component.
    struct Module(KBox<RawComponent>);

    impl Module {
        fn load(name: &'static CStr) -> Result<Self> {
            Self::of(KBox::new(RawComponent::new(SMALL.name(name)), GFP_KERNEL)?)
        }

        fn of(raw: KBox<RawComponent>) -> Result<Self> {
            let module = Self(raw);
            let components = [ptr::from_ref(&*module.0)];
            // SAFETY: The component stays until `drop` takes it back.
            unsafe {
                blog_module_coming(
                    c"blog_test".as_char_ptr(),
                    [0u8; 20].as_ptr(),
                    ptr::null(),
                    0,
                    components.as_ptr().cast(),
                    1,
                )
            };
            Ok(module)
        }
    }

    impl Drop for Module {
        fn drop(&mut self) {
            going(|p| ptr::eq(p, ptr::from_ref(&*self.0).cast()));
        }
    }

    /// A build of a module that has sites and no component.
    struct Build(KVVec<Site>);

    impl Build {
        fn load(build: u8, count: u32) -> Result<Self> {
            Self::load_with(build, (0..count).map(|_| 0))
        }

        /// One whose sites have these flags.
        fn load_with(build: u8, flags: impl Iterator<Item = u16>) -> Result<Self> {
            let mut sites = KVVec::new();
            for flags in flags {
                sites.push(Site::new(Level::Info, flags), GFP_KERNEL)?;
            }
            let build_id = [build; 20];
            // SAFETY: The sites stay until `drop` takes them back.
            unsafe {
                blog_module_coming(
                    c"blog_test_build".as_char_ptr(),
                    build_id.as_ptr(),
                    sites.as_ptr(),
                    sites.len() as u32,
                    ptr::null(),
                    0,
                )
            };
            Ok(Self(sites))
        }

        /// Whether its sites have ids.
        fn can_log(&self) -> bool {
            self.0.iter().all(|site| site.id() != 0)
        }
    }

    impl Drop for Build {
        fn drop(&mut self) {
            going(|p| ptr::eq(p, self.0.as_ptr().cast()));
        }
    }

    #[test]
    fn who_gets_no_ids_is_counted_and_takes_none() -> Result {
        let refused = || with_images(|images| images.refused);
        let old = refused();
        // More than there can be, as others have some: this one, at least.
        assert!(Build::load(3, 1)?.can_log());
        let all = SITE_MAX;
        assert!(!Build::load(1, all)?.can_log());
        // Without a build ID, again and again.
        for _ in 0..3 {
            assert!(!Build::load(0, 5)?.can_log());
        }
        assert_eq!(refused(), old + u64::from(all) + 15);
        // The same build gets the same ids each time.
        let images = || with_images(|images| images.list().len());
        let before = images();
        for _ in 0..3 {
            assert!(Build::load(2, 5)?.can_log());
        }
        assert_eq!(
            (refused(), images()),
            (old + u64::from(all) + 15, before + 1)
        );
        Ok(())
    }

    /// A call without its codes can't write a record, and counts no loss.
    #[test]
    fn sites_of_formats_that_are_not_compiled_are_off_and_counted() -> Result {
        let refused = || with_images(|images| images.refused);
        let old = refused();
        let one_of_three = [0, SITE_UNCOMPILED, SITE_ADDRESS];
        let module = Build::load_with(4, one_of_three.into_iter())?;
        assert!(!module.can_log() && module.0.iter().all(|site| site.gate() == GATE_OFF));
        assert_eq!(refused(), old + 3);
        drop(module);
        // The same build, when its formats are compiled.
        assert!(Build::load(4, 3)?.can_log());
        assert_eq!(refused(), old + 3);
        Ok(())
    }

    /// How much of what initcalls have logged to a component is, or was, in a ring, and how much is
    /// lost. The first task runs them.
    fn of_initcalls(name: &CStr) -> (u64, u64) {
        let (mut records, mut lost) = (0, 0);
        if let Ok(state) = state_of(name) {
            state.update(|locked| {
                let rings = locked.rings().map(|(_, ring)| ring);
                for ring in rings.filter(|ring| ring.owner.pid == 1) {
                    records += ring.records;
                    lost += ring.lost.iter().sum::<u64>();
                }
            });
        }
        (records, lost)
    }

    #[test]
    fn no_call_of_initcalls_from_the_early_ones_on_is_uncounted() {
        // So often early.c has api_early.rs log, to each component.
        let said = if cfg!(MODULE) { 0 } else { 4 * 500 };
        assert_eq!(of_initcalls(c"kunit_early"), (said, 0));
        // This one keeps what is older, and loses the rest.
        let (records, lost) = of_initcalls(c"kunit_early_keep");
        assert_eq!(records + lost, said);
        assert!(cfg!(MODULE) || (records != 0 && lost != 0));
    }

    /// What names there may be, a host test shows.
    #[test]
    fn no_name_fails() -> Result {
        for (wanted, name) in [
            (c"blog_test-1.2:3+4", c"blog_test-1.2:3+4"),
            (c"blog_test/c0d0", c"blog_test_c0d0"),
            (c"", c"_"),
            // A file of ours.
            (c"stats", c"stats#2"),
        ] {
            let instance = Instance::new::<true>(wanted, SMALL);
            assert!(log(instance.raw(), 1));
            assert!(state_of(name)?.dynamic());
        }
        Ok(())
    }

    #[test]
    fn a_name_is_taken_once() -> Result {
        let rig = Rig::new(c"blog_test_name", SMALL)?;
        {
            let (second, third) = (
                Instance::new::<true>(c"blog_test_name", SMALL),
                Instance::new::<true>(c"blog_test_name", SMALL),
            );
            assert!(log(second.raw(), 2) && log(third.raw(), 3));
            for (name, number) in [(c"blog_test_name#2", 2), (c"blog_test_name#3", 3)] {
                let read = Read::new(Some(state_of(name)?), 4096)?;
                assert_eq!(&*read.only_ring()?.numbers, &[number]);
            }
        }
        assert!(rig.log(1));
        drop(rig);
        assert_eq!(state_of(c"blog_test_name").err(), Some(ENOENT));
        let again = Rig::new(c"blog_test_name", SMALL)?;
        // The new one starts with nothing.
        assert_eq!(Read::new(Some(again.state()?), 4096)?.rings.len(), 0);
        Ok(())
    }

    #[test]
    fn a_name_and_its_folder_are_there_again_at_once() -> Result {
        let mut shortest = Delta::from_millis(3_600_000);
        for _ in 0..10 {
            let start = Instant::<Monotonic>::now();
            let instance = Instance::new::<true>(c"blog_test_again", SMALL);
            let state = state_of(c"blog_test_again")?;
            assert!(log(instance.raw(), 1));
            assert!(files::has(&state));
            drop(instance);
            shortest = shortest.min(start.elapsed());
        }
        // None waits for the worker, which looks once a second. Where locks and memory are watched,
        // a slow machine takes as long to remove the former one's files.
        assert!(cfg!(CONFIG_PROVE_LOCKING) || shortest < Delta::from_millis(500));
        Ok(())
    }

    /// As of a device that can't be probed, again and again.
    #[test]
    fn what_an_instance_has_logged_stays_until_its_place_is_needed() -> Result {
        for round in 1..=3 {
            let instance = Instance::new::<true>(c"blog_test_probe", SMALL);
            assert!(log(instance.raw(), round));
            drop(instance);
            let state = state_of(c"blog_test_probe")?;
            let read = Read::new(Some(state.clone()), 4096)?;
            assert!(read.components.first().is_some_and(|c| !c.attached));
            assert!(read.only_ring()?.counts_from(1));
            assert_eq!(read.only_ring()?.records, round);
            state.set(Key::RingKb, 8)?;
        }
        // One that was off stays as well, and goes before those with records; one that was cleared
        // goes at once.
        drop(Instance::new::<true>(
            c"blog_test_off",
            SMALL.enabled(false),
        ));
        assert!(!state_of(c"blog_test_off")?.attached());
        let cleared = Instance::new::<true>(c"blog_test_probe2", SMALL);
        assert!(log(cleared.raw(), 1));
        drop(cleared);
        let state = state_of(c"blog_test_probe2")?;
        state.clear();
        remove_cleared(&state);
        assert_eq!(state_of(c"blog_test_probe2").err(), Some(ENOENT));
        let again = Instance::new::<true>(c"blog_test_probe2", SMALL);
        assert!(log(again.raw(), 2));
        let read = Read::new(Some(state_of(c"blog_test_probe2")?), 4096)?;
        assert_eq!(&*read.only_ring()?.numbers, &[2]);

        let rigs = fill_up()?;
        assert_eq!(state_of(c"blog_test_probe").err(), Some(ENOENT));
        Rig::drop_all(rigs)
    }

    /// Mounts something and unmounts it. False: it was taken away meanwhile.
    fn mount(_: &RawComponent, _: u64) -> bool {
        let instance = Instance::new::<true>(c"blog_test_race", SMALL.enabled(false));
        // SAFETY: Nothing is stored; and the state is there as long as the instance.
        let state = unsafe {
            instance
                .raw()
                .switch()
                .state
                .load(Relaxed)
                .cast::<State>()
                .as_ref()
        };
        state.is_some_and(|state| !state.is_gone())
    }

    /// Looks at all components, as readers of BLog's files do, for whom others wait.
    fn look(_: &RawComponent, _: u64) -> bool {
        registry::components().count() > 0
    }

    #[test]
    fn an_instance_stays_while_one_of_its_name_goes() -> Result {
        let rig = Rig::new(c"blog_test_mounts", SMALL)?;
        let mut threads = KVec::new();
        for work in [mount, mount, mount, look] as [fn(&RawComponent, u64) -> bool; 4] {
            threads.push(Thread::work(&rig, 0..3_000, work)?, GFP_KERNEL)?;
        }
        let gone = threads.iter().map(Thread::wait).sum::<Result<u64>>();
        drop(threads);
        assert_eq!(gone, Ok(0));
        Ok(())
    }

    #[test]
    fn what_is_logged_after_a_clear_is_not_taken_away_with_it() -> Result {
        let instance = Instance::new::<true>(c"blog_test_between", SMALL);
        assert!(log(instance.raw(), 1));
        drop(instance);
        let state = state_of(c"blog_test_between")?;
        state.clear();
        // Another one comes and goes before the clear has taken the component away.
        let instance = Instance::new::<true>(c"blog_test_between", SMALL);
        assert!(log(instance.raw(), 2));
        drop(instance);
        remove_cleared(&state);
        let read = Read::new(Some(state.clone()), 4096)?;
        assert_eq!(&*read.only_ring()?.numbers, &[2]);
        state.clear();
        remove_cleared(&state);
        assert!(state.is_gone());
        Ok(())
    }

    #[test]
    fn a_slot_that_is_used_again_has_no_old_rings() -> Result {
        let first = Rig::new(c"blog_test_slot1", SMALL)?;
        assert!(first.log(1));
        let slot = first.state()?.slot();
        drop(first);
        let second = Rig::new(c"blog_test_slot2", SMALL)?;
        assert_eq!(second.state()?.slot(), slot);
        assert!(second.log(2));
        let read = Read::new(Some(second.state()?), 4096)?;
        assert_eq!(&*read.only_ring()?.numbers, &[2]);
        Ok(())
    }

    #[test]
    fn to_clear_a_component_that_has_lost_its_place_leaves_the_next_one_there_alone() -> Result {
        let first = Rig::new(c"blog_test_stale1", SMALL)?;
        assert!(first.log(1));
        let old = first.state()?;
        drop(first);
        let second = Rig::new(c"blog_test_stale2", SMALL)?;
        assert_eq!(second.state()?.slot(), old.slot());
        assert!(second.log(2));
        old.clear();
        assert!(second.log(3));
        let read = Read::new(Some(second.state()?), 4096)?;
        assert_eq!(&*read.only_ring()?.numbers, &[2, 3]);
        Ok(())
    }

    /// Removes a static component.
    fn take_away(name: &CStr) -> Result {
        let state = state_of(name)?;
        take_out(&state);
        Ok(())
    }

    /// Fills all places that are free.
    fn fill_up() -> Result<KVec<Rig>> {
        let mut rigs = KVec::new();
        for n in 0..=MAX_COMPONENTS {
            let name = CString::try_from_fmt(fmt!("blog_test_many{n}"))?;
            match Rig::new(&name, SMALL.enabled(false)) {
                Err(ENOSPC) => return Ok(rigs),
                rig => rigs.push(rig?, GFP_KERNEL)?,
            }
        }
        Err(EINVAL)
    }

    /// Documentation/blog/deploy.rst, "Memory", has these numbers.
    #[test]
    fn a_component_that_is_off_takes_little() -> Result {
        const COUNT: usize = 800;
        unsafe extern "C" {
            safe fn blog_free_kb() -> usize;
        }
        let mut taken = 0;
        // The first time, CPUs also take free pages in stock.
        for _ in 0..2 {
            let mut rigs = KVec::with_capacity(COUNT, GFP_KERNEL)?;
            let before = blog_free_kb();
            for n in 0..COUNT {
                let name = CString::try_from_fmt(fmt!("blog_test_off{n}"))?;
                rigs.push(Rig::new(&name, SMALL.enabled(false))?, GFP_KERNEL)?;
            }
            taken = before.saturating_sub(blog_free_kb());
            pr_info!("{COUNT} components that are off take {taken} KiB\n");
            Rig::drop_all(rigs)?;
        }
        // What is there to find faults takes memory, too.
        let watches = cfg!(any(
            CONFIG_KASAN,
            CONFIG_PROVE_LOCKING,
            CONFIG_DEBUG_KMEMLEAK
        ));
        let most = if cfg!(CONFIG_BLOG_HOOKS) { 8 } else { 20 };
        assert!(watches || taken <= most * COUNT);
        Ok(())
    }

    #[test]
    fn a_full_registry_gives_instances_that_are_off() -> Result {
        let rigs = fill_up()?;
        // Others, which drivers have made, are few.
        assert!((850..MAX_COMPONENTS - 100).contains(&rigs.len()));
        // A module's component finds a place all the same.
        let module = Module::load(c"blog_test_late")?;
        assert!(log(&module.0, 1));
        drop(module);
        take_away(c"blog_test_late")?;
        let last = rigs.last().ok_or(EINVAL)?;
        last.state()?.set(Key::Enable, 1)?;
        assert!(last.log(7));
        let read = Read::new(Some(last.state()?), 4096)?;
        assert_eq!(&*read.only_ring()?.numbers, &[7]);
        let inert = || INERT_INSTANCES.load(Relaxed);
        let before = inert();
        {
            let one = Instance::new::<true>(c"blog_test_inert", SMALL);
            let other = Instance::new::<true>(c"blog_test_inert", SMALL);
            assert_eq!(inert(), before + 2);
            assert!(!one.is_on() && !other.is_on());
            assert!(!log(one.raw(), 1) && !log(other.raw(), 1));
        }
        assert_eq!(inert(), before);
        Rig::drop_all(rigs)?;
        // There is room again.
        let after = Rig::new(c"blog_test_after", SMALL)?;
        assert!(after.log(1));
        Ok(())
    }

    #[test]
    fn an_instance_of_a_driver_for_another_blog_is_off() {
        let before = INERT_INSTANCES.load(Relaxed);
        let name = c"blog_test_abi".as_char_ptr();
        // SAFETY: Both are valid.
        let raw = unsafe { blog_component_register(name, &SMALL, !ABI) };
        // SAFETY: It is registered.
        assert_eq!(unsafe { (*raw).threshold() }, 0);
        assert!(state_of(c"blog_test_abi").is_err());
        // SAFETY: As above; nobody logs to it.
        unsafe { blog_component_unregister(raw) };
        assert_eq!(INERT_INSTANCES.load(Relaxed), before);
    }

    #[test]
    fn a_reloaded_module_goes_on_where_it_was() -> Result {
        let module = Module::load(c"blog_test_static")?;
        let state = state_of(c"blog_test_static")?;
        assert!(module.0.threshold() != 0);
        assert!(log(&module.0, 1));
        state.set(Key::RingKb, 64)?;
        drop(module);

        // Its records can still be read.
        assert!(!state.attached());
        let read = Read::new(Some(state.clone()), 4096)?;
        assert!(read.components.first().is_some_and(|c| !c.attached));
        assert_eq!(&*read.only_ring()?.numbers, &[1]);

        let module = Module::load(c"blog_test_static")?;
        assert!(state.attached());
        assert!(log(&module.0, 2));
        let read = Read::new(Some(state.clone()), 4096)?;
        assert_eq!(&*read.only_ring()?.numbers, &[1, 2]);
        // What was set stays.
        assert_eq!(state.get(Key::RingKb), 64);
        drop(module);

        // Switched off while it is away.
        state.set(Key::Enable, 0)?;
        let module = Module::load(c"blog_test_static")?;
        assert!(!log(&module.0, 3));
        state.set(Key::Enable, 1)?;
        assert!(log(&module.0, 4));
        drop(module);

        take_away(c"blog_test_static")
    }

    #[test]
    fn numbers_that_are_no_level_and_no_mode_are_the_defaults() -> Result {
        let config = SMALL.name(c"blog_test_junk");
        let mut raw = KBox::new(RawComponent::new(config), GFP_KERNEL)?;
        // As C has them: see the layout at `RawComponent`.
        // SAFETY: They are numbers, and nobody else has it.
        unsafe {
            let at = ptr::from_mut(&mut *raw).cast::<u8>();
            at.add(48).write(7);
            at.add(49).write(9);
        }
        let module = Module::of(raw)?;
        let state = state_of(c"blog_test_junk")?;
        assert_eq!(state.get(Key::Level), Level::Info as u32);
        assert!(state.mode() == Mode::Overwrite);
        assert!(log(&module.0, 1));
        drop(module);
        take_away(c"blog_test_junk")
    }

    #[test]
    fn a_detached_component_that_is_cleared_frees_its_place() -> Result {
        let module = Module::load(c"blog_test_left")?;
        let state = state_of(c"blog_test_left")?;
        let slot = state.slot();
        assert!(log(&module.0, 1));
        // While it is attached, it stays.
        state.clear();
        remove_cleared(&state);
        assert!(!state.is_gone());
        drop(module);
        assert!(!state.is_gone());

        state.clear();
        remove_cleared(&state);
        assert!(state.is_gone());
        assert!(state.update(|locked| locked.memory().is_none()));
        let other = Rig::new(c"blog_test_other", SMALL)?;
        assert_eq!(other.state()?.slot(), slot);

        // It comes back as a new one, beside that.
        let module = Module::load(c"blog_test_left")?;
        assert!(log(&module.0, 2));
        let read = Read::new(Some(state_of(c"blog_test_left")?), 4096)?;
        assert_eq!(&*read.only_ring()?.numbers, &[2]);
        drop(module);
        take_away(c"blog_test_left")
    }

    #[test]
    fn a_static_name_is_not_for_instances() -> Result {
        let module = Module::load(c"blog_test_both")?;
        // A second module with a component of this name, and an instance, get others.
        let other = Module::load(c"blog_test_both")?;
        let instance = Instance::new::<true>(c"blog_test_both", SMALL);
        assert!(log(&module.0, 1) && log(&other.0, 2) && log(instance.raw(), 3));
        drop((other, module));
        for (name, number, dynamic) in [
            (c"blog_test_both", 1, false),
            (c"blog_test_both#2", 2, false),
            (c"blog_test_both#3", 3, true),
        ] {
            let state = state_of(name)?;
            assert_eq!(state.dynamic(), dynamic);
            let read = Read::new(Some(state), 4096)?;
            assert_eq!(&*read.only_ring()?.numbers, &[number]);
        }
        // The names of both are still theirs.
        let late = Instance::new::<true>(c"blog_test_both", SMALL);
        assert!(log(late.raw(), 4));
        assert!(state_of(c"blog_test_both#4").is_ok());
        drop((instance, late));
        take_away(c"blog_test_both#2")?;
        take_away(c"blog_test_both")
    }
}
