// SPDX-License-Identifier: GPL-2.0

// KUnit suite: readers with a choice of their own.

use kernel::prelude::*;

#[kunit_tests(blog_select)]
mod suite {
    use super::super::{
        choose,
        Chosen, //
    };
    use crate::{
        read::{
            sections::Form,
            selection::Selection,
            walk::Walk, //
        },
        registry::images::ImageFacts,
        tests::{
            pages::{
                walk,
                Item, //
            },
            rig::*, //
        }, //
    };
    use kernel::{
        blog::{
            wire::{
                page::PAGE_HEADER_SIZE,
                record::{
                    ControlRecord,
                    Level,
                    HEADER_SIZE, //
                }, //
            },
            Config, //
        },
        page::PAGE_SIZE,
        prelude::*,
        str::CString, //
    };

    const SMALL: Config = Config::new().size_kb(64).ring_kb(16);

    /// The levels of sites 1 to 4 are err to debug.
    fn selection(words: &str) -> Result<Selection> {
        let mut selection = Selection::new(true);
        selection.chosen = Some(choose(words)?);
        for id in 1..=4 {
            let facts = ImageFacts {
                level: Level::from_u8(id as u8),
                has_address: false,
            };
            selection.add(id, &[facts])?;
        }
        Ok(selection)
    }

    #[test]
    fn of_records_that_were_not_chosen_their_number_is_left() -> Result {
        // Without payloads, a full page gets longer than a page.
        let most = ((PAGE_SIZE - PAGE_HEADER_SIZE) / HEADER_SIZE) as u64;
        for (n, unit) in [(40, 5), (most, 0), (1, 3), (4, 0)] {
            for (words, chosen) in [
                ("site=1-4", &[1, 2, 3, 4][..]),
                ("site=1,3", &[1, 3]),
                ("level=warn", &[1, 2]),
                ("level=debug site=4", &[4]),
                ("level=err site=2-9", &[]),
            ] {
                let (mut copy, len) = page_of(n, unit)?;
                let len = selection(words)?.take_out(&mut copy, len);
                assert_eq!(u64_at(&copy, 40)?, n << 32 | len as u64);
                let (mut number, mut good) = (0, true);
                walk(&copy[..len], &mut 0, |item| match item {
                    Item::Control(clock, ControlRecord::Left(count)) => {
                        let mut left = number..number + count;
                        good &= left.all(|n| !chosen.contains(&(n as u32 % 4 + 1)));
                        number += count;
                        // At the time of the last one.
                        good &= clock == BASE | (number - 1);
                    }
                    Item::Record {
                        clock,
                        site,
                        payload,
                        ..
                    } => {
                        good &= chosen.contains(&site) && clock == BASE | number;
                        good &= payload.len() as u32 == unit * site;
                        number += 1;
                    }
                    Item::Control(..) | Item::Wrong(..) => good = false,
                });
                assert!(good);
                assert_eq!(number, n);
            }
        }
        // What comes from sites that nobody knows yet was not chosen.
        let (mut copy, len) = page_of(40, 0)?;
        let mut selection = Selection::new(true);
        selection.chosen = Some(choose("level=trace")?);
        let len = selection.take_out(&mut copy, len);
        assert_eq!(len, PAGE_HEADER_SIZE + ControlRecord::Left(40).size());
        Ok(())
    }

    #[test]
    fn words_that_choose() {
        for good in [
            "component=a",
            "component=a*,b:1 component=c\n",
            "component=*",
            "task=1,2 level=5 site=1-262143,7",
        ] {
            assert!(Chosen::parse(good).is_ok());
        }
        for bad in [
            "",
            "\n",
            "component",
            "component=",
            "component=a,",
            "component=a*b",
            "task=-1",
            "task=2147483648",
            "task=x",
            "level=off",
            "level=0",
            "level=warn level=err",
            "level=warn,err",
            "site=0",
            "site=2-1",
            "module=x",
            "Component=x",
        ] {
            assert!(Chosen::parse(bad).is_err());
        }
    }

    /// What a file gives for which this was chosen.
    fn read(form: Form, words: &str) -> Result<Read> {
        let mut walk = Walk::new(form, None, true)?;
        walk.choose(choose(words)?)?;
        // Nobody widens it.
        assert_eq!(walk.choose(choose("component=*")?), Err(EBUSY));
        let mut file = KVVec::new();
        copy(&mut walk, 4096, &mut file)?;
        let mut read = Read::empty(form == Form::Stream);
        read.go_on(&file)?;
        Ok(read)
    }

    #[test]
    fn an_open_file_gives_what_was_chosen_for_it() -> Result {
        let one = Rig::new(c"blog_test_sel_one", SMALL)?;
        let two = Rig::new(c"blog_test_sel_two", SMALL)?;
        for n in 0..100 {
            assert!(one.log(n) && two.log(1000 + n));
        }
        for form in [Form::Snapshot, Form::Stream] {
            let own = read(form, "component=blog_test_sel_one")?;
            assert_eq!(own.components.len(), 1);
            assert!(own.only_ring()?.numbers.iter().copied().eq(0..100));
            let pid = this();
            assert!(own.tasks.iter().all(|task| task.pid == pid));
            let both = read(form, "component=blog_test_sel_o*,blog_test_sel_t*")?;
            assert_eq!((both.components.len(), both.rings.len()), (2, 2));

            let words = CString::try_from_fmt(fmt!("component=blog_test_sel_* task={pid}"))?;
            let mine = read(form, words.to_str().map_err(|_| EINVAL)?)?;
            assert_eq!(mine.rings.len(), 2);
            let words = CString::try_from_fmt(fmt!("component=blog_test_sel_* task={}", i32::MAX))?;
            let none = read(form, words.to_str().map_err(|_| EINVAL)?)?;
            assert_eq!(
                (none.components.len(), none.rings.len(), none.tasks.len()),
                (2, 0, 0)
            );

            let none = read(form, "component=blog_test_sel_one site=262143")?;
            let ring = none.only_ring()?;
            assert_eq!((ring.numbers.len(), ring.left, ring.lag()), (0, 100, 0));
        }
        Ok(())
    }

    #[test]
    fn nothing_is_chosen_once_it_is_read() -> Result {
        let mut walk = Walk::new(Form::Snapshot, None, true)?;
        let header = walk.peek()?.len();
        walk.consume(header);
        walk.peek()?;
        assert_eq!(walk.choose(choose("level=err")?), Err(EBUSY));
        Ok(())
    }
}
