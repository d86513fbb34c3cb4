// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Files that have a boot id in common: of one machine or of several, before and after it was
//! cleared, made again or renamed.

use std::ops::Range;

use crate::common::{
    rig::Rig,
    snapshot::{Builder, Page, Ring, BOOT_ID},
    stream::{as_stream, SECOND},
};

const BOOTED: u64 = 1_700_000_000 * SECOND;

/// A page at a position, with records at these ms, and numbers from `first` on.
type Pages<'a> = &'a [(u64, u64, &'a [u64])];

struct File<'a> {
    host: &'a str,
    /// When it was taken, in ms.
    taken: u64,
    ring: Ring,
    pages: Pages<'a>,
    /// What is in each record.
    text: u64,
    /// Real time at the start of its clock, and by how much it was set ahead since.
    booted: u64,
    set: u64,
}

impl Default for File<'_> {
    fn default() -> Self {
        Self {
            host: "tests",
            taken: 1000,
            ring: Ring::task(1, 1, 42, "dd"),
            pages: &[],
            text: 0,
            booted: BOOTED,
            set: 0,
        }
    }
}

impl File<'_> {
    fn builder(&self) -> Builder {
        let mut b = Builder::new();
        let ms = |n: u64| n * SECOND / 1000;
        let now = ms(self.taken);
        b.system_of(self.host, BOOT_ID)
            .clock(1, &[[0, 0, 0, self.booted], [now, now, now, self.booted + now + self.set]])
            .images(&[(1, 4, b"id", "test_mod")])
            .component(1, "disk");
        let mut ring = self.ring.clone();
        let last = self.pages.last();
        ring.records = last.map_or(0, |(_, first, at)| first + at.len() as u64);
        b.ring(&ring);
        for (seq, first, at) in self.pages {
            let mut p = Page::new(ring.ring, *seq, ms(at[0]), *first);
            for n in *at {
                let text = if *n < 100 { 0 } else { self.text };
                p.record(ms(*n), 1, (&(*n as u32), &text));
            }
            b.page(&ring, &p);
        }
        b
    }

    fn bytes(&self) -> Vec<u8> {
        self.builder().end()
    }
}

/// Pages of a file that was taken at this ms.
fn taken(taken: u64, pages: Pages<'_>) -> File<'_> {
    File { taken, pages, ..File::default() }
}

fn folder(files: &[(&str, Vec<u8>)]) -> Rig {
    let rig = Rig::empty();
    for (name, bytes) in files {
        rig.write(name, bytes);
    }
    rig
}

/// Lines of "ms comm host", and what is said.
fn shown(rig: &Rig, args: &[&str]) -> (Vec<String>, String) {
    shown_as(rig, args, "{boot} {comm} {host} {level}")
}

fn shown_as(rig: &Rig, args: &[&str], format: &str) -> (Vec<String>, String) {
    let out = rig.run(&[args, &["--modules", "nowhere", "--format", format]].concat());
    let line = |l: &str| {
        let (time, rest) = l.split_once(' ').unwrap();
        let ms = time.parse::<f64>().unwrap() * 1000.0;
        format!("{} {rest}", ms.round())
    };
    let lines = out.out.lines().filter(|l| !l.starts_with("-- boot"));
    // There is no side table.
    let said = out.err.lines().filter(|l| !l.contains("not decoded"));
    (lines.map(line).collect(), said.collect::<Vec<_>>().join("\n"))
}

fn ms(records: &[String]) -> Vec<u64> {
    records.iter().map(|l| l.split(' ').next().unwrap().parse().unwrap()).collect()
}

fn count(range: Range<u64>) -> Vec<u64> {
    range.collect()
}

#[test]
fn machines_from_one_saved_state_are_told_apart() {
    // Both went on in the page that was being written then: at other times, or at the same.
    let shared = [(1, 0, &[10, 20][..])];
    let a = [shared[0], (2, 2, &[30, 110, 120, 130][..])];
    let b = [shared[0], (2, 2, &[30, 111, 121, 131][..])];
    for (b, text) in [(&b, 0), (&a, 7)] {
        let file = |pages, text, taken| File { pages, text, taken, ..File::default() }.bytes();
        // A later file of each.
        let more_a = [a[0], a[1], (3, 6, &[140, 150][..])];
        let more_b = [b[0], b[1], (3, 6, &[145, 155][..])];
        let rig = folder(&[
            ("a1", file(&a, 0, 1000)),
            ("b1", file(b, text, 1100)),
            ("a2", file(&more_a, 0, 2000)),
            ("b2", file(&more_b, text, 2100)),
        ]);
        let (records, said) = shown(&rig, &["a1", "b1"]);
        assert_eq!(records.len(), 12, "{records:#?}");
        assert!(said.contains("a1 and b1: same boot id, but"), "{said}");
        for order in [["a1", "b1", "a2", "b2"], ["b2", "a2", "a1", "b1"], ["a2", "a1", "b2", "b1"]]
        {
            let (mut records, said) = shown(&rig, &order);
            records.sort();
            assert_eq!(records.len(), 16, "{order:?}: {records:#?}");
            assert_eq!(said.matches("cloned machines").count(), 1, "{said}");
            // All of each, and nothing twice: the first ones are in both.
            let old = records.iter().filter(|r| r.starts_with("10 ")).count();
            let (new, newer) = (&records[2..4], records.iter().filter(|r| r.starts_with("14")));
            assert_eq!((old, newer.count()), (2, 2), "{new:?}");
        }
        // One of them alone is one.
        let (records, said) = shown(&rig, &["a1", "a2"]);
        assert_eq!((ms(&records).len(), said.as_str()), (8, ""));
    }
}

#[test]
fn machines_without_a_page_in_common_are_told_apart_by_its_neighbours() {
    let file = |pages, at| taken(at, pages).bytes();
    let rig = folder(&[
        ("a", file(&[(1, 0, &[10, 20, 120][..])], 130)),
        ("next", file(&[(2, 3, &[140, 150][..])], 160)),
        // It has begun the page sooner: by its records, or by its time.
        ("sooner", file(&[(2, 2, &[110, 150][..])], 160)),
        ("earlier", file(&[(2, 3, &[110, 150][..])], 160)),
        // It counts anew.
        ("anew", file(&[(2, 0, &[140, 150][..])], 160)),
    ]);
    for (second, is_other) in
        [("next", false), ("sooner", true), ("earlier", true), ("anew", false)]
    {
        for order in [["a", second], [second, "a"]] {
            let (records, said) = shown(&rig, &order);
            assert_eq!(said.contains("cloned machines"), is_other, "{order:?}: {said}");
            let kept = records.iter().filter(|r| !r.ends_with("lost")).count();
            assert!(kept >= 5, "{order:?}: {records:#?}");
        }
    }
}

#[test]
fn machines_whose_clocks_contradict_each_other_are_told_apart() {
    // They have no page in common.
    let file =
        |pages, taken, booted, set| File { pages, taken, booted, set, ..File::default() }.bytes();
    let (old, new) = ([(1, 0, &[10, 20][..])], [(4, 9, &[1500, 1600][..])]);
    let hour = 3600 * SECOND;
    let rig = folder(&[
        ("a", file(&old, 1000, BOOTED, 0)),
        ("b", file(&new, 2000, BOOTED, 0)),
        ("other", file(&new, 2000, BOOTED + hour, 0)),
        ("set", file(&new, 2000, BOOTED, hour)),
        ("a bit", file(&new, 2000, BOOTED, 50 * SECOND)),
        ("at once", file(&new, 1000, BOOTED + hour, 0)),
    ]);
    // Each has its id, in whichever order they are given, also if they were taken at once.
    let by_id = |order| {
        let (rows, _) = shown_as(&rig, order, "{clock} {boot_id}");
        rows
    };
    assert_eq!(by_id(&["a", "at once"]), by_id(&["at once", "a"]));
    for (second, words) in [
        ("b", ""),
        ("other", "their clocks contradict each other"),
        ("set", "set: its real time is 3600 s ahead of what a says"),
        ("a bit", ""),
    ] {
        for order in [["a", second], [second, "a"]] {
            let (records, said) = shown(&rig, &order);
            assert!(said.contains(words) && said.is_empty() == words.is_empty(), "{said}");
            let all = records.iter().filter(|r| !r.ends_with("lost")).count();
            assert_eq!(all, 4, "{records:#?}");
        }
    }
}

#[test]
fn machines_that_were_named_are_apart() {
    let pages = [(1, 0, &[10, 20, 30][..])];
    let file = File { pages: &pages, ..File::default() }.bytes();
    let rig = folder(&[("x", file.clone()), ("y", file)]);
    assert_eq!(
        shown(&rig, &["x", "y"]),
        (
            vec!["10 dd tests -".into(), "20 dd tests -".into(), "30 dd tests -".into()],
            String::new()
        )
    );
    let (records, said) = shown(&rig, &["--host", "a=x", "--host", "b=y"]);
    let hosts = |host: &str| records.iter().filter(|r| r.contains(&format!(" {host} "))).count();
    assert_eq!((records.len(), hosts("a"), hosts("b")), (6, 3, 3), "{said}");
    let (records, _) = shown(&rig, &["x", "--host", "b=y"]);
    assert_eq!(records.len(), 6);
    // By the same name, they are the same.
    for args in [["x", "--host", "tests=y"], ["--host", "tests=y", "x"]] {
        assert_eq!(shown(&rig, &args).0.len(), 3);
    }
    assert_eq!(shown(&rig, &["--host", "c=x", "--host", "c=y"]).0.len(), 3);
}

#[test]
fn a_host_that_was_renamed_is_one() {
    let old = [(1, 0, &[10, 20][..])];
    let new = [(1, 0, &[10, 20, 30][..])];
    let rig = folder(&[
        ("old", File { host: "localhost", pages: &old, taken: 25, ..File::default() }.bytes()),
        ("new", File { host: "node1", pages: &new, ..File::default() }.bytes()),
    ]);
    for order in [["old", "new"], ["new", "old"]] {
        let (records, said) = shown(&rig, &order);
        assert_eq!(records, ["10 dd node1 -", "20 dd node1 -", "30 dd node1 -"]);
        assert!(said.contains("whose host localhost is called node1 now"), "{said}");
    }
}

#[test]
fn what_comes_after_clear_is_there_whatever_was_before() {
    // In the same page, which was longer before; and on later ones.
    let before = [(4, 90, &[10, 20, 30, 40][..])];
    for (after, sum) in [
        (&[(4, 0, &[1010, 1020][..])][..], 6),
        (&[(4, 0, &[1010][..]), (5, 1, &[1020, 1030])], 7),
        (&[(5, 0, &[1010, 1020, 1030])], 7),
        // Or it was made again, and its positions have begun anew.
        (&[(1, 0, &[1010, 1020, 1030])], 7),
    ] {
        let rig = folder(&[
            ("a", taken(1000, &before).bytes()),
            ("b", taken(2000, after).bytes()),
            ("c", taken(2001, after).bytes()),
        ]);
        for order in [["a", "b", "c"], ["c", "b", "a"], ["b", "a", "c"]] {
            let (records, said) = shown(&rig, &order);
            let records: Vec<_> = records.iter().filter(|r| !r.contains("lost")).collect();
            assert_eq!(records.len(), sum, "{order:?}: {records:#?}");
            assert_eq!(said, "");
        }
    }
}

#[test]
fn a_ring_that_went_to_another_with_the_same_id_has_two_owners() {
    let ring = |comm| Ring::task(1, 1, 42, comm);
    let one = [(1, 0, &[10, 20, 30][..])];
    let two = [(2, 0, &[1010, 1020][..])];
    let rig = folder(&[
        ("a", File { pages: &one, ring: ring("first"), ..File::default() }.bytes()),
        ("b", File { pages: &two, ring: ring("second"), taken: 2000, ..File::default() }.bytes()),
    ]);
    for order in [["a", "b"], ["b", "a"]] {
        let (records, said) = shown(&rig, &order);
        let expected = ["10 first", "20 first", "30 first", "1010 second", "1020 second"];
        let expected = expected.map(|r| format!("{r} tests -"));
        assert_eq!((&records[..], said.as_str()), (&expected[..], ""));
    }
}

#[test]
fn copies_that_agree_are_one() {
    let pages = [(1, 0, &count(10..40)[..]), (2, 30, &count(40..50)[..])];
    let file = File { pages: &pages, ..File::default() };
    // A reader that may not see addresses gets no arguments.
    let mut withheld = file.builder();
    let ring = file.ring.clone();
    let mut page = Page::new(1, 3, 50 * SECOND / 1000, 40);
    page.record(50 * SECOND / 1000, 1, ());
    withheld.page(&ring, &page);
    let mut seen = file.builder();
    let mut page = Page::new(1, 3, 50 * SECOND / 1000, 40);
    page.record(50 * SECOND / 1000, 1, (&1u32, &2u64));
    page.record(60 * SECOND / 1000, 1, (&1u32, &2u64));
    seen.page(&ring, &page);
    // The capture of a stream has pieces of pages.
    let mut b = Builder::new();
    b.system_of("tests", BOOT_ID)
        .clock(1, &[[0, 0, 0, BOOTED], [SECOND, SECOND, SECOND, BOOTED + SECOND]])
        .images(&[(1, 4, b"id", "test_mod")])
        .component(1, "disk")
        .ring(&ring);
    for (seq, first, at) in [(1, 0, 10..25), (1, 15, 25..40), (2, 30, 40..45), (2, 35, 45..50)] {
        let mut p = Page::new(1, seq, at.start * SECOND / 1000, first);
        for n in at {
            p.record(n * SECOND / 1000, 1, (&(n as u32), &0u64));
        }
        b.page(&ring, &p);
    }
    let rig = folder(&[
        ("withheld", withheld.end()),
        ("seen", seen.end()),
        ("stream", as_stream(b.bytes)),
        ("short", taken(39, &pages[..1]).bytes()),
    ]);
    for order in [
        &["withheld", "seen"][..],
        &["seen", "withheld", "stream"],
        &["stream", "short", "seen"],
        &["short", "stream", "withheld", "seen"],
    ] {
        let (records, said) = shown(&rig, order);
        assert_eq!(said, "", "{order:?}");
        let mut all = count(10..51);
        all.push(60);
        assert_eq!(ms(&records), all, "{order:?}");
    }
}

#[test]
fn a_name_is_the_one_of_its_time() {
    // Of two files in which a thread has other names, each is right up to when it was taken.
    let ring = |comm| Ring::task(1, 1, 42, comm);
    let one = [(1, 0, &[10, 20][..])];
    let two = [(1, 0, &[10, 20, 1010][..]), (2, 3, &[1020, 2010])];
    let file =
        |taken, pages, comm| File { pages, taken, ring: ring(comm), ..File::default() }.bytes();
    let rig = folder(&[
        ("a", file(1000, &one, "first")),
        ("b", file(2000, &two[..1], "second")),
        ("c", file(3000, &two, "third")),
    ]);
    let expected = ["10 first", "20 first", "1010 second", "1020 second", "2010 third"];
    let expected = expected.map(|r| format!("{r} tests -"));
    for order in [["a", "b", "c"], ["c", "a", "b"], ["b", "c", "a"]] {
        let (records, said) = shown(&rig, &order);
        assert_eq!((&records[..], said.as_str()), (&expected[..], ""), "{order:?}");
    }
}

#[test]
fn what_is_said_of_a_thread_has_its_last_name() {
    let ring = Ring { records: 2, ..Ring::task(1, 1, 42, "bash") };
    let mut b = Builder::new();
    b.system(BOOT_ID).clock(1, &[[0, 0, 0, 0], [SECOND; 4]]).component(1, "disk");
    let mut page = Page::new(1, 1, 10, 0);
    page.record(10, 1, ());
    page.writer(20, 0, 0, (42, 42, "fio"));
    page.record(20, 1, ());
    b.ring(&ring).page(&ring, &page);
    let rig = folder(&[("snap", b.end())]);
    for (args, row) in [
        (&["stats"][..], " fio[42] "),
        (&["stats", "--json"], "\"type\":\"ring-sum\","),
        (&["show", "--json", "--stats"], "\"type\":\"ring\","),
        (&["tasks", "--all"], "fio[42]: "),
    ] {
        let said = rig.run(&[args, &["--modules", "nowhere", "snap"]].concat());
        let text = said.out + &said.err;
        let found = text.lines().find(|line| line.contains(row));
        assert!(found.is_some_and(|row| row.contains("fio")), "{args:?}: {text}");
    }
}

#[test]
fn a_stream_tells_owners_of_a_ring_apart() {
    let at = |ms: u64| ms * SECOND / 1000;
    let owner = |comm, exit_clock| Ring { exit_clock, ..Ring::task(1, 1, 42, comm) };
    // It ends, and another one with the same id takes the ring; or both end before the snapshot.
    for (first, second) in [
        (owner("first", at(15)), owner("second", 0)),
        (owner("first", at(15)), owner("second", at(90))),
    ] {
        let mut b = Builder::new();
        b.system(BOOT_ID)
            .clock(1, &[[0, 0, 0, BOOTED], [SECOND; 4]])
            .images(&[(1, 4, b"id", "test_mod")])
            .component(1, "disk");
        for (ring, seq, ms) in [(&first, 1, 10), (&second, 2, 20)] {
            let mut page = Page::new(1, seq, at(ms), 0);
            page.record(at(ms), 1, (&1u32, &2u64));
            b.ring(ring).page(ring, &page);
        }
        let rig = folder(&[("stream", as_stream(b.bytes))]);
        let (records, said) = shown(&rig, &["stream"]);
        assert_eq!(
            (&records[..], said.as_str()),
            (&["10 first tests -".into(), "20 second tests -".into()][..], "")
        );
    }
}

#[test]
fn all_instants_of_a_boot_tell_its_clock() {
    // A clock of 2 ticks a ns at first, and of 1 then: what is in the middle is known by one file only.
    let file = |instants: &[(u64, u64)], at: u64, stream: bool| {
        let mut b = Builder::new();
        let pair = |&(clock, ns): &(u64, u64)| [clock, ns, ns, BOOTED + ns];
        b.system(BOOT_ID);
        let pairs: Vec<_> = instants.iter().map(pair).collect();
        match stream {
            // One section for each, as time goes by.
            true => pairs.windows(2).for_each(|w| {
                b.clock(2, w);
            }),
            false => {
                b.clock(2, &pairs);
            }
        }
        let ring = Ring::task(1, 1, 42, "dd");
        let mut page = Page::new(1, 1, 10 * SECOND, 0);
        page.record(10 * SECOND, 1, (&1u32, &2u64));
        if at > 10 * SECOND {
            page.record(at, 1, (&1u32, &2u64));
        }
        b.images(&[(1, 4, b"id", "test_mod")]).component(1, "disk").ring(&ring).page(&ring, &page);
        match stream {
            true => as_stream(b.bytes),
            false => b.end(),
        }
    };
    let s = SECOND;
    let all = [(0, 0), (20 * s, 10 * s), (30 * s, 20 * s)];
    let rig = folder(&[
        ("early", file(&all[..2], 10 * s, false)),
        ("late", file(&[all[0], all[2]], 25 * s, false)),
        ("stream", file(&all, 25 * s, true)),
    ]);
    for files in [&["early", "late"][..], &["late", "early"], &["stream"], &["late", "stream"]] {
        assert_eq!(ms(&shown(&rig, files).0), [5_000, 15_000], "{files:?}");
    }
}
