// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Snapshots and captures of streams as text, a section or a record in each line; `;` also ends one:
//!
//! ```text
//! version 3                           of the file, in the first line; default: the kernel's
//! stream                              the capture of a stream; its rings have no count then
//! open                                without its last section
//! host alpha; boot 1                  default: tests, and BOOT_ID; - is no name
//! real 1700000000s                    real time at boot, for the clocks that follow
//! clock mono 0 10s=9s=8s=7s           pairs of CLOCK=MONO=BOOT, each by default as the one before,
//!                                     and =LOCAL, by default 0; mono, counter or mixed
//! image 1 4 test_mod id               first site, number, name, build ID; default: the rig's
//!                                     module. Images that follow each other are in one section
//! component 1 disk gone 17 lost full 3 cleared 2s
//! ring 1 task 42 fio in 1 records 9 lost full 3 told full 3 ended 50s pages 4 absent
//! ring 2 softirq 0                    or hardirq, nmi, shared; of names, _ is a blank
//! page 2 from 4 next 3 base 1s size 512 count 7 chop 1
//!                                     position, number of its first record, and which a stream
//!                                     should have had next; of the ring above; the number of
//!                                     records that it tells, bytes that it lacks
//! read 10ms 20ms/0x7 30ms..33ms/n     records "read 10 sectors at 0x0" at these times, and so on
//! call 1s 3 1u8 3u32                  a record of a call site: numbers, "text", x00ff (any bytes),
//!                                     fio:16 (padded text)
//! lost 1s full 3; left 2s 4           losses, and records that were not chosen
//! control 1s 77 1u64                  a control record of any number
//! section 8 1u32 x00ff                a section of any kind
//! task 42 fio D                       what a task was doing, by its state; then running, crashed (on
//!                                     CPU 0), or that it is there as a holder
//! wait 42 mutex 7 43                 who waits for which lock of whom; or semaphore, read, write;
//!                                     no holder, or 0 gone, or 43 readers
//! released 1 9                        the ring was taken from its owner, of which these are here
//! writer 1s task 0 42 42 fio          context, CPU, pid, tgid and name of who writes next
//! ```
//!
//! A snapshot's ring counts the records and losses of its pages if it isn't given other numbers.

use super::{
    kernel::wire::{
        file::{Kind, LockKind, Task, Wait, TASK_CRASHED, TASK_HOLDER, TASK_RUNNING},
        file::{WAIT_GONE, WAIT_READERS},
        record::{Context, Lost},
    },
    snapshot::{padded, Builder, Page, Ring, BOOT_ID, PAGE_SIZE},
    stream::as_stream,
};

/// Words of a line, each of which is there.
struct Words<'a>(std::str::SplitWhitespace<'a>);

impl<'a> Words<'a> {
    fn word(&mut self) -> &'a str {
        self.0.next().expect("a word more")
    }

    fn number<T: TryFrom<u64>>(&mut self) -> T {
        T::try_from(number(self.word())).ok().expect("a number that fits")
    }

    fn pid(&mut self) -> i32 {
        self.word().parse().expect("a pid")
    }

    fn cause(&mut self) -> Lost {
        let name = self.word();
        *Lost::ALL.iter().find(|cause| cause.name() == name).expect(name)
    }

    /// A cause, by its number, and how many records.
    fn loss(&mut self) -> (usize, u64) {
        let cause = self.cause() as usize;
        (cause, self.number())
    }

    /// The bytes of all arguments that follow.
    fn bytes(&mut self) -> Vec<u8> {
        self.0.by_ref().flat_map(argument).collect()
    }

    fn context(&mut self) -> u8 {
        let name = self.word();
        *Context::ALL.iter().find(|context| context.name() == name).expect(name) as u8
    }
}

/// A number, and what one of its unit is.
fn with_unit(word: &str) -> (u64, u64) {
    let units = [("ms", 1_000_000), ("us", 1000), ("s", 1_000_000_000)];
    let of = |&(name, ns): &(&str, u64)| Some((word.strip_suffix(name)?, ns));
    let (digits, unit) = units.iter().find_map(of).unwrap_or((word, 1));
    let number = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    (number.expect(word), unit)
}

/// A number, or a time in ns.
fn number(word: &str) -> u64 {
    let (number, unit) = with_unit(word);
    number * unit
}

/// The bytes of an argument.
fn argument(word: &str) -> Vec<u8> {
    let types = [("8", 1), ("16", 2), ("32", 4), ("64", 8), ("128", 16)];
    for (kind, (bits, bytes)) in ["u", "i"].into_iter().flat_map(|kind| types.map(|ty| (kind, ty)))
    {
        let digits = word.strip_suffix(bits).and_then(|rest| rest.strip_suffix(kind));
        if let Some(n) = digits.and_then(|digits| digits.parse::<i128>().ok()) {
            return n.to_le_bytes()[..bytes].to_vec();
        }
    }
    if let Some(text) = word.strip_prefix('"').and_then(|word| word.strip_suffix('"')) {
        return [&[text.len() as u8], text.as_bytes()].concat();
    }
    if let Some((text, size)) = word.rsplit_once(':') {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(size.parse().expect(word), 0);
        return bytes;
    }
    let hex = word.strip_prefix('x').expect(word);
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// A page of which no record is known yet, or one that has begun.
#[derive(Default)]
struct Open {
    page: Option<Page>,
    seq: u64,
    from: Option<u64>,
    base: Option<u64>,
    size: Option<usize>,
    next: Option<u64>,
    count: Option<u32>,
    chop: usize,
}

/// What is written of a ring when the next one comes.
struct Current {
    ring: Ring,
    absent: bool,
    records: Option<u64>,
    lost: [Option<u64>; 8],
    told: [Option<u64>; 8],
    /// And the numbers of records that they tell, and of the record that should be next.
    pages: Vec<(Page, Option<u32>, Option<u64>)>,
}

#[derive(Default)]
struct Compiler<'a> {
    build_id: &'a [u8],
    b: Builder,
    host: &'a str,
    boot: [u8; 16],
    real: u64,
    is_stream: bool,
    is_open: bool,
    has_system: bool,
    images: Vec<(u32, u32, Vec<u8>, &'a str)>,
    has_images: bool,
    component: u32,
    ring: Option<Current>,
    page: Option<Open>,
}

/// The bytes of the file; `build_id` is that of the module with the call sites.
pub fn compile(text: &str, build_id: &[u8]) -> Vec<u8> {
    let b = Builder::new();
    let mut all = Compiler { build_id, b, host: "tests", boot: BOOT_ID, ..Compiler::default() };
    for line in text.split(['\n', ';']) {
        let mut words = Words(line.split_whitespace());
        if let Some(first) = words.0.next() {
            all.line(first, &mut words);
            assert_eq!(words.0.next(), None, "{line}");
        }
    }
    all.end_ring();
    match (all.is_stream, all.is_open) {
        (true, _) => as_stream(all.b.bytes),
        (false, true) => all.b.bytes,
        (false, false) => all.b.end(),
    }
}

impl<'a> Compiler<'a> {
    fn line(&mut self, first: &str, words: &mut Words<'a>) {
        match first {
            "version" => self.b = Builder::of_version(words.number()),
            "stream" => self.is_stream = true,
            "open" => self.is_open = true,
            "host" => self.host = Some(words.word()).filter(|host| *host != "-").unwrap_or(""),
            "boot" => self.boot = [words.number(); 16],
            "real" => self.real = words.number(),
            "page" => self.begin_page(words),
            "read" | "call" | "lost" | "left" | "writer" | "control" => self.entry(first, words),
            _ => {
                self.end_ring();
                self.section(first, words);
            }
        }
    }

    fn section(&mut self, first: &str, words: &mut Words<'a>) {
        if !std::mem::replace(&mut self.has_system, true) {
            self.b.system_of(self.host, self.boot);
        }
        if first == "component" && !std::mem::replace(&mut self.has_images, true) {
            self.images.push((1, 4, self.build_id.to_vec(), "test_mod"));
        }
        if first != "image" && !self.images.is_empty() {
            let images = std::mem::take(&mut self.images);
            let all =
                images.iter().map(|(first, count, id, name)| (*first, *count, &id[..], *name));
            let all: Vec<_> = all.collect();
            self.b.images(&all);
        }
        match first {
            "clock" => {
                let kind = ["mono", "counter", "mixed"].into_iter().zip(1..);
                let name = words.word();
                let (_, kind) = kind.clone().find(|(word, _)| *word == name).expect(name);
                let pair = |word: &str| {
                    let mut all = word.split('=').map(number);
                    let clock = all.next().unwrap();
                    let mono = all.next().unwrap_or(clock);
                    let boot = all.next().unwrap_or(mono);
                    [clock, mono, boot, self.real + boot, all.next().unwrap_or(0)]
                };
                let pairs: Vec<_> = words.0.by_ref().map(pair).collect();
                self.b.clock(kind, &pairs);
            }
            "image" => {
                let (first, count, name) = (words.number(), words.number(), words.word());
                let id = words.0.next().map(|id| id.replace('_', " ").into_bytes());
                self.images.push((first, count, id.unwrap_or(self.build_id.to_vec()), name));
                self.has_images = true;
            }
            "component" => {
                let (id, name) = (words.number(), words.word());
                let (mut gone, mut lost, mut cleared) = (0, [0; 8], 0);
                while let Some(word) = words.0.next() {
                    match word {
                        "gone" => gone = words.number(),
                        "lost" => {
                            let (cause, count) = words.loss();
                            lost[cause] = count;
                        }
                        "cleared" => cleared = words.number(),
                        _ => panic!("{word}"),
                    }
                }
                self.component = id;
                self.b.component_of(id, name, gone, lost, cleared);
            }
            "ring" => self.begin_ring(words),
            "section" => {
                let kind = words.number();
                self.b.section(kind, &words.bytes());
            }
            "task" => self.task(words),
            "wait" => self.wait(words),
            "released" => {
                let (ring, records) = (words.number(), words.number());
                self.b.released(self.component, ring, records);
            }
            _ => panic!("{first}"),
        }
    }

    fn task(&mut self, words: &mut Words<'a>) {
        let pid = words.pid();
        let comm = padded(words.word().replace('_', " "));
        let state = words.word().as_bytes()[0];
        let flags = words.0.by_ref().map(|word| match word {
            "running" => TASK_RUNNING,
            "crashed" => TASK_RUNNING | TASK_CRASHED,
            "holder" => TASK_HOLDER,
            _ => panic!("{word}"),
        });
        let flags = flags.fold(0, |all, flag| all | flag);
        let cpu = if flags & TASK_RUNNING != 0 { 0 } else { u32::MAX };
        let task = Task { pid, tgid: pid, comm, state, flags, reserved: 0, cpu };
        self.b.section(Kind::Tasks as u16, &task.bytes());
    }

    fn wait(&mut self, words: &mut Words<'a>) {
        let pid = words.pid();
        let kind = match words.word() {
            "mutex" => LockKind::Mutex,
            "semaphore" => LockKind::Semaphore,
            "read" => LockKind::RwsemRead,
            "write" => LockKind::RwsemWrite,
            word => panic!("{word}"),
        } as u32;
        let lock = words.number();
        let holder = words.0.next().map_or(0, |pid| pid.parse().expect(pid));
        let flags = match words.0.next() {
            None => 0,
            Some("gone") => WAIT_GONE,
            Some("readers") => WAIT_READERS,
            Some(word) => panic!("{word}"),
        };
        let wait = Wait { lock, pid, holder, kind, flags };
        self.b.section(Kind::Waits as u16, &wait.bytes());
    }

    fn begin_ring(&mut self, words: &mut Words<'a>) {
        let (id, context) = (words.number(), words.context());
        let mut ring = match context {
            0 => Ring::task(self.component, id, words.pid(), ""),
            _ => Ring { context, ..Ring::softirq(self.component, id, words.number()) },
        };
        if context == 0 {
            ring.comm = words.word().replace('_', " ").into();
        }
        let (mut absent, mut records) = (false, None);
        let (mut lost, mut told) = ([None; 8], [None; 8]);
        while let Some(word) = words.0.next() {
            match word {
                "in" => ring.component = words.number(),
                "records" => records = Some(words.number()),
                "lost" => {
                    let (cause, count) = words.loss();
                    lost[cause] = Some(count);
                }
                "told" => {
                    let (cause, count) = words.loss();
                    told[cause] = Some(count);
                }
                "ended" => ring.exit_clock = words.number(),
                "pages" => ring.pages = words.number(),
                "absent" => absent = true,
                _ => panic!("{word}"),
            }
        }
        self.ring = Some(Current { ring, absent, records, lost, told, pages: Vec::new() });
    }

    fn begin_page(&mut self, words: &mut Words<'a>) {
        self.end_page();
        let mut page = Open { seq: words.number(), ..Open::default() };
        while let Some(word) = words.0.next() {
            match word {
                "from" => page.from = Some(words.number()),
                "next" => page.next = Some(words.number()),
                "base" => page.base = Some(words.number()),
                "size" => page.size = Some(words.number()),
                "chop" => page.chop = words.number(),
                "count" => page.count = Some(words.number()),
                _ => panic!("{word}"),
            }
        }
        self.page = Some(page);
    }

    /// The page, for an entry of this time.
    fn page_at(&mut self, clock: u64) -> &mut Page {
        let current = self.ring.as_ref().expect("a ring");
        let next = current.pages.last().map_or(0, |(p, ..)| p.first + u64::from(p.records()));
        let open = self.page.as_mut().expect("a page");
        let (id, seq, from) = (current.ring.ring, open.seq, open.from.unwrap_or(next));
        let (size, base) = (open.size.unwrap_or(PAGE_SIZE), open.base.unwrap_or(clock));
        open.page.get_or_insert_with(|| Page::of_size(size, id, seq, base, from))
    }

    fn entry(&mut self, first: &str, words: &mut Words<'a>) {
        if first == "read" {
            return words.0.by_ref().for_each(|word| self.read(word));
        }
        let clock = words.number();
        let page = self.page_at(clock);
        match first {
            "call" => {
                let site = words.number();
                page.raw_record(clock, site, &words.bytes());
            }
            "control" => page.control(clock, words.number(), &words.bytes()),
            "lost" => {
                let cause = words.cause();
                let count = words.number();
                page.lost(clock, cause as u8, count);
                if let (Some(current), false) = (&mut self.ring, cause == Lost::ReaderLag) {
                    current.ring.lost[cause as usize] += count;
                    current.ring.told[cause as usize] += count;
                }
            }
            "left" => page.left(clock, words.number()),
            _ => {
                let (context, cpu) = (words.context(), words.number());
                let ids = [words.pid(), words.pid()];
                page.writer(clock, context, cpu, (ids[0], ids[1], words.0.next().unwrap_or("")));
            }
        }
    }

    /// Records of the first call site, at a time or at each of a range.
    fn read(&mut self, word: &str) {
        let (times, sector) = word.split_once('/').unwrap_or((word, "0"));
        let (from, to) = times.split_once("..").unwrap_or((times, ""));
        let (start, unit) = with_unit(from);
        let end = if to.is_empty() { start } else { with_unit(to).0 - 1 };
        for n in start..=end {
            let clock = n * unit;
            let sector = if sector == "n" { n } else { number(sector) };
            self.page_at(clock).record(clock, 1, (&(n as u32), &sector));
        }
    }

    fn end_page(&mut self) {
        let Some(open) = self.page.take() else {
            return;
        };
        let at = open.base.unwrap_or(0);
        let (count, next, chop) = (open.count, open.next, open.chop);
        self.page = Some(open);
        self.page_at(at);
        let mut page = self.page.take().and_then(|open| open.page).unwrap();
        page.bytes.truncate(page.bytes.len() - chop);
        self.ring.as_mut().unwrap().pages.push((page, count, next));
    }

    fn end_ring(&mut self) {
        self.end_page();
        let Some(mut current) = self.ring.take() else {
            return;
        };
        let ring = &mut current.ring;
        if self.is_stream {
            ring.state = 0;
        }
        let pages = current.pages.iter().map(|(page, ..)| page.first + u64::from(page.records()));
        let counted = if self.is_stream { 0 } else { pages.max().unwrap_or(0) };
        ring.records = current.records.unwrap_or(counted);
        for cause in 0..8 {
            let counted = |all: [u64; 8]| if self.is_stream { 0 } else { all[cause] };
            ring.lost[cause] = current.lost[cause].unwrap_or(counted(ring.lost));
            ring.told[cause] = current.told[cause].unwrap_or(counted(ring.told));
        }
        if !current.absent {
            self.b.ring(ring);
        }
        for (page, count, next) in &current.pages {
            let (count, next) = (count.unwrap_or(page.records()), next.unwrap_or(page.first));
            self.b.page_after(ring, page, count, next);
        }
    }
}
