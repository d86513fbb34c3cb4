// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `check`: files that add up, and files that are broken on purpose, in each way that it knows.

use crate::common::{
    rig::{Rig, Said},
    snapshot::{Builder, Page, Ring, BOOT_ID},
    stream::as_stream,
};

/// A ring with two pages: 4 older records are overwritten, 5 are there, 2 were lost between them.
#[derive(Clone)]
struct File {
    components: Vec<u32>,
    ring: Option<Ring>,
    pages: Vec<Vec<u8>>,
}

fn page(seq: u64, first: u64, clocks: &[u64]) -> Page {
    let mut page = Page::new(1, seq, clocks[0], first);
    for clock in clocks {
        page.record(*clock, 1, (&1u32, &0u64));
    }
    page
}

/// The same, but its header counts so many records.
fn counting(page: &[u8], records: u32) -> Vec<u8> {
    let mut page = page.to_vec();
    page[44..48].copy_from_slice(&records.to_le_bytes());
    page
}

impl File {
    fn good() -> Self {
        let mut ring = Ring::task(1, 1, 42, "fio");
        (ring.records, ring.lost[2], ring.told[2]) = (9, 2, 2);
        let mut last = page(3, 6, &[40, 50]);
        last.lost(55, 2, 2);
        last.record(60, 1, (&1u32, &0u64));
        Self {
            components: vec![1],
            ring: Some(ring),
            pages: vec![page(2, 4, &[10, 20]).finished(), last.finished()],
        }
    }

    fn ring(&mut self) -> &mut Ring {
        self.ring.as_mut().unwrap()
    }

    fn bytes(&self) -> Vec<u8> {
        let mut b = Builder::new();
        b.system(BOOT_ID).clock(1, &[[0; 4], [100; 4]]);
        b.images(&[(1, 4, b"id", "test_mod")]);
        for id in &self.components {
            b.component_with_losses(*id, "disk", 17, [1, 0, 0, 0, 0, 0, 0, 0]);
        }
        if let Some(ring) = &self.ring {
            b.ring(ring);
        }
        for page in &self.pages {
            let ids = [1u32, 1].map(u32::to_le_bytes).concat();
            b.section(6, &[&ids[..], page].concat());
        }
        b.end()
    }
}

fn run(bytes: &[u8], args: &[&str]) -> Said {
    let rig = Rig::empty();
    rig.write("snap", bytes);
    rig.run(&[&["check"], args, &["snap"]].concat())
}

/// The exit status, and what comes after the table.
fn verdict(bytes: &[u8], args: &[&str]) -> (i32, String) {
    let said = run(bytes, args);
    assert!(said.err.is_empty(), "{said:?}");
    let lines = said.out.lines().filter_map(|l| l.strip_prefix("snap: "));
    (said.status, lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_file_that_adds_up() {
    let output = run(&File::good().bytes(), &["--still"]);
    assert_eq!(
        output.out,
        "component        rings       taken     decoded overwritten   missing      gone      lost\n\
         disk                 1           9           5           4         0        17         3\n\
         snap: adds up\n"
    );
    assert_eq!(output.status, 0);
    // The capture of a stream has its counts before its pages.
    let mut stream = File::good();
    stream.pages.pop();
    stream.ring().records = 6;
    assert_eq!(verdict(&as_stream(stream.bytes()), &[]).0, 0);
    // A writer of a shared ring reads the clock before its turn.
    let mut shared = File::good();
    shared.ring = Some(Ring { records: 6, ..Ring::shared(1, 1, 0) });
    shared.pages = vec![page(2, 4, &[20, 10]).finished()];
    assert_eq!(verdict(&shared.bytes(), &["--still"]), (0, "adds up".into()));
}

const BUG: &str = "keep the file and report this: the kernel's BLog or blog-decode has a bug";
const COPY: &str = "copy the file again, or read on with records missing";
const STILL: &str = "if drivers logged meanwhile, check it without --still";

type Case = (fn(&mut File), &'static str, &'static str);

#[test]
fn each_contradiction_has_a_line() {
    let cases: [Case; 8] = [
        (|f| f.components.clear(), "component1 ring 1 fio[42]: its component is not there", COPY),
        (|f| f.ring = None, "disk ring 1 ?: 2 of its pages are there, but not its counts", COPY),
        (
            |f| f.pages[1] = counting(&f.pages[1], 4),
            "disk ring 1 fio[42]: 1 of the records that its pages count are not in them",
            COPY,
        ),
        (
            |f| f.pages[0] = counting(&f.pages[0], 1),
            "disk ring 1 fio[42]: 5 decoded + 5 gone, but it has taken 9",
            BUG,
        ),
        (
            |f| f.pages.insert(1, f.pages[0].clone()),
            "disk ring 1 fio[42]: pages 2 and 2 overlap in records 4 to 5",
            BUG,
        ),
        (
            |f| f.pages[0] = page(2, 4, &[10, 20, 30]).finished(),
            "disk ring 1 fio[42]: pages 2 and 3 overlap in records 6 to 6",
            BUG,
        ),
        (
            |f| f.pages[0] = page(2, 4, &[20, 10]).finished(),
            "disk ring 1 fio[42]: record 5 is earlier than record 4, whose clock is 20",
            BUG,
        ),
        (
            // No page is missing that could have reported them.
            |f| {
                f.pages[0] = page(2, 0, &[1, 2, 3, 4, 5, 6]).finished();
                (f.ring().lost[3], f.ring().told[3]) = (5, 5);
            },
            "disk ring 1 fio[42]: 0 are reported as lost (disabled), but 5 are counted",
            BUG,
        ),
    ];
    for (damage, what, advice) in cases {
        let mut file = File::good();
        damage(&mut file);
        let expected = (1, format!("{what}: {advice}"));
        assert_eq!(verdict(&file.bytes(), &[]), expected);
    }
}

/// While drivers log, a reader may miss pages, and pages are newer than the counts.
#[test]
fn only_a_still_file_must_be_whole() {
    let cases: [Case; 3] = [
        (
            |f| f.ring().records = 11,
            "disk ring 1 fio[42]: 2 records are missing, 0 are later than its counts",
            STILL,
        ),
        (
            |f| f.ring().records = 8,
            "disk ring 1 fio[42]: 0 records are missing, 1 are later than its counts",
            STILL,
        ),
        (
            |f| (f.ring().lost[2], f.ring().told[2]) = (1, 1),
            "disk ring 1 fio[42]: 2 are reported as lost (too-long), but 1 are counted",
            STILL,
        ),
    ];
    for (damage, what, advice) in cases {
        let mut file = File::good();
        damage(&mut file);
        let expected = (1, format!("{what}: {advice}"));
        assert_eq!(verdict(&file.bytes(), &["--still"]), expected);
        assert_eq!(verdict(&file.bytes(), &[]), (0, "adds up".into()));
    }
}

#[test]
fn a_damaged_file_and_no_file() {
    let mut bytes = File::good().bytes();
    let last = bytes.len() - 100;
    bytes[last] ^= 1;
    let (status, lines) = verdict(&bytes, &[]);
    assert_eq!(status, 1);
    assert!(lines.starts_with("1 damaged section"), "{lines}");
    let output = run(b"nothing", &[]);
    assert_eq!(output.status, 2, "{output:?}");
    assert!(output.out.is_empty() && !output.err.is_empty());
}

#[test]
fn as_json_there_are_accounts_and_contradictions() {
    let mut file = File::good();
    file.ring().records = 11;
    let output = run(&file.bytes(), &["--json", "--still"]);
    let text = output.out;
    let lines: Vec<serde_json::Value> =
        text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.len(), 2, "{text}");
    for (key, value) in [("taken", 11), ("decoded", 5), ("missing", 2), ("gone", 17), ("lost", 3)] {
        assert_eq!(lines[0][key], value, "{key}");
    }
    for (key, value) in [("type", "contradiction"), ("component", "disk"), ("kind", "moved")] {
        assert_eq!(lines[1][key], value, "{key}");
    }
    assert_eq!(lines[1]["ring"], 1);
}
