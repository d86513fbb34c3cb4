// SPDX-License-Identifier: GPL-2.0

//! The folder `blog` in tracefs and debugfs, and its files: the Rust side of `tree.c`.
//!
//! An open file has data of its own, may block, and may be polled. Files of `kernel::debugfs` can
//! do none of that. A file has the number of its subject, and not a reference to it: opening a file
//! whose subject is gone fails.

use core::{
    marker::PhantomData,
    ptr,
    str, //
};
use kernel::{
    bindings,
    error::from_result,
    fs::{
        file::Offset,
        File, //
    },
    iov::IovIterDest,
    mm::virt::VmaNew,
    prelude::*,
    sync::poll::PollTable,
    types::ForeignOwnable,
    uaccess::{
        UserPtr,
        UserSlice, //
    }, //
};

const WRITE_MAX: usize = 4096;
/// Of `include/linux/splice.h`.
const SPLICE_F_NONBLOCK: u32 = 2;

pub(crate) trait OpenFile: Sized + Send + Sync + 'static {
    /// Whether the file is a stream: it has no position, and reads don't wait for each other.
    const STREAM: bool = false;

    /// Whether the file may be polled.
    const POLLS: bool = Self::STREAM;

    /// Whether processes may map the file.
    const MAPS: bool = false;

    /// Opens the file that was made with the number `of`.
    fn open(of: u64, file: &File) -> Result<Pin<KBox<Self>>>;

    /// Reads on at `at`, which means nothing for a stream.
    fn read(
        self: Pin<&Self>,
        _file: &File,
        _to: &mut IovIterDest<'_>,
        _at: &mut Offset,
    ) -> Result<usize> {
        Err(EINVAL)
    }

    /// Takes what one `write()` held.
    fn write(self: Pin<&Self>, _text: &str) -> Result {
        Err(EINVAL)
    }

    /// Fills an area of a process with what it maps.
    fn mmap(self: Pin<&Self>, _area: &VmaNew) -> Result {
        Err(ENODEV)
    }

    /// What is ready, as a mask of `POLLIN` and so on.
    fn poll(self: Pin<&Self>, _file: &File, _table: PollTable<'_>) -> u32 {
        0
    }
}

/// The operations of such files.
struct Operations<T>(PhantomData<T>);

impl<T: OpenFile> Operations<T> {
    /// # Safety
    ///
    /// The kernel is opening the file, which [`Dir::file`] has made.
    unsafe extern "C" fn open(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
        // SAFETY: By the requirements of both functions. Nobody else has the file yet, and its
        // opener may set its private data.
        from_result(|| unsafe {
            if T::STREAM {
                // It never fails.
                bindings::stream_open(inode, file);
            }
            let of = (*inode).i_private.addr() as u64;
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
    /// [`Self::open`] has opened the file of `call`. Both are valid and the callee's during the
    /// call.
    unsafe extern "C" fn read(call: *mut bindings::kiocb, to: *mut bindings::iov_iter) -> isize {
        // SAFETY: By this function's requirement; a file is read to what can be written to.
        let ((this, file), at, to) = unsafe {
            let at = &mut (*call).ki_pos;
            (Self::of((*call).ki_filp), at, IovIterDest::from_raw(to))
        };
        from_result(|| Ok(this.read(file, to, at)? as isize))
    }

    /// Reads into new pages, which go to the pipe. As with other files, the pipe is locked
    /// meanwhile, also while this waits for something to read.
    ///
    /// # Safety
    ///
    /// [`Self::open`] has opened the file. `at` and the pipe are valid, and the pipe is locked.
    unsafe extern "C" fn splice(
        file: *mut bindings::file,
        at: *mut bindings::loff_t,
        pipe: *mut bindings::pipe_inode_info,
        len: usize,
        flags: u32,
    ) -> isize {
        // SAFETY: By this function's requirements.
        unsafe {
            // Then it waits only if another thread takes the data meanwhile.
            if flags & SPLICE_F_NONBLOCK != 0 && Self::poll(file, ptr::null_mut()) == 0 {
                return EAGAIN.to_errno() as isize;
            }
            bindings::copy_splice_read(file, at, pipe, len, flags)
        }
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
        from_result(|| {
            if count == 0 || count > WRITE_MAX {
                return Err(EINVAL);
            }
            let mut bytes = KVec::new();
            from.read_all(&mut bytes, GFP_KERNEL)?;
            this.write(str::from_utf8(&bytes).map_err(|_| EINVAL)?)?;
            Ok(count as isize)
        })
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

    /// # Safety
    ///
    /// [`Self::open`] has opened the file. The area is just being made.
    unsafe extern "C" fn mmap(
        file: *mut bindings::file,
        area: *mut bindings::vm_area_struct,
    ) -> c_int {
        // SAFETY: By this function's requirement.
        let ((this, _), area) = unsafe { (Self::of(file), VmaNew::from_raw(area)) };
        from_result(|| this.mmap(area).map(|()| 0))
    }

    const TABLE: bindings::file_operations = bindings::file_operations {
        open: Some(Self::open),
        release: Some(Self::release),
        read_iter: Some(Self::read),
        write: Some(Self::write),
        poll: if T::POLLS { Some(Self::poll) } else { None },
        splice_read: if T::STREAM { Some(Self::splice) } else { None },
        // Debugfs opens no file that has this under lockdown.
        mmap: if T::MAPS { Some(Self::mmap) } else { None },
        llseek: if T::STREAM {
            None
        } else {
            Some(bindings::default_llseek)
        },
        ..pin_init::zeroed()
    };
}

unsafe extern "C" {
    safe fn blog_tree_start() -> Dir;
    fn blog_dir_create(name: *const c_char, parent: &Dir) -> Dir;
    fn blog_file_create(
        name: *const c_char,
        mode: u16,
        dir: &Dir,
        data: usize,
        operations: *const c_void,
    );
    fn blog_dir_remove(dir: &Dir);
}

/// A folder, in each place that has one; `struct blog_dir` of `glue.h`. Process context.
///
/// # Invariants
///
/// Each is null, an error pointer, or a folder that stays until it is removed by this.
#[repr(C)]
pub(crate) struct Dir {
    pub(crate) tracefs: *mut c_void,
    pub(crate) debugfs: *mut c_void,
}

// SAFETY: It belongs to no thread.
unsafe impl Send for Dir {}

impl Dir {
    /// Makes the folder `blog`. Once.
    pub(crate) fn root() -> Self {
        blog_tree_start()
    }

    /// Makes a folder in this one.
    pub(crate) fn dir(&self, name: &CStr) -> Self {
        // SAFETY: The name is a C string, and this folder is there, by the invariants.
        unsafe { blog_dir_create(name.as_char_ptr(), self) }
    }

    /// Makes a file in this folder. It goes with that.
    pub(crate) fn file<T: OpenFile>(&self, name: &CStr, mode: u16, of: u64) {
        let operations: &'static bindings::file_operations = &Operations::<T>::TABLE;
        let operations = ptr::from_ref(operations).cast();
        // SAFETY: As above; and the operations, which are static, are those of such a file.
        unsafe { blog_file_create(name.as_char_ptr(), mode, self, of as usize, operations) };
    }

    /// Removes this folder, which isn't `blog`, with all that is in it. Files that are open stay
    /// open; it waits at most for those that are just being opened.
    pub(crate) fn remove(self) {
        // SAFETY: By the invariants; it goes with this.
        unsafe { blog_dir_remove(&self) };
    }
}
