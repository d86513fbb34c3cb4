// SPDX-License-Identifier: GPL-2.0

// KUnit suite: lines that users write.

use kernel::prelude::*;

#[kunit_tests(blog_marker)]
mod suite {
    use super::super::mark;
    use crate::{
        read::{
            sections::Form,
            walk::Walk, //
        },
        tests::rig::{
            copy,
            Key,
            Rig, //
        }, //
    };
    use kernel::{
        blog::Config,
        prelude::*, //
    };

    #[test]
    fn a_marker_is_a_record_if_the_component_logs_it() -> Result {
        let rig = Rig::new(c"marker", Config::new())?;
        let state = rig.state()?;
        assert_eq!(mark(&state, "two\nlines\n"), Ok(()));
        assert_eq!(mark(&state, "nul\0\n"), Err(EINVAL));
        let mut file = KVVec::new();
        let mut source = Walk::new(Form::Snapshot, Some(state.clone()), true)?;
        copy(&mut source, 4096, &mut file)?;
        // Its length, and it, without the newline at the end.
        let line = b"\x09two\nlines";
        assert_eq!(file.windows(line.len()).filter(|w| *w == line).count(), 1);
        state.set(Key::Level, 2)?;
        assert_eq!(mark(&state, "too unimportant"), Err(EBADF));
        state.set(Key::Level, 3)?;
        state.set(Key::Enable, 0)?;
        assert_eq!(mark(&state, "off"), Err(EBADF));
        Ok(())
    }
}
