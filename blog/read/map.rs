// SPDX-License-Identifier: GPL-2.0

//! The file `map` of a component: a process maps the component's memory, read only, and reads
//! records without system calls.
//!
//! Pages as they are hold addresses (of rings, of tasks, in arguments), and nothing is left out of
//! them for a reader. So only who may see addresses opens the file.

use kernel::{
    bindings::{
        ENODATA,
        EOPNOTSUPP, //
    },
    fs::File,
    prelude::*,
    sync::Arc, //
};

use crate::{
    memory::{
        block::Block,
        region,
        Memory, //
    },
    registry::{
        self,
        state::State, //
    },
    sys::{
        glue::errno,
        hook,
        tree::{
            Area,
            OpenFile, //
        }, //
    }, //
};

/// An open file `map`.
pub(crate) struct Map {
    state: Arc<State>,
}

impl OpenFile for Map {
    const KIND: u32 = 5;

    fn open(of: u64, file: &File) -> Result<KBox<Self>> {
        hook::may_open()?;
        if !hook::shows_addresses(file) {
            return Err(EPERM);
        }
        // A page of the region goes to another component at once, also if it is mapped.
        if region::is_there() {
            return Err(errno(EOPNOTSUPP));
        }
        let state = registry::by_id(of)?.ok_or(EINVAL)?;
        Ok(KBox::new(Self { state }, GFP_KERNEL)?)
    }

    /// Maps the memory that the component has now. `ENODATA`: it has none; `EAGAIN`: it has just
    /// got another one; `EINVAL` for more pages than there are.
    fn mmap(&self, area: &Area, first: usize, count: usize) -> Result {
        let look = |memory: &Memory| (memory.file_pages(), memory.has_meta_page());
        let (there, has_meta) = self.state.look_at_memory(look).ok_or(errno(ENODATA))?;
        if first.saturating_add(count) > there {
            return Err(EINVAL);
        }
        // Nothing is allocated under the component's lock.
        let mut page = match has_meta {
            true => None,
            false => Some(Block::new(1)?),
        };
        let mut pages = KVVec::with_capacity(count, GFP_KERNEL)?;
        let map = |memory: &Memory| memory.map(&mut page, first, count, &mut pages);
        self.state.look_at_memory(map).ok_or(errno(ENODATA))??;
        (pages.iter().enumerate()).try_for_each(|(n, page)| area.insert(n, page))
    }
}
