// SPDX-License-Identifier: GPL-2.0

//! The file `control`: the images, and commands that switch their sites.

use super::*;
use crate::registry::{
    images::query::queries,
    name_bytes, //
};

pub(super) const FILE: FileOf<()> = FileOf {
    name: c"control",
    show: Some(|(), f| show_images(f)),
    write: Some(|(), text| write_control(text)),
    ..FileOf::NONE
};

/// One line for each image.
fn show_images(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    registry::with_images(|images| {
        images.list().iter().try_for_each(|image| {
            let (entry, (on, off)) = (image.entry, image.switched());
            let mut build_id = entry.build_id.iter().take(entry.build_id_len as usize);
            f.write_fmt(fmt!(
                "module {} site {}-{} loaded {} on {} off {} build_id ",
                BStr::from_bytes(name_bytes(&entry.name)),
                entry.first,
                image.last(),
                entry.loaded,
                on,
                off,
            ))?;
            build_id.try_for_each(|b| write!(f, "{b:02x}"))?;
            writeln!(f)
        })
    })
}

/// Switches sites: see [`Query`](registry::images::query::Query).
///
/// `EINVAL` for anything that isn't understood, `ENOENT` for a command that means no loaded site.
/// All commands are looked at before the first one is done.
fn write_control(text: &str) -> Result {
    registry::with_images(|images| {
        if queries(text).next().is_none() {
            return Err(EINVAL);
        }
        for query in queries(text) {
            if images.count(&query?) == 0 {
                return Err(ENOENT);
            }
        }
        for query in queries(text) {
            images.switch(&query?);
        }
        Ok(())
    })
}
