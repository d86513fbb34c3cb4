// SPDX-License-Identifier: GPL-2.0

//! What is known of call sites, where crash tools find it. Any context.

use kernel::blog::wire::{
    dump::SideTable,
    file, //
};

use crate::{
    parts::dumps::CrashLists,
    read::selection::Gets,
    sys::nofault::fetch, //
};

impl CrashLists {
    /// The place of a site's image.
    pub(crate) fn index_of(self, site: u32) -> Option<usize> {
        // They follow each other: the last one that doesn't begin later.
        let (mut from, mut to) = (0, self.images.len as usize);
        while from < to {
            let middle = from + (to - from) / 2;
            match self.image(middle)?.first <= site {
                true => from = middle + 1,
                false => to = middle,
            }
        }
        from.checked_sub(1)
    }

    pub(crate) fn image(self, place: usize) -> Option<file::Image> {
        self.images.entry(place)
    }

    /// Copies the side table of an image, by its place, if it has one; returns its length.
    pub(crate) fn table_of(self, image: usize, to: &mut [u8]) -> Option<usize> {
        let mut tables = (0..file::TABLES_MAX).map_while(|n| self.tables.entry::<SideTable>(n));
        let table = tables.find(|table| table.image == image as u32)?;
        let to = to.get_mut(..table.len as usize)?;
        fetch(table.bytes, to).then_some(to.len())
    }

    /// What a reader that may not see addresses gets of a site: see `Selection`.
    pub(crate) fn gets(self, site: u32) -> Gets {
        let n = (site as usize).checked_sub(1);
        match n.and_then(|n| self.addresses.entry::<u8>(n)) {
            Some(0) => Gets::All,
            _ => Gets::Header,
        }
    }
}
