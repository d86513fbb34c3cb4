// SPDX-License-Identifier: GPL-2.0

//! The files under `/sys/kernel/debug/blog`: which there are, and what reading and writing them
//! does.
//!
//! `life.rs` says when a component comes and goes. What is written is parsed by `control.rs` and
//! done by the registry; what is read is made by `stats.rs` and others, once for each time that a
//! file is read from its start. A write either does all that it says or fails and changes nothing.

use core::{
    mem,
    ptr,
    str, //
};
use kernel::{
    bindings,
    blog::wire::name::is_reserved,
    fmt,
    fs::{
        file::Offset,
        File, //
    },
    new_mutex,
    prelude::*,
    sync::{
        global_lock,
        Arc,
        Mutex, //
    },
    uaccess::{
        UserSliceReader,
        UserSliceWriter, //
    }, //
};

pub(crate) mod control;
pub(crate) mod stats;

use crate::{
    read::Reader,
    registry::{
        self,
        state::State, //
    },
    sys::{
        debugfs::{
            create_file,
            OpenFile, //
        },
        hook, //
    }, //
};

/// A text file of a `T`.
struct TextFile<T> {
    name: &'static CStr,
    show: Option<fn(&T, &mut fmt::Formatter<'_>) -> fmt::Result>,
    write: Option<fn(&T, &str) -> Result>,
}

impl<T> TextFile<T> {
    fn mode(&self) -> u16 {
        u16::from(self.show.is_some()) << 8 | u16::from(self.write.is_some()) << 7
    }
}

/// Files beside the components' directories, which are of nothing.
static GLOBAL: [TextFile<()>; 2] = [
    TextFile {
        name: c"stats",
        show: Some(|(), f| stats::show_global(f)),
        write: None,
    },
    TextFile {
        name: c"control",
        show: Some(|(), f| stats::show_images(f)),
        write: Some(|(), text| write_control(text)),
    },
];

static COMPONENT: [TextFile<State>; 7] = [
    TextFile {
        name: c"enable",
        show: Some(|state, f| {
            let on = state.look(|inner| inner.enabled);
            writeln!(f, "{}", u8::from(on))
        }),
        write: Some(|state, text| state.set_enabled(control::parse_switch(text)?)),
    },
    TextFile {
        name: c"level",
        show: Some(|state, f| {
            let level = state.look(|inner| inner.level);
            writeln!(f, "{}", control::level_name(level))
        }),
        write: Some(|state, text| {
            state.set_level(control::parse_level(text)?);
            Ok(())
        }),
    },
    TextFile {
        name: c"mode",
        show: Some(|state, f| writeln!(f, "{}", control::mode_name(state.mode()))),
        write: Some(|state, text| {
            state.set_mode(control::parse_mode(text)?);
            Ok(())
        }),
    },
    TextFile {
        name: c"size_kb",
        show: Some(|state, f| writeln!(f, "{}", state.look(|inner| inner.size_kb))),
        write: Some(|state, text| state.set_size_kb(control::parse_number(text)?)),
    },
    TextFile {
        name: c"ring_kb",
        show: Some(|state, f| writeln!(f, "{}", state.look(|inner| inner.ring_kb))),
        write: Some(|state, text| state.set_ring_kb(control::parse_number(text)?)),
    },
    TextFile {
        name: c"clear",
        show: None,
        write: Some(|state, text| {
            if !control::parse_switch(text)? {
                return Err(EINVAL);
            }
            state.clear();
            // With what it has logged, what its module has left behind goes.
            registry::remove_left(state);
            Ok(())
        }),
    },
    TextFile {
        name: c"stats",
        show: Some(stats::show_component),
        write: None,
    },
];

const SNAPSHOT: &CStr = c"snapshot";
const STREAM: &CStr = c"stream";

const WRITE_MAX: usize = 4096;

/// Our directory; null where there is none yet. The lock is held while a component's is made.
struct Tree(*mut bindings::dentry);

// SAFETY: It belongs to no thread.
unsafe impl Send for Tree {}

global_lock! {
    // SAFETY: `prepare` is called before anything else here.
    unsafe(uninit) static TREE: Mutex<Tree> = Tree(ptr::null_mut());
}

// No component can have the name of one of our files.
const _: () = {
    let mut files: &[TextFile<()>] = &GLOBAL;
    while let [file, rest @ ..] = files {
        assert!(is_reserved(file.name.to_bytes()));
        files = rest;
    }
    assert!(is_reserved(SNAPSHOT.to_bytes()) && is_reserved(STREAM.to_bytes()));
};

/// Makes the files of a directory; where `of` is null, those of nothing.
///
/// # Safety
///
/// `dir` is what debugfs gave. `of` is null, or in an `Arc` that stays until the files are removed.
unsafe fn create_files<T: Subject>(
    dir: *mut bindings::dentry,
    files: &'static [TextFile<T>],
    of: *const State,
) {
    for file in files {
        // SAFETY: By this function's requirement.
        unsafe { create_file::<OpenText<T>>(file.name, file.mode(), dir, of) };
    }
    // SAFETY: As above.
    unsafe {
        create_file::<Reader<false>>(SNAPSHOT, 0o400, dir, of);
        create_file::<Reader<true>>(STREAM, 0o400, dir, of);
    }
}

/// Makes the rest ready. Before there are components.
pub(crate) fn prepare() {
    // SAFETY: Called once, first.
    unsafe { TREE.init() };
}

/// Makes our directory and the files in it, and those of the components that there are.
pub(crate) fn init() {
    // SAFETY: The name is a C string; a null parent is debugfs' root.
    let root = unsafe { bindings::debugfs_create_dir(c"blog".as_char_ptr(), ptr::null_mut()) };
    // SAFETY: `root` is what debugfs gave.
    unsafe { create_files(root, &GLOBAL, ptr::null()) };
    // A component whose place is taken from here on finds our directory. The others are found here.
    TREE.lock().0 = root;
    registry::components().for_each(|state| create(&state));
}

/// Removes all that is there. No file is open, as it would keep the module.
pub(crate) fn stop() {
    let root = mem::replace(&mut TREE.lock().0, ptr::null_mut());
    // SAFETY: It is what debugfs gave, or null.
    unsafe { bindings::debugfs_remove(root) };
}

/// Makes the directory of a component, unless that is gone. Where it fails, or there is one,
/// nothing happens. Before [`init`], which makes it then, there is no place for it.
pub(crate) fn create(state: &Arc<State>) {
    let tree = TREE.lock();
    // One that goes from here on is found by `remove`.
    if tree.0.is_null() || !registry::has(state) {
        return;
    }
    // SAFETY: Both are valid; debugfs takes the error pointer of a failure as parent.
    let dir = unsafe { bindings::debugfs_create_dir(state.name().as_char_ptr(), tree.0) };
    // SAFETY: `dir` is what debugfs gave. Who takes the component away has it until the files are
    // removed.
    unsafe { create_files(dir, &COMPONENT, ptr::from_ref(&**state)) };
}

/// Removes the directory of a component that is out of the registry's sight. Files that are open
/// keep what they need, so it waits for nobody but who is just opening one.
pub(crate) fn remove(state: &State) {
    // Who was about to make it has done that.
    let root = TREE.lock().0;
    if !root.is_null() {
        // SAFETY: The name is a C string; the directory is what debugfs gave.
        unsafe { bindings::debugfs_lookup_and_remove(state.name().as_char_ptr(), root) };
    }
}

/// What text files are of.
trait Subject: Sync + Sized + 'static {
    const FILES: &'static [TextFile<Self>];

    /// What a file is of that was made with this.
    fn of(state: Option<&State>) -> Option<&Self>;
}

impl Subject for () {
    const FILES: &'static [TextFile<()>] = &GLOBAL;

    fn of(_: Option<&State>) -> Option<&()> {
        Some(&())
    }
}

impl Subject for State {
    const FILES: &'static [TextFile<State>] = &COMPONENT;

    fn of(state: Option<&State>) -> Option<&State> {
        state
    }
}

/// The name of a file in debugfs.
fn name_of(file: &File) -> &CStr {
    // SAFETY: An open file keeps its name, a C string, and nobody renames any in debugfs.
    unsafe {
        let dentry = (*file.as_ptr()).__bindgen_anon_1.f_path.dentry;
        CStr::from_char_ptr((*dentry).__bindgen_anon_1.d_name.name)
    }
}

#[pin_data]
struct OpenText<T: Subject> {
    state: Option<Arc<State>>,
    file: &'static TextFile<T>,
    /// What it said when it was last read from its start.
    #[pin]
    said: Mutex<Said>,
}

struct Said(KVVec<u8>);

impl fmt::Write for Said {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let bytes = text.as_bytes();
        self.0
            .extend_from_slice(bytes, GFP_KERNEL)
            .map_err(|_| fmt::Error)
    }
}

impl<T: Subject> fmt::Display for OpenText<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.file.show, T::of(self.state.as_deref())) {
            (Some(show), Some(of)) => show(of, f),
            _ => Ok(()),
        }
    }
}

impl<T: Subject> OpenFile for OpenText<T> {
    type Of = State;

    fn open(state: Option<Arc<State>>, file: &File) -> Result<Pin<KBox<Self>>> {
        hook::may_open(file)?;
        let name = name_of(file);
        let file = T::FILES.iter().find(|file| file.name == name);
        let file = file.ok_or(EINVAL)?;
        KBox::pin_init(
            pin_init!(Self { state, file, said <- new_mutex!(Said(KVVec::new())) }),
            GFP_KERNEL,
        )
    }

    /// Reads on; from the start on, what there is to read is said anew.
    fn read(
        self: Pin<&Self>,
        _file: &File,
        to: &mut UserSliceWriter,
        at: &mut Offset,
    ) -> Result<usize> {
        let mut said = self.said.lock();
        if *at == 0 {
            said.0.clear();
            // Nothing else can fail.
            fmt::Write::write_fmt(&mut *said, fmt!("{}", &*self)).map_err(|_| ENOMEM)?;
        }
        to.write_slice_file(&said.0, at)
    }

    fn write(self: Pin<&Self>, from: UserSliceReader) -> Result<usize> {
        let len = from.len();
        if len == 0 || len > WRITE_MAX {
            return Err(EINVAL);
        }
        let mut bytes = KVec::new();
        from.read_all(&mut bytes, GFP_KERNEL)?;
        let write = self.file.write.ok_or(EINVAL)?;
        let of = T::of(self.state.as_deref()).ok_or(EINVAL)?;
        write(of, str::from_utf8(&bytes).map_err(|_| EINVAL)?)?;
        Ok(len)
    }
}

/// Switches sites: see [`Query`](registry::images::Query).
///
/// `EINVAL` for anything that isn't understood, `ENOENT` for a command that means no loaded site.
/// All commands are looked at before the first one is done.
fn write_control(text: &str) -> Result {
    registry::with_images(|images| {
        if control::queries(text).next().is_none() {
            return Err(EINVAL);
        }
        for query in control::queries(text) {
            if images.count(&query?) == 0 {
                return Err(ENOENT);
            }
        }
        for query in control::queries(text) {
            images.switch(&query?);
        }
        Ok(())
    })
}
