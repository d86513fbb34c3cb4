// SPDX-License-Identifier: GPL-2.0

//! Across a reboot: a copy of what the boot before has left, as a file, and the facts that the next
//! boot needs of this one.
//!
//! The kernel doesn't read what is in pages: the decoder does, where damage costs no boot. All that
//! is believed here is a header with a checksum and sizes that fit the memory.

use kernel::blog::wire::{
    self,
    file::{
        Kind,
        SectionHeader, //
    },
    name::is_reserved, //
};

// Programs that read what it describes have this file, too.
#[allow(dead_code, unreachable_pub)]
mod format;
mod region;

use self::format::{
    is_used,
    Region,
    Unreadable, //
};
use crate::{
    floor::{
        Event,
        Part, //
    },
    memory::{
        block::{
            pages_for,
            Block, //
        },
        budget::PAGE_KB,
        source,
        Memory, //
    },
    read::sections::{
        Form,
        Sections, //
    },
    registry::{
        self,
        state::State, //
    },
    sys::{
        glue,
        hook,
        params,
        prelude::*,
        tree::{
            Dir,
            Folder,
            OpenFile,
            Shape, //
        }, //
    }, //
};

pub(crate) static PART: Part = Part {
    start,
    tick: note_facts,
    event,
    folder,
    stats,
    ..Part::NONE
};

/// The folder of what the boot before has left.
const FOLDER: &CStr = c"previous";

/// What the boot before has left, as a file.
enum Previous {
    /// A copy, of so many bytes.
    Copy(Block, usize),
    /// What is still where it was.
    InRegion(NonNull<[u8]>, Region),
}

// SAFETY: It owns what it points to.
unsafe impl Send for Previous {}
// SAFETY: As above; and nobody stores there while this is there.
unsafe impl Sync for Previous {}

impl Previous {
    /// What is in this memory; `None` if nothing was logged there.
    ///
    /// # Safety
    ///
    /// The memory is ours, and nobody stores to it while this is there.
    unsafe fn new(memory: NonNull<[u8]>, region: Region) -> Result<Option<Arc<Self>>> {
        // SAFETY: By this function's requirement.
        let bytes = unsafe { memory.as_ref() };
        let len = parts(bytes, &region)?.map(<[u8]>::len).sum();
        if len == region.frames_at() as usize {
            return Ok(None);
        }
        let new = match Block::new(pages_for(len)) {
            Ok(block) => Self::Copy(block, len),
            Err(_) => Self::InRegion(memory, region),
        };
        if let Self::Copy(block, _) = &new {
            // SAFETY: The block has so many bytes of zeroes, and nobody else has it.
            let mut to = unsafe { slice::from_raw_parts_mut(block.at(), len) };
            for part in parts(bytes, &region)? {
                let (here, rest) = to.split_at_mut_checked(part.len()).ok_or(EINVAL)?;
                glue::copy(here, part);
                to = rest;
            }
        }
        Ok(Some(Arc::new(new, GFP_KERNEL)?))
    }

    /// The bytes of the file, in parts, each of which follows the one before it.
    fn parts(&self) -> Result<impl Iterator<Item = &[u8]>> {
        let (copy, region) = match self {
            // SAFETY: The block has so many bytes, to which nobody stores any more.
            Self::Copy(block, len) => unsafe {
                (Some(slice::from_raw_parts(block.at(), *len)), None)
            },
            // SAFETY: By the requirement of `new`.
            Self::InRegion(memory, layout) => {
                (None, Some(parts(unsafe { memory.as_ref() }, layout)?))
            }
        };
        Ok(Iterator::chain(
            copy.into_iter(),
            region.into_iter().flatten(),
        ))
    }
}

impl Drop for Previous {
    fn drop(&mut self) {
        if let Self::InRegion(memory, _) = *self {
            // SAFETY: It is ours, and nobody reads it any more.
            unsafe { begin(memory) };
        }
    }
}

/// What is worth keeping of an earlier boot's memory: its front, and the pages that are used.
fn parts<'a>(memory: &'a [u8], region: &Region) -> Result<impl Iterator<Item = &'a [u8]>> {
    let size = region.page_size as usize;
    let (front, frames) = memory
        .split_at_checked(region.frames_at() as usize)
        .ok_or(EINVAL)?;
    let used = (0usize..).zip(region.owners(front));
    let used = used.filter(|(_, owner)| is_used(*owner));
    let used = used.filter_map(move |(n, _)| frames.get(n.wrapping_mul(size)..)?.get(..size));
    Ok(Iterator::chain([front].into_iter(), used))
}

/// Has components take pages from this memory from here on, if they don't already.
///
/// # Safety
///
/// It is ours, and nobody looks at it.
unsafe fn begin(memory: NonNull<[u8]>) {
    // SAFETY: By this function's requirement.
    if let Err(e) = unsafe { region::start(memory) } {
        let name = glue::shown(region::name());
        pr_warn!("persist={name}: too small ({e:?})\n");
    }
}

global_lock! {
    // SAFETY: `start` is called before the files are there.
    unsafe(uninit) static PREVIOUS: Mutex<Option<Arc<Previous>>> = None;
}

/// What memory starts with that an earlier boot has left.
fn region_of(memory: &[u8]) -> Result<Region, Unreadable> {
    let region = Region::read(memory).ok_or(Unreadable::Empty)?;
    let summed = memory.get(..Region::SUMMED).ok_or(Unreadable::Empty)?;
    region.check(glue::crc32(0, summed))?;
    match region.end() <= memory.len() as u64 {
        true => Ok(region),
        false => Err(Unreadable::Damaged),
    }
}

/// Finds the region that `blog.persist` names, copies what is there, and uses it for what this boot
/// logs. Before there are components.
fn start() {
    // SAFETY: Called once.
    unsafe { PREVIOUS.init() };
    let name = region::name();
    if name.is_empty() || params::is_quiet() {
        return;
    }
    let (memory, name) = (region::reserved(name), glue::shown(name));
    let Some(memory) = memory else {
        pr_warn!(
            "persist={name}: no memory is reserved by this name: reserve_mem=SIZE:4096:{name}\n"
        );
        return;
    };
    // SAFETY: It is there, and nobody stores to it yet.
    let region = region_of(unsafe { memory.as_ref() });
    let found = region.map(|region| {
        // SAFETY: What the command line reserves for us is nobody else's; and `Previous` keeps it.
        unsafe { Previous::new(memory, region) }
    });
    match found {
        Ok(Ok(Some(previous))) => {
            let in_region = matches!(*previous, Previous::InRegion(..));
            // It goes with the last one that has it.
            *PREVIOUS.lock() = Some(previous);
            if in_region {
                pr_warn!(
                    "persist={name}: no memory for a copy of the last log, so this boot keeps \
                     nothing until 1 is written to previous/clear\n"
                );
                return;
            }
        }
        Ok(Ok(None)) | Err(Unreadable::Empty) => (),
        Ok(Err(e)) => pr_warn!("persist={name}: the log of the last boot is lost: {e:?}\n"),
        Err(Unreadable::Version(n)) => {
            pr_warn!("persist={name}: the last boot's log has version {n}, unknown here: lost\n")
        }
        Err(Unreadable::Damaged) => {
            pr_warn!("persist={name}: the log of the last boot is damaged, and lost\n")
        }
    }
    // SAFETY: What the command line reserves for us is nobody else's, and nobody looks at it any
    // more.
    unsafe { begin(memory) };
}

/// Tells the next boot what rings don't say: the clocks, images and components. About once a
/// second, and when images or components come.
fn note_facts() {
    if source::is_there() {
        let noted = region::facts(|to| {
            let mut len = 0;
            // What there is no room for is left out: images that came last.
            match facts(to, &mut len) {
                Err(ENOSPC) => {
                    kernel::pr_warn_once!("no room for all images in the memory of blog.persist\n");
                    Ok(len)
                }
                done => done.map(|()| len),
            }
        });
        if let Err(e) = noted {
            kernel::pr_warn_once!("the next boot won't know the latest of this one: {e:?}\n");
        }
    }
}

/// Fills in what fits of the facts, which are `len` bytes then; `ENOSPC` if that isn't all.
fn facts(to: &mut [u8], len: &mut usize) -> Result {
    let mut out = Sections::new(Form::Snapshot, true)?;
    let mut take = |out: &mut Sections| {
        while let Some(header) = SectionHeader::read(out.pending()) {
            let size = (SectionHeader::SIZE + header.len as usize).next_multiple_of(8);
            let bytes = out.pending().get(..size).ok_or(EINVAL)?;
            glue::copy(to.get_mut(*len..*len + size).ok_or(ENOSPC)?, bytes);
            *len += size;
            out.consume(size);
        }
        Ok::<(), Error>(())
    };
    // Without a file's header.
    out.consume(usize::MAX);
    out.head()?;
    take(&mut out)?;
    for state in registry::components() {
        state.read(|locked| {
            let loose = state.loose(locked);
            let id = region::component(state.slot());
            let section = state.section(locked, id, &loose, locked.cleared);
            out.section(Kind::Component, &section)
        })?;
        take(&mut out)?;
    }
    out.images()?;
    take(&mut out)
}

/// Has the next boot not look at a component's pages. Nobody logs to it any more.
fn disown(memory: &Memory) {
    let slots = memory.pool.slots();
    slots.for_each(|(_, slot)| region::disown(slot.page().cast()));
}

fn event(event: Event<'_>) {
    match event {
        Event::Came => note_facts(),
        Event::Gone(state) => {
            state.read_memory(disown);
        }
        _ => (),
    }
}

/// Makes the files of what the boot before has left, if it has left anything.
fn folder(ours: &Dir) {
    const { assert!(is_reserved(FOLDER.to_bytes())) };
    if PREVIOUS.lock().is_some() {
        // For the owner: nothing is left out of it for a reader.
        Folder::Part.add::<PreviousFile>(c"snapshot", 0o400);
        Folder::Part.add::<PreviousFile>(c"clear", 0o200);
        // It goes with ours.
        ours.dir(Folder::Part, FOLDER, 0);
    }
}

fn stats(state: &State, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let kept = state.read_memory(Memory::pages_kept).unwrap_or(0) as u64;
    writeln!(f, "kept_kb {}", kept * u64::from(PAGE_KB))
}

/// An open file of the folder `previous`: `snapshot` is read, and `clear` written.
///
/// A reader gets all that is in it, as of a dump: which arguments are addresses, only the kernel
/// knew that logged them. So it is for readers who may see addresses.
struct PreviousFile(Arc<Previous>);

impl OpenFile for PreviousFile {
    const SHAPE: Shape = Shape::Text;

    fn open(_of: u64, file: &File) -> Result<Self> {
        if !hook::shows_addresses(file) {
            return Err(EPERM);
        }
        let copy = PREVIOUS
            .lock()
            .clone()
            .ok_or(glue::errno(bindings::ENODATA))?;
        Ok(Self(copy))
    }

    fn read(&self, _file: &File, to: &mut IovIterDest<'_>, at: &mut Offset) -> Result<usize> {
        let start = *at;
        let mut skip = usize::try_from(start).map_err(|_| EINVAL)?;
        // Once for all that is read: there may be as many parts as pages.
        for part in self.0.parts()? {
            let from = part.get(skip..).unwrap_or_default();
            skip = skip.saturating_sub(part.len());
            let n = to.copy_to_iter(from);
            *at += n as Offset;
            if n == from.len() {
                continue;
            }
            match *at == start && !to.is_empty() {
                true => return Err(EFAULT),
                false => break,
            }
        }
        Ok((*at - start) as usize)
    }

    /// Lets it go, once no file is open any more.
    fn write(&self, text: &str) -> Result {
        if text.trim_end() != "1" {
            return Err(EINVAL);
        }
        let mut previous = PREVIOUS.lock();
        if (previous.as_ref()).is_some_and(|copy| ptr::eq(&**copy, &*self.0)) {
            *previous = None;
        }
        Ok(())
    }
}
