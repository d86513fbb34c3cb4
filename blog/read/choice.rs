// SPDX-License-Identifier: GPL-2.0

//! What was chosen for an open file. In place of records that weren't, a control record has their
//! number.

use crate::sys::{
    glue,
    prelude::*, //
};
use kernel::blog::{
    ring::Owner,
    wire::record::{
        ControlRecord,
        Header,
        Level, //
    }, //
};

/// What is chosen for an open file; by itself, everything.
pub(crate) trait Choice: Send + Sync {
    fn has_all_components(&self) -> bool {
        true
    }

    fn has_component(&self, _name: &CStr) -> bool {
        true
    }

    fn has_task(&self, _pid: i32, _tgid: i32) -> bool {
        true
    }

    /// Whether it has the ring of this owner.
    fn has_owner(&self, _owner: &Owner) -> bool {
        true
    }

    /// Whether it leaves sites out.
    fn is_by_site(&self) -> bool {
        false
    }

    fn has_site(&self, _id: u32, _level: Option<Level>) -> bool {
        true
    }
}

/// Everything.
impl Choice for () {}

/// How a part makes it of a text that was written to the file. Set before there are files.
pub(crate) static CHOOSE: SetOnce<fn(&str) -> Result<KBox<dyn Choice>>> = SetOnce::new();

/// Records that weren't chosen, one after the other, and the time of the last one.
#[derive(Default)]
pub(super) struct Left {
    pub(super) count: u64,
    pub(super) clock: u64,
    /// The time by which records have theirs.
    pub(super) base: u64,
}

impl Left {
    /// None, on a page that begins at this time.
    pub(super) fn since(base: u64) -> Self {
        Self {
            base,
            ..Self::default()
        }
    }

    /// Notes the time that a control record may say.
    pub(super) fn see(&mut self, header: Header, payload: Option<&[u8]>) {
        let said = payload.filter(|_| header.site() == 0);
        if let Some(ControlRecord::TimeExtend(time)) = said.and_then(ControlRecord::from_payload) {
            self.base = time;
        }
    }

    /// Writes their number, if there are any.
    pub(super) fn write(&mut self, room: &mut [u8], to: &mut usize) {
        if self.count != 0 {
            let record = ControlRecord::Left(self.count);
            let (bytes, end) = (record.bytes(self.clock), *to + record.size());
            if let Some(place) = room.get_mut(*to..end) {
                glue::copy(place, &bytes);
            }
            *to = end;
            self.count = 0;
        }
    }
}
