// SPDX-License-Identifier: GPL-2.0

//! Last words: at a panic, an oops or a hang, the newest records go to the kernel's log, as lines
//! of `format.rs`.
//!
//! Rings give a line each by turns, until there is no more room: those of the task; of who blocks
//! it, if it hangs, else of interrupts on its CPU; and of warnings of the task's components.
//!
//! The machine is about to stop, in any context, NMI included: see "Last words" in
//! Documentation/blog/design-read.rst for what is allowed here.

use kernel::{
    bindings::task_struct,
    blog::{
        task::MAX_COMPONENTS,
        wire::{
            dump::ComponentRoot,
            file::{
                self,
                Kind, //
            },
            page::PAGE_HEADER_SIZE,
            record::Context, //
        }, //
    },
    sync::rcu, //
};

// Programs that read what it describes have this file, too.
#[allow(dead_code, unreachable_pub)]
mod format;
mod images;
mod lines;
mod newest;

kunit! { mod tests; }

use self::{
    format::Why,
    lines::{
        blog_words_due,
        blog_words_hung,
        blog_words_print,
        blog_words_start,
        Lines, //
    },
    newest::{
        percpu_ring,
        CopiedRing,
        Copies,
        Newest, //
    }, //
};
use crate::{
    clock,
    floor::Part,
    memory::pool::WARN_RINGS,
    parts::dumps::{
        self,
        CrashLists, //
    },
    read::{
        piece::Records,
        ring::RingWalk,
        sections,
        selection::take_out, //
    },
    sys::{
        self,
        prelude::*, //
    },
    tasks,
    write::tables_dumped, //
};

pub(crate) static PART: Part = Part {
    start,
    ..Part::NONE
};

/// Limits on the rings of an event, each including the one before: those of the task; those of its
/// blockers, or of interrupts on this CPU; those of warnings.
const OF_TASK: usize = 3;
const OF_OTHERS: usize = 6;
const RINGS: usize = 8;
/// Pages that are passed on the way to the newest ones, in all rings: 64 MiB of them.
const STEPS: u32 = (64 << 20) / PAGE_SIZE as u32;
/// What an event needs, all of which is there from the start: the stack may be small.
struct Room {
    lines: Lines,
    copies: Copies,
    rings: KVec<Newest>,
    /// Pages that may still be passed on the way to the newest ones.
    steps: u32,
    chain: tasks::chain::WaitChain,
    system: file::System,
    clock: file::ClockPair,
    text: [u8; format::LINE_MAX],
}

impl Room {
    /// Process context.
    fn new() -> Result<Self> {
        Ok(Self {
            lines: Lines::new()?,
            copies: Copies::new()?,
            rings: KVec::with_capacity(RINGS, GFP_KERNEL)?,
            steps: 0,
            chain: tasks::chain::WaitChain::default(),
            system: sections::system(),
            clock: Default::default(),
            text: [0; format::LINE_MAX],
        })
    }

    /// Looks for the rings.
    ///
    /// # Safety
    ///
    /// `task` is valid, and the current one unless it hangs. RCU's lock is held.
    unsafe fn find(&mut self, why: Why, task: *mut task_struct) {
        let is_hung = why == Why::Hang;
        self.rings.clear();
        self.steps = STEPS;
        // SAFETY: By this function's requirement.
        unsafe { self.find_of(task, is_hung, OF_TASK) };
        let own = self.rings.len();
        self.chain = tasks::chain::WaitChain::default();
        match is_hung {
            // SAFETY: As above.
            true => unsafe { self.find_holders(task) },
            false => self.find_interrupts(),
        }
        for n in 0..own {
            let slot = self.rings.get(n).map_or(0, |ring| ring.slot);
            (0..WARN_RINGS).for_each(|ring| self.add(slot, ring, RINGS));
        }
    }

    /// Adds those of a task, up to so many in all.
    ///
    /// # Safety
    ///
    /// `task` is valid, and the current one unless it is `another`. RCU's lock is held.
    unsafe fn find_of(&mut self, task: *mut task_struct, another: bool, most: usize) {
        let (mut found, mut count) = ([(0, 0); RINGS], 0);
        // SAFETY: By this function's requirement.
        unsafe {
            tables_dumped::rings_of(task, another, |slot, ring| {
                if let Some(to) = found.get_mut(count) {
                    *to = (slot, ring);
                    count += 1;
                }
            });
        }
        let found = found.into_iter().take(count);
        found.for_each(|(slot, ring)| self.add(slot, ring, most));
    }

    /// Adds those of tasks that block a task. Not inlined, so that what it puts on the stack isn't
    /// there in an NMI.
    ///
    /// # Safety
    ///
    /// `task` is valid. RCU's lock is held.
    #[inline(never)]
    unsafe fn find_holders(&mut self, task: *mut task_struct) {
        // SAFETY: The tasks that it finds are valid as long as RCU's lock is held.
        let look = |holder| unsafe { self.find_of(holder, true, OF_OTHERS) };
        // SAFETY: By this function's requirement.
        self.chain = unsafe { tasks::chain::chain(task, look) };
    }

    /// Adds those of interrupts on this CPU.
    fn find_interrupts(&mut self) {
        let (_, cpu) = tasks::here();
        for slot in 0..MAX_COMPONENTS as u32 {
            for context in [Context::Nmi, Context::Hardirq, Context::Softirq] {
                if let Some(ring) = percpu_ring(slot, cpu, context) {
                    self.add(slot, ring, OF_OTHERS);
                }
            }
        }
    }

    fn add(&mut self, slot: u32, ring: u32, most: usize) {
        // Of tasks that wait for each other, the chain has the first one once more.
        let mut known = self.rings.iter().map(|known| (known.slot, known.ring));
        if self.rings.len() < most && !known.any(|known| known == (slot, ring)) {
            if let Some(new) = Newest::new(slot, ring, &mut self.copies, &mut self.steps) {
                let _ = self.rings.push_within_capacity(new);
            }
        }
    }

    fn make(&mut self, task: &file::Task, lists: CrashLists) {
        self.lines.clear();
        self.clock = clock::instant();
        let share = format::PACKED_ALL / self.rings.len().max(1);
        let mut goes_on = true;
        while goes_on {
            goes_on = false;
            for n in 0..self.rings.len() {
                goes_on |= self.line(n, share, task, lists);
            }
        }
    }

    /// Makes a line of the ring at `n`; false: it has no more records, or there is no room.
    fn line(&mut self, n: usize, share: usize, task: &file::Task, lists: CrashLists) -> bool {
        let mut want = format::RAW_MAX;
        while !self.lines.are_full() {
            let Some(ring) = self.rings.get_mut(n).filter(|ring| ring.known > 0) else {
                break;
            };
            let Some((len, start, size)) = ring.piece(&mut self.copies, want) else {
                // The page is empty, or gone.
                ring.back();
                continue;
            };
            let len = take_out(&mut self.copies.page, len, |site| lists.gets(site));
            let written = self.write(n, len, task, lists);
            let packed = match written {
                Some(()) => self.lines.pack(share, size),
                None => Err(size * 3 / 4),
            };
            match packed {
                Err(fit) if size <= want => want = fit,
                _ => {
                    if let Some(ring) = self.rings.get_mut(n) {
                        ring.took(start);
                    }
                    if packed.is_ok() {
                        return true;
                    }
                    // No line has room for this record. Its number will be missing.
                    want = format::RAW_MAX;
                }
            }
        }
        false
    }

    /// Writes a line with a piece.
    fn write(&mut self, n: usize, len: usize, task: &file::Task, lists: CrashLists) -> Option<()> {
        let ring = self.rings.get(n)?;
        // What comes after the page has room for a side table.
        let (page, table) = self.copies.page.split_at_mut_checked(len)?;
        let page = &*page;
        let lines = &mut self.lines;
        lines.begin()?;
        let clock = clock::section(1);
        lines.add(Kind::Clock, &[clock.as_bytes(), self.clock.as_bytes()])?;
        if lines.count == 0 {
            lines.add(Kind::System, &[self.system.as_bytes()])?;
            lines.add(Kind::Tasks, &[task.as_bytes()])?;
            for (wait, holder) in self.chain.iter().flatten() {
                lines.add(Kind::Waits, &[wait.as_bytes()])?;
                if let Some(holder) = holder {
                    lines.add(Kind::Tasks, &[holder.as_bytes()])?;
                }
            }
        }
        let mut records = Records::new(page, PAGE_HEADER_SIZE, len);
        // The images that the line has; of more, some are in it twice.
        let (mut listed, mut count) = ([None; 4], 0);
        while let Some((_, header)) = records.next(page) {
            // A control record's site is before all.
            let place = lists.index_of(header.site());
            let Some(n) = place.filter(|n| !listed.contains(&Some(*n))) else {
                continue;
            };
            if let Some(len) = lists.table_of(n, table) {
                lines.add(Kind::Table, &[table.get(..len)?])?;
            }
            lines.add(Kind::Images, &[lists.image(n)?.as_bytes()])?;
            *listed.get_mut(count % 4)? = Some(n);
            count += 1;
        }
        add_component(lines, ring.slot)?;
        add_ring(lines, &mut self.copies.ring, (ring.slot, ring.ring))?;
        let ids = file::Page {
            component: ring.slot,
            ring: ring.ring,
        };
        lines.add(Kind::Page, &[ids.as_bytes(), page])
    }

    fn print(&mut self, why: Why) {
        let (tag, count) = (self.clock.clock as u32, self.lines.count as u8);
        // The first line says most, so it comes last: pstore and QR codes have the end of the log.
        for (before, packed) in (0..count).zip(self.lines.packed().rev()) {
            let head = format::Head {
                why,
                number: count - before,
                count,
                tag,
            };
            let len = format::write(&mut self.text, &head, packed, |bytes| {
                sys::glue::crc32(0, bytes)
            });
            let text = self.text.get(..len).unwrap_or_default();
            // SAFETY: It is valid for its length.
            unsafe { blog_words_print(text.as_ptr().cast(), text.len() as u32) };
        }
    }
}

/// Adds what a component is, as crash tools find it, without its lock. Neither this nor
/// [`add_ring`] is inlined, so that the stack never has both.
#[inline(never)]
fn add_component(lines: &mut Lines, slot: u32) -> Option<()> {
    // Somebody may change it meanwhile; all are integers.
    let root: ComponentRoot = sys::nofault::fetch_value(dumps::component_at(slot)?)?;
    let section = dumps::section(&root, slot);
    lines.add(Kind::Component, &[section.as_bytes()])
}

/// Adds what a ring is, by its component's slot and its own number.
#[inline(never)]
fn add_ring(lines: &mut Lines, room: &mut CopiedRing, ids: (u32, u32)) -> Option<()> {
    let info = room.info(ids.0, ids.1)?;
    let section = RingWalk::of(&info, true).section(ids, &info, sections::Form::Snapshot)?;
    lines.add(Kind::Ring, &[section.as_bytes()])
}

/// What events use, one at a time; null while one does, or where there was no memory for it.
static ROOM: AtomicPtr<Room> = AtomicPtr::new(ptr::null_mut());

/// Prints the last words of a task, if they are wanted. Any context, but a hang in process context.
///
/// # Safety
///
/// `task` is valid, and the current one unless it hangs.
unsafe fn say(why: Why, task: *mut task_struct) {
    if sys::tree::may_open() != 0 {
        return;
    }
    // ORDERING: Acquire: what was done with the room before is done.
    let taken = ROOM.swap(ptr::null_mut(), Acquire);
    let guard = rcu::read_lock();
    // SAFETY: It stays, and nobody else uses it.
    let found = unsafe { taken.as_mut() }.zip(dumps::lists());
    if let Some((room, lists)) = found.filter(|_| blog_words_due(why as u32)) {
        // SAFETY: By this function's requirement.
        let facts = unsafe { tasks::facts(task) }.task();
        // SAFETY: Likewise, and RCU's lock is held.
        unsafe { room.find(why, task) };
        room.make(&facts, lists);
        // It takes as long as consoles need.
        drop(guard);
        room.print(why);
    }
    if !taken.is_null() {
        // ORDERING: Release: see above.
        ROOM.store(taken, Release);
    }
}

/// Called by `words.c`.
///
/// # Safety
///
/// `task` is valid, and the current one unless it hangs.
#[no_mangle]
unsafe extern "C" fn blog_last_words(why: u32, task: *mut task_struct) {
    if let Some(why) = Why::ALL.get(why as usize) {
        // SAFETY: By this function's requirement.
        unsafe { say(*why, task) };
    }
}

/// What the hung-task detector finds has last words, now or when it has found all.
///
/// # Safety
///
/// `task` is valid.
unsafe extern "C" fn hang(_: *mut c_void, task: *mut task_struct) {
    // SAFETY: By this function's requirement.
    unsafe { blog_words_hung(task) };
}

/// Process context, once.
fn start() {
    match Room::new().and_then(|room| Ok(KBox::new(room, GFP_KERNEL)?)) {
        Ok(room) => {
            // ORDERING: Release: events find a complete room.
            ROOM.store(KBox::into_raw(room), Release);
            blog_words_start();
            // Where this kernel has no detector, there is nothing to say.
            let _ = sys::tracepoint::on_hang(hang);
        }
        Err(e) => pr_warn!("no last words: {e:?}\n"),
    }
}
