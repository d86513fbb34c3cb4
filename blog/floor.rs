// SPDX-License-Identifier: GPL-2.0

//! What a part of BLog is that can be left out, and the list of those that were built.
//!
//! A part is a folder in `parts/`, a Kconfig symbol, and an entry of the list in `main.rs`. No
//! floor names a part. Where something happens that parts may want to know, the floors above this
//! file go through [`parts`]; a floor below has a static that the one part sets which wants that,
//! when it starts. A part may use any floor.

use crate::{
    registry::state::State,
    sys::{
        prelude::*,
        tree::Dir, //
    }, //
};

/// A part of BLog. All its functions run in process context.
pub(crate) struct Part {
    /// Makes it ready, once: before there are components, after all floors.
    pub(crate) start: fn(),
    /// Once, when timekeeping and the file systems of the kernel have started.
    pub(crate) late: fn(),
    /// About once a second, from the worker.
    pub(crate) tick: fn(),
    pub(crate) event: fn(Event<'_>),
    /// More files in the folder of each component.
    pub(crate) files: &'static [FileOf<State>],
    /// Makes a folder in ours, with a name that is reserved.
    pub(crate) folder: fn(&Dir),
    /// More lines of the file `stats` of a component.
    pub(crate) stats: fn(&State, &mut fmt::Formatter<'_>) -> fmt::Result,
}

impl Part {
    /// One that does nothing.
    #[cfg_attr(not(CONFIG_BLOG_PARTS), allow(dead_code))]
    pub(crate) const NONE: Self = Self {
        start: || (),
        late: || (),
        tick: || (),
        event: |_| (),
        files: &[],
        folder: |_| (),
        stats: |_, _| Ok(()),
    };
}

/// What has happened, or is about to.
#[derive(Clone, Copy)]
#[cfg_attr(not(CONFIG_BLOG_PARTS), allow(dead_code))]
pub(crate) enum Event<'a> {
    /// A new component has its place and its name. It has no files yet, and nobody logs to it.
    New(&'a State),
    /// The driver's side of a component goes when all parts have returned. The component's control
    /// is held.
    Detaches(&'a State),
    /// A component is out of sight. Its place is free for another one when all parts have returned;
    /// its memory is there for somewhat longer.
    Gone(&'a State),
    /// Components or images have come.
    Came,
    /// Images have come or gone.
    Images,
}

/// A file of text in the folder of a component.
pub(crate) struct FileOf<T> {
    pub(crate) name: &'static CStr,
    pub(crate) show: Option<fn(&T, &mut fmt::Formatter<'_>) -> fmt::Result>,
    /// Takes what one `write()` held.
    pub(crate) write: Option<fn(&T, &str) -> Result>,
    /// Whether there is something to read, for `poll()`; none: always. It is asked again and again
    /// while somebody waits.
    pub(crate) ready: Option<fn(&T) -> bool>,
}

impl<T> FileOf<T> {
    /// One of which nothing is known.
    pub(crate) const NONE: Self = Self {
        name: c"",
        show: None,
        write: None,
        ready: None,
    };
}

static PARTS: SetOnce<&[&Part]> = SetOnce::new();

/// Sets the list of parts, and starts them. Once.
pub(crate) fn start(list: &'static [&'static Part]) {
    PARTS.populate(list);
    parts().for_each(|part| (part.start)());
}

/// The parts that were built, in the order of the list; none before they are started.
pub(crate) fn parts() -> impl Iterator<Item = &'static Part> {
    PARTS.as_ref().copied().unwrap_or_default().iter().copied()
}

/// Tells all parts.
pub(crate) fn event(event: Event<'_>) {
    parts().for_each(|part| (part.event)(event));
}
