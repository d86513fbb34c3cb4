// SPDX-License-Identifier: GPL-2.0

// KUnit suite: settings of components that may be still to come.

use kernel::prelude::*;

#[kunit_tests(blog_settings)]
mod suite {
    use super::super::parse::{
        apply,
        parse as settings, //
    };
    use crate::tests::rig::Rig;
    use kernel::{
        blog::{
            ring::Mode,
            wire::types::Privacy,
            Config, //
        },
        prelude::*, //
    };

    #[test]
    fn settings_are_for_names() -> Result {
        let wish = settings("a:1:level=off,size_kb=16,mode=discard,enable=0,ring_kb=1048576")?;
        assert_eq!(wish.names, "a:1");
        let all = wish.settings;
        assert_eq!((all.level, all.enabled), (Some(None), Some(false)));
        assert_eq!(
            (all.mode, all.size_kb, all.ring_kb),
            (Some(Mode::Discard), Some(16), Some(1 << 20))
        );
        let one = settings("b*:size_kb=64")?;
        assert!(all.cover(&one.settings) && !one.settings.cover(&all));
        assert!(one.is_for(b"b") && one.is_for(b"bc") && !one.is_for(b"ab"));
        assert!(wish.is_for(b"a:1") && !wish.is_for(b"a:12") && settings("*:level=1")?.is_for(b""));
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
            assert!(settings(bad).is_err());
        }
        Ok(())
    }

    #[test]
    fn a_component_has_what_is_given() -> Result {
        let rig = Rig::new(c"settings", Config::new())?;
        let state = rig.state()?;
        let size_kb = state.look(|inner| inner.size_kb);
        apply(
            &state,
            &settings("*:private=keep,level=debug,ring_kb=8")?.settings,
        )?;
        let is = state.look(|inner| (inner.privacy, inner.ring_kb, inner.size_kb, inner.enabled));
        assert!(is == (Privacy::Keep, 8, size_kb, true));
        Ok(())
    }
}
