// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `sites`: call sites to standard output.

use std::{io::Write, path::Path};

use super::{
    args::Sites,
    extract,
    input::Input,
    report::{complain, print_all, Failure, Status},
    session::tell_none,
    stats::{describe, site_json},
};
use crate::{
    error::Error,
    filter::Filter,
    open,
    output::json::Object,
    sidetable::{read_table, Found, ImageSites, Site, SiteMap},
    snapshot::Snapshot,
    sums::Sums,
};

/// Lists call sites.
pub fn sites(args: &Sites) -> Result<Status, Failure> {
    args.tables.check()?;
    let filter = Filter { level: args.level, sites: args.site.clone(), ..Filter::default() };
    let (mut snapshots, mut images, mut status) = (Vec::new(), Vec::new(), Status::Whole);
    let (dumps, files) = extract::with_dumps(&args.files, &args.vmcore);
    for path in &files {
        match open(path, snapshots.len()) {
            Ok(Opened::Snapshots(files)) => snapshots.extend(files),
            Ok(Opened::Image(image)) => images.push(image),
            Err(e) => {
                complain(&e);
                status = Status::Partial;
            }
        }
    }
    for made in extract::snapshots(&dumps) {
        match made {
            Ok((file, is_whole)) => {
                snapshots.push(file);
                status = status.max(if is_whole { Status::Whole } else { Status::Partial });
            }
            Err(e) => {
                complain(&e);
                status = Status::Partial;
            }
        }
    }
    if snapshots.is_empty() && images.is_empty() {
        return Ok(Status::Failed);
    }
    let (mut list, mut all, mut listed) = (Vec::new(), 0, 0);
    let mut row = |id: u32, found: Found<'_>, records: Option<u64>| {
        let format = found.site.map_or("", |s| s.format.as_str());
        let wanted = filter.wants_site(id, Some(&found))
            && args.grep.as_ref().is_none_or(|g| g.is_match(format.as_bytes()))
            && (!args.used || records.is_some_and(|n| n > 0));
        all += 1;
        listed += u64::from(wanted);
        if wanted && args.json {
            let mut o = Object::new(&mut list);
            o.text("type", "site");
            site_json(id, Some(&found), &mut o);
            o.text("build_id", found.image.build_id.as_str());
            o.maybe("records", records);
            o.end();
            list.push(b'\n');
        } else if wanted {
            let (level, text) = describe(id, Some(&found));
            let records = records.map_or("-".into(), |n| n.to_string());
            // Writing to a Vec doesn't fail.
            let _ = writeln!(
                list,
                "{id:>7} {records:>11} {level:<5} {} {text}",
                found.image.name.escape_default()
            );
        }
    };
    if !snapshots.is_empty() {
        let input = Input::new(snapshots, &args.tables, status);
        status = input.status();
        let streams = input.streams(&[]);
        let sums = Sums::new(&input.files, &streams, &input.boots);
        for (file, (snapshot, map)) in input.files.iter().zip(&input.maps).enumerate() {
            for image in &snapshot.images {
                // Ids have 20 bits; a hostile file says what it likes.
                let ids = image.first..image.first.saturating_add(image.count);
                for id in ids.take(1 << 20) {
                    let records = sums.sites[file].get(&id).map_or(0, |s| s.records);
                    if let Some(found) = map.find(id) {
                        row(id, found, Some(records));
                    }
                }
            }
        }
    }
    for image in &images {
        let all: &[Site] = image.sites.as_ref().map_or(&[], |s| &s.sites);
        for (index, site) in (0u32..).zip(all) {
            let found = Found { image_index: 0, image, index, site: Some(site) };
            row(index, found, None);
        }
    }
    print_all(|out| {
        if !args.json {
            writeln!(out, "{:>7} {:>11} {:<5} site", "id", "records", "level")?;
        }
        out.append(&mut list);
        Ok(())
    })?;
    if listed == 0 && all != 0 {
        tell_none(all, "call site", "");
        status = status.max(Status::Partial);
    }
    Ok(status)
}

enum Opened {
    Snapshots(Vec<Snapshot>),
    Image(ImageSites),
}

fn open(path: &Path, others: usize) -> Result<Opened, String> {
    let error = match open::open(path, others, &mut |_, _| {}) {
        Ok(files) => return Ok(Opened::Snapshots(files)),
        Err(e) => e,
    };
    match read_table(path, |_| true) {
        Ok(Some(table)) => Ok(Opened::Image(SiteMap::image(table, path))),
        Ok(None) => Err(format!("{}: has no call sites", path.display())),
        Err(Error::NotOurs(_)) => Err(error.into()),
        Err(e) => Err(format!("{}: {e}", path.display())),
    }
}
