// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `sites`: call sites to standard output.

use std::path::Path;

use super::{
    args::Sites,
    extract,
    input::{live, Input},
    report::{complain, print_all, Failure, Status},
    session::tell_none,
    stats::{describe, site_json},
};
use crate::{
    error::Error,
    filter::Filter,
    open,
    sidetable::{read_table, Found, ImageSites, Site, SiteMap},
    snapshot::Snapshot,
    sums::Sums,
    table::Table,
};

/// Lists call sites.
pub fn sites(args: &Sites) -> Result<Status, Failure> {
    args.tables.check()?;
    let filter = Filter { level: args.level, sites: args.site.clone(), ..Filter::default() };
    let (mut snapshots, mut images, mut status) = (Vec::new(), Vec::new(), Status::Whole);
    let (dumps, mut files) = extract::with_dumps(&args.files, &args.sources.vmcore);
    if dumps.is_empty() && files.is_empty() {
        files.push(live(&args.sources.blog)?);
    }
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
    status = status.max(extract::add(&dumps, &mut snapshots));
    if snapshots.is_empty() && images.is_empty() {
        return Ok(Status::Failed);
    }
    let input;
    let table = Table::new("site")
        .column("id", 7, |(id, ..): &(u32, Found<'_>, Option<u64>)| id.to_string())
        .column("records", 11, |(.., n)| n.map_or("-".into(), |n| n.to_string()))
        .column("level", -5, |(id, found, _)| describe(*id, Some(found)).0.into())
        .column("site", 0, |(id, found, _)| {
            format!("{} {}", found.image.name.escape_default(), describe(*id, Some(found)).1)
        })
        .json(|(id, found, records), o| {
            site_json(*id, Some(found), o);
            o.text("build_id", found.image.build_id.as_str());
            o.maybe("records", *records);
        });
    let (mut list, mut all, mut listed) = (Vec::new(), 0, 0);
    if !args.json {
        table.head(&mut list);
    }
    let mut row = |id, found, records: Option<u64>| {
        let found: Found<'_> = found;
        let format = found.site.map_or("", |s| s.format.as_str());
        let wanted = filter.wants_site(id, Some(&found))
            && args.grep.as_ref().is_none_or(|g| g.is_match(format.as_bytes()))
            && (!args.used || records.is_some_and(|n| n > 0));
        all += 1;
        listed += u64::from(wanted);
        if wanted {
            table.row(&(id, found, records), args.json, &mut list);
        }
    };
    if !snapshots.is_empty() {
        input = Input::new(snapshots, &args.tables, status);
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
