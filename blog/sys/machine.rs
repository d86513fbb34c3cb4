// SPDX-License-Identifier: GPL-2.0

//! Names: the machine's, and that of a file. The Rust side of `machine.c`.

use kernel::{
    fs::File,
    prelude::*, //
};

unsafe extern "C" {
    safe fn blog_uts(names: &mut [[u8; 64]; 3]);
    fn blog_file_name(file: *const c_void) -> *const c_char;
}

/// `uname -r`, `-m` and `-n`, NUL padded.
pub(crate) fn uts() -> [[u8; 64]; 3] {
    let mut names = [[0; 64]; 3];
    blog_uts(&mut names);
    names
}

/// The last part of an open file's path, of a file in debugfs. Process context.
pub(crate) fn file_name(file: &File) -> &CStr {
    // SAFETY: The file is valid; it keeps its name, which nobody changes.
    unsafe { CStr::from_char_ptr(blog_file_name(file.as_ptr().cast())) }
}
