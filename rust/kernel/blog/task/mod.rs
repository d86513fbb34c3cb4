// SPDX-License-Identifier: GPL-2.0

//! The rings of a task: its [table](Tls), and where that is.
//!
//! A table has one of two homes, with the same functions: the task itself, where `task_struct` has
//! a pointer (`pointer.rs`), or a hash table of all tasks that have rings (`hash.rs`). Only a log
//! call of the task itself gives it a table; the hook at the task's end takes it.
//!
//! What is missing has a placeholder, so that the fast path need not test for null: a task without
//! rings has a table in which nothing is found.

#[cfg(all(CONFIG_BLOG_HOOKS, not(CONFIG_BLOG_TASK_POINTER)))]
mod hash;
#[cfg(all(CONFIG_BLOG_HOOKS, CONFIG_BLOG_ROOT, not(CONFIG_BLOG_TASK_POINTER)))]
mod hash_dumped;
#[cfg(all(CONFIG_BLOG_HOOKS, CONFIG_BLOG_TASK_POINTER))]
mod pointer;
mod table;

#[cfg(all(CONFIG_BLOG_HOOKS, not(CONFIG_BLOG_TASK_POINTER)))]
pub use self::hash::*;
#[cfg(all(CONFIG_BLOG_HOOKS, CONFIG_BLOG_ROOT, not(CONFIG_BLOG_TASK_POINTER)))]
pub use self::hash_dumped::*;
#[cfg(all(CONFIG_BLOG_HOOKS, CONFIG_BLOG_TASK_POINTER))]
pub use self::pointer::*;
pub use self::table::{
    way_of,
    Tls,
    MAX_COMPONENTS,
    WAYS, //
};

#[cfg(CONFIG_BLOG_HOOKS)]
pub use self::placeholders::*;

#[cfg(CONFIG_BLOG_HOOKS)]
mod placeholders {
    use super::{
        super::ring::{
            PageHeader,
            Ring, //
        },
        Tls, //
    };

    /// What stands for the ring of a context that has none. Drivers know it by this name.
    // SAFETY: The header is a static, to which nobody stores.
    #[allow(missing_docs, non_upper_case_globals)]
    #[no_mangle]
    static blog_no_ring: Ring = unsafe { Ring::none((&raw const NO_PAGE).cast_mut()) };

    /// A page without room. Nobody stores there.
    static NO_PAGE: PageHeader = PageHeader::empty();

    /// What stands for the table of a task that has no rings. Drivers and the C side know it by
    /// this name.
    #[allow(missing_docs, non_upper_case_globals)]
    #[no_mangle]
    static blog_no_rings: Tls = Tls::new(u32::MAX, (&raw const blog_no_ring).cast_mut());

    /// What stands for the ring of a context that has none: see [`Ring::none`]. Tables have it in
    /// place of null.
    #[inline]
    pub fn no_ring() -> *mut Ring {
        (&raw const blog_no_ring).cast_mut()
    }

    /// What stands for the table of a task that has none.
    #[inline]
    pub(super) fn no_rings() -> *mut Tls {
        (&raw const blog_no_rings).cast_mut()
    }
}
