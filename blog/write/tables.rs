// SPDX-License-Identifier: GPL-2.0

//! Tasks: the tables of their rings, from a task's first record to its end; see "Tasks" in
//! Documentation/blog/. [`task`] finds a task's table.
//!
//! A table comes out of its CPU's stock. If that is empty, a page of the component that the task
//! logs to becomes tables: a log call can't allocate.
//!
//! [`get`] is for log calls: it waits for nothing, in any context. All other functions take the
//! lock of the table ([`lock`]): under it, a table that has a task keeps it, and the task is valid.
//! A ring's component is valid as long as interrupts are off, as they are under the lock:
//! `quiesce()` has waited for that before the component is freed.

use kernel::{
    blog::{
        no_ring,
        ring::{
            PageHeader,
            Ring, //
        },
        task::{
            self,
            Tls,
            MAX_COMPONENTS, //
        },
        wire::file, //
    },
    cpu::nr_cpu_ids, //
};

use crate::{
    clock,
    memory::{
        block::Block,
        pool::{
            Claimed,
            Hint,
            List,
            MOST_SHELVES, //
        },
        Memory, //
    },
    registry::state::State,
    sys::{
        hook,
        prelude::*, //
    },
    tasks, //
};

/// Tables of a page, after its header, which is in a place of the same size as they are aligned to.
pub(super) const TABLES: usize = (PAGE_SIZE - TABLES_AT) / size_of::<Tls>();
const TABLES_AT: usize = 64;
/// Most pages: 65520 tasks with rings at a time.
pub(super) const PAGES: usize = 3120;
const _: () = assert!(PAGES * TABLES <= Tls::MOST);
/// Pages that there are from the start.
const STOCK: usize = 24;
/// So many tables next to each other go to one CPU at first; their locks are one.
pub(super) const NEIGHBOURS: u32 = 8;

/// All tables.
///
/// # Invariants
///
/// - `pages[i]` is null, or points to [`TABLES`] tables that stay.
/// - A table without a task is in a stock, or somebody holds its index. It has no rings.
pub(super) struct TaskTables {
    pub(super) pages: [AtomicPtr<Tls>; PAGES],
    /// How many of these are there, or are just coming.
    count: AtomicU32,
    /// What CPUs have at hand, and which of them have something.
    stocks: [Claimed<List>; MOST_SHELVES],
    has: Hint,
}

pub(super) static SLAB: TaskTables = TaskTables {
    pages: [const { AtomicPtr::new(ptr::null_mut()) }; PAGES],
    count: AtomicU32::new(0),
    stocks: [const { Claimed::new(List::new()) }; MOST_SHELVES],
    has: Hint::new(),
};

/// Components by slot, for the task hook.
pub(super) static STATES: [AtomicPtr<State>; MAX_COMPONENTS] =
    [const { AtomicPtr::new(ptr::null_mut()) }; MAX_COMPONENTS];

impl TaskTables {
    fn table(&self, index: u32) -> Option<&'static Tls> {
        let index = index as usize;
        // ORDERING: Acquire pairs with the store in `add`: the tables are initialised.
        let page = self.pages.get(index / TABLES)?.load(Acquire);
        if page.is_null() {
            return None;
        }
        // SAFETY: By the type invariants, there are `TABLES` tables, which stay.
        Some(unsafe { &*page.add(index % TABLES) })
    }

    /// How many tables there are, or are just coming.
    fn len(&self) -> u32 {
        self.count.load(Relaxed) * TABLES as u32
    }

    /// All tables, used or not.
    fn tables(&self) -> impl Iterator<Item = &'static Tls> + '_ {
        (0..self.len()).filter_map(|index| self.table(index))
    }

    fn link(&self, index: u32) -> Option<&AtomicU32> {
        Some(&self.table(index)?.link)
    }

    fn take(&self, cpu: u32) -> Option<&'static Tls> {
        let own = cpu as usize % MOST_SHELVES;
        let has = |stock: &List| stock.len() != 0;
        let at = |n| self.table(n).map(|table| (&table.link, table));
        let take = |_, stock: &List| stock.take(at);
        self.has.find(own, |n| &self.stocks[n], has, take)
    }

    /// Puts a table into a CPU's stock, or into another one's, where somebody is just using that.
    /// Should all be in use at that instant, the table is lost.
    fn put(&self, cpu: u32, table: &Tls) {
        let own = cpu as usize % MOST_SHELVES;
        for n in (own..own + MOST_SHELVES).map(|n| n % MOST_SHELVES) {
            if let Some(list) = self.stocks[n].claim() {
                list.push(|n| self.link(n), table.index);
                return self.has.set(n);
            }
        }
    }

    /// Makes a page one of tables, and puts them into the stocks of the CPUs that `cpu` says of
    /// their indices. False: there are as many as may be, and the page is as it was. Any context.
    ///
    /// # Safety
    ///
    /// It is a page of [`Block::into_page`], which stays, and nobody's.
    unsafe fn add(&self, page: *mut u8, cpu: impl Fn(u32) -> u32) -> bool {
        let more = |pages: u32| (pages < PAGES as u32).then_some(pages + 1);
        let Ok(n) = self.count.fetch_update(Relaxed, Relaxed, more) else {
            return false;
        };
        let indices = (n * TABLES as u32..).take(TABLES);
        let tables = page.wrapping_add(TABLES_AT).cast::<Tls>();
        // Readers and thieves may have found it as a page of records.
        // SAFETY: A page begins with a header, or is zero.
        unsafe { &*page.cast::<PageHeader>() }.turn_into(0, 0, || {
            for (i, index) in indices.clone().enumerate() {
                // SAFETY: There is room for them in a page.
                unsafe { tables.add(i).write(Tls::new(index, no_ring())) };
            }
        });
        // ORDERING: Release publishes the tables.
        // INVARIANT: There are `TABLES` tables, and nobody frees them.
        self.pages[n as usize].store(tables, Release);
        for index in indices {
            if let Some(table) = self.table(index) {
                self.put(cpu(index), table);
            }
        }
        true
    }

    /// Makes tables of a page of a component that is being logged to.
    fn grow(&self, memory: &Memory, cpu: u32, steal: bool) {
        // SAFETY: It is such a page, and the component's no more if this takes it.
        memory.lend(cpu, steal, |page| unsafe { self.add(page, |_| cpu) });
    }
}

/// Takes the lock of a table: see [`tasks::lock_tls`].
fn lock(table: &Tls) -> tasks::TlsGuard {
    tasks::lock_tls(table.index / NEIGHBOURS)
}

/// The current task's table, which it gets if it has none; `None` when there are none left.
///
/// For log calls, on this CPU, to the component whose memory this is; `steal`: whether its live
/// rings may be made to give up a page for tables.
///
/// # Safety
///
/// `task` is the current task, which is the context of the call.
pub(crate) unsafe fn get(
    task: *mut bindings::task_struct,
    memory: &Memory,
    cpu: u32,
    steal: bool,
) -> Option<&'static Tls> {
    // SAFETY: The current task is valid.
    if let Some(table) = unsafe { task::table(task) } {
        return Some(table);
    }
    // One that gets none, not even from a full stock, would ask for it with each record.
    if !task::has_room(task) {
        return None;
    }
    let table = SLAB.take(cpu).or_else(|| {
        SLAB.grow(memory, cpu, steal);
        SLAB.take(cpu)
    })?;
    // ORDERING: Release: who finds the task finds a table without rings.
    table.task.store(task.cast(), Release);
    // A log call that interrupted this one (from a kprobe, say) may have been faster.
    // SAFETY: By this function's requirement.
    match unsafe { task::give(task, table) } {
        Ok(()) => Some(table),
        Err(other) => {
            table.task.store(ptr::null_mut(), Relaxed);
            SLAB.put(cpu, table);
            other
        }
    }
}

pub(crate) fn pages() -> u32 {
    SLAB.count.load(Relaxed)
}

/// Makes a component known to the task hook.
///
/// # Safety
///
/// `state` stays valid until [`unpublish`] for its slot, and `quiesce()` after that.
pub(crate) unsafe fn publish(state: &State) {
    if let Some(slot) = STATES.get(usize::from(state.slot())) {
        // ORDERING: Release: who finds it there finds it made.
        slot.store(ptr::from_ref(state).cast_mut(), Release);
    }
}

/// The component in a slot, which stays while interrupts are off.
pub(super) fn state_in(slot: u32, _guard: &tasks::TlsGuard) -> Option<&State> {
    // SAFETY: By the requirement of `publish`: `quiesce` waits for the holder of the guard.
    unsafe { STATES.get(slot as usize)?.load(Acquire).as_ref() }
}

/// Undoes [`publish`].
pub(crate) fn unpublish(slot: u16) {
    forget(slot);
    if let Some(state) = STATES.get(usize::from(slot)) {
        state.store(ptr::null_mut(), Relaxed);
    }
    // A hook that has taken out a ring of it, and would look the slot up when it is another one's,
    // is done by then.
    tasks::sync_tls();
}

/// Takes the rings of a component from all tasks. Nobody logs to it any more; but log calls to
/// other components may still be looking at them, until `quiesce()` has waited once more.
pub(crate) fn forget(slot: u16) {
    for table in SLAB.tables().filter(|table| !table.is_empty()) {
        let _guard = lock(table);
        // SAFETY: The lock is held, and nobody logs to it.
        unsafe { table.remove(slot.into(), no_ring()) };
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Writer {
    pub(crate) ring: u32,
    /// [`Info::first_seq`](kernel::blog::ring::Info::first_seq) of the ring while it is the task's,
    /// and the thread id that its owner has had from the start.
    pub(crate) owner: (u64, i32),
    /// The task as it is now.
    pub(crate) task: file::Task,
}

/// The next task that has a ring of a component in one of these `slots`, which `look` looks at: it
/// is valid for that call, in which a lock is held and interrupts are off.
///
/// `from` is 0 at the start, and says from then on where to go on. Tasks that come or go meanwhile
/// may be left out.
pub(crate) fn next(
    from: &mut u32,
    slots: impl Fn(u32) -> bool,
    look: impl FnOnce(*const bindings::task_struct),
) -> Option<Writer> {
    while *from < SLAB.len() {
        let table = SLAB.table(*from).filter(|table| !table.is_empty());
        *from += 1;
        let Some(table) = table else {
            continue;
        };
        let _guard = lock(table);
        // SAFETY: The lock is held.
        let mut rings = unsafe { table.rings() };
        if let Some(ring) = rings.find(|ring| slots(ring.slot())) {
            let task = table.task.load(Acquire).cast::<bindings::task_struct>();
            look(task);
            return Some(Writer {
                ring: ring.id(),
                // The lock keeps it from retiring.
                owner: (ring.info()).map_or((0, 0), |info| (info.first_seq, info.owner.pid)),
                // SAFETY: The task of a table with a ring is valid while the lock is held.
                task: unsafe { tasks::facts(task) }.task(),
            });
        }
    }
    None
}

/// Called when `task` is freed, or is as good as that: then its rings go to the pools of their
/// components; or has another name, or is just getting it, from itself or another task.
///
/// In any context that frees a task, softirq included.
///
/// # Safety
///
/// `task` is valid, and will not run again if it is `freed`.
pub(crate) unsafe extern "C" fn task_hook(task: *mut bindings::task_struct, freed: bool) {
    // SAFETY: By this function's requirement.
    while let Some(table) = unsafe { task::table(task) } {
        let guard = lock(table);
        if !freed {
            // Its next records show it. Perhaps it executes a program, and has another id already.
            // SAFETY: The lock is held.
            unsafe { table.rings() }.for_each(Ring::rename);
            return;
        }
        // SAFETY: By this function's requirement.
        if !unsafe { task::take(task, table) } {
            return;
        }
        let (now, (_, cpu)) = (clock::now(), tasks::here());
        // SAFETY: The lock is held, and the task is gone, so its rings have no writer any more. The
        // guard, with which interrupts are off, keeps the memory of their components.
        unsafe {
            table.take(no_ring(), |ring| {
                let state = state_in(ring.slot(), &guard);
                if let Some(memory) = state.and_then(|state| state.live_memory()) {
                    ring.retire(now);
                    memory.pool.retire(ring);
                }
            });
        }
        table.task.store(ptr::null_mut(), Relaxed);
        drop(guard);
        SLAB.put(cpu, table);
    }
}

/// Registers the task hook, or does nothing on an error. Once, before anything can log.
pub(crate) fn start_hook() -> Result {
    // SAFETY: Nothing can log yet. If the hook is registered, this code stays.
    unsafe {
        task::init();
        hook::start_hook(task_hook)
    }
}

pub(crate) fn fill() {
    // What can't be had is not there: tables come of components' pages, too.
    for _ in 0..STOCK {
        let Ok(page) = Block::new(1) else {
            break;
        };
        let cpu = |index| index / NEIGHBOURS % nr_cpu_ids().max(1);
        // SAFETY: It is such a page. There is room for so few.
        unsafe { SLAB.add(page.into_page(), cpu) };
    }
}
