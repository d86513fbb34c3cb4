// SPDX-License-Identifier: GPL-2.0

//! Module parameters, the machine's names, and what its kernel lacks: the Rust side of `params.c`.

use kernel::prelude::*;

unsafe extern "C" {
    #[cfg(CONFIG_BLOG_PARTS)]
    safe fn blog_lacks() -> *const c_char;
    safe fn blog_uts(names: &mut [[u8; 64]; 3]);

    /// The limit for all that BLog takes, in KiB. Process context.
    #[link_name = "blog_param_max_kb"]
    pub(crate) safe fn max_kb() -> u32;

    /// BLog starts: what parameters don't understand from now on is refused. `max_kb_changed` is
    /// called after each change of the limit, one at a time; on an error, the change is undone.
    /// Called once.
    #[link_name = "blog_params_start"]
    pub(crate) safe fn start(max_kb_changed: extern "C" fn() -> c_int);

    /// Whether nothing is to be recorded unless somebody wants it: in a kdump kernel.
    #[link_name = "blog_is_quiet"]
    pub(crate) safe fn is_quiet() -> bool;
}

/// `uname -r`, `-m` and `-n`, NUL padded.
pub(crate) fn uts() -> [[u8; 64]; 3] {
    let mut names = [[0; 64]; 3];
    blog_uts(&mut names);
    names
}

/// What the kernel lacks of what BLog can use. In `lacks.c`.
#[cfg(CONFIG_BLOG_PARTS)]
pub(crate) fn lacks() -> &'static CStr {
    // SAFETY: It is a C string that nobody changes.
    unsafe { CStr::from_char_ptr(blog_lacks()) }
}
