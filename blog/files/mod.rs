// SPDX-License-Identifier: GPL-2.0

//! The files under `/sys/kernel/debug/blog`: which there are, and what reading and writing them
//! does.
//!
//! `life.rs` says when a component comes and goes. What is written is parsed by `control.rs` and done
//! by the registry; what is read is made by `stats.rs` and others, once for each time that a file is
//! read from its start. A write either does all that it says or fails and changes
//! nothing.

use core::{
    ptr,
    str,
    sync::atomic::{
        AtomicPtr,
        Ordering::Relaxed, //
    }, //
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
    read::{
        snapshot::Snapshot,
        stream::Reader, //
    },
    registry::{
        self,
        state::State, //
    },
    sys::{
        clock,
        glue, //
    }, //
};

/// A file beside the components' directories.
#[derive(Clone, Copy)]
struct GlobalFile {
    name: &'static CStr,
    show: Option<fn(&mut fmt::Formatter<'_>) -> fmt::Result>,
    write: Option<fn(&str) -> Result>,
}

const GLOBAL: [GlobalFile; 3] = [
    GlobalFile {
        name: c"clock",
        show: Some(clock::show),
        write: None,
    },
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

const COMPONENT: [ComponentFile; 7] = [
    ComponentFile {
        name: c"enable",
        show: Some(|state, f| {
            let on = state.with(|inner| inner.enabled);
            writeln!(f, "{}", u8::from(on))
        }),
        write: Some(|state, text| state.set_enabled(control::parse_switch(text)?)),
    },
    ComponentFile {
        name: c"level",
        show: Some(|state, f| {
            let level = state.with(|inner| inner.level);
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
        show: Some(|state, f| writeln!(f, "{}", state.with(|inner| inner.size_kb))),
        write: Some(|state, text| state.set_size_kb(control::parse_number(text)?)),
    },
    ComponentFile {
        name: c"ring_kb",
        show: Some(|state, f| writeln!(f, "{}", state.with(|inner| inner.ring_kb))),
        write: Some(|state, text| state.set_ring_kb(control::parse_number(text)?)),
    },
    ComponentFile {
        name: c"clear",
        show: None,
        write: Some(|state, text| {
            control::parse_trigger(text)?;
            registry::clear(state);
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

/// Our directory; null before there is debugfs.
static ROOT: AtomicPtr<bindings::dentry> = AtomicPtr::new(ptr::null_mut());

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

/// Makes a directory's files: `$text` for the places from 0 to that of the number of `$files`.
macro_rules! create_texts {
    ($text:ident, $files:ident, $dir:expr, $of:expr; $($n:literal)*) => {
        const _: () = assert!($files.len() == [$($n),*].len());
        $(
            let file = &const { $files[$n] };
            // SAFETY: By the requirement of the caller of this macro.
            unsafe {
                debugfs_create_file::<$text<$n>>(
                    file.name,
                    mode(file.show.is_some(), file.write.is_some()),
                    $dir,
                    $of,
                    false,
                )
            };
        )*
    };
}

/// Makes the binary files of a directory.
///
/// # Safety
///
/// As for [`debugfs_create_file`].
unsafe fn create_binaries(dir: *mut bindings::dentry, of: *const State) {
    // SAFETY: By this function's requirement. An open stream keeps what it reads by itself.
    unsafe {
        debugfs_create_file::<Snapshot>(SNAPSHOT, mode(true, false), dir, of, false);
        debugfs_create_file::<Reader>(STREAM, mode(true, false), dir, of, true);
    }
}

/// Makes our directory and the files in it, and those of the components that there are.
pub(crate) fn init() {
    // SAFETY: The name is a C string; a null parent is debugfs' root.
    let root = unsafe { bindings::debugfs_create_dir(c"blog".as_char_ptr(), ptr::null_mut()) };
    // `root` is what debugfs gave, and these files are of nothing.
    create_texts!(GlobalText, GLOBAL, root, ptr::null(); 0 1 2);
    // SAFETY: As above.
    unsafe { create_binaries(root, ptr::null()) };
    // A component whose place is taken from here on finds our directory. The others are found here;
    // one that does both is made files for once.
    ROOT.store(root, Relaxed);
    registry::components().for_each(|state| create(&state));
}

/// Removes all that is there, and waits for those who read or write it.
pub(crate) fn stop() {
    // SAFETY: It is what debugfs gave.
    unsafe { bindings::debugfs_remove(ROOT.swap(ptr::null_mut(), Relaxed)) };
}

/// What is in [`State::dir`] while the directory is made, and when it has been removed: errors for
/// debugfs, so nothing.
const MAKING: *mut bindings::dentry = ptr::without_provenance_mut(usize::MAX);
const GONE: *mut bindings::dentry = ptr::without_provenance_mut(usize::MAX - 1);

/// Makes the directory of a component, unless it has one. Where that fails, the component goes
/// without. Before [`init`], which makes it then, there is no place for it.
pub(crate) fn create(state: &Arc<State>) {
    let root = ROOT.load(Relaxed);
    let dir = state.dir();
    if root.is_null()
        || dir
            .compare_exchange(ptr::null_mut(), MAKING, Relaxed, Relaxed)
            .is_err()
    {
        return;
    }
    // SAFETY: Both are valid; debugfs takes the error pointer of a failure as parent.
    let made = unsafe { bindings::debugfs_create_dir(state.name().as_char_ptr(), root) };
    let of = ptr::from_ref(&**state);
    // `made` is what debugfs gave. The registry or the caller holds the state until the files are
    // removed.
    create_texts!(ComponentText, COMPONENT, made, of; 0 1 2 3 4 5 6);
    // SAFETY: As above.
    unsafe { create_binaries(made, of) };
    if dir
        .compare_exchange(MAKING, made, Relaxed, Relaxed)
        .is_err()
    {
        // The component went meanwhile; the caller has the state.
        // SAFETY: It is what debugfs gave.
        unsafe { bindings::debugfs_remove(made) };
    }
}

/// Removes the directory of a component, and waits for those who use a file of it.
pub(crate) fn remove(state: &State) {
    let dir = state.dir().swap(GONE, Relaxed);
    // SAFETY: It is what debugfs gave, or null, or an error.
    unsafe { bindings::debugfs_remove(dir) };
}

/// What a text file said when it was last read from its start.
struct Shown(KVVec<u8>);

impl Shown {
    /// Reads on; from the start on, `show` says anew what there is to read.
    fn read(
        &mut self,
        to: &mut UserSliceWriter,
        at: &mut Offset,
        show: impl Fn(&mut fmt::Formatter<'_>) -> fmt::Result,
    ) -> Result<usize> {
        if *at == 0 {
            self.0.clear();
            fmt::Write::write_fmt(self, fmt!("{}", Show(show))).map_err(|_| ENOMEM)?;
        }
        to.write_slice_file(&self.0, at)
    }
}

impl fmt::Write for Shown {
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

/// The file at place `N` of [`GLOBAL`].
#[pin_data]
struct GlobalText<const N: usize> {
    #[pin]
    text: Mutex<Shown>,
}

#[vtable]
impl<const N: usize> FileOperations for GlobalText<N> {
    type Inode = ();
    type Data = Pin<KBox<Self>>;

    fn open(_: Option<&()>, file: &File) -> Result<Self::Data> {
        glue::may_open(file)?;
        let text = Shown(KVVec::new());
        KBox::pin_init(pin_init!(Self { text <- new_mutex!(text) }), GFP_KERNEL)
    }

    fn read(
        file: Pin<&Self>,
        _file: &File,
        to: &mut UserSliceWriter,
        at: &mut Offset,
    ) -> Result<usize> {
        let show = const { GLOBAL[N].show };
        file.text.lock().read(to, at, show.ok_or(EINVAL)?)
    }

    fn write(
        _: Pin<&Self>,
        _file: &File,
        from: UserSliceReader,
        _at: &mut Offset,
    ) -> Result<usize> {
        let write = const { GLOBAL[N].write };
        written(from, write.ok_or(EINVAL)?)
    }
}

/// The file at place `N` of [`COMPONENT`].
#[pin_data]
struct ComponentText<const N: usize> {
    of: Arc<State>,
    #[pin]
    text: Mutex<Shown>,
}

#[vtable]
impl<const N: usize> FileOperations for ComponentText<N> {
    type Inode = State;
    type Data = Pin<KBox<Self>>;

    fn open(of: Option<&State>, file: &File) -> Result<Self::Data> {
        glue::may_open(file)?;
        // SAFETY: Such a file is of a component in an `Arc`, which is there during the call.
        let of = unsafe { ArcBorrow::from_raw(of.ok_or(EINVAL)?) }.into();
        let text = Shown(KVVec::new());
        KBox::pin_init(pin_init!(Self { of, text <- new_mutex!(text) }), GFP_KERNEL)
    }

    fn read(
        file: Pin<&Self>,
        _file: &File,
        to: &mut UserSliceWriter,
        at: &mut Offset,
    ) -> Result<usize> {
        let show = const { COMPONENT[N].show }.ok_or(EINVAL)?;
        file.text.lock().read(to, at, |f| show(&file.of, f))
    }

    fn write(
        file: Pin<&Self>,
        _file: &File,
        from: UserSliceReader,
        _at: &mut Offset,
    ) -> Result<usize> {
        let write = const { COMPONENT[N].write }.ok_or(EINVAL)?;
        written(from, |text| write(&file.of, text))
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
