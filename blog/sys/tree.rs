// SPDX-License-Identifier: GPL-2.0

//! The folder `blog` in tracefs or debugfs, and its files: the Rust side of `tree.c`.
//!
//! An open file has data of its own, may block, and may be polled. Files of `kernel::debugfs` can
//! do none of that. A file has the number of its subject, and not a reference to it: opening a file
//! whose subject is gone fails.

use core::str;
use kernel::error::from_result;

use crate::sys::prelude::*;

/// What the kernel does with files of a kind; `enum blog_shape` of `glue.h`.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(crate) enum Shape {
    /// Read from any position.
    Text,
    /// It has no position, and reads don't wait for each other.
    Stream,
}

pub(crate) trait OpenFile: Sized + Send + Sync + 'static {
    const SHAPE: Shape;

    /// A `struct file_operations`, in place of the usual one; null: that.
    fn operations() -> *const c_void {
        ptr::null()
    }

    /// Opens the file that was made with the number `of`.
    fn open(of: u64, file: &File) -> Result<Self>;

    /// Reads on at `at`, which means nothing for a stream.
    fn read(&self, _file: &File, _to: &mut IovIterDest<'_>, _at: &mut Offset) -> Result<usize> {
        Err(EINVAL)
    }

    /// Takes what one `write()` held.
    fn write(&self, _text: &str) -> Result {
        Err(EINVAL)
    }

    /// What is ready, as a mask of `POLLIN` and so on.
    fn poll(&self, _file: &File, _table: PollTable<'_>) -> u32 {
        bindings::POLLIN | bindings::POLLRDNORM | bindings::POLLOUT
    }
}

/// What C calls of a kind of file; `struct blog_file_kind` of `glue.h`.
#[repr(C)]
struct FileKind {
    shape: Shape,
    open: unsafe extern "C" fn(c_ulong, *const bindings::file, *mut *mut c_void) -> c_int,
    release: unsafe extern "C" fn(*mut c_void),
    read: unsafe extern "C" fn(
        *const c_void,
        *const bindings::file,
        *mut bindings::iov_iter,
        *mut Offset,
    ) -> isize,
    write: unsafe extern "C" fn(*const c_void, *const u8, usize) -> c_int,
    poll: unsafe extern "C" fn(
        *const c_void,
        *const bindings::file,
        *mut bindings::poll_table_struct,
    ) -> u32,
}

impl FileKind {
    /// The kind of a type.
    const fn of<T: OpenFile>() -> Self {
        Self {
            shape: T::SHAPE,
            open: open::<T>,
            release: release::<T>,
            read: read::<T>,
            write: write::<T>,
            poll: poll::<T>,
        }
    }
}

/// An open file.
#[repr(C)]
struct Opened<T> {
    kind: &'static FileKind,
    file: T,
}

/// # Safety
///
/// The kernel is opening the file, and `opened` is valid for a write.
unsafe extern "C" fn open<T: OpenFile>(
    of: c_ulong,
    file: *const bindings::file,
    opened: *mut *mut c_void,
) -> c_int {
    let kind = const { &FileKind::of::<T>() };
    // SAFETY: By this function's requirement.
    from_result(|| unsafe {
        let file = T::open(of as u64, File::from_raw_file(file))?;
        *opened = KBox::into_raw(KBox::new(Opened { kind, file }, GFP_KERNEL)?).cast();
        Ok(0)
    })
}

/// # Safety
///
/// [`open`] has made this, and this is its last use.
unsafe extern "C" fn release<T: OpenFile>(this: *mut c_void) {
    // SAFETY: By this function's requirement.
    drop(unsafe { KBox::from_raw(this.cast::<Opened<T>>()) });
}

/// The open file that C has.
///
/// # Safety
///
/// It is one of this type, which isn't released during `'a`.
pub(crate) unsafe fn opened<'a, T: OpenFile>(this: *const c_void) -> &'a T {
    // SAFETY: By this function's requirement, `open` has made it.
    unsafe { &(*this.cast::<Opened<T>>()).file }
}

/// # Safety
///
/// [`open`] has made `this` for the file; the rest is valid, and the callee's during the call.
unsafe extern "C" fn read<T: OpenFile>(
    this: *const c_void,
    file: *const bindings::file,
    to: *mut bindings::iov_iter,
    at: *mut Offset,
) -> isize {
    // SAFETY: By this function's requirement; a file is read to what can be written to.
    from_result(|| unsafe {
        let (file, to) = (File::from_raw_file(file), IovIterDest::from_raw(to));
        let n = opened::<T>(this).read(file, to, &mut *at)?;
        Ok(n as isize)
    })
}

/// # Safety
///
/// [`open`] has made `this`, and `text` is valid for `size` bytes.
unsafe extern "C" fn write<T: OpenFile>(
    this: *const c_void,
    text: *const u8,
    size: usize,
) -> c_int {
    // SAFETY: By this function's requirement.
    let (this, text) = unsafe {
        let text = slice::from_raw_parts(text, size);
        (opened::<T>(this), text)
    };
    from_result(|| {
        this.write(str::from_utf8(text).map_err(|_| EINVAL)?)?;
        Ok(0)
    })
}

/// # Safety
///
/// [`open`] has made `this` for the file. The table is null, or valid during the call.
unsafe extern "C" fn poll<T: OpenFile>(
    this: *const c_void,
    file: *const bindings::file,
    table: *mut bindings::poll_table_struct,
) -> u32 {
    // SAFETY: By this function's requirement.
    unsafe {
        let (file, table) = (File::from_raw_file(file), PollTable::from_raw(table));
        opened::<T>(this).poll(file, table)
    }
}

unsafe extern "C" {
    fn blog_file_add(
        folder: Folder,
        name: *const c_char,
        mode: u16,
        kind: &'static FileKind,
        operations: *const c_void,
    );
    fn blog_dir_create(
        folder: Folder,
        name: *const c_char,
        parent: *mut c_void,
        of: c_ulong,
    ) -> *mut c_void;
    fn blog_dir_remove(dir: *mut c_void);
    fn blog_file_name(file: *const c_void) -> *const c_char;
    fn blog_poll_wait(file: *mut c_void, table: *mut c_void) -> bool;

    /// Lets pollers look again, after that many milliseconds at the latest. Process context.
    #[link_name = "blog_wake_in"]
    pub(crate) safe fn wake_in(ms: u32);

    /// Not 0: lockdown forbids to open any file, and none is. Process context.
    #[cfg(CONFIG_BLOG_PARTS)]
    #[link_name = "blog_may_open"]
    pub(crate) safe fn may_open() -> c_int;
}

/// Puts the poller of `file` among those who wait for records; returns whether anybody is going to.
/// Process context.
pub(crate) fn wait(file: &File, table: PollTable<'_>) -> bool {
    // SAFETY: A table is nothing but the pointer. Both are valid, or the table is null.
    unsafe {
        let table = mem::transmute::<PollTable<'_>, *mut c_void>(table);
        blog_poll_wait(file.as_ptr().cast(), table)
    }
}

/// The name of an open file of ours.
pub(crate) fn name_of(file: &File) -> &CStr {
    // SAFETY: An open file keeps its name, a C string, and nobody renames any of ours.
    unsafe { CStr::from_char_ptr(blog_file_name(file.as_ptr().cast())) }
}

/// A kind of folder, of which all have the same files; `enum blog_folder` of `glue.h`.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(crate) enum Folder {
    /// `blog`.
    Top,
    /// Of a component.
    Component,
    /// Of a part: there is one.
    #[cfg(CONFIG_BLOG_PARTS)]
    Part,
}

impl Folder {
    /// Adds a file to all of this kind, before there is one. One at a time.
    pub(crate) fn add<T: OpenFile>(self, name: &'static CStr, mode: u16) {
        let kind = const { &FileKind::of::<T>() };
        // SAFETY: The name and the kind are statics.
        unsafe { blog_file_add(self, name.as_char_ptr(), mode, kind, T::operations()) };
    }
}

/// A folder. Process context, one at a time.
///
/// # Invariants
///
/// It is null, an error pointer, or a folder that stays until it is removed by this.
pub(crate) struct Dir(*mut c_void);

// SAFETY: It belongs to no thread.
unsafe impl Send for Dir {}

impl Dir {
    /// Makes the folder `blog`. Once.
    pub(crate) fn top() -> Self {
        // INVARIANT: Nobody else removes it.
        // SAFETY: The name is a C string.
        Self(unsafe { blog_dir_create(Folder::Top, c"blog".as_char_ptr(), ptr::null_mut(), 0) })
    }

    /// Makes a folder in this one, whose files are of the subject with this number.
    pub(crate) fn dir(&self, folder: Folder, name: &CStr, of: u64) -> Self {
        // INVARIANT: Nobody else removes it.
        // SAFETY: The name is a C string, and this folder is there, by the invariants.
        Self(unsafe { blog_dir_create(folder, name.as_char_ptr(), self.0, of as c_ulong) })
    }

    /// Whether it could be made.
    #[cfg(CONFIG_BLOG_TESTS)]
    pub(crate) fn is_there(&self) -> bool {
        !self.0.is_null() && kernel::error::from_err_ptr(self.0).is_ok()
    }

    /// Removes this folder, which isn't `blog`, with all that is in it. Files that are open stay
    /// open; it waits at most for those that are just being opened.
    pub(crate) fn remove(self) {
        // SAFETY: By the invariants; it goes with this.
        unsafe { blog_dir_remove(self.0) };
    }
}
