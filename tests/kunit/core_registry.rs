// SPDX-License-Identifier: GPL-2.0

// KUnit suite: components come and go. Static ones are announced as the module notifier does it,
// from memory that stands in for a module's.

#[kunit_tests(blog_registry)]
mod suite {
    use super::rig::*;
    use crate::{
        files,
        registry::*, //
    };
    use core::{
        ptr,
        sync::atomic::Ordering::Relaxed, //
    };
    use kernel::{
        blog::{
            ring::MAX_COMPONENTS,
            Config,
            RawComponent, //
        },
        prelude::*,
        str::CString, //
    };

    const SMALL: Config = Config::new().size_kb(32).ring_kb(16);

    /// A module with one static component.
    struct Module(KBox<RawComponent>);

    impl Module {
        fn load(name: &'static CStr) -> Result<Self> {
            let raw = KBox::new(RawComponent::new(SMALL.name(name)), GFP_KERNEL)?;
            let module = Self(raw);
            let components = [ptr::from_ref(&*module.0)];
            // SAFETY: The component stays until `drop` takes it back.
            unsafe {
                blog_module_coming(
                    c"blog_test".as_char_ptr(),
                    [0u8; 20].as_ptr(),
                    ptr::null(),
                    0,
                    components.as_ptr(),
                    1,
                )
            };
            Ok(module)
        }
    }

    impl Drop for Module {
        fn drop(&mut self) {
            let components = [ptr::from_ref(&*self.0)];
            // SAFETY: Nobody logs to it any more.
            unsafe { blog_module_going(ptr::null(), 0, components.as_ptr(), 1) };
        }
    }

    #[test]
    fn names_become_folders() -> Result {
        for bad in [
            c"",
            c".",
            c"..",
            c".x",
            c"a/b",
            c"a b",
            c"control",
            c"stats",
            c"snapshot",
            c"clock",
            c"components",
            c"tasks",
            c"a\n",
            c"\xff",
            c"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ] {
            assert_eq!(Rig::new(bad, SMALL).err(), Some(EINVAL));
        }
        assert!(Rig::new(c"blog_test-1.2:3+4", SMALL).is_ok());
        assert!(files::is_global(b"control"));
        Ok(())
    }

    #[test]
    fn a_name_is_taken_once() -> Result {
        let rig = Rig::new(c"blog_test_name", SMALL)?;
        assert_eq!(Rig::new(c"blog_test_name", SMALL).err(), Some(EEXIST));
        assert!(rig.log(1));
        drop(rig);
        assert_eq!(state_of(c"blog_test_name").err(), Some(ENOENT));
        let again = Rig::new(c"blog_test_name", SMALL)?;
        // The new one starts with nothing.
        assert_eq!(Read::new(Some(again.state()?), 4096)?.rings.len(), 0);
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
    fn slots_run_out_and_say_so() -> Result {
        let mut rigs = KVec::new();
        let mut result = Ok(());
        for n in 0..=MAX_COMPONENTS {
            let name = CString::try_from_fmt(fmt!("blog_test_many{n}"))?;
            match Rig::new(&name, SMALL.enabled(false)) {
                Ok(rig) => rigs.push(rig, GFP_KERNEL)?,
                Err(e) => {
                    result = Err(e);
                    break;
                }
            }
        }
        assert_eq!(result, Err(ENOSPC));
        assert!(rigs.len() <= MAX_COMPONENTS);
        rigs.clear();
        assert!(Rig::new(c"blog_test_after", SMALL).is_ok());
        Ok(())
    }

    #[test]
    fn a_reloaded_module_goes_on_where_it_was() -> Result {
        let module = Module::load(c"blog_test_static")?;
        let state = state_of(c"blog_test_static")?;
        assert!(module.0.threshold.load(Relaxed) != 0);
        assert!(log(&module.0, 1));
        state.set_ring_kb(64)?;
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
        assert_eq!(state.with(|inner| inner.ring_kb), 64);
        drop(module);

        // Switched off while it is away.
        state.set_enabled(false)?;
        let module = Module::load(c"blog_test_static")?;
        assert!(!log(&module.0, 3));
        state.set_enabled(true)?;
        assert!(log(&module.0, 4));
        drop(module);

        state.clear()?;
        assert!(state.with(|inner| inner.memory().is_none()));
        let module = Module::load(c"blog_test_static")?;
        assert!(log(&module.0, 5));
        let read = Read::new(Some(state), 4096)?;
        assert_eq!(&*read.only_ring()?.numbers, &[5]);
        drop(module);
        remove(&state_of(c"blog_test_static")?);
        Ok(())
    }

    #[test]
    fn a_static_name_is_not_for_instances() -> Result {
        let module = Module::load(c"blog_test_both")?;
        assert_eq!(Rig::new(c"blog_test_both", SMALL).err(), Some(EEXIST));
        // A second module with a component of this name can't log, and does no harm.
        let other = Module::load(c"blog_test_both")?;
        assert_eq!(other.0.threshold.load(Relaxed), 0);
        drop(other);
        assert!(log(&module.0, 1));
        drop(module);
        assert_eq!(Rig::new(c"blog_test_both", SMALL).err(), Some(EEXIST));
        remove(&state_of(c"blog_test_both")?);
        assert!(Rig::new(c"blog_test_both", SMALL).is_ok());
        Ok(())
    }
}
