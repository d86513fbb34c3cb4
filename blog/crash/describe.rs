// SPDX-License-Identifier: GPL-2.0

//! Fills in the post-mortem root, which crash tools find in a dump; `rust/kernel/blog/wire/dump.rs`
//! describes it.
//!
//! The registry, components and the worker report changes here, in process context. Nothing in the
//! running kernel reads the root. An address is stored after its target is complete, and removed
//! before the target goes.

use core::{
    mem::offset_of,
    ptr,
    slice,
    sync::atomic::{
        AtomicPtr,
        Ordering::{
            AcqRel,
            Acquire, //
        }, //
    }, //
};
use kernel::{
    bindings::{
        self,
        signal_struct,
        task_struct, //
    },
    blog::{
        ring::{
            Ring,
            Tls, //
        },
        root::{
            blog_root,
            Live, //
        },
        wire::{
            dump::{
                SideTable,
                TaskLayout,
                COMPONENTS,
                STATE_OFF,
                STATE_ON, //
            },
            file, //
        }, //
    },
    prelude::*,
    sync::rcu, //
};

use crate::{
    memory::{
        counts,
        pool::Slot, //
    },
    read::{
        sections,
        selection::Selection, //
    },
    registry::{
        self,
        images::Build,
        state::State, //
    },
    sys::{
        glue,
        pages::Kept, //
    },
    tasks,
    write::tables, //
};

/// Where the kernel that this is built for has what in a task_struct.
const TASK: TaskLayout = TaskLayout {
    size: size_of::<task_struct>() as u32,
    pid: offset_of!(task_struct, pid) as u32,
    tgid: offset_of!(task_struct, tgid) as u32,
    comm: offset_of!(task_struct, comm) as u32,
    state: offset_of!(task_struct, __state) as u32,
    exit_state: offset_of!(task_struct, exit_state) as u32,
    flags: offset_of!(task_struct, flags) as u32,
    on_cpu: offset_of!(task_struct, on_cpu) as u32,
    cpu: CPU,
    blog_tls: kernel::blog::task::OFFSET,
    tasks: offset_of!(task_struct, tasks) as u32,
    thread_node: offset_of!(task_struct, thread_node) as u32,
    signal: offset_of!(task_struct, signal) as u32,
    thread_head: offset_of!(signal_struct, thread_head) as u32,
    group_leader: offset_of!(task_struct, group_leader) as u32,
    stack: offset_of!(task_struct, stack) as u32,
    last_switch_time: LAST_SWITCH,
    blocker: BLOCKER,
};

#[cfg(any(CONFIG_SMP, CONFIG_UML))]
const CPU: u32 = offset_of!(task_struct, thread_info.cpu) as u32;
#[cfg(not(any(CONFIG_SMP, CONFIG_UML)))]
const CPU: u32 = kernel::blog::wire::dump::NO_FIELD;

#[cfg(CONFIG_DETECT_HUNG_TASK)]
const LAST_SWITCH: u32 = offset_of!(task_struct, last_switch_time) as u32;
#[cfg(not(CONFIG_DETECT_HUNG_TASK))]
const LAST_SWITCH: u32 = kernel::blog::wire::dump::NO_FIELD;

#[cfg(CONFIG_DETECT_HUNG_TASK_BLOCKER)]
const BLOCKER: u32 = offset_of!(task_struct, blocker) as u32;
#[cfg(not(CONFIG_DETECT_HUNG_TASK_BLOCKER))]
const BLOCKER: u32 = kernel::blog::wire::dump::NO_FIELD;

/// Stores to fields of the root: `set!(field = value, …)`; see `Live::update`.
macro_rules! set {
    ($($($field:ident).+ = $value:expr),* $(,)?) => {
        // SAFETY: The root is there. A field is stored to by one at a time: `init` and `stop` run
        // when nothing else does, and the list of images is changed under their lock. The
        // clocks and the notes of a crash are not stored here.
        unsafe { blog_root.update(|root| { $((*root).$($field).+ = $value;)* }) }
    };
}

/// Fills in what doesn't change. After the clock, and before anything can log.
pub(crate) fn init() {
    set!(
        system = sections::system(),
        jiffies = (&raw const bindings::jiffies_64) as u64,
        jiffies_hz = glue::hz(),
        ring = Ring::LAYOUT,
        slot = Slot::LAYOUT,
        tls = Tls::LAYOUT,
        task = TASK,
        tables = tables::root(),
        locks = tasks::locks(),
        counts = counts::root(),
        components = DESCRIBED.get() as u64,
        components_len = COMPONENTS as u32,
        init_task = (&raw const bindings::init_task) as u64,
    );
    set!(state = STATE_ON);
}

/// Takes everything out again. Nobody logs any more.
pub(crate) fn stop() {
    set!(state = STATE_OFF);
    set!(
        components_len = 0,
        tables.capacity = 0,
        counts.capacity = 0,
        images_len = 0,
        side_tables_len = 0
    );
    set!(images = 0, side_tables = 0);
    // A module's statics are not dropped.
    // SAFETY: It is not used after this.
    unsafe { free(replace(None)) };
}

/// Addresses of components' descriptions, by slot.
static DESCRIBED: Live<[u64; COMPONENTS]> = Live::new([0; COMPONENTS]);

/// Sets which component crash tools find in a place of the registry, if any. Called by its owner.
///
/// # Safety
///
/// The component stays until this is called again for its slot.
pub(crate) unsafe fn publish(slot: u16, state: Option<&State>) {
    let root = state.map_or(ptr::null(), |state| ptr::from_ref(state.root()));
    let slot = usize::from(slot);
    if slot < COMPONENTS {
        // SAFETY: A place has one component at a time, so nobody else stores there.
        unsafe { DESCRIBED.update(|described| (*described)[slot] = root as u64) };
    }
}

/// What crash tools and last words find: the images, and the side tables of those that are probes.
pub(crate) struct Listed {
    pub(crate) images: Kept<[file::Image]>,
    tables: Kept<[SideTable]>,
    /// Places of the images with these tables.
    probes: KVVec<usize>,
    /// What a reader gets who may not see addresses.
    pub(crate) selection: Selection,
}

impl Listed {
    fn new(images: &[Build]) -> Result<Self> {
        let (mut tables, mut probes) = (KVVec::new(), KVVec::new());
        let mut selection = Selection::new(false);
        for (n, build) in images.iter().enumerate() {
            selection.add(build.entry.first, &build.facts)?;
            let table = &build.table;
            if !table.is_empty() {
                let new = SideTable {
                    bytes: table.as_ptr() as u64,
                    len: table.len() as u32,
                    reserved: 0,
                };
                tables.push(new, GFP_KERNEL)?;
                probes.push(n, GFP_KERNEL)?;
            }
        }
        Ok(Self {
            images: Kept::copy(images.iter().map(|build| build.entry))?,
            tables: Kept::copy(tables.iter().copied())?,
            probes,
            selection,
        })
    }

    /// The side table of an image, by its place, if it is a probe.
    pub(crate) fn table_of(&self, image: usize) -> Option<&[u8]> {
        let at = self.probes.iter().position(|n| *n == image)?;
        let table = self.tables.get(at)?;
        // SAFETY: An image keeps its table, as long as BLog runs.
        Some(unsafe { slice::from_raw_parts(table.bytes as *const u8, table.len as usize) })
    }
}

/// What there is now; null: nothing. Who uses it is under RCU's lock.
static LISTED: AtomicPtr<Listed> = AtomicPtr::new(ptr::null_mut());

/// The images, if there are any. Any context.
///
/// # Safety
///
/// RCU's lock is held as long as the result is used.
pub(crate) unsafe fn listed<'a>() -> Option<&'a Listed> {
    // ORDERING: Acquire pairs with the exchange in `replace`: it is made.
    // SAFETY: By this function's requirement: `free` waits for that.
    unsafe { LISTED.load(Acquire).as_ref() }
}

/// Puts another one in its place, if any. What was there is for [`free`].
fn replace(new: Option<KBox<Listed>>) -> *mut Listed {
    // ORDERING: Release: who finds it finds it made. Acquire: what is freed was made before.
    LISTED.swap(new.map_or(ptr::null_mut(), KBox::into_raw), AcqRel)
}

/// Frees what was replaced, if anything was, once nobody uses it. Process context.
///
/// # Safety
///
/// It is of [`replace`], and freed once.
unsafe fn free(old: *mut Listed) {
    if !old.is_null() {
        rcu::synchronize_rcu();
        // SAFETY: By this function's requirement; and nobody uses it any more.
        drop(unsafe { KBox::from_raw(old) });
    }
}

/// Updates crash tools' list of images. Without memory for that, the list stays as it is.
pub(crate) fn list() {
    let old = registry::with_images(|images| {
        let made = Listed::new(images.list());
        match made.and_then(|listed| Ok(KBox::new(listed, GFP_KERNEL)?)) {
            Ok(listed) => {
                // There are never fewer than before, so the old numbers are right for the new lists
                // too.
                set!(
                    images = listed.images.as_ptr() as u64,
                    side_tables = listed.tables.as_ptr() as u64,
                );
                set!(
                    images_len = listed.images.len() as u32,
                    side_tables_len = listed.tables.len() as u32,
                );
                replace(Some(listed))
            }
            Err(e) => {
                pr_warn!("crash tools don't know the latest image: {e:?}\n");
                ptr::null_mut()
            }
        }
    });
    // Not under the lock, for which other modules wait that come.
    // SAFETY: It was replaced above.
    unsafe { free(old) };
}
