// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `check`: whether files add up, to standard output.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use super::{
    args::{self, TablePaths},
    input::Input,
    report::{print_all, Failure, Status},
};
use crate::{
    accounts::{counts, lost, lost_sum},
    check::{check as of, Account, Checked},
    output::json::line,
    snapshot::Snapshot,
    table::Table,
};

/// Prints accounts and contradictions.
pub fn check(args: &args::Check) -> Result<Status, Failure> {
    let input = args::InputArgs {
        snapshots: args.snapshots.clone(),
        sources: args.sources.clone(),
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
            print(file, &checked, args.json, out)?;
        }
        Ok(())
    })?;
    Ok(status)
}

fn print(file: &Snapshot, checked: &Checked, as_json: bool, out: &mut Vec<u8>) -> io::Result<()> {
    let table = Table::new("component")
        .column("component", -16, |a: &&Account| a.component.escape_default().to_string())
        .json(|a, o| {
            o.text("component", &*a.component);
            o.text("snapshot", file.name.as_str());
        })
        .number("rings", 5, |a| a.rings)
        .number("taken", 9, |a| a.taken)
        .column("decoded", 9, |a| a.counts.decoded.to_string())
        .column("overwritten", 11, |a| a.counts.overwritten.to_string())
        .column("missing", 7, |a| {
            let n = &a.counts;
            (n.sum() - n.decoded - n.overwritten).to_string()
        })
        .json(|a, o| counts(&a.counts, o))
        .number("gone", 8, |a| a.gone)
        .column("lost", 8, |a| lost_sum(&a.lost).to_string())
        .json(|a, o| lost(&a.lost, o));
    table.print(&checked.accounts, as_json, out);
    if as_json {
        contradictions(file, checked, out);
        return Ok(());
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

fn contradictions(file: &Snapshot, checked: &Checked, out: &mut Vec<u8>) {
    for c in &checked.found {
        line(out, "contradiction", |o| {
            o.text("component", c.place.as_ref().map(|p| &*p.component));
            o.maybe("ring", c.place.as_ref().map(|p| p.ring));
            o.text("snapshot", file.name.as_str());
            o.text("kind", c.kind.name());
            o.text("message", c.to_string().as_str());
        });
    }
}
