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
    str,
    sync::atomic::Ordering::Relaxed, //
};
use kernel::{
    bindings,
    blog::wire::name::is_reserved,
    fmt,
    fs::{
        file::Offset,
        operations::{
            debugfs_create_file,
            FileOperations, //
        },
        File, //
    },
    new_mutex,
    prelude::*,
    sync::{
        global_lock,
        Arc,
        ArcBorrow,
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
        hook,
        machine, //
    }, //
};

/// A file beside the components' directories.
#[derive(Clone, Copy)]
struct GlobalFile {
    name: &'static CStr,
    show: Option<fn(&mut fmt::Formatter<'_>) -> fmt::Result>,
    write: Option<fn(&str) -> Result>,
}

static GLOBAL: [GlobalFile; 2] = [
    GlobalFile {
        name: c"stats",
        show: Some(stats::show_global),
        write: None,
    },
    GlobalFile {
        name: c"control",
        show: Some(stats::show_images),
        write: Some(write_control),
    },
];

/// A file in a component's directory.
#[derive(Clone, Copy)]
struct ComponentFile {
    name: &'static CStr,
    show: Option<fn(&State, &mut fmt::Formatter<'_>) -> fmt::Result>,
    write: Option<fn(&State, &str) -> Result>,
}

static COMPONENT: [ComponentFile; 7] = [
    ComponentFile {
        name: c"enable",
        show: Some(|state, f| {
            let on = state.look(|inner| inner.enabled);
            writeln!(f, "{}", u8::from(on))
        }),
        write: Some(|state, text| state.set_enabled(control::parse_switch(text)?)),
    },
    ComponentFile {
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
    ComponentFile {
        name: c"mode",
        show: Some(|state, f| writeln!(f, "{}", control::mode_name(state.mode()))),
        write: Some(|state, text| {
            state.set_mode(control::parse_mode(text)?);
            Ok(())
        }),
    },
    ComponentFile {
        name: c"size_kb",
        show: Some(|state, f| writeln!(f, "{}", state.look(|inner| inner.size_kb))),
        write: Some(|state, text| state.set_size_kb(control::parse_number(text)?)),
    },
    ComponentFile {
        name: c"ring_kb",
        show: Some(|state, f| writeln!(f, "{}", state.look(|inner| inner.ring_kb))),
        write: Some(|state, text| state.set_ring_kb(control::parse_number(text)?)),
    },
    ComponentFile {
        name: c"clear",
        show: None,
        write: Some(|state, text| {
            control::parse_trigger(text)?;
            state.clear();
            // With what it has logged, what its module has left behind goes.
            registry::remove_left(state);
            Ok(())
        }),
    },
    ComponentFile {
        name: c"stats",
        show: Some(stats::show_component),
        write: None,
    },
];

/// Names of the binary files, in both places.
const SNAPSHOT: &CStr = c"snapshot";
const STREAM: &CStr = c"stream";

/// Longest text that a file takes in one write.
const WRITE_MAX: usize = 4096;

/// Our directory; null where there is none yet.
///
/// The lock is also that of [`State::dir`]: a component's directory is made, and taken out, by one
/// at a time.
struct Tree(*mut bindings::dentry);

// SAFETY: It belongs to no thread.
unsafe impl Send for Tree {}

global_lock! {
    // SAFETY: `prepare` is called before anything else here.
    unsafe(uninit) static TREE: Mutex<Tree> = Tree(ptr::null_mut());
}

// No component can have the name of one of our files.
const _: () = {
    let mut files: &[GlobalFile] = &GLOBAL;
    while let [file, rest @ ..] = files {
        assert!(is_reserved(file.name.to_bytes()));
        files = rest;
    }
    assert!(is_reserved(SNAPSHOT.to_bytes()) && is_reserved(STREAM.to_bytes()));
};

fn mode(read: bool, write: bool) -> u16 {
    u16::from(read) << 8 | u16::from(write) << 7
}

/// Makes the binary files of a directory.
///
/// # Safety
///
/// As for [`debugfs_create_file`].
unsafe fn create_binaries(dir: *mut bindings::dentry, of: *const State) {
    // SAFETY: By this function's requirement.
    unsafe {
        debugfs_create_file::<Reader<false>>(SNAPSHOT, mode(true, false), dir, of);
        debugfs_create_file::<Reader<true>>(STREAM, mode(true, false), dir, of);
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
    for file in &GLOBAL {
        let mode = mode(file.show.is_some(), file.write.is_some());
        // SAFETY: `root` is what debugfs gave, and the file is of a static.
        unsafe { debugfs_create_file::<GlobalText>(file.name, mode, root, file) };
    }
    // SAFETY: As above; and the files are of nothing.
    unsafe { create_binaries(root, ptr::null()) };
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

/// Makes the directory of a component, unless it has one, or is gone. Where that fails, the
/// component goes without. Before [`init`], which makes it then, there is no place for it.
pub(crate) fn create(state: &Arc<State>) {
    let tree = TREE.lock();
    // One that goes from here on is found by `remove`.
    if tree.0.is_null() || !state.dir().load(Relaxed).is_null() || !registry::has(state) {
        return;
    }
    // SAFETY: Both are valid; debugfs takes the error pointer of a failure as parent.
    let dir = unsafe { bindings::debugfs_create_dir(state.name().as_char_ptr(), tree.0) };
    let of = ptr::from_ref(&**state);
    for file in &COMPONENT {
        let mode = mode(file.show.is_some(), file.write.is_some());
        // SAFETY: `dir` is what debugfs gave. Who takes the component away has it until the files
        // are removed.
        unsafe { debugfs_create_file::<ComponentText>(file.name, mode, dir, of) };
    }
    // SAFETY: As above.
    unsafe { create_binaries(dir, of) };
    state.dir().store(dir, Relaxed);
}

/// Removes the directory of a component that is out of the registry's sight. Files that are open
/// keep what they need, so it waits for nobody but who is just opening one.
pub(crate) fn remove(state: &State) {
    let dir = {
        let _tree = TREE.lock();
        state.dir().swap(ptr::null_mut(), Relaxed)
    };
    // SAFETY: It is what debugfs gave, or null.
    unsafe { bindings::debugfs_remove(dir) };
}

/// What a text file said when it was last read from its start.
struct Printed(KVVec<u8>);

impl Printed {
    /// Reads on; from the start on, `show` says anew what there is to read.
    fn read(
        &mut self,
        to: &mut UserSliceWriter,
        at: &mut Offset,
        show: impl Fn(&mut fmt::Formatter<'_>) -> fmt::Result,
    ) -> Result<usize> {
        if *at == 0 {
            self.0.clear();
            // Nothing else can fail.
            fmt::Write::write_fmt(self, fmt!("{}", Show(show))).map_err(|_| ENOMEM)?;
        }
        to.write_slice_file(&self.0, at)
    }
}

impl fmt::Write for Printed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let bytes = text.as_bytes();
        self.0
            .extend_from_slice(bytes, GFP_KERNEL)
            .map_err(|_| fmt::Error)
    }
}

/// Lets a function that formats be printed.
struct Show<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result>(F);

impl<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result> fmt::Display for Show<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0)(f)
    }
}

/// Calls `f` with what is written.
fn written(from: UserSliceReader, f: impl FnOnce(&str) -> Result) -> Result<usize> {
    let len = from.len();
    if len == 0 || len > WRITE_MAX {
        return Err(EINVAL);
    }
    let mut bytes = KVec::new();
    from.read_all(&mut bytes, GFP_KERNEL)?;
    f(str::from_utf8(&bytes).map_err(|_| EINVAL)?)?;
    Ok(len)
}

/// One of [`GLOBAL`].
#[pin_data]
struct GlobalText {
    file: GlobalFile,
    #[pin]
    text: Mutex<Printed>,
}

#[vtable]
impl FileOperations for GlobalText {
    type Inode = GlobalFile;
    type Data = Pin<KBox<Self>>;

    fn open(of: Option<&GlobalFile>, file: &File) -> Result<Self::Data> {
        hook::may_open(file)?;
        let (file, text) = (*of.ok_or(EINVAL)?, Printed(KVVec::new()));
        KBox::pin_init(
            pin_init!(Self { file, text <- new_mutex!(text) }),
            GFP_KERNEL,
        )
    }

    fn read(
        this: Pin<&Self>,
        _file: &File,
        to: &mut UserSliceWriter,
        at: &mut Offset,
    ) -> Result<usize> {
        this.text.lock().read(to, at, this.file.show.ok_or(EINVAL)?)
    }

    fn write(
        this: Pin<&Self>,
        _file: &File,
        from: UserSliceReader,
        _at: &mut Offset,
    ) -> Result<usize> {
        written(from, this.file.write.ok_or(EINVAL)?)
    }
}

/// One of [`COMPONENT`].
#[pin_data]
struct ComponentText {
    of: Arc<State>,
    file: ComponentFile,
    #[pin]
    text: Mutex<Printed>,
}

#[vtable]
impl FileOperations for ComponentText {
    type Inode = State;
    type Data = Pin<KBox<Self>>;

    fn open(of: Option<&State>, file: &File) -> Result<Self::Data> {
        hook::may_open(file)?;
        // SAFETY: Such a file is of a component in an `Arc`, which is there during the call.
        let of = unsafe { ArcBorrow::from_raw(of.ok_or(EINVAL)?) }.into();
        let name = machine::file_name(file);
        let file = COMPONENT.iter().find(|file| file.name == name);
        let (file, text) = (*file.ok_or(EINVAL)?, Printed(KVVec::new()));
        KBox::pin_init(
            pin_init!(Self { of, file, text <- new_mutex!(text) }),
            GFP_KERNEL,
        )
    }

    fn read(
        this: Pin<&Self>,
        _file: &File,
        to: &mut UserSliceWriter,
        at: &mut Offset,
    ) -> Result<usize> {
        let show = this.file.show.ok_or(EINVAL)?;
        this.text.lock().read(to, at, |f| show(&this.of, f))
    }

    fn write(
        this: Pin<&Self>,
        _file: &File,
        from: UserSliceReader,
        _at: &mut Offset,
    ) -> Result<usize> {
        let write = this.file.write.ok_or(EINVAL)?;
        written(from, |text| write(&this.of, text))
    }
}

/// Switches sites: see [`Query`](registry::images::Query).
///
/// `EINVAL` for anything that isn't understood, `ENOENT` for a command that means no loaded site.
/// All commands are looked at before the first one is done.
fn write_control(text: &str) -> Result {
    registry::with_images(|images| {
        let mut commands = 0;
        for query in control::queries(text) {
            if images.count(&query?) == 0 {
                return Err(ENOENT);
            }
            commands += 1;
        }
        if commands == 0 {
            return Err(EINVAL);
        }
        for query in control::queries(text) {
            images.switch(&query?);
        }
        Ok(())
    })
}
