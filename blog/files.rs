// SPDX-License-Identifier: GPL-2.0

//! The files under `/sys/kernel/debug/blog`: which there are, and what reading and writing them
//! does.
//!
//! The registry makes and removes a component's directory; glue.c has the file operations and
//! calls [`blog_text_show`] and [`blog_text_write`] with a file's kind. What is written is parsed
//! by `control.rs` and done by `component.rs` and `images.rs`; what is read, by `stats.rs` and
//! `clock.rs`. A write either does all that it says or fails and changes nothing.

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
    error::from_result,
    fmt,
    prelude::*,
    seq_file::SeqFile,
    seq_print,
    sync::Arc, //
};

use crate::{
    clock,
    component::State,
    control,
    glue,
    registry,
    stalled,
    stats, //
};

/// A file beside the components' directories.
struct GlobalFile {
    name: &'static CStr,
    show: fn(&mut fmt::Formatter<'_>) -> fmt::Result,
    write: Option<fn(&str) -> Result>,
}

const GLOBAL: [GlobalFile; 5] = [
    GlobalFile {
        name: c"components",
        show: stats::show_components,
        write: None,
    },
    GlobalFile {
        name: c"clock",
        show: clock::show,
        write: None,
    },
    GlobalFile {
        name: c"stats",
        show: stats::show_global,
        write: None,
    },
    GlobalFile {
        name: c"tasks",
        show: stalled::show_tasks,
        write: None,
    },
    GlobalFile {
        name: c"control",
        show: stats::show_images,
        write: Some(write_control),
    },
];

/// A file in a component's directory.
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
            state.clear()
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

/// Kinds from here on are files of components.
const FIRST_COMPONENT_KIND: u32 = 256;

/// Our directory.
static ROOT: AtomicPtr<bindings::dentry> = AtomicPtr::new(ptr::null_mut());

/// Whether `name` is that of a file of ours, which no component can have.
pub(crate) fn is_global(name: &[u8]) -> bool {
    let binary = [SNAPSHOT, STREAM]
        .iter()
        .any(|file| file.to_bytes() == name);
    binary || GLOBAL.iter().any(|file| file.name.to_bytes() == name)
}

fn mode(read: bool, write: bool) -> u16 {
    u16::from(read) << 8 | u16::from(write) << 7
}

/// Makes our directory and the files in it.
pub(crate) fn init() {
    // SAFETY: The name is a C string; a null parent is debugfs' root.
    let root = unsafe { bindings::debugfs_create_dir(c"blog".as_char_ptr(), ptr::null_mut()) };
    ROOT.store(root, Relaxed);
    for (kind, file) in (0..).zip(&GLOBAL) {
        let mode = mode(true, file.write.is_some());
        // SAFETY: `root` is what debugfs gave; these kinds have no data.
        unsafe { glue::create_text(file.name, mode, root, ptr::null_mut(), kind) };
    }
    // SAFETY: As above; null data means all components.
    unsafe {
        glue::create_snapshot(SNAPSHOT, root, ptr::null_mut());
        glue::create_stream(STREAM, root, ptr::null_mut());
    }
}

/// Removes all that is there, and waits for those who read or write it.
pub(crate) fn stop() {
    // SAFETY: It is what debugfs gave.
    unsafe { bindings::debugfs_remove(ROOT.swap(ptr::null_mut(), Relaxed)) };
}

/// Makes the directory of a component. Where that fails, the component goes without.
pub(crate) fn create(state: &Arc<State>) {
    // SAFETY: Both are valid; debugfs takes the error pointer of a failure as parent.
    let dir =
        unsafe { bindings::debugfs_create_dir(state.name().as_char_ptr(), ROOT.load(Relaxed)) };
    state.dir().store(dir, Relaxed);
    let data = ptr::from_ref(&**state).cast_mut().cast();
    for (kind, file) in (FIRST_COMPONENT_KIND..).zip(&COMPONENT) {
        let mode = mode(file.show.is_some(), file.write.is_some());
        // SAFETY: `dir` is what debugfs gave. The registry holds the state at least until `remove`
        // has removed the files.
        unsafe { glue::create_text(file.name, mode, dir, data, kind) };
    }
    // SAFETY: As above.
    unsafe {
        glue::create_snapshot(SNAPSHOT, dir, data);
        glue::create_stream(STREAM, dir, data);
    }
}

/// Removes the directory of a component, and waits for those who use a file of it.
pub(crate) fn remove(state: &State) {
    let dir = state.dir().swap(ptr::null_mut(), Relaxed);
    // SAFETY: It is what debugfs gave, or null.
    unsafe { bindings::debugfs_remove(dir) };
}

/// Lets a function that formats be printed.
struct Show<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result>(F);

impl<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result> fmt::Display for Show<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0)(f)
    }
}

/// Prints a text file.
///
/// # Safety
///
/// `m` is valid, and `kind` and `data` are those of a file that was made here.
#[no_mangle]
unsafe extern "C" fn blog_text_show(m: *mut bindings::seq_file, kind: u32, data: *mut c_void) {
    // SAFETY: By this function's requirement.
    let m = unsafe { SeqFile::from_raw(m) };
    if kind < FIRST_COMPONENT_KIND {
        if let Some(file) = GLOBAL.get(kind as usize) {
            seq_print!(m, "{}", Show(file.show));
        }
    } else if let Some(file) = COMPONENT.get((kind - FIRST_COMPONENT_KIND) as usize) {
        // SAFETY: Such a file has its component as data, which stays while the file is used.
        let state = unsafe { &*data.cast::<State>() };
        if let Some(show) = file.show {
            seq_print!(m, "{}", Show(|f| show(state, f)));
        }
    }
}

/// Does what was written into a text file.
///
/// # Safety
///
/// `text` is valid for `len` bytes, and `kind` and `data` are those of a file that was made here.
#[no_mangle]
unsafe extern "C" fn blog_text_write(
    kind: u32,
    data: *mut c_void,
    text: *const u8,
    len: usize,
) -> c_int {
    from_result(|| {
        // SAFETY: By this function's requirement.
        let text = unsafe { core::slice::from_raw_parts(text, len) };
        let text = str::from_utf8(text).map_err(|_| EINVAL)?;
        if kind < FIRST_COMPONENT_KIND {
            let file = GLOBAL.get(kind as usize).ok_or(EINVAL)?;
            file.write.ok_or(EINVAL)?(text)?;
        } else {
            let file = COMPONENT.get((kind - FIRST_COMPONENT_KIND) as usize);
            // SAFETY: Such a file has its component as data, which stays while the file is used.
            let state = unsafe { &*data.cast::<State>() };
            file.and_then(|file| file.write).ok_or(EINVAL)?(state, text)?;
        }
        Ok(0)
    })
}

/// Switches sites: see [`control::Query`].
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
