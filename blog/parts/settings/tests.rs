// SPDX-License-Identifier: GPL-2.0

// KUnit suite: settings of components that may be still to come.

use kernel::prelude::*;

#[kunit_tests(blog_settings)]
mod suite {
    use super::super::BootSetting;
    use crate::{
        registry::settings::Key,
        tests::rig::Rig, //
    };
    use kernel::{
        blog::Config,
        prelude::*, //
    };

    fn parse(text: &str) -> Result<BootSetting> {
        BootSetting::parse(text)
    }

    #[test]
    fn settings_are_for_names() -> Result {
        let setting = parse("a:1:level=off,size_kb=16,mode=discard,enable=0,ring_kb=1048576")?;
        assert_eq!(setting.names(), b"a:1");
        for (key, value) in [
            (Key::Level, Some(0)),
            (Key::SizeKb, Some(16)),
            (Key::Mode, Some(1)),
            (Key::Enable, Some(0)),
            (Key::RingKb, Some(1 << 20)),
            (Key::Private, None),
        ] {
            assert_eq!(setting.values[key as usize], value);
        }
        let (all, one) = (parse("b*:size_kb=16,level=1")?, parse("b*:size_kb=64")?);
        assert!(all.covers(&one) && !one.covers(&all) && !setting.covers(&one));
        assert!(one.is_for(b"b") && one.is_for(b"bc") && !one.is_for(b"ab"));
        assert!(
            setting.is_for(b"a:1") && !setting.is_for(b"a:12") && parse("*:level=1")?.is_for(b"")
        );
        for bad in [
            "",
            "a",
            "a:",
            ":level=1",
            "a:level",
            "a:level=",
            "a:level=6",
            "a:Level=1",
            "a:level=1,",
            "a:level=1,level=1",
            "a*b:level=1",
            "**:level=1",
            "a:size_kb=15",
            "a:ring_kb=7",
            "a:clear=1",
            "a:enable=2",
        ] {
            assert!(parse(bad).is_err());
        }
        Ok(())
    }

    #[test]
    fn a_component_has_what_is_given() -> Result {
        let rig = Rig::new(c"settings", Config::new())?;
        let state = rig.state()?;
        let size_kb = state.get(Key::SizeKb);
        parse("*:private=keep,level=debug,ring_kb=8")?.apply_to(&state)?;
        let is = [Key::Private, Key::RingKb, Key::SizeKb, Key::Enable].map(|key| state.get(key));
        assert_eq!(is, [2, 8, size_kb, 1]);
        Ok(())
    }
}
