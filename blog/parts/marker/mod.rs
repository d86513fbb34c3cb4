// SPDX-License-Identifier: GPL-2.0

//! The file `marker` of a component: a line that a user writes there becomes a record.

use kernel::{
    blog::RawComponent,
    prelude::*,
    str::CString, //
};

kunit! { mod tests; }

use crate::{
    floor,
    registry::state::State, //
};

pub(crate) static PART: floor::Part = floor::Part {
    files: &[floor::FileOf {
        name: c"marker",
        write: Some(mark),
        ..floor::FileOf::NONE
    }],
    ..floor::Part::NONE
};

unsafe extern "C" {
    // marker.c
    fn blog_mark(component: &RawComponent, line: *const c_char) -> bool;
}

/// Logs a line as the component's driver would, from the writing task.
///
/// `EBADF` if it isn't logged: the component is off or detached, or its level or `control` says so.
fn mark(state: &State, text: &str) -> Result {
    let line = text.strip_suffix('\n').unwrap_or(text);
    let line = CString::try_from_fmt(fmt!("{line}"))?;
    let is_logged = state.read(|locked| {
        // SAFETY: The component is there as long as the lock is held; the line is a C string.
        let mark = |component| unsafe { blog_mark(component, line.as_char_ptr()) };
        locked.component().is_some_and(mark)
    });
    is_logged.then_some(()).ok_or(EBADF)
}
