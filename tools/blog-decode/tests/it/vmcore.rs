// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Crash dumps: what the extractor makes of whole, cut and damaged memory. What commands show of
//! whole ones is in `../dumps`.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem::offset_of,
    ops::Range,
};

use crate::common::{
    extracted::{run, Got, Random},
    rig::Rig,
    snapshot::Page,
    vmcore::{
        elf, flattened, sample, sample_of, stock, Kernel, Ram, Ring, ANCHOR, CURRENT, LIST,
        NOTIFIER, PAGE, PANIC_CPU, PER_CPU, PHYSICAL, ROOT,
    },
};
use blog_file::snapshot::Snapshot;
use blog_table::source::Source;
use blog_vmcore::{
    anchor,
    crashed::{self, Crashed},
    extract, extract_with,
    memory::{Fault, Memory},
    vmcoreinfo::VmcoreInfo,
    RingLayout,
};
use blog_wire::{
    dump::{Crash, Root, TableRoot, ANCHORED, NO_FIELD, STATE_OFF},
    file::{TASK_CRASHED, TASK_HOLDER, WAIT_GONE, WAIT_READERS},
    ring::RING_BUSY,
};

const RING: RingLayout = RingLayout::NOW;

fn texts(got: &Got) -> Vec<String> {
    let problems = got.extracted.problems.0.iter();
    problems.map(ToString::to_string).collect()
}

#[test]
fn counts_of_sites_are_in_the_snapshot() {
    let mut kernel = sample();
    // Of sites 0 to 3, and 8 to 11.
    let pages = [[0, 7, 0, 9], [0, 0, 1 << 40, 0]].map(|counts| kernel.pointers(&counts));
    kernel.root.counts = TableRoot {
        chunks: kernel.pointers(&[pages[0], 0, pages[1]]),
        capacity: 3,
        per_chunk: 4,
        stride: 8,
        doubling: 0,
    };
    let got = run(&kernel.finish(), ROOT).unwrap();
    assert_eq!(texts(&got), [""; 0]);
    let counts = BTreeMap::from([(1, 7), (3, 9), (10, 1 << 40)]);
    assert_eq!(got.snapshot.counts, [counts.clone(), counts]);
}

#[test]
fn all_that_was_logged_is_in_the_snapshot() {
    let got = run(&sample().finish(), ROOT).unwrap();
    assert_eq!(texts(&got), [""; 0]);
    assert_eq!(got.extracted.components, 2);
    assert_eq!(got.extracted.rings, 7);
    assert_eq!(got.extracted.pages, 8);
    assert_eq!(got.extracted.records, 11);
    assert_eq!(got.records.len(), 11);
    assert!(!got.told);
    let system = got.snapshot.system.unwrap();
    assert_eq!(system.cpus, 4);
    assert_eq!(got.snapshot.images.len(), 1);
    let seconds = |p: &blog_wire::file::ClockPair| p.clock / 1000;
    let pairs: Vec<_> = got.snapshot.pairs.iter().map(seconds).collect();
    assert_eq!(pairs, [1, 98, 99, 100]);
    let tasks: Vec<_> =
        got.snapshot.tasks.iter().map(|t| (t.pid, t.state, t.flags, t.cpu)).collect();
    let expected =
        [(10, b'R', 1, 1), (11, b'D', 0, 3), (12, b'S', 0, 3), (13, b'R', 5, 2), (14, b'S', 0, 3)];
    assert_eq!(tasks, expected);
    // A live task's name is the one that it had at the end.
    let ring = |component, ring| {
        let rings = got.snapshot.rings.iter();
        rings
            .filter_map(|r| r.ring.as_ref())
            .find(|r| (r.component, r.ring) == (component, ring))
            .unwrap()
    };
    assert_eq!(&ring(0, 1).comm[..6], b"stuck\0");
    assert_eq!(ring(0, 1).task_state, b'D');
    assert_eq!(&ring(0, 5).comm[..8], b"old name");
    assert_eq!(ring(0, 5).retired, 1);
    assert_eq!(ring(0, 0).records, 23);
    assert_eq!(ring(0, 5).records, 6);
}

/// Until version 4 of the root, all tables were flat, and until version 5, a small page was a
/// chunk.
#[test]
fn tables_and_pages_of_each_version_lead_to_the_same() {
    let flat = run(&sample_of(4).finish(), ROOT).unwrap();
    for version in [5, 6] {
        let mut kernel = sample_of(version);
        kernel.double_tables();
        let got = run(&kernel.finish(), ROOT).unwrap();
        assert_eq!(texts(&got), [""; 0]);
        assert_eq!(got.snapshot.rings.len(), flat.snapshot.rings.len());
        for (a, b) in got.snapshot.rings.iter().zip(&flat.snapshot.rings) {
            assert_eq!(format!("{a:?}"), format!("{b:?}"));
        }
        assert_eq!(got.records, flat.records);
    }
    let mut kernel = sample_of(5);
    kernel.double_tables();
    let ram = kernel.finish();
    // The array that leads to the slots of the fifth to seventh pages is gone.
    let mut damaged = ram.clone();
    let memory = u64::from_le_bytes(read(&ram, kernel.components[0] + 24));
    let arrays = u64::from_le_bytes(read(&ram, memory + 32));
    damaged.write(arrays + 2 * 8, &0x1000u64.to_le_bytes());
    let got = run(&damaged, ROOT).unwrap();
    told(&got, "part of a table can't be read");
    lacks(&got, &[4, 5, 6]);
    // More than can be.
    for capacity in [0, 24, 40, u32::MAX] {
        damaged.write(memory + 40, &u32::to_le_bytes(capacity));
        assert!(run(&damaged, ROOT).unwrap().extracted.problems.any_grave(), "{capacity}");
    }
}

/// What notes the clocks parks while nothing is logged, and a hypervisor that dumps a guest notes none.
#[test]
fn a_machine_that_idled_for_an_hour_stopped_when_it_did() {
    const HZ: u64 = 250;
    let mut kernel = sample();
    kernel.root.crash.noted = 0;
    kernel.root.jiffies = kernel.pointers(&[99 + 3600 * HZ]);
    kernel.root.jiffies_hz = HZ as u32;
    let got = run(&kernel.finish(), ROOT).unwrap();
    let pairs = &got.snapshot.pairs;
    let end = pairs.last().unwrap();
    assert_eq!((pairs.len(), end.clock), (4, 1000 * (99 + 3600)));
    assert_eq!(end.boot, 1_000_000_000 * (99 + 3600));
    assert_eq!(end.real, 1_000_000_000 * (99 + 3600 + 1_790_000_000));
}

#[test]
fn the_task_that_crashed_is_there_without_rings_too() {
    let mut kernel = sample();
    kernel.root.crash.task = 0x1000;
    (kernel.root.crash.pid, kernel.root.crash.comm) = (99, *b"khungtaskd\0\0\0\0\0\0");
    let got = run(&kernel.finish(), ROOT).unwrap();
    let task = got.snapshot.tasks.last().unwrap();
    assert_eq!((task.pid, task.flags, task.cpu), (99, 5, 2));
    assert_eq!(got.snapshot.tasks.len(), 6);
}

/// What waits say: who, for what, of whom, with which flags.
fn waits(got: &Got) -> Vec<(i32, u32, i32, u32)> {
    let waits = got.snapshot.waits.iter();
    waits.map(|w| (w.pid, w.kind, w.holder, w.flags)).collect()
}

#[test]
fn who_holds_what_others_wait_for_is_in_the_snapshot() {
    let mut kernel = sample();
    let at: Vec<u64> = kernel.tasks.iter().map(|(_, at, _)| *at).collect();
    // 11 and 12 wait for each other, 10 for readers, 14 for one that has no rings, which waits
    // for one that has ended.
    let other = kernel.pointers(&[0; 50]);
    for (offset, number) in [(20, 77), (24, 77), (32, 2)] {
        kernel.ram.write(other + offset, &u32::to_le_bytes(number));
    }
    let ended = kernel.pointers(&[0; 50]);
    for (offset, number) in [(20, 78), (24, 78), (36, 0x20)] {
        kernel.ram.write(ended + offset, &u32::to_le_bytes(number));
    }
    kernel.wait(at[1], 1, &[at[2] | 7]);
    kernel.wait(at[2], 2, &[0, 0, 0, at[1]]);
    kernel.wait(at[0], 4, &[0, at[3] | 1]);
    kernel.wait(at[4], 3, &[0, other]);
    kernel.wait(other, 1, &[ended]);
    let mut ram = kernel.finish();
    let got = run(&ram, ROOT).unwrap();
    assert_eq!(texts(&got), [""; 0]);
    let expected = [
        (10, 4, 13, WAIT_READERS),
        (11, 1, 12, 0),
        (12, 2, 11, 0),
        (14, 3, 77, 0),
        (77, 1, 0, WAIT_GONE),
    ];
    assert_eq!(waits(&got), expected);
    let last = got.snapshot.tasks.last().unwrap();
    assert_eq!((last.pid, last.state, last.flags), (77, b'D', TASK_HOLDER));

    // What waits for nothing, or for what can't be read.
    ram.write(at[1] + 64, &[0; 8]);
    ram.write(at[2] + 64, &0xdead_0000_u64.to_le_bytes());
    let got = run(&ram, ROOT).unwrap();
    assert_eq!(waits(&got)[..2], [(10, 4, 13, WAIT_READERS), (12, 1, 0, 0)]);

    // A kernel that doesn't know who waits, or is older.
    for blocker in [NO_FIELD, 0] {
        kernel.ram = Ram(ram.0.clone());
        kernel.root.task.blocker = blocker;
        assert_eq!(waits(&run(&kernel.finish(), ROOT).unwrap()), []);
    }
}

/// A module can't add a field to tasks, and finds their rings otherwise.
#[test]
fn tasks_need_no_field_of_blog() {
    let with = run(&sample().finish(), ROOT).unwrap();
    let mut kernel = sample();
    let mut ram = kernel.finish();
    // What would be there is something else.
    for (addr, _) in ram.0.clone() {
        if read::<4>(&ram, addr + 20) == 11u32.to_le_bytes() {
            ram.write(addr + 56, &[0xaa; 8]);
        }
    }
    assert_eq!(run(&ram, ROOT).unwrap().snapshot.tasks.len(), 4);
    kernel.ram = ram;
    kernel.root.task.blog_tls = NO_FIELD;
    let without = run(&kernel.finish(), ROOT).unwrap();
    assert_eq!(texts(&without), [""; 0]);
    assert_eq!(without.records, with.records);
    let tasks = |got: &Got| -> Vec<_> {
        let tasks = got.snapshot.tasks.iter();
        tasks.map(|t| (t.pid, t.state, t.flags, t.cpu)).collect()
    };
    assert_eq!(tasks(&without), tasks(&with));
}

/// Where a kernel has no row for the root: its address, or why it isn't found.
fn anchored(change: impl FnOnce(&mut Ram, &mut String)) -> Result<u64, String> {
    let mut ram = sample().finish();
    let mut rows = stock(&mut ram);
    change(&mut ram, &mut rows);
    anchor::root(&ram, &VmcoreInfo::parse(&rows)).map_err(|e| e.to_string())
}

#[test]
fn a_module_is_found_among_panic_notifiers() {
    assert_eq!(anchored(|_, _| ()), Ok(ROOT));
    // A row comes first.
    let found = anchored(|_, rows| *rows += "SYMBOL(blog_root)=1230\n");
    assert_eq!(found, Ok(0x1230));
    // It is the first of all, and locks are larger: what is in them is no list.
    for at in [16, 32, 96, 144, 256] {
        let found = anchored(|ram, _| {
            for (n, word) in (8..at).step_by(8).zip([u64::MAX, LIST, 7, LIST + 0x800, 0]) {
                ram.write(LIST + n, &word.to_le_bytes());
            }
            ram.write(LIST + at, &ANCHOR.to_le_bytes());
        });
        assert_eq!(found, Ok(ROOT), "{at}");
    }
}

#[test]
fn a_module_that_isnt_found_has_a_reason() {
    let why = |change: fn(&mut Ram, &mut String)| anchored(change).unwrap_err();
    let has = |why: String, parts: &[&str]| {
        let all = [&["SYMBOL(blog_root)"], parts].concat();
        assert!(all.iter().all(|part| why.contains(part)), "{why}");
    };
    let none = "has no BLog: ";
    let unknown = "has no BLog that can be found: ";
    has(why(|_, rows| rows.clear()), &[none, "SYMBOL(kallsyms_names)"]);
    has(
        why(|_, rows| *rows = rows.replace("token_table", "token_tab")),
        &[unknown, "SYMBOL(kallsyms_token_table)"],
    );
    has(
        why(|ram, rows| *rows = stock(ram).replace("num_syms)=f", "num_syms)=e")),
        &[unknown, "kallsyms_num_syms", "not in the dump"],
    );
    // Only functions have names.
    has(
        why(|ram, rows| {
            let info = VmcoreInfo::parse(rows);
            ram.write(info.symbol("kallsyms_num_syms").unwrap(), &[2]);
        }),
        &[unknown, ANCHORED, "CONFIG_KALLSYMS_ALL"],
    );
    // The list of others only; the last of them is in the last bytes that are mapped.
    has(why(|ram, _| ram.write(NOTIFIER + 8, &[0; 8])), &[none, ANCHORED, "not loaded"]);
    has(why(|ram, _| ram.write(ANCHOR + 24, b"B")), &[none, ANCHORED, "not loaded"]);
    has(why(|ram, _| ram.write(LIST + 8, &[0; 8])), &[unknown, ANCHORED, "empty"]);
    has(
        why(|ram, _| ram.write(NOTIFIER + 8, &NOTIFIER.to_le_bytes())),
        &[unknown, ANCHORED, "no end"],
    );
    has(
        why(|ram, _| {
            ram.0.remove(&(ANCHOR & !(PAGE as u64 - 1)));
        }),
        &[unknown, ANCHORED, "0xffffffffc0000a00", "not in the dump"],
    );
    has(
        why(|ram, _| {
            ram.0.remove(&(LIST & !(PAGE as u64 - 1)));
        }),
        &[unknown, ANCHORED, "0xffffffff82300100"],
    );
}

/// Changes the kernel's memory, and runs.
fn with(change: impl FnOnce(&mut Kernel, &mut Ram)) -> Result<Got, String> {
    with_of(sample(), change)
}

/// The same, where small pages are chunks.
fn with_chunks(change: impl FnOnce(&mut Kernel, &mut Ram)) -> Result<Got, String> {
    with_of(sample_of(5), change)
}

fn with_of(mut kernel: Kernel, change: impl FnOnce(&mut Kernel, &mut Ram)) -> Result<Got, String> {
    let mut ram = kernel.finish();
    change(&mut kernel, &mut ram);
    run(&ram, ROOT)
}

/// Fails unless a problem is reported so.
fn told(got: &Got, what: &str) {
    let texts = texts(got);
    assert!(texts.iter().any(|t| t.contains(what)), "{texts:?}");
}

fn lacks(got: &Got, pages: &[usize]) {
    // Records of the pages of `sample`, in the order in which they were made.
    const RECORDS: [usize; 8] = [2, 1, 2, 1, 2, 1, 1, 1];
    let lost: usize = pages.iter().map(|p| RECORDS[*p]).sum();
    assert_eq!(got.records.len(), 11 - lost, "{:?}", texts(got));
}

#[test]
fn each_page_that_is_missing_is_missed_alone() {
    for n in 0..8 {
        let got = with_chunks(|kernel, ram| {
            ram.0.remove(&kernel.pages[n]);
        });
        let got = got.unwrap();
        lacks(&got, &[n]);
        assert!(got.extracted.problems.any_grave());
        told(&got, "a page can't be read");
    }
}

#[test]
fn each_page_that_is_zeroed_is_missed_alone() {
    for n in 0..8 {
        let got = with_chunks(|kernel, ram| ram.write(kernel.pages[n], &[0; PAGE]));
        let got = got.unwrap();
        lacks(&got, &[n]);
        told(&got, "a page has no header");
    }
}

#[test]
fn a_ring_s_own_page_that_is_damaged_is_missed_alone() {
    for (ring, page) in [(3, 4), (4, 5)] {
        let room = |kernel: &Kernel| kernel.rings[ring] + u64::from(RING.room);
        let got = with(|kernel, ram| ram.write(room(kernel), &[0; 48])).unwrap();
        lacks(&got, &[page]);
        told(&got, "a page has no header");
        // Larger than the ring.
        let got = with(|kernel, ram| ram.write(room(kernel) + 4, &[1, 2])).unwrap();
        lacks(&got, &[page]);
        told(&got, "a page has no header");
        // In no chain.
        let got = with(|kernel, ram| ram.write(room(kernel) + 16, &[0; 8])).unwrap();
        lacks(&got, &[page]);
    }
}

#[test]
fn the_newest_page_that_is_missing_is_told_of() {
    let got = with(|kernel, ram| {
        ram.0.remove(&kernel.pages[1]);
    });
    let what = "the newest page of a ring is missing (ring 0)";
    told(&got.unwrap(), what);
}

#[test]
fn a_turn_in_progress_is_no_damage() {
    // The ring has counted the page that comes next, which isn't published yet.
    let got = with(|kernel, ram| {
        let ring = kernel.rings[0];
        ram.write(ring + u64::from(RING.busy), &RING_BUSY.to_le_bytes());
        ram.write(ring + 24, &5u64.to_le_bytes());
        ram.write(ring + 32, &3u32.to_le_bytes());
        ram.write(ring + 224, &23u64.to_le_bytes());
    });
    let got = got.unwrap();
    lacks(&got, &[]);
    assert!(!got.extracted.problems.any_grave(), "{:?}", texts(&got));
    // The oldest page is on its way to become the newest.
    let got = with(|kernel, ram| {
        ram.write(kernel.rings[0] + u64::from(RING.busy), &RING_BUSY.to_le_bytes());
        ram.write(kernel.pages[0] + 16, &0u64.to_le_bytes());
    });
    let got = got.unwrap();
    lacks(&got, &[0]);
    assert!(!got.extracted.problems.any_grave(), "{:?}", texts(&got));
    // A page is just being split.
    let got = with_chunks(|kernel, ram| {
        ram.write(kernel.rings[0] + u64::from(RING.busy), &RING_BUSY.to_le_bytes());
        ram.write(kernel.slots[0] + 4, &5u32.to_le_bytes());
    });
    lacks(&got.unwrap(), &[0]);
}

#[test]
fn pages_may_be_missing_as_each_cpu_may_be_taking_one_away() {
    let with_hole = |numbers: [u64; 6]| {
        let mut kernel = sample();
        let pages = numbers.map(|seq| {
            let mut page = Page::new(0, seq, 90_000 + seq, seq);
            page.record(90_000 + seq, 1, (&1u32, &2u64));
            page
        });
        kernel.component(
            "hole",
            &[Ring {
                context: 0,
                cpu: u32::MAX,
                task: Some(0),
                exit_clock: 0,
                pages: pages.to_vec(),
            }],
        );
        run(&kernel.finish(), ROOT).unwrap()
    };
    // There are 4 CPUs: the first 4 pages may be on their way.
    let got = with_hole([1, 2, 3, 4, 6, 7]);
    assert!(!got.extracted.problems.any_grave(), "{:?}", texts(&got));
    let got = with_hole([1, 2, 3, 4, 5, 7]);
    assert!(got.extracted.problems.any_grave());
    told(&got, "pages are missing in the middle of a ring");
}

#[test]
fn a_ring_whose_task_has_ended_says_itself_what_it_has_taken() {
    let records = |taken: u64| {
        let got = with(|kernel, ram| {
            ram.write(kernel.rings[5] + u64::from(RING.taken), &taken.to_le_bytes());
        });
        let got = got.unwrap();
        let rings = got.snapshot.rings.iter().filter_map(|r| r.ring.as_ref());
        let ring = rings.clone().find(|r| r.retired != 0).unwrap();
        assert_eq!((ring.component, ring.ring), (0, 5));
        ring.records
    };
    assert_eq!((records(6), records(9)), (6, 9));
}

#[test]
fn a_torn_page_is_cut_where_it_ceases_to_make_sense() {
    let got = with(|kernel, ram| ram.write(kernel.pages[0] + 56, &[255]));
    let got = got.unwrap();
    assert_eq!(got.records.len(), 10);
    assert!(got.told);
    told(&got, "position 3 of ring 0");
}

#[test]
fn without_a_root_there_is_a_reason() {
    let why = |change: fn(&mut Ram)| match with(|_, ram| change(ram)) {
        Ok(_) => panic!("there is a root"),
        Err(why) => why,
    };
    assert!(why(|ram| ram.0.clear()).contains("not in the dump"));
    assert!(why(|ram| ram.write(ROOT, b"X")).contains("magic"));
    assert!(why(|ram| ram.write(ROOT + 8, &[9])).contains("version 9"));
    assert!(why(|ram| ram.write(ROOT + 20, &[9])).contains("version 9"));
    assert!(why(|ram| ram.write(ROOT + 28, &STATE_OFF.to_le_bytes())).contains("not loaded"));
}

#[test]
fn tables_that_lead_in_circles_end() {
    // All chunks of rings are the same one; then there are more than can be.
    let got = with(|kernel, ram| {
        let memory = u64::from_le_bytes(read(ram, kernel.components[0] + 24));
        let chunks = u64::from_le_bytes(read(ram, memory + 8));
        let first: [u8; 8] = read(ram, chunks);
        for n in 0..4 {
            ram.write(chunks + n * 8, &first);
        }
    });
    told(&got.unwrap(), "leads twice");
    for (capacity, per_chunk) in [(1 << 20, 4), (u32::MAX, 4), (u32::MAX, 0)] {
        let got = with(|kernel, ram| {
            let memory = u64::from_le_bytes(read(ram, kernel.components[0] + 24));
            ram.write(memory + 16, &u32::to_le_bytes(capacity));
            ram.write(memory + 20, &u32::to_le_bytes(per_chunk));
        });
        assert!(got.unwrap().extracted.problems.any_grave());
    }
}

/// Page tables of a dump can show a page many times: here, one of zeroes.
struct Zeroes {
    ram: Ram,
    pages: Range<u64>,
}

impl Memory for Zeroes {
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), Fault> {
        if self.pages.contains(&addr) && !self.ram.0.contains_key(&(addr & !0xfff)) {
            buf.fill(0);
            return Ok(());
        }
        self.ram.read(addr, buf)
    }
}

/// Four million pointers for each of many components, which are all the same: they come to an
/// end, and the one ring after the last pointer takes the room of one.
#[test]
fn tables_of_nothing_end() {
    const POINTERS: u32 = 1 << 22;
    let start = 0xffff_c000_0000_0000;
    let end = start + u64::from(POINTERS) * 8;
    let mut kernel = sample();
    let mut ram = kernel.finish();
    let component = kernel.components[0];
    let memory = u64::from_le_bytes(read(&ram, component + 24));
    let chunks = u64::from_le_bytes(read(&ram, memory + 8));
    let rings: [u8; 8] = read(&ram, chunks);
    ram.write(end - 8, &rings);
    let ring = u64::from_le_bytes(rings) + u64::from(RING.id);
    ram.write(ring, &((POINTERS - 1) * 4).to_le_bytes());
    ram.write(memory + 8, &start.to_le_bytes());
    ram.write(memory + 16, &POINTERS.to_le_bytes());
    let list = ROOT + offset_of!(Root, components) as u64;
    let list = u64::from_le_bytes(read(&ram, list));
    for n in 0..64 {
        ram.write(list + n * 8, &component.to_le_bytes());
    }
    let pages = start..end;
    let got = extract(&Zeroes { ram, pages }, ROOT, Vec::new()).unwrap();
    assert!(got.rings >= 1);
    let what: Vec<_> = got.problems.0.iter().map(ToString::to_string).collect();
    let why = "a table has more entries than its maximum";
    assert!(what.iter().any(|t| t.contains(why)), "{what:?}");
}

/// Rings of a task that lead back to the first one, or nowhere.
#[test]
fn rings_that_lead_in_circles_end() {
    for (next, why) in [(None, "have no end"), (Some(0xdead_0000), "not in the dump")] {
        let got = with(|kernel, ram| {
            let next = next.unwrap_or(kernel.rings[0]);
            ram.write(kernel.rings[0] + u64::from(RING.next), &u64::to_le_bytes(next));
        });
        let got = got.unwrap();
        lacks(&got, &[]);
        let texts = texts(&got);
        let text = texts.iter().find(|t| t.contains("can't be followed"));
        assert!(text.is_some_and(|t| t.contains("pid 10") && t.contains(why)), "{texts:?}");
    }
}

fn read<const N: usize>(ram: &Ram, addr: u64) -> [u8; N] {
    let mut buf = [0; N];
    Memory::read(ram, addr, &mut buf).unwrap();
    buf
}

/// Whatever is damaged: what is missing is reported, one way or the other.
#[test]
fn damage_is_named_in_thousands_of_cases() {
    let stopped = sample().finish();
    let whole = run(&stopped, ROOT).unwrap();
    let (mut fewer, mut refused) = (0, 0);
    for seed in 1..=6000u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut ram = stopped.clone();
        let pages: Vec<u64> = ram.0.keys().copied().collect();
        for _ in 0..1 + random.below(3) {
            let page = pages[random.below(pages.len())];
            match random.below(8) {
                0 => {
                    ram.0.remove(&page);
                }
                1 => ram.write(page, &[0; PAGE]),
                kind => {
                    // Most of a page is empty: where something is, more happens.
                    let Some(bytes) = ram.0.get_mut(&page) else {
                        continue;
                    };
                    let used = bytes.iter().rposition(|b| *b != 0).unwrap_or(0) + 1;
                    let at = random.below(if kind == 2 { PAGE } else { used });
                    bytes[at] ^= 1 << random.below(8);
                }
            }
        }
        match run(&ram, ROOT) {
            Err(_) => refused += 1,
            Ok(got) => {
                let (was, is) = (whole.ordinals(), got.ordinals());
                if was.difference(&is).next().is_some() {
                    fewer += 1;
                    assert!(
                        got.is_incomplete() || renamed(&got),
                        "seed {seed}: {:?}",
                        was.difference(&is)
                    );
                }
            }
        }
    }
    // The cases are about what they say.
    assert!(fewer > 500 && refused > 50, "{fewer} {refused}");
}

/// Whether a component has another name, or a ring other records by number.
fn renamed(got: &Got) -> bool {
    let names: BTreeSet<&str> = got.records.iter().map(|r| r.0.as_str()).collect();
    names != BTreeSet::from(["disk", "net"]) || got.records.len() >= 11
}

fn write(rig: &Rig, name: &str, bytes: &[u8]) -> String {
    rig.write(name, bytes);
    name.to_owned()
}

/// An oops may start the crash kernel without a word to a module. But the kernel knows.
#[test]
fn who_crashed_is_found_without_a_note() {
    let mut kernel = sample();
    kernel.root.crash = Crash::default();
    let (pid, at, _) = kernel.tasks[1];
    // What has no rings; the idle task, say.
    let idle = kernel.pointers(&[0; 50]);
    let mut ram = kernel.finish();
    ram.write(idle + u64::from(kernel.root.task.comm), b"swapper/2");
    let rows = stock(&mut ram);
    let info = VmcoreInfo::parse(&rows);
    assert_eq!(crashed::find(&ram, &info), None);
    ram.write(PANIC_CPU, &2u32.to_le_bytes());
    for (task, who) in [(at, (pid, &b""[..])), (idle, (0, &b"swapper/2"[..]))] {
        ram.write(CURRENT + 2 * 16, &task.to_le_bytes());
        let found = crashed::find(&ram, &info);
        assert_eq!(found, Some(Crashed { cpu: 2, task }));
        let mut bytes = Vec::new();
        extract_with(&ram, ROOT, found, &mut bytes, &mut |_, _| {}).unwrap();
        let snapshot = Snapshot::read("made".into(), Source::Memory(bytes)).unwrap();
        let tasks = snapshot.tasks.iter();
        let crashed: Vec<_> = tasks.filter(|t| t.flags & TASK_CRASHED != 0).collect();
        assert_eq!(crashed.len(), 1);
        assert_eq!(crashed[0].pid, who.0);
        assert!(crashed[0].comm.starts_with(who.1));
    }
    // A kernel that notes it for BLog; one that doesn't say; memory that isn't there.
    let noted = VmcoreInfo::parse(&(rows.clone() + "SYMBOL(blog_root)=1230\n"));
    assert_eq!(crashed::find(&ram, &noted), None);
    let unknown = VmcoreInfo::parse(&rows.replace("kallsyms_names", "names"));
    assert_eq!(crashed::find(&ram, &unknown), None);
    ram.write(PER_CPU + 2 * 8, &(1u64 << 40).to_le_bytes());
    assert_eq!(crashed::find(&ram, &info), None);
}

/// A dump of makedumpfile may lack the second page of a task, of which nothing is needed.
#[test]
fn of_a_task_only_what_is_read_is_needed() {
    let mut kernel = sample();
    kernel.root.task.size += 2 * PAGE as u32;
    let got = run(&kernel.finish(), ROOT).unwrap();
    assert_eq!(texts(&got), [""; 0]);
    assert_eq!(got.snapshot.tasks.len(), 5);
}

/// A dump may lack the page that has the state of a task. What was noted at the crash stands for it.
#[test]
fn the_state_of_a_task_may_have_been_noted() {
    let mut kernel = sample();
    kernel.root.crash = Crash::default();
    let (pid, _, table) = kernel.tasks[1];
    let moved = kernel.pointers(&[0; 2 * PAGE / 8]) + PAGE as u64 - 100;
    let notes = kernel.pointers(&[moved, 2, 7 << 32, 0]);
    let task = &mut kernel.root.task;
    (task.pid, task.tgid, task.blog_tls) = (320, 324, NO_FIELD);
    let comm = u64::from(task.comm);
    let mut ram = kernel.finish();
    for (pid, at, _) in &kernel.tasks {
        ram.write(at + 320, &[pid.to_le_bytes(), pid.to_le_bytes()].concat());
    }
    ram.write(moved + comm, b"moved\0");
    ram.write(moved + 320, &[pid.to_le_bytes(), pid.to_le_bytes()].concat());
    let in_table = table + u64::from(kernel.root.tls.task);
    ram.write(in_table, &moved.to_le_bytes());
    ram.0.remove(&(moved & !(PAGE as u64 - 1)));
    let look = |ram: &Ram| {
        let got = run(ram, ROOT).unwrap();
        let mut tasks = got.snapshot.tasks.iter();
        let task = tasks.find(|t| t.comm.starts_with(b"moved\0"));
        let task = task.map(|t| (t.pid, t.state, t.flags, t.cpu));
        (task, texts(&got))
    };
    let (task, said) = look(&ram);
    assert_eq!(task, Some((pid, 0, 0, u32::MAX)));
    assert!(said.len() == 1 && said[0].contains("the state of a task can't be read"));
    kernel.ram = ram;
    (kernel.root.task_notes, kernel.root.task_notes_len) = (notes, 1);
    let ram = kernel.finish();
    assert_eq!(look(&ram), (Some((pid, b'D', 0, 7)), vec![]));
    // Notes that aren't there, or too many.
    kernel.root.task_notes += 1 << 40;
    kernel.root.task_notes_len = u32::MAX;
    let (task, said) = look(&kernel.finish());
    assert_eq!(task, Some((pid, 0, 0, u32::MAX)));
    assert!(said.iter().any(|text| text.contains("notes of tasks can't be read")));
    // The task that crashed may not be in the dump at all.
    let crashed = Some(Crashed { cpu: 2, task: 4096 });
    let mut bytes = Vec::new();
    let got = extract_with(&ram, ROOT, crashed, &mut bytes, &mut |_, _| {}).unwrap();
    let said: Vec<_> = got.problems.0.iter().map(ToString::to_string).collect();
    assert!(said.len() == 1 && said[0].contains("CPU 2, at 0x1000"), "{said:?}");
}

#[cfg(feature = "vmcore")]
#[test]
fn dumps_that_are_cut_give_what_is_whole() {
    let rig = Rig::empty();
    // The tables first, or nothing is found.
    let ram = sample().finish();
    let whole = elf(&ram, 4);
    let mut partial = 0;
    for file in [whole.clone(), flattened(&whole)] {
        for cut in (0..file.len()).step_by(file.len() / 60) {
            let core = write(&rig, "cut", &file[..cut]);
            let out = rig.run(&["tasks", "--all", "--vmcore", &core]);
            assert!(out.status == 1 || out.status == 2, "{cut}: {out:?}");
            assert!(!out.err.is_empty());
            partial += usize::from(out.status == 1);
        }
    }
    // Page tables come last in this file: of one that is cut, nothing can be found.
    let mut holes = 0;
    for at in (PAGE..whole.len()).step_by(PAGE) {
        let mut bytes = whole.clone();
        bytes[at..at + PAGE].fill(0);
        let core = write(&rig, "hole", &bytes);
        let out = rig.run(&["tasks", "--all", "--vmcore", &core]);
        holes += usize::from(out.status == 1);
        assert!(out.status != 0 || out.err.is_empty());
    }
    assert!(holes > 8, "{holes} {partial}");
}

/// Each table has 512 ways on: who looks for what is mapped, and not for an address, tries them all.
#[cfg(feature = "vmcore")]
#[test]
fn tables_that_lead_nowhere_are_no_maze() {
    let rig = Rig::empty();
    let read = |name: &str, bytes: &[u8]| {
        let core = write(&rig, name, bytes);
        rig.run(&["--vmcore", &core]).out
    };
    let ram = sample().finish();
    for levels in [4, 5] {
        // Tables that come first: each leads to the next one only, and the last one maps nothing.
        let mut maze = ram.clone();
        let way = |n: u64| (PHYSICAL + n * PAGE as u64) | 3;
        for n in 1..levels {
            let next = if n == levels - 1 { 0 } else { way(n.into()) };
            let addr = u64::from(n) * PAGE as u64;
            maze.0.insert(addr, next.to_le_bytes().repeat(512));
        }
        let mut bytes = elf(&maze, levels);
        let data = u64::from_le_bytes(bytes[128..136].try_into().unwrap());
        let top = data as usize + maze.0.len() * PAGE;
        for entry in bytes[top..top + PAGE].chunks_exact_mut(8) {
            if entry == [0; 8] {
                entry.copy_from_slice(&way(0).to_le_bytes());
            }
        }
        let want = read("whole", &elf(&ram, levels));
        assert_eq!(want.lines().count(), 11 + 3);
        assert_eq!(read("maze", &bytes), want);
    }
}

/// Its library is in C, and believes some of what it reads.
#[cfg(feature = "vmcore")]
#[test]
fn damaged_headers_are_answered() {
    let rig = Rig::empty();
    let whole = elf(&sample().finish(), 4);
    let mut codes = [0; 3];
    for seed in 1..=200u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut bytes = whole.clone();
        for _ in 0..1 + random.below(3) {
            let at = random.below(64 + 2 * 56 + 200);
            bytes[at] = match random.below(3) {
                0 => bytes[at] ^ (1 << random.below(8)),
                1 => 0xff,
                _ => random.next() as u8,
            };
        }
        let core = write(&rig, "core", &bytes);
        let out = rig.run(&["tasks", "--vmcore", &core]);
        codes[out.status as usize] += 1;
    }
    // Records have no side table, so none is whole.
    assert!(codes[0] == 0 && codes[1] > 10 && codes[2] > 10, "{codes:?}");
}
