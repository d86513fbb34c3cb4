// SPDX-License-Identifier: GPL-2.0

// KUnit suite: triggers, which freeze a component by one of its records.

use kernel::prelude::*;

#[kunit_tests(blog_trigger)]
mod suite {
    use super::super::{
        has_frozen,
        of,
        parse::{
            parse_test,
            parse_trigger, //
        },
        set,
        show,
        Condition,
        TriggerSpec,
        COMPARE, //
    };
    use crate::{
        read::{
            sections::Form,
            walk::Walk, //
        },
        registry::state::State,
        tests::rig::{
            config,
            copy,
            u64_at,
            until,
            Rig,
            Thread, //
        },
        write::each, //
    };
    use kernel::{
        blog::{
            blog_info,
            component,
            ring::Mode,
            wire::record::Header,
            Component,
            Config,
            RawComponent, //
        },
        fmt,
        prelude::*,
        str::CString,
        sync::Arc, //
    };

    const KIB_8: Config = config(64, 8, Mode::Overwrite);

    /// What a snapshot has.
    fn file(state: &Arc<State>) -> Result<KVVec<u8>> {
        let mut file = KVVec::new();
        let mut source = Walk::new(Form::Snapshot, Some(state.clone()), true)?;
        copy(&mut source, 4096, &mut file)?;
        Ok(file)
    }

    /// Where the record of a marker is, of one digit.
    fn find(file: &[u8], digit: u8) -> Option<usize> {
        let record = [2, digit, b'!'];
        file.windows(3).position(|w| *w == record)
    }

    /// Logs a line. Not inlined, so that it is one site.
    #[cfg(not(BLOG_ANYKERNEL))]
    #[inline(never)]
    fn mark(state: &State, line: &str) -> Result {
        state.read(|locked| {
            let raw = locked.component().ok_or(EBADF)?;
            blog_info!(Side(raw), "{}", line);
            Ok(())
        })
    }

    /// The same by a marker, where BLog has no call in Rust.
    #[cfg(BLOG_ANYKERNEL)]
    fn mark(state: &State, line: &str) -> Result {
        let mut files = crate::floor::parts().flat_map(|part| part.files);
        let marker = files.find(|file| file.name == c"marker");
        marker.and_then(|file| file.write).ok_or(ENOENT)?(state, line)
    }

    fn mark_digit(state: &State, digit: u8) -> Result {
        let text = [digit, b'!'];
        mark(state, core::str::from_utf8(&text).map_err(|_| EINVAL)?)
    }

    /// The site of markers.
    fn site(state: &Arc<State>) -> Result<u32> {
        mark_digit(state, b'0')?;
        site_of(state, b'0')
    }

    /// The site of a record of one digit.
    fn site_of(state: &Arc<State>, digit: u8) -> Result<u32> {
        let file = file(state)?;
        let at = find(&file, digit).ok_or(ENOENT)?;
        Ok(Header(u64_at(&file, at.checked_sub(8).ok_or(EINVAL)?)?).site())
    }

    fn says(state: &State) -> Result<CString> {
        struct Shown<'a>(&'a State);
        impl fmt::Display for Shown<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                show(self.0, f)
            }
        }
        Ok(CString::try_from_fmt(fmt!("{}", Shown(state)))?)
    }

    /// Logs what nobody has to know, `n` times.
    fn chatter(state: &State, n: u32) -> Result {
        (0..n).try_for_each(|_| mark(state, "what nobody has to know"))
    }

    #[test]
    fn a_record_and_some_more_freeze_the_component() -> Result {
        let (rig, other) = (Rig::new(c"trigger", KIB_8)?, Rig::new(c"other", KIB_8)?);
        let (state, other) = (rig.state()?, other.state()?);
        let wanted = TriggerSpec {
            site: Some(site(&state)?),
            after: 2,
            ..TriggerSpec::default()
        };
        set(&state, Some(wanted))?;
        assert!(says(&state)?.to_bytes().starts_with(b"armed site="));
        mark_digit(&state, b'1')?;
        assert!(says(&state)?.to_bytes().starts_with(b"fired site="));
        assert!(!has_frozen(&state));
        mark_digit(&state, b'2')?;
        assert!(!has_frozen(&state));
        mark_digit(&state, b'3')?;
        assert!(has_frozen(&state));
        // More than the ring could hold.
        chatter(&state, 2000)?;
        chatter(&other, 2000)?;
        let frozen = file(&state)?;
        for digit in *b"0123" {
            assert!(find(&frozen, digit).is_some());
        }
        // Of another component, nothing was kept.
        mark_digit(&other, b'4')?;
        chatter(&other, 2000)?;
        assert!(find(&file(&other)?, b'4').is_none());
        set(&state, None)?;
        assert!(says(&state)?.to_bytes() == b"off\n");
        chatter(&state, 2000)?;
        assert!(find(&file(&state)?, b'1').is_none());
        Ok(())
    }

    /// A rig as a driver has it. On a kernel without Rust, BLog itself has no call site in Rust.
    #[cfg(not(BLOG_ANYKERNEL))]
    struct Side<'a>(&'a RawComponent);

    // SAFETY: The rig keeps it while it is used.
    #[cfg(not(BLOG_ANYKERNEL))]
    unsafe impl Component for Side<'_> {
        fn is_on(&self) -> bool {
            component::is_on(self.0)
        }

        fn raw(&self) -> &RawComponent {
            self.0
        }
    }

    /// Logs as a driver does, without a lock. Not inlined, so that it is one site.
    #[cfg(not(BLOG_ANYKERNEL))]
    #[inline(never)]
    fn say(raw: &RawComponent, _: u64) -> bool {
        blog_info!(Side(raw), "{}", "6!");
        true
    }

    /// Also where a record is just being stored that was to freeze what was set before.
    #[test]
    #[cfg(not(BLOG_ANYKERNEL))]
    fn a_trigger_that_is_set_again_freezes() -> Result {
        let rig = Rig::new(c"trigger", KIB_8)?;
        let state = rig.state()?;
        Thread::work(&rig, 0..1, say)?.wait()?;
        let site = site_of(&state, b'6')?;
        let threads = [
            Thread::work(&rig, 0..u64::MAX, say)?,
            Thread::work(&rig, 0..u64::MAX, say)?,
        ];
        for round in 0..5_000 {
            let wanted = TriggerSpec {
                site: Some(site),
                after: round % 3,
                ..TriggerSpec::default()
            };
            set(&state, Some(wanted))?;
            // Every second one is replaced at some instant, frozen or not.
            if round % 2 == 0 {
                until(|| has_frozen(&state))?;
            }
        }
        drop(threads);
        Ok(())
    }

    #[test]
    fn all_components_freeze_if_that_is_wanted() -> Result {
        let (rig, other) = (Rig::new(c"trigger", KIB_8)?, Rig::new(c"other", KIB_8)?);
        let (state, other) = (rig.state()?, other.state()?);
        mark_digit(&other, b'5')?;
        let wanted = TriggerSpec {
            all: true,
            ..TriggerSpec::default()
        };
        // A task that hangs: this one, says the detector.
        set(&state, Some(wanted))?;
        each::each_state(|state| {
            // SAFETY: Interrupts are off.
            if let Some(trigger) = unsafe { of(state) } {
                trigger.hang(state, 42);
            }
        });
        assert!(has_frozen(&state) && !has_frozen(&other));
        assert!(says(&state)?.to_bytes().ends_with(b" pid=42\n"));
        chatter(&other, 2000)?;
        assert!(find(&file(&other)?, b'5').is_some());
        // It goes with its component.
        drop(state);
        drop(rig);
        until(|| !other.is_frozen())?;
        chatter(&other, 2000)?;
        assert!(find(&file(&other)?, b'5').is_none());
        Ok(())
    }

    #[test]
    fn an_argument_decides() -> Result {
        let rig = Rig::new(c"trigger", KIB_8)?;
        let state = rig.state()?;
        let test = Condition {
            at: 1,
            size: 1,
            signed: false,
            compare: &COMPARE[0],
            value: b'7'.into(),
        };
        let wanted = TriggerSpec {
            site: Some(site(&state)?),
            test: Some(test),
            ..TriggerSpec::default()
        };
        set(&state, Some(wanted))?;
        for digit in *b"0456" {
            mark_digit(&state, digit)?;
        }
        assert!(!has_frozen(&state));
        mark_digit(&state, b'7')?;
        assert!(has_frozen(&state));
        Ok(())
    }

    #[test]
    fn comparisons_know_signs_and_sizes() {
        let payload = [0xff, 0xfe, 0xff, 0xff, 0xff, 1];
        let holds = |text: &str| -> bool {
            let test = parse_test(text);
            test.is_ok_and(|test| test.holds(&payload))
        };
        for yes in [
            "0:u1:eq:255",
            "0:i1:eq:-1",
            "0:i1:lt:0",
            "0:u1:gt:254",
            "1:i4:eq:-2",
            "1:i4:lt:-1",
            "1:i4:gt:-3",
            "1:u4:gt:4294967293",
            "4:u2:eq:511",
            "1:u2:ne:0",
        ] {
            assert!(holds(yes));
        }
        for no in [
            "0:u1:eq:254",
            "0:i1:gt:0",
            "0:u1:lt:255",
            "1:i4:ne:-2",
            "5:u2:eq:1",
            "6:u1:eq:0",
            "65535:u8:eq:0",
            "0:u8:ne:0",
        ] {
            assert!(!holds(no));
        }
    }

    #[test]
    fn words_are_a_trigger_or_refused() {
        for (text, site, after, all) in [
            ("site=7", Some(7), 0, false),
            (" site=7 after=100 all\n", Some(7), 100, true),
            ("site=7 all if=4:i8:lt:-9", Some(7), 0, true),
            ("hang", None, 0, false),
            ("hang all", None, 0, true),
        ] {
            let wanted = parse_trigger(text).ok().flatten();
            let found = wanted.map(|w| (w.site, w.after, w.all));
            assert_eq!(found, Some((site, after, all)));
        }
        assert!(matches!(parse_trigger("off\n"), Ok(None)));
        for bad in [
            "",
            "on",
            "off all",
            "site",
            "site=0",
            "site=262144",
            "site=x",
            "hang after=1",
            "hang if=0:u1:eq:0",
            "site=7 site=8",
            "site=7 all all",
            "site=7 after=1 after=2",
            "site=7 after=-1",
            "site=+7",
            "site=7 after=+1",
            "site=7 if=+0:u1:eq:0",
            "site=7 if=0:u1:eq:+1",
            "site=7 if=0:i1:eq:+1",
            "site=7 if=0:u3:eq:0",
            "site=7 if=0:u1:is:0",
            "site=7 if=0:u1:eq",
            "site=7 if=0:u1:eq:-1",
            "site=7 if=65536:u1:eq:0",
            "site=7 if=0:u1:eq:0:0",
            "all",
        ] {
            assert!(parse_trigger(bad).is_err_and(|e| e == EINVAL));
        }
    }
}
