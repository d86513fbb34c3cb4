// SPDX-License-Identifier: GPL-2.0

//! Files of pseudo file systems (debugfs, tracefs): what opening and reading them does.
//!
//! C header: [`include/linux/fs.h`](srctree/include/linux/fs.h)

use crate::{
    bindings,
    error::VTABLE_DEFAULT_ERROR,
    fs::File,
    module::this_module,
    prelude::*,
    sync::poll::PollTable,
    types::ForeignOwnable,
    uaccess::{
        UserPtr,
        UserSlice,
        UserSliceReader,
        UserSliceWriter, //
    }, //
};
use core::marker::PhantomData;

/// What a kind of file does.
///
/// Each open file has [`Data`] of its own, made by [`open`] out of what the file is of: the
/// [`Inode`] that it was created with. The module that implements this stays loaded as long as a
/// file is open.
///
/// [`Data`]: FileOperations::Data
/// [`Inode`]: FileOperations::Inode
/// [`open`]: FileOperations::open
///
/// # Examples
///
/// A file that says how often it was opened:
///
/// ```
/// use kernel::{
///     fs::{
///         file,
///         operations::FileOperations,
///         File, //
///     },
///     prelude::*,
///     sync::atomic::{
///         Atomic,
///         Relaxed, //
///     },
///     uaccess::UserSliceWriter, //
/// };
///
/// struct Count(u8);
///
/// #[vtable]
/// impl FileOperations for Count {
///     type Inode = Atomic<u32>;
///     type Data = KBox<Self>;
/// #   type OwnerModule = Owner;
///
///     fn open(opened: Option<&Atomic<u32>>, _file: &File) -> Result<KBox<Self>> {
///         let n = opened.ok_or(EINVAL)?.fetch_add(1, Relaxed);
///         Ok(KBox::new(Self(b'0' + (n % 10) as u8), GFP_KERNEL)?)
///     }
///
///     fn read(
///         count: &Self,
///         _file: &File,
///         to: &mut UserSliceWriter,
///         at: &mut file::Offset,
///     ) -> Result<usize> {
///         to.write_slice_file(&[count.0, b'\n'], at)
///     }
/// }
/// # struct Owner;
/// # impl kernel::ModuleMetadata for Owner {
/// #     const NAME: &'static CStr = c"file_operations_example";
/// #     // SAFETY: Built in: there is no `THIS_MODULE`.
/// #     const THIS_MODULE: kernel::ThisModule = unsafe {
/// #         kernel::ThisModule::from_ptr(core::ptr::null_mut())
/// #     };
/// # }
/// ```
#[vtable]
pub trait FileOperations: Sized {
    /// What a file of this kind is of: where the inode's private data points to.
    type Inode: Sync;

    /// What an open file has.
    type Data: ForeignOwnable + Send + Sync + 'static;

    /// Whether the file is a stream: it has no position, and reads don't wait for each other.
    const STREAM: bool = false;

    /// Opens the file; `of` is `None` where it was made without anything.
    fn open(of: Option<&Self::Inode>, file: &File) -> Result<Self::Data>;

    /// Reads on at `at`.
    fn read(
        _data: <Self::Data as ForeignOwnable>::Borrowed<'_>,
        _file: &File,
        _to: &mut UserSliceWriter,
        _at: &mut super::file::Offset,
    ) -> Result<usize> {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Writes at `at`; returns how much was taken.
    fn write(
        _data: <Self::Data as ForeignOwnable>::Borrowed<'_>,
        _file: &File,
        _from: UserSliceReader,
        _at: &mut super::file::Offset,
    ) -> Result<usize> {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// What a read or write would do now, as a mask of `POLLIN` and so on.
    fn poll(
        _data: <Self::Data as ForeignOwnable>::Borrowed<'_>,
        _file: &File,
        _table: PollTable<'_>,
    ) -> u32 {
        build_error!(VTABLE_DEFAULT_ERROR)
    }
}

/// The C table of a [`FileOperations`].
pub struct FileOperationsVTable<T: FileOperations>(PhantomData<T>);

impl<T: FileOperations> FileOperationsVTable<T> {
    /// # Safety
    ///
    /// Called by the kernel for a file that is being opened, whose inode's private data is null, or
    /// points to a `T::Inode` that stays during the call.
    unsafe extern "C" fn open(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
        if T::STREAM {
            // SAFETY: Both are valid, and the file is being opened. It never fails.
            unsafe { bindings::stream_open(inode, file) };
        }
        // SAFETY: By this function's requirement.
        let of = unsafe { (*inode).i_private.cast_const().cast::<T::Inode>().as_ref() };
        // SAFETY: The file is valid, and nobody else has it yet.
        match T::open(of, unsafe { File::from_raw_file(file) }) {
            Ok(data) => {
                // SAFETY: The open call of a file may set its private data.
                unsafe { (*file).private_data = data.into_foreign() };
                0
            }
            Err(e) => e.to_errno(),
        }
    }

    /// # Safety
    ///
    /// Called by the kernel for a file that [`Self::open`] has opened, as its last use.
    unsafe extern "C" fn release(_: *mut bindings::inode, file: *mut bindings::file) -> c_int {
        // SAFETY: `open` has put it there, and nobody uses it any more.
        drop(unsafe { T::Data::from_foreign((*file).private_data) });
        0
    }

    /// # Safety
    ///
    /// Called by the kernel for a file that [`Self::open`] has opened. `at` is valid, and null only
    /// for a stream.
    unsafe extern "C" fn read(
        file: *mut bindings::file,
        buf: *mut c_char,
        count: usize,
        at: *mut bindings::loff_t,
    ) -> isize {
        let mut to = UserSlice::new(UserPtr::from_ptr(buf.cast()), count).writer();
        // SAFETY: By this function's requirement.
        unsafe { Self::with(file, at, |data, file, at| T::read(data, file, &mut to, at)) }
    }

    /// # Safety
    ///
    /// As for [`Self::read`].
    unsafe extern "C" fn write(
        file: *mut bindings::file,
        buf: *const c_char,
        count: usize,
        at: *mut bindings::loff_t,
    ) -> isize {
        let from = UserSlice::new(UserPtr::from_ptr(buf.cast_mut().cast()), count).reader();
        // SAFETY: By this function's requirement.
        unsafe { Self::with(file, at, |data, file, at| T::write(data, file, from, at)) }
    }

    /// # Safety
    ///
    /// As for [`Self::read`].
    unsafe fn with<'a>(
        file: *mut bindings::file,
        at: *mut bindings::loff_t,
        f: impl FnOnce(
            <T::Data as ForeignOwnable>::Borrowed<'a>,
            &File,
            &mut super::file::Offset,
        ) -> Result<usize>,
    ) -> isize {
        // A stream has none.
        let mut none = 0;
        // SAFETY: By this function's requirement. `open` has put the data there; it stays until
        // `release`.
        let (data, file, at) = unsafe {
            (
                T::Data::borrow((*file).private_data),
                File::from_raw_file(file),
                at.as_mut().unwrap_or(&mut none),
            )
        };
        match f(data, file, at) {
            Ok(n) => n as isize,
            Err(e) => e.to_errno() as isize,
        }
    }

    /// # Safety
    ///
    /// Called by the kernel for a file that [`Self::open`] has opened.
    unsafe extern "C" fn poll(
        file: *mut bindings::file,
        table: *mut bindings::poll_table_struct,
    ) -> bindings::__poll_t {
        // SAFETY: As in `with`. The table is null or valid during the call.
        let (data, file, table) = unsafe {
            (
                T::Data::borrow((*file).private_data),
                File::from_raw_file(file),
                PollTable::from_raw(table),
            )
        };
        T::poll(data, file, table)
    }

    const VTABLE: bindings::file_operations = bindings::file_operations {
        owner: this_module::<T::OwnerModule>().as_ptr(),
        open: Some(Self::open),
        release: Some(Self::release),
        read: if T::HAS_READ { Some(Self::read) } else { None },
        write: if T::HAS_WRITE {
            Some(Self::write)
        } else {
            None
        },
        poll: if T::HAS_POLL { Some(Self::poll) } else { None },
        llseek: if T::STREAM {
            None
        } else {
            Some(bindings::default_llseek)
        },
        ..pin_init::zeroed()
    };

    /// The table.
    pub const fn build() -> &'static bindings::file_operations {
        &Self::VTABLE
    }
}

/// Makes a file in a directory of debugfs. It is gone with the directory: `debugfs_remove()` waits
/// for calls of [`FileOperations::open`] that are under way, and not for files that are open, which
/// keep what they need by themselves.
///
/// # Safety
///
/// - `dir` is a directory of debugfs, null, or the error pointer of one that couldn't be made.
/// - `of` is null, or stays valid until the file has been removed.
#[cfg(CONFIG_DEBUG_FS)]
pub unsafe fn debugfs_create_file<T: FileOperations>(
    name: &CStr,
    mode: u16,
    dir: *mut bindings::dentry,
    of: *const T::Inode,
) {
    let (name, of) = (name.as_char_ptr(), of.cast_mut().cast());
    let table = FileOperationsVTable::<T>::build();
    // SAFETY: By this function's requirements. The table is static, and names its module. What is
    // open has no use for the file's removal to wait.
    unsafe { bindings::debugfs_create_file_unsafe(name, mode, dir, of, table) };
}
