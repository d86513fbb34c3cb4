// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `show --newer-than`: what a snapshot has that an earlier one had not.

use std::fs;

use crate::common::{
    rig::Rig,
    snapshot::{Page, Ring},
    stream::{as_stream, begin, piece, SECOND},
};

#[test]
fn diff_shows_what_is_new() {
    let rig = Rig::new();
    // The ring of task 1 goes on in its last page and a new one; that of task 2 was cleared.
    type Pages<'a> = &'a [(u64, u64, std::ops::Range<u64>)];
    let file = |taken: u64, rings: &[(u32, u64, Pages<'_>)]| {
        let mut b = rig.disk(&[[0, 0, 0, 0], [taken, taken, taken, taken]]);
        for (id, records, pages) in rings {
            let mut ring = Ring::task(1, *id, *id as i32, "t");
            ring.records = *records;
            b.ring(&ring);
            for (seq, first, numbers) in *pages {
                let mut p = Page::new(*id, *seq, numbers.start * 1000, *first);
                for n in numbers.clone() {
                    p.record(n * 1000, 1, (&(n as u32), &0u64));
                }
                b.page(&ring, &p);
            }
        }
        b.end()
    };
    // What is new was logged after it was taken.
    let old = file(4_500, &[(1, 5, &[(1, 0, 0..3), (2, 3, 3..5)]), (2, 2, &[(1, 0, 1..3)])]);
    let new = file(
        1 << 31,
        &[
            (1, 9, &[(2, 3, 3..7), (4, 8, 8..9)]),
            (2, 1, &[(1, 0, 5..6)]),
            (3, 1, &[(1, 0, 20..21)]),
        ],
    );
    rig.write("old", old);
    rig.write("new", new);
    let lines = rig.lines(&[
        "--newer-than",
        "old",
        "new",
        "--format",
        "{pid} {level} {arg.count} {message:1}",
    ]);
    let lines: Vec<&str> = lines.iter().map(|l| l.split(" read").next().unwrap()).collect();
    assert_eq!(
        lines,
        [
            "1 info 5",
            "2 info 5",
            "1 info 6",
            "1 lost - 1 record missing here (not in the snapshot)",
            "1 info 8",
            "3 info 20",
        ]
    );
    // The same again is no news.
    assert!(rig.lines(&["--newer-than", "new", "new"]).is_empty());
    let output = rig.run(&["--newer-than", "old", "absent"]);
    assert_eq!(output.status, 2);
}

/// A ring that has logged nothing since, or of which nothing is left: what it has lost meanwhile
/// stands where the old snapshot's last page begins, as nobody knows when it was.
#[test]
fn losses_of_a_ring_without_a_new_page_are_news() {
    let rig = Rig::new();
    let file = |taken: u64, change: &dyn Fn(&mut Ring), with_pages: bool| {
        let mut b = rig.disk(&[[0; 4], [taken; 4]]);
        let mut ring = Ring::task(1, 1, 42, "fio");
        (ring.records, ring.lost[0], ring.told[0]) = (5, 4, 3);
        change(&mut ring);
        b.ring(&ring);
        let mut first = Page::new(1, 1, 1000, 0);
        let mut last = Page::new(1, 2, 3000, 3);
        for n in 0..3 {
            first.record(1000 + n, 1, (&(n as u32), &0u64));
        }
        first.lost(1500, 0, 3);
        for n in 3..5 {
            last.record(3000 + 100 * n, 1, (&(n as u32), &0u64));
        }
        if with_pages {
            b.page(&ring, &first).page(&ring, &last);
        }
        b.end()
    };
    rig.write("old", file(1 << 30, &|_| {}, true));
    let diff = || {
        rig.lines(&["--newer-than", "old", "new", "--format", "{clock} {pid} {level} {message}"])
    };
    rig.write("new", file(1 << 31, &|_| {}, true));
    assert!(diff().is_empty());
    // It wanted a page and got none.
    rig.write("new", file(1 << 31, &|ring| ring.lost[0] += 6, true));
    assert_eq!(diff(), ["3000 42 lost 6 records lost here (no-page)"]);
    // It went on, and all of its pages were taken since.
    rig.write("new", file(1 << 31, &|ring| ring.records += 7, false));
    assert_eq!(diff(), ["3000 42 lost 7 older records overwritten"]);
    let both = |ring: &mut Ring| (ring.records, ring.lost[0]) = (6, 5);
    rig.write("new", file(1 << 31, &both, false));
    assert_eq!(
        diff(),
        ["3000 42 lost 1 older record overwritten", "3000 42 lost 1 record lost here (no-page)",]
    );
}

/// Streams, snapshots and directories of both, in any pair.
#[test]
fn streams_are_compared_too() {
    let rig = Rig::new();
    // 151 records, 60 of which have room in a page.
    let (clock, page) = (|n: u64| SECOND + n, 60);
    let ring = |records| Ring { records, ..Ring::task(1, 1, 42, "fio") };
    // The stream gives them in pieces of 17 at most.
    let stream = |from: u64, to: u64| {
        let mut b = begin(&[&rig.build_id], clock(from));
        b.ring(&ring(0));
        let mut n = from;
        while n < to {
            let end = to.min(n + 17).min((n / page + 1) * page);
            let clocks: Vec<u64> = (n..end).map(clock).collect();
            b.page(&ring(0), &piece(1, 1 + n / page, n, &clocks));
            n = end;
        }
        as_stream(b.bytes)
    };
    let snapshot = |to: u64| {
        let mut b = begin(&[&rig.build_id], clock(to));
        b.ring(&ring(to));
        for first in (0..to).step_by(page as usize) {
            let clocks: Vec<u64> = (first..to.min(first + page)).map(clock).collect();
            b.page(&ring(to), &piece(1, 1 + first / page, first, &clocks));
        }
        b.end()
    };
    rig.write("stream101", stream(0, 101));
    rig.write("stream151", stream(0, 151));
    rig.write("snap101", snapshot(101));
    rig.write("snap151", snapshot(151));
    for (dir, parts) in [("dir101", [(0, 70), (70, 101)]), ("dir151", [(0, 80), (80, 151)])] {
        fs::create_dir(rig.path(dir)).unwrap();
        for (n, (from, to)) in (1..).zip(parts) {
            rig.write(&format!("{dir}/blog.{n:06}.stream"), stream(from, to));
        }
    }
    // Directories have none beside them.
    const TABLE: [&str; 2] = ["-s", "test-mod.ko"];
    let numbers = |old: &str, new: &str| -> Vec<u64> {
        let lines = rig
            .lines(&[&["--newer-than", old, new, "--format", "{arg.count}"], &TABLE[..]].concat());
        lines.iter().map(|l| l.parse().unwrap()).collect()
    };
    let expected: Vec<u64> = (101..151).collect();
    for old in ["stream101", "snap101", "dir101"] {
        for new in ["stream151", "snap151", "dir151"] {
            assert_eq!(numbers(old, new), expected, "{old} {new}");
            let output = rig.run(&["--newer-than", new, old]);
            assert_eq!(output.status, 2, "{old} {new}: {output:?}");
            let said = output.err;
            assert!(said.contains("they are swapped"), "{said}");
            assert!(output.out.is_empty());
        }
        assert_eq!(numbers(old, "stream101"), [0; 0]);
    }
    fs::create_dir(rig.path("empty")).unwrap();
    let output = rig.run(&["--newer-than", "empty", "snap151"]);
    assert_eq!(output.status, 2);
    assert!(output.err.contains("has no recordings"));
}
