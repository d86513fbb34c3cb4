// SPDX-License-Identifier: GPL-2.0

//! For after a crash: fills in the post-mortem root, which crash tools find in a dump;
//! `rust/kernel/blog/wire/dump.rs` describes it.
//!
//! Nothing in the running kernel reads the root but the last words. An address is stored after its
//! target is complete, and removed before the target goes.

use core::mem::offset_of;
use kernel::{
    blog::{
        root::{
            blog_root,
            Live, //
        },
        task::{
            self,
            Tls,
            MAX_COMPONENTS, //
        },
        wire::{
            dump::{
                ComponentRoot,
                LockLayout,
                SideTable,
                TaskLayout,
                Tick,
                CLOCK_COUNTER,
                COMPONENTS,
                STATE_ON, //
            },
            file,
            record::LOST_CAUSES, //
        }, //
    },
    transmute::FromBytes, //
};

use crate::{
    clock,
    floor::{
        Event,
        Part, //
    },
    memory::pool::Slot,
    read::sections,
    registry::{
        self,
        images::Build,
        state::State, //
    },
    sys::{
        nofault::fetch_value,
        prelude::*, //
    },
    write::tables_dumped, //
};

pub(crate) static PART: Part = Part {
    start: init,
    event: |event| match event {
        // SAFETY: It stays until it is gone.
        Event::New(state) => unsafe { publish(state.slot(), Some(state)) },
        // SAFETY: No component is published that could go.
        Event::Gone(state) => unsafe { publish(state.slot(), None) },
        Event::Images => list(),
        Event::Came | Event::Detaches(_) => (),
    },
    ..Part::NONE
};

const _: () = assert!(COMPONENTS == MAX_COMPONENTS && CLOCK_COUNTER == clock::COUNTER);

unsafe extern "C" {
    // layout.c
    safe static blog_task_layout: TaskLayout;
    safe fn blog_hz() -> u32;

    // crash.c, or crashless.c: starts the freeze at a crash. Once.
    safe fn blog_start_crash_hook();
}

/// Stores to fields of the root: `set!(field = value, …)`; see `Live::update`.
macro_rules! set {
    ($($field:ident $([$n:literal])? = $value:expr),* $(,)?) => {
        // SAFETY: The root is there. A field is stored to by one at a time: `init` runs when
        // nothing else does, and the list of images is changed under their lock. The clocks and
        // the notes of a crash are not stored here.
        unsafe { blog_root.update(|root| { $((*root).$field $([$n])? = $value;)* }) }
    };
}

/// Nobody can tell where locks have their holders, unless a part can.
const NOWHERE: LockLayout = LockLayout {
    mutex: u32::MAX,
    semaphore: u32::MAX,
    rwsem: u32::MAX,
    reserved: 0,
};

/// Fills in what doesn't change. After the clock, and before anything can log.
fn init() {
    blog_start_crash_hook();
    clock::CHANGED.populate(show_clock);
    show_clock();
    let first = Tick {
        pair: clock::first(),
        jiffies: clock::jiffies(),
    };
    set!(ticks[0] = first, ticks_len = 1);
    set!(
        system = sections::system(),
        jiffies = (&raw const bindings::jiffies_64) as u64,
        jiffies_hz = blog_hz(),
        slot = Slot::LAYOUT,
        tls = Tls::LAYOUT,
        task = TaskLayout {
            blog_tls: task::OFFSET,
            ..blog_task_layout
        },
        tables = tables_dumped::root(),
        locks = NOWHERE,
        components = DESCRIBED.get() as u64,
        components_len = COMPONENTS as u32,
        init_task = (&raw const bindings::init_task) as u64,
    );
    set!(state = STATE_ON);
}

/// Says which clock records have.
fn show_clock() {
    set!(clock = clock::section(0));
    // SAFETY: The root is there, and this field of it is only used as an atomic.
    let base = unsafe { AtomicU64::from_ptr(&raw mut (*blog_root.get()).clock_base) };
    // ORDERING: Release: see `clock_base`.
    base.store(clock::clock_base(), Release);
}

/// Addresses of components' descriptions, by slot.
static DESCRIBED: Live<[u64; COMPONENTS]> = Live::new([0; COMPONENTS]);

/// Sets which component crash tools find in a place of the registry, if any. Called by its owner.
///
/// # Safety
///
/// The component stays until this is called again for its slot.
unsafe fn publish(slot: u16, state: Option<&State>) {
    let root = state.map_or(ptr::null(), |state| ptr::from_ref(state.root()));
    let slot = usize::from(slot);
    if slot < COMPONENTS {
        // SAFETY: A place has one component at a time, so nobody else stores there.
        unsafe { DESCRIBED.update(|described| (*described)[slot] = root as u64) };
    }
}

/// What a file says of a component that is described so, with this id.
pub(crate) fn section(root: &ComponentRoot, id: u32) -> file::ComponentSection {
    file::ComponentSection {
        id,
        enabled: root.enabled,
        level: root.level,
        mode: root.mode,
        attached: root.attached,
        size_kb: root.size_kb,
        ring_kb: root.ring_kb,
        rings: 0,
        reserved: 0,
        gone_records: 0,
        lost: [0; LOST_CAUSES],
        name: root.name,
        cleared: root.cleared,
    }
}

/// Where a component is described, if there is one in this slot. Any context.
pub(crate) fn component_at(slot: u32) -> Option<u64> {
    let at = DESCRIBED.get() as u64 + 8 * u64::from(slot);
    ((slot as usize) < COMPONENTS).then(|| fetch_value(at))?
}

/// A list in memory of its own.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct CrashList {
    at: u64,
    pub(crate) len: u64,
}

impl CrashList {
    fn of<T>(list: &[T]) -> Self {
        Self {
            at: list.as_ptr() as u64,
            len: list.len() as u64,
        }
    }

    /// An entry, if it is there.
    pub(crate) fn entry<T: FromBytes>(self, n: usize) -> Option<T> {
        let before = (n as u64).wrapping_mul(size_of::<T>() as u64);
        ((n as u64) < self.len).then(|| fetch_value(self.at.wrapping_add(before)))?
    }
}

/// What last words find.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct CrashLists {
    /// Of `file::Image`.
    pub(crate) images: CrashList,
    /// Of [`SideTable`].
    pub(crate) tables: CrashList,
    /// Of `u8`, by site, from 1 on: not 0 where an argument has an address.
    pub(crate) addresses: CrashList,
}

// SAFETY: It has no padding, and any numbers will do.
unsafe impl FromBytes for CrashLists {}

/// What crash tools and last words find: the images, and the side tables that some came with.
#[repr(C)]
struct Listed {
    lists: CrashLists,
    _images: VVec<file::Image>,
    _tables: VVec<SideTable>,
    _addresses: VVec<u8>,
}

impl Listed {
    fn new(builds: &[Build]) -> Result<Self> {
        let (mut images, mut tables, mut addresses) = (VVec::new(), VVec::new(), VVec::new());
        for (n, build) in builds.iter().enumerate() {
            images.push(build.entry, GFP_KERNEL)?;
            for site in &build.facts {
                addresses.push(u8::from(site.has_address), GFP_KERNEL)?;
            }
            let table = &build.table;
            if !table.is_empty() {
                let new = SideTable {
                    bytes: table.as_ptr() as u64,
                    len: table.len() as u32,
                    image: n as u32,
                };
                tables.push(new, GFP_KERNEL)?;
            }
        }
        Ok(Self {
            lists: CrashLists {
                images: CrashList::of(&images),
                tables: CrashList::of(&tables),
                addresses: CrashList::of(&addresses),
            },
            _images: images,
            _tables: tables,
            _addresses: addresses,
        })
    }
}

/// The current lists; null: none. Users hold RCU's lock.
static LISTED: AtomicPtr<Listed> = AtomicPtr::new(ptr::null_mut());

/// The lists, if there are any. Any context; the caller holds RCU's lock as long as it uses them.
pub(crate) fn lists() -> Option<CrashLists> {
    // ORDERING: Acquire pairs with the exchange in `list`, so the lists are complete.
    let listed = LISTED.load(Acquire);
    const { assert!(offset_of!(Listed, lists) == 0) };
    (!listed.is_null()).then(|| fetch_value(listed as u64))?
}

/// Updates crash tools' list of images. Without memory for that, the list stays as it is. Process
/// context.
pub(crate) fn list() {
    let old = registry::with_images(|images| {
        let made = Listed::new(images.list());
        match made.and_then(|listed| Ok(KBox::new(listed, GFP_KERNEL)?)) {
            Ok(listed) => {
                // There are never fewer than before, so the old numbers are right for the new lists
                // too.
                set!(
                    images = listed.lists.images.at,
                    side_tables = listed.lists.tables.at,
                );
                set!(
                    images_len = listed.lists.images.len as u32,
                    side_tables_len = listed.lists.tables.len as u32,
                );
                // ORDERING: Release: readers find complete lists. Acquire: the old ones are
                // complete before they are freed.
                LISTED.swap(KBox::into_raw(listed), AcqRel)
            }
            Err(e) => {
                pr_warn!("crash tools don't know the latest image: {e:?}\n");
                ptr::null_mut()
            }
        }
    });
    if !old.is_null() {
        // Not under the lock: loading other modules waits for that.
        // SAFETY: No requirements but process context.
        unsafe { bindings::synchronize_rcu() };
        // SAFETY: It was put there by this function, and replaced above. Nobody uses it any more.
        drop(unsafe { KBox::from_raw(old) });
    }
}
