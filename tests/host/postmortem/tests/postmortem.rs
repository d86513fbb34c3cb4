// SPDX-License-Identifier: GPL-2.0

//! A process that logs stands in for a kernel. `fork()` freezes its state at an instant: the child
//! has a copy of all memory, but only of the thread that forked, so the other threads have stopped
//! in the middle of their work. The parent then extracts a snapshot from the child's memory, which
//! is the dump.

use std::{
    fs::File,
    mem::offset_of,
    os::unix::fs::FileExt,
    ptr,
    sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU32, AtomicU64,
        Ordering::{Relaxed, Release, SeqCst},
    },
};

use blog_decode_core::clock::Calibration;
use blog_file::snapshot::Snapshot;
use blog_host_tests::rig::{page_info, set_cpu, Read, Rig, Shown};
use blog_table::source::Source;
use blog_vmcore::{
    extract,
    memory::{Fault, Memory},
    Extracted,
};
use kernel::blog::{
    ring::{PageHeader, Ring},
    task::Tls,
    wire::{
        dump::{
            ComponentRoot, Root, TableRoot, TaskLayout, Tick, COMPONENT_MAGIC, NO_FIELD, STATE_ON,
        },
        file::{ClockKind, ClockPair, NAME_MAX},
        record::TS_BITS,
    },
};

/// Writers that live as long as the test.
const WRITERS: usize = 3;

/// All writers' CPUs, and one where tasks come and go.
const CPUS: u32 = WRITERS as u32 + 1;

/// What stands in for a task_struct.
#[repr(C)]
struct Task {
    before: u64,
    comm: [u8; 16],
    pid: i32,
    tgid: i32,
    state: u32,
    exit_state: u32,
    flags: u32,
    on_cpu: u8,
    pad: [u8; 3],
    cpu: u32,
    tls: AtomicPtr<Tls>,
}

const TASK: TaskLayout = TaskLayout {
    size: size_of::<Task>() as u32,
    pid: offset_of!(Task, pid) as u32,
    tgid: offset_of!(Task, tgid) as u32,
    comm: offset_of!(Task, comm) as u32,
    state: offset_of!(Task, state) as u32,
    exit_state: offset_of!(Task, exit_state) as u32,
    flags: offset_of!(Task, flags) as u32,
    on_cpu: offset_of!(Task, on_cpu) as u32,
    cpu: offset_of!(Task, cpu) as u32,
    blog_tls: offset_of!(Task, tls) as u32,
    tasks: NO_FIELD,
    thread_node: NO_FIELD,
    signal: NO_FIELD,
    thread_head: NO_FIELD,
    group_leader: NO_FIELD,
    stack: NO_FIELD,
    last_switch_time: NO_FIELD,
    blocker: NO_FIELD,
};

/// A kernel that logs.
struct Machine {
    rig: Box<Rig>,
    /// Keeps what `root` leads to.
    _shown: Box<Shown>,
    _component: Box<ComponentRoot>,
    _components: Box<[u64; 4]>,
    _lost: Box<[u64; 8]>,
    _chunk: Box<u64>,
    tables: Vec<Tls>,
    tasks: Vec<Task>,
    root: Box<Root>,
    /// Of each writer, the number of the record that it is about to write, and how many it has
    /// written for sure.
    trying: [AtomicU64; WRITERS],
    written: [AtomicU64; WRITERS],
    clock: AtomicU64,
}

impl Machine {
    fn new(rig: Box<Rig>) -> Box<Self> {
        let shown = Box::new(rig.show());
        let lost = Box::new([0u64; 8]);
        let mut name = [0; NAME_MAX];
        name[..4].copy_from_slice(b"test");
        let component = Box::new(ComponentRoot {
            magic: COMPONENT_MAGIC,
            size: size_of::<ComponentRoot>() as u32,
            slot: 3,
            enabled: 1,
            level: 3,
            mode: 0,
            attached: 1,
            size_kb: 256,
            ring_kb: 64,
            memory: ptr::from_ref(&shown.memory) as u64,
            lost: ptr::from_ref(&*lost) as u64,
            name,
            cleared: 0,
        });
        let empty: *mut PageHeader = Box::leak(Box::new(PageHeader::empty()));
        let none: *mut Ring = Box::leak(Box::new(unsafe { Ring::none(empty) }));
        let tables: Vec<_> = (0..8).map(|index| Tls::new(index, none)).collect();
        let tasks: Vec<_> = (0..WRITERS as i32)
            .map(|n| Task {
                before: 0,
                comm: *b"writer\0\0\0\0\0\0\0\0\0\0",
                pid: 100 + n,
                tgid: 100,
                // Running, uninterruptible, interruptible.
                state: [0, 2, 1][n as usize],
                exit_state: 0,
                flags: 0,
                on_cpu: u8::from(n == 0),
                pad: [0; 3],
                cpu: n as u32,
                tls: AtomicPtr::new(ptr::from_ref(&tables[n as usize]).cast_mut()),
            })
            .collect();
        let chunk = Box::new(tables.as_ptr() as u64);
        let mut root = Box::new(kernel::blog::root::empty());
        root.state = STATE_ON;
        root.system.cpus = CPUS;
        root.system.page_size = 4096;
        root.system.pointer_size = 8;
        root.clock.kind = ClockKind::MonoFast as u32;
        root.clock.hz = 1_000_000_000;
        root.crash.frozen = 1;
        root.crash.noted = 1;
        root.crash.task = ptr::from_ref(&tasks[0]) as u64;
        root.crash.pid = tasks[0].pid;
        root.crash.tgid = tasks[0].tgid;
        root.crash.comm = tasks[0].comm;
        root.crash.pair = ClockPair {
            clock: 1 << 40,
            mono: 1 << 40,
            boot: 1 << 40,
            real: 1 << 60,
            local: 1 << 40,
        };
        root.slot = Rig::slot_layout();
        root.tls = Tls::LAYOUT;
        root.task = TASK;
        let mut components = Box::new([0; 4]);
        components[3] = ptr::from_ref(&*component) as u64;
        root.components = ptr::from_ref(&*components) as u64;
        root.components_len = 4;
        root.tables = TableRoot {
            chunks: ptr::from_ref(&*chunk) as u64,
            capacity: 1,
            per_chunk: tables.len() as u32,
            stride: size_of::<Tls>() as u32,
            doubling: 0,
        };
        Box::new(Self {
            rig,
            _shown: shown,
            _component: component,
            _components: components,
            _lost: lost,
            _chunk: chunk,
            tables,
            tasks,
            root,
            trying: Default::default(),
            written: Default::default(),
            clock: AtomicU64::new(1),
        })
    }

    /// Gives a writer a ring, which its table has from now on.
    fn start(&self, n: usize) -> &Ring {
        let ring = self.rig.adopt(self.tasks[n].pid).unwrap();
        // SAFETY: The ring is this writer's, and in no list.
        assert!(unsafe { self.tables[n].add(ring) }.is_ok());
        let task = ptr::from_ref(&self.tasks[n]).cast_mut();
        self.tables[n].task.store(task.cast(), Release);
        ring
    }

    /// Logs the ordinal of the record.
    fn log(&self, ring: &Ring, n: usize) -> bool {
        let next = self.written[n].load(Relaxed);
        self.trying[n].store(next, SeqCst);
        let ts = self.clock.fetch_add(1, Relaxed);
        let done = self.rig.log(ring, ts, 7, &next.to_ne_bytes());
        if done {
            self.written[n].store(next + 1, SeqCst);
        }
        done
    }
}

/// Memory of a process.
struct Process(File);

impl Process {
    /// The memory of a process. A machine that doesn't let one look fails the test.
    fn new(pid: &str) -> Self {
        let path = format!("/proc/{pid}/mem");
        let process = Self(File::open(&path).unwrap_or_else(|e| panic!("{path}: {e}")));
        let seen = AtomicU64::new(5);
        assert!(pid != "self" || process.word(&seen) == Ok(5), "{path}");
        process
    }

    fn word(&self, at: &AtomicU64) -> Result<u64, Fault> {
        let mut bytes = [0; 8];
        self.read(ptr::from_ref(at) as u64, &mut bytes)?;
        Ok(u64::from_ne_bytes(bytes))
    }
}

impl Memory for Process {
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), Fault> {
        self.0.read_exact_at(buf, addr).map_err(|_| Fault::Unmapped)
    }
}

/// A snapshot out of a process.
fn dump(process: &Process, machine: &Machine) -> (Extracted, Snapshot) {
    let mut file = Vec::new();
    let root = ptr::from_ref(&*machine.root) as u64;
    let extracted = extract(process, root, &mut file).unwrap();
    let snapshot = Snapshot::read("dump".into(), Source::Memory(file)).unwrap();
    (extracted, snapshot)
}

/// Ordinals of the records of each ring with a section, checked: they follow each other, but for
/// what page headers say is gone, and are the numbers that were logged.
fn records(snapshot: &Snapshot) -> Vec<(i32, Vec<u64>)> {
    let mut all = Vec::new();
    for ring in &snapshot.rings {
        let (mut read, mut numbers, mut bytes) = (Read::default(), Vec::new(), Vec::new());
        for run in &ring.runs {
            let mut steps = run.steps();
            while steps.next(run, snapshot, Some(&mut bytes)).is_some() {
                let (info, before) = (page_info(&bytes), read.records.len());
                read.page(&bytes);
                for (ordinal, (_, site, payload)) in (info.first..).zip(&read.records[before..]) {
                    assert_eq!(*site, 7);
                    let number = u64::from_ne_bytes(payload.as_slice().try_into().unwrap());
                    assert_eq!(number, ordinal, "ring {:?}", ring.id);
                    assert!(numbers.last().is_none_or(|last| *last < number));
                    numbers.push(number);
                }
            }
        }
        all.push((ring.ring.as_ref().unwrap().pid, numbers));
    }
    all
}

#[test]
fn the_layouts_are_those_of_the_structures() {
    assert_eq!(Tls::LAYOUT.size as usize, size_of::<Tls>());
}

#[test]
fn a_machine_at_rest_gives_what_its_rings_hold() {
    let machine = Machine::new(Rig::with_rooms(24, 16, 2));
    let rings: Vec<_> = (0..WRITERS).map(|n| machine.start(n)).collect();
    for (n, ring) in rings.iter().enumerate() {
        // One has a chunk, one a page more, one has used all there is.
        for _ in 0..[5, 200, 30_000][n] {
            machine.log(ring, n);
        }
    }
    let gone = machine.rig.adopt(7).unwrap();
    assert!(machine.rig.log(gone, 1 << 39, 7, &0u64.to_ne_bytes()));
    machine.rig.retire(gone, 1 << 39);

    let process = Process::new("self");
    let (extracted, snapshot) = dump(&process, &machine);
    assert!(!extracted.problems.any_grave(), "{:?}", extracted.problems);
    assert_eq!((extracted.components, extracted.rings, extracted.tasks), (1, 4, 3));
    let found = records(&snapshot);
    for (ring, pid) in rings.iter().zip(100..) {
        let (_, numbers) = found.iter().find(|(p, _)| *p == pid).unwrap();
        let read = machine.rig.read(ring.id());
        let kept: Vec<_> = read.records.iter().map(|(_, _, payload)| payload.clone()).collect();
        assert!(numbers.iter().map(|n| n.to_ne_bytes().to_vec()).eq(kept));
        let section = snapshot.rings.iter().find(|r| r.ring.as_ref().unwrap().pid == pid).unwrap();
        let section = section.ring.as_ref().unwrap();
        assert_eq!(section.records, ring.records());
        assert_eq!(section.lost(), ring.info().unwrap().lost);
    }
    let retired = snapshot.rings.iter().find(|r| r.ring.as_ref().unwrap().pid == 7).unwrap();
    let retired = retired.ring.as_ref().unwrap();
    assert_eq!((retired.retired, retired.exit_clock, retired.records), (1, 1 << 39, 1));
    assert_eq!(&retired.comm[..5], b"test\0");

    let states: Vec<_> = snapshot.tasks.iter().map(|t| (t.pid, t.state, t.cpu)).collect();
    assert_eq!(states, [(100, b'R', 0), (101, b'D', 1), (102, b'S', 2)]);
}

#[test]
fn a_machine_that_slept_tells_when_things_happened() {
    /// How long it slept, in ns, and how far the clock went on then.
    const SLEPT: u64 = 3_600_000_000_000;
    const TURN: u64 = 1 << TS_BITS;

    let mut machine = Machine::new(Rig::with_rooms(24, 16, 2));
    let start = 1_000_000;
    let end = start + 20;
    let pair = |clock, mono, slept| Tick {
        pair: ClockPair { clock, mono, boot: mono + slept, real: mono + slept, local: mono },
        jiffies: 0,
    };
    let root = &mut machine.root;
    root.clock.kind = ClockKind::Mixed as u32;
    root.ticks[0] = pair(1, 1, 0);
    root.ticks[1] = pair(end, end, 0);
    root.ticks[2] = pair(end + TURN, end, 0);
    root.ticks[3] = pair(end + TURN + 1, end, SLEPT);
    root.ticks_len = 4;
    root.crash.pair = pair(end + TURN + 1001, end + 1000, SLEPT).pair;

    let rings = [machine.start(0), machine.start(1)];
    let log = |n: usize| (0..10).for_each(|_| assert!(machine.log(rings[n], n)));
    machine.clock.store(start, Relaxed);
    log(0);
    log(1);
    machine.clock.store(end + TURN + 1, Relaxed);
    log(1);
    log(0);

    let process = Process::new("self");
    let (extracted, snapshot) = dump(&process, &machine);
    assert!(!extracted.problems.any_grave(), "{:?}", extracted.problems);
    let clocks: Vec<_> = snapshot.pairs.iter().map(|p| p.clock).collect();
    let crash = machine.root.crash.pair.clock;
    assert_eq!(clocks, [1, end, end + TURN, end + TURN + 1, crash]);
    assert_eq!(snapshot.pairs[3].local, end);

    let times = Calibration::new(snapshot.clock.as_ref(), &snapshot.pairs);
    let mut found: Vec<_> = Vec::new();
    for ring in &snapshot.rings {
        let mut bytes = Vec::new();
        for run in &ring.runs {
            let mut steps = run.steps();
            while steps.next(run, &snapshot, Some(&mut bytes)).is_some() {
                let mut read = Read::default();
                read.page(&bytes);
                found.extend(read.records.iter().map(|r| times.boot(r.0)));
            }
        }
    }
    found.sort_unstable();
    let before = (0..20).map(|n| 1_000_000 + n);
    let after = (0..20).map(|n| i128::from(end + SLEPT) + n);
    assert_eq!(found, before.chain(after).collect::<Vec<_>>());
}

#[test]
fn a_machine_that_stops_anywhere_gives_all_that_was_published() {
    let machine = Machine::new(Rig::with_rooms(24, 24, 4));
    let rings: Vec<_> = (0..WRITERS).map(|n| machine.start(n)).collect();
    let (stop, started) = (AtomicBool::new(false), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for (n, ring) in rings.iter().copied().enumerate() {
            let (machine, stop, started) = (&machine, &stop, &started);
            scope.spawn(move || {
                set_cpu(n as u32);
                started.fetch_add(1, Relaxed);
                while !stop.load(Relaxed) {
                    machine.log(ring, n);
                }
            });
        }
        // Tasks come and go, and take pages from each other.
        scope.spawn(|| {
            set_cpu(3);
            started.fetch_add(1, Relaxed);
            let mut pid = 1000;
            while !stop.load(Relaxed) {
                pid += 1;
                let Some(ring) = machine.rig.adopt(pid) else {
                    continue;
                };
                let mut number = 0u64;
                for _ in 0..pid % 400 {
                    let ts = machine.clock.fetch_add(1, Relaxed);
                    number += u64::from(machine.rig.log(ring, ts, 7, &number.to_ne_bytes()));
                }
                machine.rig.retire(ring, machine.clock.load(Relaxed));
            }
        });
        // Also if an assertion fails: the scope waits for them.
        let _stop = StopOnDrop(&stop);
        while started.load(Relaxed) != CPUS {
            std::thread::yield_now();
        }
        // Until all have been through all pages, however slow this machine is.
        let all = 24 * 4096 / 16;
        let young = || machine.written.iter().any(|n| n.load(Relaxed) < all);
        let mut crashes = 0;
        while crashes < 100 || young() {
            crash(&machine);
            crashes += 1;
        }
    });
}

/// Ends the other threads.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Stops a copy of the machine, and looks at what it held.
fn crash(machine: &Machine) {
    // SAFETY: The child makes one system call after the other that needs nothing of what other
    // threads may have been in the middle of, until it is killed, or the parent fails.
    let child = unsafe {
        match libc::fork() {
            0 => {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                loop {
                    libc::pause();
                }
            }
            child => child,
        }
    };
    assert!(child > 0);
    let process = Process::new(&child.to_string());
    let written = machine.written.each_ref().map(|n| process.word(n).unwrap());
    let trying = machine.trying.each_ref().map(|n| process.word(n).unwrap());
    let (extracted, snapshot) = dump(&process, machine);
    // SAFETY: This is the child from above.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        assert_eq!(libc::waitpid(child, ptr::null_mut(), 0), child);
    }

    assert!(!extracted.problems.any_grave(), "{:?}", extracted.problems);
    let found = records(&snapshot);
    for (pid, (written, trying)) in (100..).zip(written.into_iter().zip(trying)) {
        if written == 0 {
            continue;
        }
        let (_, numbers) = found.iter().find(|(p, _)| *p == pid).unwrap();
        // The last one that was published: it may not have been counted yet.
        let last = *numbers.last().unwrap();
        assert!(last == written - 1 || last == trying, "{pid}: {last}, {written}, {trying}");
        // All that came before it, up to where the oldest page was taken: of those that were just
        // being taken, one for each CPU at most, a later one may be gone first.
        let hole = numbers.windows(2).rposition(|pair| pair[0] + 1 != pair[1]);
        let in_pages = CPUS as usize * (4096 - 48) / 16;
        assert!(hole.is_none_or(|at| at < in_pages), "{pid}: a hole");
        assert!(snapshot.tasks.iter().any(|task| task.pid == pid));
    }
}
