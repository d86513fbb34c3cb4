// SPDX-License-Identifier: GPL-2.0

//! Across a reboot: a copy of what the boot before has left, as a file, and the facts that the next
//! boot needs of this one.
//!
//! The kernel doesn't read what is in pages: the decoder does, where damage costs no boot. All that
//! is believed here is a header with a checksum and sizes that fit the memory.

use core::{
    ptr,
    slice, //
};
use kernel::{
    blog::wire::persist::{
        is_used,
        Region,
        Unreadable, //
    },
    fs::{
        file::Offset,
        File, //
    },
    iov::IovIterDest,
    prelude::*,
    sync::{
        global_lock,
        Arc, //
    },
    transmute::FromBytes, //
};

use crate::{
    memory::{
        block::{
            pages_for,
            Block, //
        },
        region,
        start_region, //
    },
    read::{
        component,
        sections::{
            Form,
            Sections, //
        }, //
    },
    registry,
    sys::{
        glue,
        hook,
        pages,
        params,
        tree::OpenFile, //
    }, //
};

/// What the boot before has left, as a file.
struct Copy {
    block: Block,
    len: usize,
}

impl Copy {
    fn bytes(&self) -> &[u8] {
        // SAFETY: The block has so many bytes, to which nobody stores any more.
        unsafe { slice::from_raw_parts(self.block.at(), self.len) }
    }

    /// `None` if nothing was logged there; `ENOMEM` or `ENOSPC` if there isn't as much memory, or
    /// BLog may not have it.
    fn new(memory: &[u8], region: &Region) -> Result<Option<Self>> {
        let size = region.page_size as usize;
        let (front, frames) = memory
            .split_at_checked(region.frames_at() as usize)
            .ok_or(EINVAL)?;
        let used = || {
            let all = (0usize..).zip(region.owners(front));
            let used = all.filter(|(_, owner)| is_used(*owner));
            used.filter_map(|(n, _)| frames.get(n.wrapping_mul(size)..)?.get(..size))
        };
        let len = front.len() + used().count() * size;
        if len == front.len() {
            return Ok(None);
        }
        let block = Block::new(pages_for(len))?;
        // SAFETY: The block has so many bytes of zeroes, and nobody else has it.
        let mut to = unsafe { slice::from_raw_parts_mut(block.at(), len) };
        for part in Iterator::chain([front].into_iter(), used()) {
            let (here, rest) = to.split_at_mut_checked(part.len()).ok_or(EINVAL)?;
            glue::copy(here, part);
            to = rest;
        }
        Ok(Some(Self { block, len }))
    }
}

global_lock! {
    // SAFETY: `init` is called before the files are there.
    unsafe(uninit) static PREVIOUS: Mutex<Option<Arc<Copy>>> = None;
}

/// What memory starts with that an earlier boot has left.
fn region_of(memory: &[u8]) -> Result<Region, Unreadable> {
    let (region, _) = Region::from_bytes_copy_prefix(memory).ok_or(Unreadable::Empty)?;
    let summed = memory.get(..Region::SUMMED).ok_or(Unreadable::Empty)?;
    region.check(glue::crc32(0, summed))?;
    match region.end() <= memory.len() as u64 {
        true => Ok(region),
        false => Err(Unreadable::Damaged),
    }
}

/// Finds the region that `blog.persist` names, copies what is there, and uses it for what this boot
/// logs. Before there are components.
pub(crate) fn init() {
    // SAFETY: Called once.
    unsafe { PREVIOUS.init() };
    let name = params::persist();
    if name.is_empty() {
        return;
    }
    let Some(memory) = pages::reserved(name) else {
        pr_warn!(
            "persist={name}: no memory is reserved by this name: reserve_mem=SIZE:4096:{name}\n"
        );
        return;
    };
    // SAFETY: It is there, and nobody stores to it yet.
    let bytes = unsafe { memory.as_ref() };
    let region = region_of(bytes);
    let copy = match region.map(|region| Copy::new(bytes, &region)) {
        Ok(Ok(Some(copy))) => Arc::new(copy, GFP_KERNEL).map(Some).map_err(Error::from),
        Ok(Ok(None)) | Err(Unreadable::Empty) => Ok(None),
        Ok(Err(e)) => Err(e),
        Err(Unreadable::Version(n)) => {
            pr_warn!(
                "persist={name}: what was there is of version {n}, unknown here: it is gone\n"
            );
            Ok(None)
        }
        Err(Unreadable::Damaged) => {
            pr_warn!("persist={name}: what was there is damaged: it is gone\n");
            Ok(None)
        }
    };
    match copy {
        Ok(copy) => *PREVIOUS.lock() = copy,
        Err(e) => {
            pr_warn!("persist={name}: no memory for a copy ({e:?}): what is there stays there\n");
            return;
        }
    }
    // SAFETY: What the command line reserves for us is nobody else's, and this is called once.
    if let Err(e) = unsafe { start_region(memory) } {
        pr_warn!("persist={name}: too small ({e:?})\n");
    }
}

/// Tells the next boot what rings don't say: the clocks, images and components. From `sys/work.c`
/// about once a second, and when images or components come. Process context.
#[no_mangle]
pub(crate) extern "C" fn blog_note_facts() {
    if region::is_there() {
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
        let bytes = out.pending();
        let end = *len + bytes.len();
        glue::copy(to.get_mut(*len..end).ok_or(ENOSPC)?, bytes);
        *len = end;
        out.consume(usize::MAX);
        Ok::<(), Error>(())
    };
    // Without a file's header.
    out.consume(usize::MAX);
    while out.head()? {
        take(&mut out)?;
    }
    for state in registry::components() {
        state.look(|inner| {
            let loose = state.loose(inner);
            let id = region::component(state.slot());
            out.component(&component::section(
                &state,
                inner,
                id,
                &loose,
                inner.cleared,
            ))
        })?;
        take(&mut out)?;
    }
    while out.images()? {
        take(&mut out)?;
    }
    Ok(())
}

/// Whether there is something of the boot before.
pub(crate) fn is_there() -> bool {
    PREVIOUS.lock().is_some()
}

/// An open file of the folder `previous`: `snapshot` is read, and `clear` written.
///
/// A reader gets all that is in it, as of a dump: which arguments are addresses, only the kernel
/// knew that logged them. So the file is for who may see addresses.
pub(crate) struct PreviousFile(Arc<Copy>);

impl OpenFile for PreviousFile {
    fn open(_of: u64, file: &File) -> Result<Pin<KBox<Self>>> {
        hook::may_open()?;
        if !hook::shows_addresses(file) {
            return Err(EPERM);
        }
        let copy = PREVIOUS.lock().clone().ok_or(ENODATA)?;
        Ok(KBox::pin(Self(copy), GFP_KERNEL)?)
    }

    fn read(
        self: Pin<&Self>,
        _file: &File,
        to: &mut IovIterDest<'_>,
        at: &mut Offset,
    ) -> Result<usize> {
        match to.simple_read_from_buffer(at, self.0.bytes())? {
            0 if !to.is_empty() && (*at as usize) < self.0.len => Err(EFAULT),
            n => Ok(n),
        }
    }

    /// Frees it, once no file is open any more.
    fn write(self: Pin<&Self>, text: &str) -> Result {
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
