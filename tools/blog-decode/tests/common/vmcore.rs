// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Builds the memory of a kernel that has stopped, and a crash dump of it.
//!
//! The layouts of rings, slots and tasks are not those of any kernel: a reader has to go by what the
//! root says.

use std::collections::BTreeMap;

use blog_vmcore::{
    memory::{Fault, Memory as ReadMemory},
    RingLayout,
};
use blog_wire::{
    dump::{
        Anchor, ComponentRoot, Crash, LockLayout, MemoryRoot, Root, SideTable, SlotLayout,
        TableRoot, TaskLayout, TaskNote, Tick, TlsLayout, ANCHORED, ANCHOR_MAGIC, CHUNKS_DOUBLE,
        COMPONENT_MAGIC, ENDIAN, MEMORY_MAGIC, NO_FIELD, ROOT_MAGIC, SINCE_HEAD, SINCE_ROOM,
        STATE_ON, VERSION,
    },
    field::Field,
    file::{self, ClockPair, Image},
    page,
    record::WIRE_VERSION,
};

use super::{
    kallsyms,
    snapshot::{padded, Page, BOOT_ID},
};

pub const PAGE: usize = 4096;
/// Where the direct map starts.
const BASE: u64 = 0xffff_8880_0100_0000;
/// Where the root is: in the image of the kernel.
pub const ROOT: u64 = 0xffff_ffff_8200_0040;

/// Where a kernel without BLog's patches has its list of panic notifiers.
pub const LIST: u64 = 0xffff_ffff_8230_0100;
/// The first one in it, in the last bytes that are mapped.
pub const NOTIFIER: u64 = 0xffff_ffff_8230_0fe8;
/// The second one: BLog's, of a module.
pub const ANCHOR: u64 = 0xffff_ffff_c000_0a00;
/// Which CPU has crashed: none.
pub const PANIC_CPU: u64 = LIST + 0x200;
/// What is added for each CPU to the address of a variable that each has, as of its current task.
pub const PER_CPU: u64 = LIST + 0x208;
pub const CURRENT: u64 = LIST + 0x300;
/// And its tables of symbols.
const KALLSYMS: u64 = 0xffff_ffff_8210_0ff0;

/// Virtual memory, by pages. What isn't there is not mapped.
#[derive(Clone, Default)]
pub struct Ram(pub BTreeMap<u64, Vec<u8>>);

impl ReadMemory for Ram {
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), Fault> {
        let mut at = addr;
        let mut rest = buf;
        while !rest.is_empty() {
            let within = at as usize % PAGE;
            let (to, behind) = rest.split_at_mut(rest.len().min(PAGE - within));
            let page = self.0.get(&(at & !(PAGE as u64 - 1)));
            to.copy_from_slice(&page.ok_or(Fault::Missing)?[within..within + to.len()]);
            at = at.checked_add(to.len() as u64).ok_or(Fault::Unmapped)?;
            rest = behind;
        }
        Ok(())
    }
}

impl Ram {
    pub fn write(&mut self, addr: u64, bytes: &[u8]) {
        let (mut at, mut rest) = (addr, bytes);
        while !rest.is_empty() {
            let within = at as usize % PAGE;
            let (from, behind) = rest.split_at(rest.len().min(PAGE - within));
            let page = self.0.entry(at & !(PAGE as u64 - 1));
            let page = page.or_insert_with(|| vec![0; PAGE]);
            page[within..within + from.len()].copy_from_slice(from);
            at += from.len() as u64;
            rest = behind;
        }
    }

    /// Addresses, and what is in the pages up to the last byte that isn't 0: an input for a fuzzer.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (addr, page) in &self.0 {
            let len = page.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
            bytes.extend(addr.to_le_bytes());
            bytes.extend((len as u16).to_le_bytes());
            bytes.extend(&page[..len]);
        }
        bytes
    }

    /// The opposite, of any bytes.
    pub fn from_bytes(mut bytes: &[u8]) -> Self {
        let mut ram = Self::default();
        while let Some((head, rest)) = bytes.split_first_chunk::<10>() {
            let addr = u64::from_le_bytes(head[..8].try_into().unwrap());
            let len = usize::from(head[8]) | usize::from(head[9]) << 8;
            let (page, rest) = rest.split_at(len.min(PAGE).min(rest.len()));
            let mut page = page.to_vec();
            page.resize(PAGE, 0);
            ram.0.insert(addr & !(PAGE as u64 - 1), page);
            bytes = rest;
        }
        ram
    }
}

/// The bytes of a structure.
fn bytes_of<T: Field>(value: &T) -> Vec<u8> {
    let mut bytes = vec![0; T::SIZE];
    value.put(&mut bytes);
    bytes
}

/// Where the fields of a ring were, until the root of version 6.
const RING: [u32; 20] =
    [832, 8, 16, 24, 32, 320, 40, 104, 168, 172, 176, 177, 180, 184, 188, 192, 208, 216, 224, 240];

pub const SLOT: SlotLayout = SlotLayout { size: 24, page: 8, shape: 4, rings: 16 };

const TLS: TlsLayout = TlsLayout { size: 640, first: 64, task: 8, reserved: 0 };

const TASK: TaskLayout = TaskLayout {
    size: 400,
    pid: 20,
    tgid: 24,
    comm: 300,
    state: 32,
    exit_state: 36,
    flags: 40,
    on_cpu: 44,
    cpu: 48,
    blog_tls: 56,
    tasks: NO_FIELD,
    thread_node: NO_FIELD,
    signal: NO_FIELD,
    thread_head: NO_FIELD,
    group_leader: NO_FIELD,
    stack: NO_FIELD,
    last_switch_time: NO_FIELD,
    blocker: 64,
};

const LOCKS: LockLayout = LockLayout { mutex: 0, semaphore: 24, rwsem: 8, reserved: 0 };

/// A task of the kernel.
pub struct Task {
    pub pid: i32,
    pub comm: &'static str,
    pub state: u32,
    /// CPU that it is running on, if it is.
    pub on: Option<u32>,
    pub crashed: bool,
}

/// A ring and its pages, the oldest first.
pub struct Ring {
    pub context: u8,
    pub cpu: u32,
    pub task: Option<usize>,
    pub exit_clock: u64,
    pub pages: Vec<Page>,
}

/// Places for components.
const COMPONENTS: usize = 4;

/// A kernel under construction.
pub struct Kernel {
    pub ram: Ram,
    next: u64,
    pub root: Root,
    /// Addresses of task_structs and of their tables.
    pub tasks: Vec<(i32, u64, u64)>,
    /// Where the slots are, by component, for who wants to damage them.
    pub slots: Vec<u64>,
    /// Where the components are.
    pub components: Vec<u64>,
    pub rings: Vec<u64>,
    pub pages: Vec<u64>,
}

pub fn pair(seconds: u64) -> ClockPair {
    ClockPair {
        clock: 1000 * seconds,
        mono: 1_000_000_000 * seconds,
        boot: 1_000_000_000 * seconds,
        real: 1_000_000_000 * (seconds + 1_790_000_000),
        local: 990_000_000 * seconds,
    }
}

impl Kernel {
    /// A kernel with these tasks, and no component, and a root of this version.
    pub fn new(tasks: &[Task], version: u32) -> Self {
        // SAFETY: All of it are integers.
        let mut root: Root = unsafe { std::mem::zeroed() };
        root.magic = ROOT_MAGIC;
        root.version = version;
        root.size = size_of::<Root>() as u32;
        root.endian = ENDIAN;
        root.wire_version = WIRE_VERSION;
        root.snapshot_version = file::VERSION;
        root.image_size = size_of::<Image>() as u32;
        root.task_note_size = size_of::<TaskNote>() as u32;
        root.side_table_size = size_of::<SideTable>() as u32;
        root.state = STATE_ON;
        root.system.page_size = PAGE as u32;
        root.system.cpus = 4;
        root.system.pointer_size = 8;
        root.system.release = padded("7.3.4");
        root.system.machine = padded("x86_64");
        root.system.host = padded("tests");
        root.system.boot_id = BOOT_ID;
        root.clock.kind = 2;
        root.clock.hz = 1000;
        let tick = |seconds| Tick { pair: pair(seconds), jiffies: seconds };
        root.ticks[..3].copy_from_slice(&[1, 98, 99].map(tick));
        root.ticks_len = 3;
        (root.slot, root.tls, root.task) = (SLOT, TLS, TASK);
        if version < SINCE_HEAD {
            root.rings = RING;
        }
        if version < SINCE_ROOM {
            (root.rings[0], root.rings[5]) = (320, 36);
        }
        root.locks = LOCKS;
        let mut this = Self {
            ram: Ram::default(),
            next: BASE,
            root,
            tasks: Vec::new(),
            slots: Vec::new(),
            components: Vec::new(),
            rings: Vec::new(),
            pages: Vec::new(),
        };
        this.root.components = this.take(COMPONENTS * 8);
        this.root.components_len = COMPONENTS as u32;
        let tables = this.take(64 * 640);
        for (n, task) in (0u64..).zip(tasks) {
            let at = this.take(TASK.size as usize);
            let table = tables + n * u64::from(TLS.size);
            let mut raw = vec![0; TASK.size as usize];
            put(&mut raw, TASK.pid, &task.pid.to_le_bytes());
            put(&mut raw, TASK.tgid, &task.pid.to_le_bytes());
            put(&mut raw, TASK.comm, &padded::<16>(task.comm));
            put(&mut raw, TASK.state, &task.state.to_le_bytes());
            put(&mut raw, TASK.on_cpu, &[u8::from(task.on.is_some())]);
            put(&mut raw, TASK.cpu, &task.on.unwrap_or(3).to_le_bytes());
            put(&mut raw, TASK.blog_tls, &table.to_le_bytes());
            this.ram.write(at, &raw);
            this.ram.write(table + u64::from(TLS.task), &at.to_le_bytes());
            if task.crashed {
                this.root.crash = Crash {
                    frozen: 1,
                    noted: 1,
                    pair: pair(100),
                    task: at,
                    cpu: task.on.unwrap_or(0),
                    pid: task.pid,
                    tgid: task.pid,
                    reserved: 0,
                    comm: padded(task.comm),
                };
            }
            this.tasks.push((task.pid, at, table));
        }
        let chunks = this.pointers(&[0, tables, 0]);
        this.root.tables =
            TableRoot { chunks, capacity: 3, per_chunk: 64, stride: TLS.size, doubling: 0 };
        this
    }

    /// Has a task wait for a lock of this kind, whose owner is at this place of it.
    pub fn wait(&mut self, task: u64, kind: u64, lock: &[u64]) {
        let lock = self.pointers(lock);
        let blocker = lock | (kind - 1);
        self.ram.write(task + u64::from(TASK.blocker), &blocker.to_le_bytes());
    }

    /// Memory of its own pages.
    fn take(&mut self, bytes: usize) -> u64 {
        let at = self.next;
        let len = bytes.next_multiple_of(PAGE);
        self.ram.write(at, &vec![0; len]);
        // A page that isn't there between any two.
        self.next += (len + PAGE) as u64;
        at
    }

    /// Puts words into memory; returns where.
    pub fn pointers(&mut self, all: &[u64]) -> u64 {
        let at = self.take(all.len() * 8);
        let bytes: Vec<u8> = all.iter().flat_map(|p| p.to_le_bytes()).collect();
        self.ram.write(at, &bytes);
        at
    }

    fn write<T: Field>(&mut self, value: &T) -> u64 {
        let at = self.take(size_of::<T>());
        self.ram.write(at, &bytes_of(value));
        at
    }

    pub fn images(&mut self, images: &[(u32, u32, &[u8], &str)]) {
        let at = self.take(images.len() * size_of::<Image>());
        for (n, (first, count, id, name)) in images.iter().enumerate() {
            let mut build_id = [0; 20];
            build_id[..id.len()].copy_from_slice(id);
            let image = Image {
                first: *first,
                count: *count,
                loaded: 1,
                build_id_len: id.len() as u32,
                build_id,
                reserved: 0,
                name: padded(name),
            };
            self.ram.write(at + (n * size_of::<Image>()) as u64, &bytes_of(&image));
        }
        (self.root.images, self.root.images_len) = (at, images.len() as u32);
    }

    /// Adds a component. Rings are in two chunks of four, their pages in slots of two; a page that
    /// is smaller than a page is the ring's own, or was a chunk of a split page.
    pub fn component(&mut self, name: &str, rings: &[Ring]) {
        let (has_room, l) = (self.root.version >= SINCE_ROOM, RingLayout::from_root(&self.root));
        let slot = self.components.len();
        assert!(slot < COMPONENTS);
        assert!(rings.len() <= 8);
        let mut slots: Vec<(u64, u32)> = Vec::new();
        let chunks = [(); 2].map(|()| self.take(4 * l.size as usize));
        for (id, ring) in (0u32..).zip(rings) {
            let mut raw = vec![0; l.size as usize];
            let at = chunks[id as usize / 4] + u64::from(id % 4 * l.size);
            let room = at + u64::from(l.room);
            if has_room {
                // In no chain.
                put(&mut raw, l.room, &page::PAGE_MAGIC.to_le_bytes());
                put(&mut raw, l.room + 4, &(l.size - l.room).to_le_bytes());
            }
            self.rings.push(at);
            let mut last = 0;
            for page in &ring.pages {
                let bytes = page.bytes.clone();
                let size = u32::from_le_bytes(bytes[4..8].try_into().unwrap());
                let is_small = (size as usize) < PAGE;
                if is_small && has_room {
                    put(&mut raw, l.room, &bytes);
                    last = room;
                    continue;
                }
                let memory = self.take(PAGE);
                self.ram.write(memory, &bytes);
                if is_small {
                    for part in 1..8u32 {
                        let mut free = bytes[..page::PAGE_HEADER_SIZE].to_vec();
                        free[16..24].fill(0);
                        self.ram.write(memory + u64::from(part * size), &free);
                    }
                }
                slots.push((memory, if is_small { 6 } else { 4 }));
                self.pages.push(memory);
                last = memory;
            }
            let task = ring.task.map(|t| self.tasks[t]);
            let (pid, retired) = (task.map_or(-1, |t| t.0), ring.exit_clock != 0);
            put(&mut raw, l.page, &last.to_le_bytes());
            let seq = ring.pages.last().map_or(0, Page::seq);
            put(&mut raw, l.seq, &seq.to_le_bytes());
            put(&mut raw, l.pages, &(ring.pages.len() as u32).to_le_bytes());
            put(&mut raw, l.id, &id.to_le_bytes());
            put(&mut raw, l.state, &[1 + u8::from(retired)]);
            put(&mut raw, l.context, &[ring.context]);
            put(&mut raw, l.cpu, &ring.cpu.to_le_bytes());
            put(&mut raw, l.pid, &pid.to_le_bytes());
            put(&mut raw, l.tgid, &pid.to_le_bytes());
            put(&mut raw, l.comm, &padded::<16>("old name"));
            put(&mut raw, l.exit_clock, &ring.exit_clock.to_le_bytes());
            put(&mut raw, l.first_seq, &1u64.to_le_bytes());
            let end = |p: &Page| p.first + u64::from(p.records());
            let taken = match (retired, ring.pages.last()) {
                (true, Some(page)) => end(page),
                (false, Some(page)) => page.first,
                _ => 0,
            };
            put(&mut raw, l.taken, &taken.to_le_bytes());
            self.ram.write(at, &raw);
            if let Some((_, _, table)) = task.filter(|_| !retired) {
                let first = table + u64::from(TLS.first);
                let mut next = [0; 8];
                ReadMemory::read(&self.ram, first, &mut next).unwrap();
                self.ram.write(at + u64::from(l.next), &next);
                self.ram.write(first, &at.to_le_bytes());
            }
        }
        let places = self.take(slots.len().max(1).next_multiple_of(2) * SLOT.size as usize);
        for (n, (page, shape)) in (0u64..).zip(&slots) {
            let at = places + n * u64::from(SLOT.size);
            self.ram.write(at + u64::from(SLOT.page), &page.to_le_bytes());
            if !has_room {
                self.ram.write(at + u64::from(SLOT.shape), &shape.to_le_bytes());
            }
            self.slots.push(at);
        }
        let (two, capacity) = (u64::from(SLOT.size) * 2, slots.len().div_ceil(2));
        let all: Vec<u64> = (0..capacity as u64).map(|n| places + n * two).collect();
        let slot_chunks = self.pointers(&all);
        let ring_chunks = self.pointers(&[chunks[0], chunks[1], 0, 0]);
        let counters = self.take(256);
        let table = |chunks, capacity, per_chunk, stride| TableRoot {
            chunks,
            capacity,
            per_chunk,
            stride,
            doubling: 0,
        };
        let memory = self.write(&MemoryRoot {
            magic: MEMORY_MAGIC,
            size: size_of::<MemoryRoot>() as u32,
            rings: table(ring_chunks, 4, 4, l.size),
            slots: table(slot_chunks, capacity as u32, 2, SLOT.size),
            page_size: PAGE as u32,
            chunk_size: if has_room { 0 } else { 512 },
            chunks: if has_room { 0 } else { 8 },
            reserved: 0,
            gone: counters,
            gone_count: 2,
            gone_stride: 128,
        });
        let component = self.write(&ComponentRoot {
            magic: COMPONENT_MAGIC,
            size: size_of::<ComponentRoot>() as u32,
            slot: slot as u32,
            enabled: 1,
            level: 3,
            mode: 0,
            attached: 1,
            size_kb: 1024,
            ring_kb: 256,
            memory,
            lost: counters + 128,
            name: padded(name),
            cleared: 0,
        });
        let place = self.root.components + slot as u64 * 8;
        self.ram.write(place, &component.to_le_bytes());
        self.components.push(component);
    }

    /// Makes the tables of all components such as kernels have since version 5: arrays of slots
    /// that double, or in version 5 of pointers to slots, and pointers to the rings in the slots.
    pub fn double_tables(&mut self) {
        for component in self.components.clone() {
            let word = |ram: &Ram, at| {
                let mut word = [0; 8];
                ReadMemory::read(ram, at, &mut word).unwrap();
                u64::from_le_bytes(word)
            };
            let memory = word(&self.ram, component + 24);
            let (rings, slots) = (memory + 8, memory + 32);
            let pointers = word(&self.ram, slots);
            let places = word(&self.ram, pointers);
            let count = word(&self.ram, slots + 8) as u32;
            for n in 0..2 {
                let chunk = word(&self.ram, word(&self.ram, rings) + 8 * n);
                let at = places + n * u64::from(SLOT.size) + u64::from(SLOT.rings);
                self.ram.write(at, &chunk.to_le_bytes());
            }
            let firsts = (0..).map(|n| 1u32 << n).take_while(|n| *n < count);
            let firsts = std::iter::once(0).chain(firsts);
            let is_new = self.root.version >= SINCE_ROOM;
            let first = |n: u32| match is_new {
                true => places + u64::from(n * 2 * SLOT.size),
                false => pointers + u64::from(n * 8),
            };
            let all: Vec<_> = firsts.map(first).collect();
            let chunks = self.pointers(&all);
            let table = |chunks, capacity, per_chunk, stride, doubling| TableRoot {
                chunks,
                capacity,
                per_chunk,
                stride,
                doubling,
            };
            self.ram.write(
                rings,
                &bytes_of(&table(0, 4, 4, RingLayout::from_root(&self.root).size, 0)),
            );
            let doubling = if is_new { CHUNKS_DOUBLE } else { 1 };
            let slots_root = table(chunks, all.len() as u32, 2, SLOT.size, doubling);
            self.ram.write(slots, &bytes_of(&slots_root));
        }
    }

    /// What the machine's memory is like when it has stopped.
    pub fn finish(&mut self) -> Ram {
        let mut ram = self.ram.clone();
        ram.write(ROOT, &bytes_of(&self.root));
        ram
    }
}

fn put(raw: &mut [u8], at: u32, bytes: &[u8]) {
    raw[at as usize..][..bytes.len()].copy_from_slice(bytes);
}

/// A kernel with one task in each state, in two components; the records are of sites 1 to 5.
pub fn sample() -> Kernel {
    sample_of(VERSION)
}

/// The same, with a root of this version.
pub fn sample_of(version: u32) -> Kernel {
    let task = |pid, comm, state, on, crashed| Task { pid, comm, state, on, crashed };
    let tasks = [
        task(10, "worker", 0, Some(1), false),
        task(11, "stuck", 2, None, false),
        task(12, "sleeper", 1, None, false),
        task(13, "crasher", 0, Some(2), true),
        task(14, "gone", 1, None, false),
    ];
    let mut kernel = Kernel::new(&tasks, version);
    kernel.images(&[(1, 5, b"id", "test")]);
    let page = |ring, seq, first, clocks: &[u64]| {
        let mut page = Page::new(ring, seq, clocks[0], first);
        for clock in clocks {
            page.record(*clock, 5, ());
        }
        page
    };
    let ring =
        |task, pages| Ring { context: 0, cpu: u32::MAX, task: Some(task), exit_clock: 0, pages };
    let own = if version < SINCE_HEAD { 512 } else { 320 };
    let mut small = Page::of_size(own, 3, 1, 98_000, 0);
    small.record(98_000, 1, (&7u32, "text"));
    small.record(99_500, 2, (&1u64, &2u64, &-5i32));
    let mut interrupts = Page::of_size(own, 4, 9, 99_000, 40);
    interrupts.record(99_900, 5, ());
    kernel.component(
        "disk",
        &[
            ring(0, vec![page(0, 3, 20, &[50_000, 60_000]), page(0, 4, 22, &[97_000])]),
            ring(1, vec![page(1, 1, 0, &[40_000, 50_500])]),
            ring(2, vec![page(2, 1, 0, &[99_000])]),
            ring(3, vec![small]),
            Ring { context: 1, cpu: 2, task: None, exit_clock: 0, pages: vec![interrupts] },
            Ring { exit_clock: 70_000, ..ring(4, vec![page(5, 2, 5, &[69_000])]) },
        ],
    );
    kernel.component("net", &[ring(1, vec![page(0, 1, 0, &[51_000])])]);
    kernel
}

/// What leads to the root where BLog is a module of a kernel that doesn't know it: returns the rows
/// of VMCOREINFO.
pub fn stock(ram: &mut Ram) -> String {
    let anchor = |next, magic| Anchor {
        call: 0xffff_ffff_8100_0000,
        next,
        priority: 1,
        reserved: 0,
        magic,
        root: ROOT,
    };
    ram.write(LIST + 8, &NOTIFIER.to_le_bytes());
    ram.write(NOTIFIER, &bytes_of(&anchor(ANCHOR, 0))[..24]);
    ram.write(ANCHOR, &bytes_of(&anchor(0, ANCHOR_MAGIC)));
    ram.write(PANIC_CPU, &[0xff; 4]);
    for cpu in 0..4 {
        ram.write(PER_CPU + 8 * cpu, &(16 * cpu).to_le_bytes());
    }
    let symbols = [
        ("T_stext".into(), 0xffff_ffff_8100_0000),
        ("tpanic".into(), 0xffff_ffff_8100_0040),
        (format!("D{}", "_RNvNtNtCs".repeat(40)), LIST - 8),
        (format!("D{ANCHORED}"), LIST),
        (format!("d{ANCHORED}s"), LIST + 16),
        ("Bpanic_cpu".into(), PANIC_CPU),
        ("D__per_cpu_offset".into(), PER_CPU),
        ("Dcurrent_task".into(), CURRENT),
    ];
    let symbols = symbols.each_ref().map(|(name, addr)| (&name[..], *addr));
    let (bytes, rows) = kallsyms::tables(KALLSYMS, &symbols);
    ram.write(KALLSYMS, &bytes);
    rows
}

/// Pages of a dump: where the first one is in physical memory.
pub const PHYSICAL: u64 = 0x20_0000;
/// Where the kernel's image is mapped.
const KERNEL_MAP: u64 = 0xffff_ffff_8000_0000;

/// An ELF vmcore of x86_64, with 4 or 5 levels of page tables.
pub fn elf(ram: &Ram, levels: u32) -> Vec<u8> {
    elf_with(ram, levels, &format!("SYMBOL(blog_root)={ROOT:x}\n"))
}

/// Pages of physical memory, page tables last, and VMCOREINFO.
fn physical(ram: &Ram, levels: u32, rows: &str) -> (Vec<Vec<u8>>, String) {
    let pages: Vec<(u64, &Vec<u8>)> = ram.0.iter().map(|(addr, page)| (*addr, page)).collect();
    // The tables come after them, the top one first.
    let mut tables = vec![[0u64; 512]];
    let physical = |n: usize| PHYSICAL + (n * PAGE) as u64;
    for (n, (addr, _)) in pages.iter().enumerate() {
        let mut table = 0;
        for level in (0..levels).rev() {
            let index = (addr >> (12 + 9 * level)) as usize & 511;
            if level == 0 {
                tables[table][index] = physical(n) | 3;
            } else if tables[table][index] == 0 {
                tables.push([0; 512]);
                tables[table][index] = physical(pages.len() + tables.len() - 1) | 3;
                table = tables.len() - 1;
            } else {
                let to = (tables[table][index] & !4095) - physical(pages.len());
                table = to as usize / PAGE;
            }
        }
    }
    // KASLR has put the image elsewhere.
    let phys_base: i64 = -0x10_0000;
    let top = (KERNEL_MAP + physical(pages.len())).wrapping_sub(phys_base as u64);
    let info = format!(
        "OSRELEASE=7.3.4\nPAGESIZE=4096\nSYMBOL(swapper_pg_dir)={top:x}\n{rows}\
         NUMBER(phys_base)={phys_base}\nNUMBER(pgtable_l5_enabled)={}\n",
        u32::from(levels == 5)
    );
    let mut all: Vec<Vec<u8>> = pages.iter().map(|(_, page)| page.to_vec()).collect();
    all.extend(tables.iter().map(|table| {
        let entries = table.iter().map(|entry| entry.to_le_bytes());
        entries.flatten().collect()
    }));
    (all, info)
}

/// The note of VMCOREINFO.
fn note(info: &str) -> Vec<u8> {
    let mut note = Vec::new();
    for n in [11u32, info.len() as u32, 0] {
        note.extend(n.to_le_bytes());
    }
    note.extend(b"VMCOREINFO\0\0");
    note.extend(info.as_bytes());
    note.resize(note.len().next_multiple_of(4), 0);
    note
}

/// The same with other rows in VMCOREINFO.
pub fn elf_with(ram: &Ram, levels: u32, rows: &str) -> Vec<u8> {
    let (pages, info) = physical(ram, levels, rows);
    let note = note(&info);
    let data = (64 + 2 * 56 + note.len()).next_multiple_of(PAGE);
    let size = pages.len() * PAGE;
    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(16, 0);
    elf.extend([4, 0, 62, 0, 1, 0, 0, 0]);
    for n in [0, 64, 0u64] {
        elf.extend(n.to_le_bytes());
    }
    for n in [0, 0, 64u16, 56, 2, 0, 0, 0] {
        elf.extend(n.to_le_bytes());
    }
    let mut segment = |kind: u32, [offset, vaddr, paddr, len]: [u64; 4]| {
        elf.extend(kind.to_le_bytes());
        elf.extend(7u32.to_le_bytes());
        for n in [offset, vaddr, paddr, len, len, 0] {
            elf.extend(n.to_le_bytes());
        }
    };
    segment(4, [64 + 2 * 56, 0, 0, note.len() as u64]);
    segment(1, [data as u64, 0xffff_8880_0000_0000 + PHYSICAL, PHYSICAL, size as u64]);
    elf.extend(note);
    elf.resize(data, 0);
    elf.extend(pages.concat());
    elf
}

/// The same as makedumpfile writes it, in so many parts (`makedumpfile --split`), not compressed.
pub fn kdump(ram: &Ram, levels: u32, parts: usize) -> Vec<Vec<u8>> {
    const BITMAP: usize = 1;
    let (pages, info) = physical(ram, levels, &format!("SYMBOL(blog_root)={ROOT:x}\n"));
    let first = PHYSICAL as usize / PAGE;
    let max = first + pages.len();
    assert!(max <= BITMAP * PAGE * 8);
    let in_part = pages.len().div_ceil(parts);
    let part = |n: usize| {
        let own = n * in_part..((n + 1) * in_part).min(pages.len());
        let frames = match (n, own.end == pages.len()) {
            (0, true) => 0..max,
            (0, false) => 0..first + own.end,
            _ => first + own.start..first + own.end,
        };
        let mut file = vec![0; (2 + 2 * BITMAP) * PAGE];
        let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, b"KDUMP   \x06\0\0\0Linux");
        put(12 + 2 * 65, b"7.3.4");
        put(12 + 4 * 65, b"x86_64");
        put(408, &1_700_000_000u64.to_le_bytes());
        let numbers = [1, PAGE, 1, 2 * BITMAP, max, 0, 0, 0, 0, 4];
        for (i, n) in numbers.iter().enumerate() {
            put(424 + 4 * i, &(*n as u32).to_le_bytes());
        }
        let pages_at = (2 + 2 * BITMAP) * PAGE + 24 * own.len();
        // After the sub-header's fields.
        let (note_at, note) = (PAGE + 512, note(&info));
        put(note_at, &note);
        let split = u32::from(parts > 1);
        put(PAGE + 8, &31u32.to_le_bytes());
        put(PAGE + 12, &split.to_le_bytes());
        let range = if parts > 1 { frames } else { 0..0 };
        for (at, n) in [
            (0, 0u64.wrapping_sub(0x10_0000)),
            (16, range.start as u64),
            (24, range.end as u64),
            (32, note_at as u64 + 24),
            (40, info.len() as u64),
            (48, note_at as u64),
            (56, note.len() as u64),
            (80, range.start as u64),
            (88, range.end as u64),
            (96, max as u64),
        ] {
            put(PAGE + at, &n.to_le_bytes());
        }
        for frame in first..max {
            for bitmap in 0..2 {
                file[(2 + bitmap * BITMAP) * PAGE + frame / 8] |= 1 << (frame % 8);
            }
        }
        for n in 0..own.len() {
            file.extend(((pages_at + n * PAGE) as u64).to_le_bytes());
            file.extend((PAGE as u32).to_le_bytes());
            file.extend([0; 12]);
        }
        file.extend(pages[own].concat());
        file
    };
    (0..parts).map(part).collect()
}

/// The same as `makedumpfile -F` would write it: in pieces, not all in order.
pub fn flattened(file: &[u8]) -> Vec<u8> {
    let mut out = b"makedumpfile\0\0\0\0".to_vec();
    out.extend([0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
    out.resize(4096, 0);
    let (first, rest) = file.split_at(1000);
    let mut pieces: Vec<(usize, &[u8])> =
        (0..).map(|n| 1000 + n * 5000).zip(rest.chunks(5000)).collect();
    pieces.push((0, first));
    for (offset, piece) in pieces {
        out.extend((offset as i64).to_be_bytes());
        out.extend((piece.len() as i64).to_be_bytes());
        out.extend(piece);
    }
    out.extend([0xff; 16]);
    out
}
