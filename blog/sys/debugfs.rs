// SPDX-License-Identifier: GPL-2.0

//! Files in debugfs with something of their own for each time that they are open, which may block
//! and be polled. Those of `kernel::debugfs` have none of that, and don't keep their module loaded.

use core::marker::PhantomData;
use kernel::{
    bindings,
    error::from_result,
    fs::{
        file::Offset,
        File, //
    },
    module::this_module,
    prelude::*,
    sync::{
        poll::PollTable,
        Arc,
        ArcBorrow, //
    },
    types::ForeignOwnable,
    uaccess::{
        UserPtr,
        UserSlice,
        UserSliceReader,
        UserSliceWriter, //
    }, //
};

use crate::LocalModule;

/// An open file.
pub(crate) trait OpenFile: Sized + Send + Sync + 'static {
    /// What the file is of: what it was made with.
    type Of: Send + Sync;

    /// Whether the file is a stream: it has no position, and reads don't wait for each other.
    const STREAM: bool = false;

    /// Opens the file; `of` is `None` where it was made without anything.
    fn open(of: Option<Arc<Self::Of>>, file: &File) -> Result<Pin<KBox<Self>>>;

    /// Reads on at `at`, which means nothing for a stream.
    fn read(
        self: Pin<&Self>,
        file: &File,
        to: &mut UserSliceWriter,
        at: &mut Offset,
    ) -> Result<usize>;

    /// Writes; returns how much was taken.
    fn write(self: Pin<&Self>, _from: UserSliceReader) -> Result<usize> {
        Err(EINVAL)
    }

    /// What a read of a stream would do now, as a mask of `POLLIN` and so on.
    fn poll(self: Pin<&Self>, _file: &File, _table: PollTable<'_>) -> u32 {
        0
    }
}

/// The operations of such files.
struct Operations<T>(PhantomData<T>);

impl<T: OpenFile> Operations<T> {
    /// # Safety
    ///
    /// The kernel is opening the file, which [`create_file`] has made.
    unsafe extern "C" fn open(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
        // SAFETY: By the requirements of both functions. Nobody else has the file yet, and whoever
        // opens it may set its private data.
        from_result(|| unsafe {
            if T::STREAM {
                // It never fails.
                bindings::stream_open(inode, file);
            }
            let of = (*inode).i_private.cast_const().cast::<T::Of>();
            let of = (!of.is_null()).then(|| ArcBorrow::from_raw(of).into());
            (*file).private_data = T::open(of, File::from_raw_file(file))?.into_foreign();
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// [`Self::open`] has opened the file, and this is its last use.
    unsafe extern "C" fn release(_: *mut bindings::inode, file: *mut bindings::file) -> c_int {
        // SAFETY: `open` has put it there, and nobody uses it any more.
        drop(unsafe { Pin::<KBox<T>>::from_foreign((*file).private_data) });
        0
    }

    /// What [`Self::open`] has put there, and the file.
    ///
    /// # Safety
    ///
    /// `open` has opened the file, which stays open for `'a`.
    unsafe fn of<'a>(file: *mut bindings::file) -> (Pin<&'a T>, &'a File) {
        // SAFETY: By this function's requirement; what `open` has put there stays until `release`.
        unsafe {
            (
                Pin::<KBox<T>>::borrow((*file).private_data),
                File::from_raw_file(file),
            )
        }
    }

    /// # Safety
    ///
    /// [`Self::open`] has opened the file. `at` is valid, or null for a stream.
    unsafe extern "C" fn read(
        file: *mut bindings::file,
        buf: *mut c_char,
        count: usize,
        at: *mut bindings::loff_t,
    ) -> isize {
        let mut to = UserSlice::new(UserPtr::from_ptr(buf.cast()), count).writer();
        // SAFETY: By this function's requirement.
        let ((this, file), at) = unsafe { (Self::of(file), at.as_mut()) };
        from_result(|| Ok(this.read(file, &mut to, at.unwrap_or(&mut 0))? as isize))
    }

    /// # Safety
    ///
    /// [`Self::open`] has opened the file.
    unsafe extern "C" fn write(
        file: *mut bindings::file,
        buf: *const c_char,
        count: usize,
        _at: *mut bindings::loff_t,
    ) -> isize {
        let from = UserSlice::new(UserPtr::from_ptr(buf.cast_mut().cast()), count).reader();
        // SAFETY: By this function's requirement.
        let (this, _) = unsafe { Self::of(file) };
        from_result(|| Ok(this.write(from)? as isize))
    }

    /// # Safety
    ///
    /// [`Self::open`] has opened the file. The table is null, or valid during the call.
    unsafe extern "C" fn poll(
        file: *mut bindings::file,
        table: *mut bindings::poll_table_struct,
    ) -> bindings::__poll_t {
        // SAFETY: By this function's requirement.
        let ((this, file), table) = unsafe { (Self::of(file), PollTable::from_raw(table)) };
        this.poll(file, table)
    }

    const TABLE: bindings::file_operations = bindings::file_operations {
        owner: this_module::<LocalModule>().as_ptr(),
        open: Some(Self::open),
        release: Some(Self::release),
        read: Some(Self::read),
        write: Some(Self::write),
        poll: if T::STREAM { Some(Self::poll) } else { None },
        llseek: if T::STREAM {
            None
        } else {
            Some(bindings::default_llseek)
        },
        ..pin_init::zeroed()
    };
}

/// Makes a file in a directory. It is gone with the directory: `debugfs_remove()` waits for calls
/// of [`OpenFile::open`] that are under way, and not for files that are open, which keep what they
/// need by themselves.
///
/// # Safety
///
/// - `dir` is a directory of debugfs, null, or the error pointer of one that couldn't be made.
/// - `of` is null, or leads into an `Arc` that is there until the file has been removed.
pub(crate) unsafe fn create_file<T: OpenFile>(
    name: &CStr,
    mode: u16,
    dir: *mut bindings::dentry,
    of: *const T::Of,
) {
    let (name, of) = (name.as_char_ptr(), of.cast_mut().cast());
    // SAFETY: By this function's requirements. The table is static, and names its module. What is
    // open has no use for the file's removal to wait.
    unsafe {
        bindings::debugfs_create_file_unsafe(name, mode, dir, of, &Operations::<T>::TABLE);
    }
}
