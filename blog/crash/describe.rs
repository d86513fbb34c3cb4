// SPDX-License-Identifier: GPL-2.0

//! Fills in the post-mortem root, which crash tools find in a dump; `rust/kernel/blog/wire/dump.rs`
//! describes it.
//!
//! The registry, components and the worker report changes here, in process context. Nothing in the
//! running kernel reads the root. An address is stored after its target is complete, and removed
//! before the target goes.

use core::{
    mem::offset_of,
    ptr, //
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
    sync::global_lock, //
};

use crate::{
    memory::{
        counts,
        pool::Slot, //
    },
    read::sections,
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
    // SAFETY: Called once, first.
    unsafe { LISTED.init() };
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
    *LISTED.lock() = Listed::NONE;
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

/// What crash tools find: the images, and the side tables of those that are probes.
struct Listed {
    images: Kept<[file::Image]>,
    tables: Kept<[SideTable]>,
}

impl Listed {
    const NONE: Self = Self {
        images: Kept::none(),
        tables: Kept::none(),
    };

    fn new(images: &[Build]) -> Result<Self> {
        let mut tables = KVVec::new();
        for table in images.iter().map(|build| &build.table) {
            if !table.is_empty() {
                let new = SideTable {
                    bytes: table.as_ptr() as u64,
                    len: table.len() as u32,
                    reserved: 0,
                };
                tables.push(new, GFP_KERNEL)?;
            }
        }
        Ok(Self {
            images: Kept::copy(images.iter().map(|build| build.entry))?,
            tables: Kept::copy(tables.iter().copied())?,
        })
    }
}

global_lock! {
    // SAFETY: `init` is called before anything else here.
    unsafe(uninit) static LISTED: Mutex<Listed> = Listed::NONE;
}

/// Updates crash tools' list of images. Without memory for that, the list stays as it is.
pub(crate) fn list() {
    registry::with_images(|images| {
        match Listed::new(images.list()) {
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
                *LISTED.lock() = listed;
            }
            Err(e) => pr_warn!("crash tools don't know the latest image: {e:?}\n"),
        }
    });
}
