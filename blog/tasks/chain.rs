// SPDX-License-Identifier: GPL-2.0

//! Tasks that wait for each other, as a part finds them.

use kernel::blog::wire::file;

use crate::sys::prelude::*;

/// What a task waits for, and who holds that; what that one waits for, and so on.
pub(crate) type WaitChain = [Option<(file::Wait, Option<file::Task>)>; file::WAIT_LINKS];

/// How a part finds the chain of a task: see [`chain()`].
pub(crate) type FindChain = unsafe fn(
    *const bindings::task_struct,
    &mut dyn FnMut(*mut bindings::task_struct),
) -> WaitChain;

/// That part's function, if there is one. Set before there are components.
pub(crate) static FIND_CHAIN: SetOnce<FindChain> = SetOnce::new();

/// The chain of a task, up to whom it has had before; empty if nobody can tell. `look` looks at
/// each holder, which is valid as long as RCU's lock is held.
///
/// # Safety
///
/// `task` must be valid.
pub(crate) unsafe fn chain(
    task: *const bindings::task_struct,
    mut look: impl FnMut(*mut bindings::task_struct),
) -> WaitChain {
    match FIND_CHAIN.as_ref() {
        // SAFETY: By this function's requirement.
        Some(find) => unsafe { find(task, &mut look) },
        None => WaitChain::default(),
    }
}
