// SPDX-License-Identifier: GPL-2.0

// KUnit suite: good and bad words for control files. The parsers are pure, so it needs no
// component.

#[kunit_tests(blog_control)]
mod suite {
    use crate::{
        registry::{
            images::query::{
                parse_level,
                queries,
                Query, //
            },
            parse::*, //
        },
        sys::nofault,
        tests::rig::{
            Key,
            Rig, //
        }, //
    };
    use kernel::{
        blog::{
            private,
            ring::Mode,
            wire::{
                record::{
                    Level,
                    GATE_OFF,
                    GATE_ON, //
                },
                types::Privacy, //
            },
            BlogArg,
            Config, //
        },
        fmt,
        prelude::*,
        str::CString, //
    };

    unsafe extern "C" {
        safe fn blog_hash_lock(lock: usize) -> u64;
    }

    #[test]
    fn switches_are_0_or_1() {
        for (text, value) in [("0", 0), ("1\n", 1), (" 1 \n", 1)] {
            assert_eq!(Key::Enable.parse(text), Ok(value));
        }
        for bad in [
            "", "\n", "2", "01", "-1", "y", "on", "1 1", "1\0", "1;", "+1",
        ] {
            assert_eq!(Key::Enable.parse(bad), Err(EINVAL));
        }
    }

    #[test]
    fn numbers_are_plain_decimal() {
        assert_eq!(parse_number("0"), Ok(0));
        assert_eq!(parse_number("4294967295\n"), Ok(u32::MAX));
        for bad in ["", " ", "-1", "+1", "0x10", "1k", "1 2", "1.5", "1_000"] {
            assert_eq!(parse_number(bad), Err(EINVAL));
        }
        for bad in ["4294967296", "99999999999999999999", "\u{661}"] {
            assert_eq!(parse_number(bad), Err(EINVAL));
        }
    }

    #[test]
    fn levels_are_names_or_numbers() {
        assert_eq!(Key::Level.parse("0"), Ok(0));
        assert_eq!(Key::Level.parse("off\n"), Ok(0));
        for level in Level::ALL {
            assert_eq!(Key::Level.parse(level.name()), Ok(level as u32));
            assert_eq!(parse_level(level.name()), Ok(level));
        }
        assert_eq!(Key::Level.parse("1"), Ok(Level::Err as u32));
        assert_eq!(Key::Level.parse("5"), Ok(Level::Trace as u32));
        for bad in ["", "6", "-1", "Debug", "debugging", "err warn", "00", "11"] {
            assert_eq!(Key::Level.parse(bad), Err(EINVAL));
        }
        // A site has one.
        assert!(parse_level("off").is_err() && parse_level("0").is_err());
    }

    #[test]
    fn modes_are_names() {
        assert_eq!(Key::Mode.parse("overwrite"), Ok(Mode::Overwrite as u32));
        assert_eq!(Key::Mode.parse("discard"), Ok(Mode::Discard as u32));
        for bad in ["", "0", "over", "Overwrite", "discard overwrite"] {
            assert_eq!(Key::Mode.parse(bad), Err(EINVAL));
        }
    }

    #[test]
    fn what_is_done_with_private_arguments_is_a_name() {
        for privacy in Privacy::ALL {
            assert_eq!(Key::Private.parse(privacy.name()), Ok(privacy as u32));
        }
        for bad in ["", "0", "hashed", "Hash", "keep omit"] {
            assert_eq!(Key::Private.parse(bad), Err(EINVAL));
        }
    }

    struct Shown(Key, u32);

    impl fmt::Display for Shown {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.show(self.1, f)
        }
    }

    #[test]
    fn what_a_setting_shows_is_understood() -> Result {
        for key in Key::all() {
            let (first, last) = key.range().into_inner();
            for value in Iterator::chain(first..=last.min(20), [last]) {
                let text = CString::try_from_fmt(fmt!("{}", Shown(key, value)))?;
                let text = text.to_str().map_err(|_| EINVAL)?;
                assert_eq!(key.parse(text), Ok(value));
            }
            for bad in ["", "x", "-1", "1 1", "4294967296"] {
                assert_eq!(key.parse(bad), Err(EINVAL));
            }
        }
        for (key, bad) in [
            (Key::SizeKb, "15"),
            (Key::SizeKb, "1048577"),
            (Key::RingKb, "7"),
            (Key::WarnShare, "1025"),
        ] {
            assert_eq!(key.parse(bad), Err(EINVAL));
        }
        Ok(())
    }

    /// As the macros' expansions pass it.
    #[test]
    fn private_arguments_are_what_the_component_says() -> Result {
        let rig = Rig::new(c"privacy", Config::new())?;
        let stored = || {
            let (arg, name) = (private(7_u8), private("name"));
            let arg = arg.pass_by(|| rig.raw().privacy());
            let name = name.pass_by(|| rig.raw().privacy());
            let mut bytes = [0xff; 18];
            // SAFETY: Each has 9 fixed bytes.
            unsafe {
                arg.store(bytes.as_mut_ptr());
                name.store(bytes[9..].as_mut_ptr());
            }
            (bytes, name.tail() == b"name")
        };
        let (hash, _) = stored();
        assert!(hash[0] == 0 && hash[9] == 0 && hash[1..9] != hash[10..]);
        rig.state()?.set(Key::Private, 1)?;
        let mut omitted = [0; 18];
        (omitted[0], omitted[9]) = (1, 1);
        assert!(stored() == (omitted, false));
        rig.state()?.set(Key::Private, 2)?;
        let mut kept = [0; 18];
        (kept[0], kept[1], kept[9], kept[10]) = (2, 7, 2, 4);
        assert!(stored() == (kept, true));
        rig.state()?.set(Key::Private, 0)?;
        assert!(stored() == (hash, false));
        Ok(())
    }

    /// Else a user who can have guesses logged as private arguments could find out where a lock is.
    #[test]
    fn no_private_argument_has_the_number_of_a_lock() {
        let lock: usize = 0xffff_8880_1234_5678;
        let number = blog_hash_lock(lock);
        assert!(number != blog_hash_lock(lock + 64) && number == blog_hash_lock(lock));
        // As a number, and as bytes that begin with what may come before it.
        for bytes in [&[lock][..], &[0, lock], &[1, lock], &[lock, 0]] {
            let hash = nofault::hash(bytes.as_ptr() as u64, size_of_val(bytes));
            assert!(hash.is_some_and(|hash| hash != number));
        }
    }

    #[test]
    fn queries_have_conditions_and_flags() {
        let mut all = queries("module rnull_mod level debug site 3-9 +p\n");
        let query = all.next();
        assert_eq!(
            query,
            Some(Ok(Query {
                module: Some("rnull_mod"),
                ids: Some((3, 9)),
                level: Some(Level::Debug),
                gate: Some(GATE_ON),
            }))
        );
        assert_eq!(all.next(), None);

        let none = Query {
            module: None,
            ids: None,
            level: None,
            gate: Some(GATE_OFF),
        };
        assert_eq!(queries("-p").next(), Some(Ok(none)));
        let on = Query {
            gate: Some(GATE_ON),
            ..none
        };
        assert_eq!(queries("=p").next(), Some(Ok(on)));
        let one = Query {
            ids: Some((262143, 262143)),
            gate: None,
            ..none
        };
        assert_eq!(queries("site 262143 =_").next(), Some(Ok(one)));
    }

    #[test]
    fn queries_are_separated_by_newlines_and_semicolons() {
        let text = "\n; +p ;site 1 -p\n# comment +p\n\n=_;";
        assert_eq!(queries(text).count(), 3);
        assert_eq!(queries(" \n;;\n# x").count(), 0);
    }

    #[test]
    fn odd_queries_are_refused() {
        const BAD: &str = "p; +; +q; +pp; +p +p; +p module x; module; module x; \
            module x module y +p; site +p; site 0 +p; site 5-3 +p; site 1-262144 +p; \
            site 1- +p; site -3 +p; site 1-2-3 +p; site x +p; site 0x1 +p; level +p; \
            level 0 +p; level 6 +p; level off +p; file a.rs +p; line 3 +p; format foo +p; \
            func f +p";
        assert_eq!(queries(BAD).count(), 26);
        assert!(queries(BAD).all(|query| query == Err(EINVAL)));
    }
}
