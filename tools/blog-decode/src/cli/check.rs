// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `check`: whether files add up, to standard output.

use std::{io::Write, path::PathBuf};

use super::{
    args::{self, TablePaths},
    input::Input,
    report::{print_all, Failure, Status},
};
use crate::{
    accounts::counts,
    check::{check as of, Checked},
    output::json::Object,
    snapshot::Snapshot,
};

/// Prints accounts and contradictions.
pub fn check(args: &args::Check) -> Result<Status, Failure> {
    let input = args::Input {
        snapshots: args.snapshots.clone(),
        blog: args.blog.clone(),
        vmcore: args.vmcore.clone(),
        tables: TablePaths { sidetable: Vec::new(), modules: PathBuf::new() },
        host: Vec::new(),
    };
    let (files, _, mut status) = Input::read(&input)?;
    print_all(|out| {
        for file in &files {
            let checked = of(file, args.still);
            if !checked.found.is_empty() {
                status = Status::Partial;
            }
            match args.json {
                true => as_json(file, &checked, out),
                false => as_text(file, &checked, out)?,
            }
        }
        Ok(())
    })?;
    Ok(status)
}

fn as_text(file: &Snapshot, checked: &Checked, out: &mut Vec<u8>) -> std::io::Result<()> {
    writeln!(
        out,
        "{:<16} {:>5} {:>11} {:>11} {:>11} {:>9} {:>9} {:>9}",
        "component", "rings", "taken", "decoded", "overwritten", "missing", "gone", "lost"
    )?;
    for a in &checked.accounts {
        let n = &a.counts;
        writeln!(
            out,
            "{:<16} {:>5} {:>11} {:>11} {:>11} {:>9} {:>9} {:>9}",
            a.component.escape_default().to_string(),
            a.rings,
            a.taken,
            n.decoded,
            n.overwritten,
            n.sum() - n.decoded - n.overwritten,
            a.gone,
            a.lost
        )?;
    }
    let name = file.name.escape_default();
    for contradiction in &checked.found {
        writeln!(out, "{name}: {contradiction}")?;
    }
    if checked.found.is_empty() {
        writeln!(out, "{name}: adds up")?;
    }
    Ok(())
}

fn as_json(file: &Snapshot, checked: &Checked, out: &mut Vec<u8>) {
    for a in &checked.accounts {
        let mut o = Object::new(out);
        o.text("type", "account");
        o.text("component", &*a.component);
        o.text("snapshot", file.name.as_str());
        o.number("rings", a.rings);
        o.number("taken", a.taken);
        counts(&a.counts, &mut o);
        o.number("gone", a.gone);
        o.number("lost", a.lost);
        o.end();
        out.push(b'\n');
    }
    for c in &checked.found {
        let mut o = Object::new(out);
        o.text("type", "contradiction");
        o.text("component", c.place.as_ref().map(|p| &*p.component));
        o.maybe("ring", c.place.as_ref().map(|p| p.ring));
        o.text("snapshot", file.name.as_str());
        o.text("kind", c.kind.name());
        o.text("message", c.to_string().as_str());
        o.end();
        out.push(b'\n');
    }
}
