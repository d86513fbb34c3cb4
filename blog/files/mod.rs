// SPDX-License-Identifier: GPL-2.0

//! The files of the folder `blog` in tracefs or debugfs, and the effects of reading and writing
//! them.
//!
//! `life.rs` calls this when a component comes and goes. The registry parses and executes writes.
//! `stats.rs` and others make the text of a read, once for each time that a file is read from its
//! start. A write either takes effect as a whole, or fails and changes nothing.

use kernel::blog::{
    task::MAX_COMPONENTS,
    wire::name::is_reserved, //
};

#[cfg(CONFIG_BLOG_PARTS)]
mod clear;
#[cfg(CONFIG_BLOG_PARTS)]
mod control;
pub(crate) mod stats;

use crate::{
    floor::{
        parts,
        FileOf, //
    },
    read::Reader,
    registry::{self, settings::Key, state::State},
    sys::{
        prelude::*,
        tree::{
            self,
            Dir,
            Folder,
            OpenFile,
            Shape, //
        }, //
    }, //
};

/// Files beside the components' directories, which are of nothing.
static GLOBAL: &[FileOf<()>] = &[
    FileOf {
        name: c"stats",
        show: Some(|(), f| stats::show_global(f)),
        ..FileOf::NONE
    },
    #[cfg(CONFIG_BLOG_PARTS)]
    control::FILE,
];

static COMPONENT: &[FileOf<State>] = &[
    #[cfg(CONFIG_BLOG_PARTS)]
    clear::FILE,
    FileOf {
        name: c"stats",
        show: Some(stats::show_component),
        ..FileOf::NONE
    },
];

/// How often those who wait for a file look at it: log calls wake nobody.
const LOOK_MS: u32 = 100;
const SNAPSHOT: &CStr = c"snapshot";
const STREAM: &CStr = c"stream";

const READ: u16 = 0o440;

/// Our directory, if there is one yet, and those of components, by slot.
struct Tree {
    top: Option<Dir>,
    components: [Option<Dir>; MAX_COMPONENTS],
}

global_lock! {
    // SAFETY: `prepare` is called before anything else here.
    /// The lock is held while a component's directory is made or removed.
    unsafe(uninit) static TREE: Mutex<Tree> = Tree {
        top: None,
        components: [const { None }; MAX_COMPONENTS],
    };
}

// No component can have the name of one of our files.
const _: () = {
    let mut files = GLOBAL;
    while let [file, rest @ ..] = files {
        assert!(is_reserved(file.name.to_bytes()));
        files = rest;
    }
    assert!(is_reserved(SNAPSHOT.to_bytes()) && is_reserved(STREAM.to_bytes()));
};

/// Makes the rest ready. Before there are components.
pub(crate) fn prepare() {
    // SAFETY: Called once, first.
    unsafe { TREE.init() };
}

/// Makes our directory and the files in it, and those of the components that there are.
pub(crate) fn init() {
    for folder in [Folder::Top, Folder::Component] {
        for text in TextFile::all(folder) {
            folder.add::<OpenText>(text.name(), text.mode());
        }
        folder.add::<Reader<false>>(SNAPSHOT, READ);
        folder.add::<Reader<true>>(STREAM, READ);
    }
    let top = Dir::top();
    parts().for_each(|part| (part.folder)(&top));
    // A component whose place is taken from here on finds our directory. The others are found here.
    TREE.lock().top = Some(top);
    registry::components().for_each(|state| create(&state));
}

/// Makes the directory of a component, unless that is gone. Where it fails, or there is one,
/// nothing happens. Before [`init`], which makes it then, there is no place for it.
pub(crate) fn create(state: &State) {
    let mut tree = TREE.lock();
    let Tree { top, components } = &mut *tree;
    let place = components.get_mut(usize::from(state.slot()));
    let Some((top, place)) = top.as_ref().zip(place) else {
        return;
    };
    // One that goes from here on is found by `remove`.
    if state.is_gone() || place.is_some() {
        return;
    }
    *place = Some(top.dir(Folder::Component, state.name(), state.id()));
}

/// Removes the directory of a component that is out of the registry, and whose place is still its
/// own.
pub(crate) fn remove(state: &State) {
    let place = usize::from(state.slot());
    let dir = TREE.lock().components.get_mut(place).and_then(Option::take);
    if let Some(dir) = dir {
        dir.remove();
    }
}

/// Whether a component has a directory.
#[cfg(CONFIG_BLOG_TESTS)]
pub(crate) fn has(state: &State) -> bool {
    let dir = &TREE.lock().components[usize::from(state.slot())];
    dir.as_ref().is_some_and(Dir::is_there)
}

/// A text file.
#[derive(Clone, Copy)]
enum TextFile {
    Global(&'static FileOf<()>),
    Setting(Key),
    Of(&'static FileOf<State>),
}

impl TextFile {
    /// Those in our directory, or those in a component's.
    fn all(folder: Folder) -> impl Iterator<Item = Self> {
        let is_ours = matches!(folder, Folder::Top);
        let ours = GLOBAL.iter().filter(move |_| is_ours).map(Self::Global);
        let of_parts = parts().flat_map(|part| part.files);
        let of = Iterator::chain(COMPONENT.iter(), of_parts).map(Self::Of);
        let components = Iterator::chain(Key::all().map(Self::Setting), of);
        Iterator::chain(ours, components.filter(move |_| !is_ours))
    }

    fn name(self) -> &'static CStr {
        match self {
            Self::Global(file) => file.name,
            Self::Setting(key) => key.name(),
            Self::Of(file) => file.name,
        }
    }

    /// For the owner; and for the group to read, which is root's unless tracefs is mounted with
    /// another one.
    fn mode(self) -> u16 {
        let (read, write) = match self {
            Self::Global(file) => (file.show.is_some(), file.write.is_some()),
            Self::Setting(_) => (true, true),
            Self::Of(file) => (file.show.is_some(), file.write.is_some()),
        };
        u16::from(read) * READ | u16::from(write) << 7
    }
}

struct OpenText {
    state: Option<Arc<State>>,
    text: TextFile,
    /// What it said when it was last read from its start.
    said: Pin<KBox<Mutex<Said>>>,
}

struct Said(KVVec<u8>);

impl fmt::Write for Said {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let bytes = text.as_bytes();
        self.0
            .extend_from_slice(bytes, GFP_KERNEL)
            .map_err(|_| fmt::Error)
    }
}

impl fmt::Display for OpenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.text, self.state.as_deref()) {
            (TextFile::Global(file), _) => file.show.map_or(Ok(()), |show| show(&(), f)),
            (TextFile::Setting(key), Some(state)) => key.show(state.get(key), f),
            (TextFile::Of(file), Some(state)) => file.show.map_or(Ok(()), |show| show(state, f)),
            _ => Ok(()),
        }
    }
}

impl OpenFile for OpenText {
    const SHAPE: Shape = Shape::Text;

    fn open(of: u64, file: &File) -> Result<Self> {
        let state = registry::by_id(of)?;
        let name = tree::name_of(file);
        let folder = state.as_ref().map_or(Folder::Top, |_| Folder::Component);
        let text = TextFile::all(folder).find(|text| text.name() == name);
        let text = text.ok_or(EINVAL)?;
        let said = KBox::pin_init(new_mutex!(Said(KVVec::new())), GFP_KERNEL)?;
        Ok(Self { state, text, said })
    }

    /// Reads on; at the start of the file, makes its text anew.
    fn read(&self, _file: &File, to: &mut IovIterDest<'_>, at: &mut Offset) -> Result<usize> {
        let mut said = self.said.lock();
        if *at == 0 {
            said.0.clear();
            // Nothing else can fail.
            fmt::Write::write_fmt(&mut *said, fmt!("{self}")).map_err(|_| ENOMEM)?;
        }
        match to.simple_read_from_buffer(at, &said.0)? {
            0 if !to.is_empty() && (*at as usize) < said.0.len() => Err(EFAULT),
            n => Ok(n),
        }
    }

    /// A file that isn't always ready is looked at again in some time.
    fn poll(&self, file: &File, table: PollTable<'_>) -> u32 {
        let ready = match self.text {
            TextFile::Of(file) => file.ready.zip(self.state.as_deref()),
            _ => None,
        };
        let Some((ready, state)) = ready else {
            return bindings::POLLIN | bindings::POLLRDNORM | bindings::POLLOUT;
        };
        tree::wait(file, table);
        if ready(state) {
            return bindings::POLLIN | bindings::POLLRDNORM;
        }
        tree::wake_in(LOOK_MS);
        0
    }

    fn write(&self, text: &str) -> Result {
        match (self.text, self.state.as_deref()) {
            (TextFile::Global(file), _) => file.write.ok_or(EINVAL)?(&(), text),
            (TextFile::Setting(key), Some(state)) => state.set(key, key.parse(text)?),
            (TextFile::Of(file), Some(state)) => file.write.ok_or(EINVAL)?(state, text),
            _ => Err(EINVAL),
        }
    }
}
