// SPDX-License-Identifier: GPL-2.0

//! Images that come with their side tables.

use super::*;

impl Images {
    /// As [`Self::add`] of an image for which nobody else has a side table. Readers get it and keep
    /// it: records may be there for long after the image has gone. An image that is as one before
    /// has its place.
    ///
    /// `ENOSPC` if there have been too many, `E2BIG` if the table is too long.
    pub(crate) fn add_with_table(
        &mut self,
        name: &[u8],
        build_id: [u8; BUILD_ID_MAX],
        table: VVec<u8>,
        sites: &'static [Site],
    ) -> Result {
        let kept = self.list.iter().filter(|image| !image.table.is_empty());
        if kept.count() >= file::TABLES_MAX {
            return Err(ENOSPC);
        }
        if table.len() > file::TABLE_MAX {
            return Err(E2BIG);
        }
        self.add(name, build_id, sites)?;
        let is_it = |image: &&mut Build| ptr::eq(image.sites, sites);
        if let Some(image) = self.list.iter_mut().find(is_it) {
            // One that was here before has the same, to which crash tools and last words point.
            if image.table.is_empty() {
                image.table = table;
            }
        }
        Ok(())
    }
}
