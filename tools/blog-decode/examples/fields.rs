// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Prints fields of the records of a snapshot that agree with a condition:
//!
//! ```text
//! cargo run --example fields -- snapshot 'level <= warn && arg.e == EIO' comm arg.e
//! ```

use std::{env, path::Path};

use blog_decode::{Captures, Error, EventKind, Expr, Filter, Selector};

fn main() -> Result<(), Error> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [path, condition, fields @ ..] = args.as_slice() else {
        eprintln!("usage: fields SNAPSHOT CONDITION FIELD...");
        return Ok(());
    };
    // Side tables are also looked for beside the snapshot.
    let beside = Path::new(path).parent().map(Path::to_owned);
    let tables: Vec<_> = beside.into_iter().collect();
    let captures = Captures::open([path], &tables, Some(Path::new("/lib/modules")));
    captures.problems().iter().for_each(|problem| eprintln!("{problem}"));
    let filter = Filter { expr: Some(Expr::parse(condition)?), ..Filter::default() };
    let mut selectors = Vec::new();
    for field in fields {
        let found = Selector::parse(field)?;
        selectors.push(found.ok_or_else(|| Error::Syntax(format!("no field {field}")))?);
    }
    let mut entries = captures.entries(&filter);
    for entry in &mut entries {
        match entry.event.kind {
            EventKind::Record { .. } => {
                let mut text = Vec::new();
                for selector in &selectors {
                    selector.print(&entry, &mut text);
                    text.push(b'\t');
                }
                text.extend_from_slice(&entry.message);
                println!("{}\t{}", entry.real(), String::from_utf8_lossy(&text));
            }
            EventKind::Loss { count, .. } => println!("{}\t{count} records lost", entry.real()),
            EventKind::Line { .. } => {}
        }
    }
    let undecoded = entries.undecoded();
    if undecoded.any() {
        eprintln!("{} records not decoded", undecoded.sum());
    }
    Ok(())
}
