// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Words of users, of drivers and of other programs: conditions, templates, options that filter,
//! commands of `control`, format strings, other logs.

use std::io::Cursor;

use blog_ctl::commands::{self as control, Command};
use blog_decode::cli::args::Cli;
use blog_decode_core::{
    boot,
    clock::LogClock,
    decode::Filter,
    expr::Expr,
    foreign::{Log, LogKind},
    format::parse,
    output::template::Template,
    sidetable::{SiteMap, Tables},
};
use blog_table::{descriptor::Site, format::Table, printf};
use clap::Parser;

use crate::decode::{decode, decode_with, small};
use crate::sites::{print_all, sites};

/// When the log was taken, in ns since 1970.
const TAKEN: i128 = 1_795_298_962_000_000_000;
/// A line of another log is no longer.
const LINE_MAX: usize = 16 << 10;

/// What `--where` takes.
pub fn expr(bytes: &[u8]) {
    if let Ok(expr) = Expr::parse(&String::from_utf8_lossy(bytes)) {
        let filter = Filter { expr: Some(expr), ..Filter::default() };
        decode(&small(), &filter, &Template::parse("{message}").unwrap());
    }
}

/// What `--format` takes.
pub fn template(bytes: &[u8]) {
    if let Ok(template) = Template::parse(&String::from_utf8_lossy(bytes)) {
        decode(&small(), &Filter::default(), &template);
    }
}

/// The format string of a call site.
pub fn format(bytes: &[u8]) {
    let source = String::from_utf8_lossy(bytes);
    let _ = parse::parse(&source);
    let mut table = Table { build_id: b"id".to_vec(), name: "test".into(), ..Table::default() };
    let codes = [0x03, 0x14, 0x22, 0x26, 0x24, 0x06];
    table.sites.push(Site {
        line: 1,
        level: 3,
        file: "x.rs".into(),
        module: "x".into(),
        format: source.clone().into_owned(),
        names: ["a", "b", "s", "e", "x", "w"].map(str::to_owned).to_vec(),
        codes: codes.to_vec(),
        is_c: false,
        ..Site::default()
    });
    let _ = printf::literal(&source);
    let _ = printf::arguments(&source);
    if let Ok(compiled) = printf::compile(&source) {
        table.sites.push(Site {
            names: vec![String::new(); compiled.types.len()],
            codes: compiled.types,
            is_c: true,
            ..table.sites[0].clone()
        });
    }
    print_all(table);
}

/// Options, as the shell would give them; a tab is between two.
pub fn filter(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let args = ["blog-decode", "snap"].into_iter().chain(text.split('\t'));
    let Ok(cli) = Cli::try_parse_from(args) else {
        return;
    };
    if let Ok(mut filter) = cli.show.filters.build() {
        if cli.show.filters.set_times(&mut filter, TAKEN).is_err() {
            return;
        }
        let template = Template::parse("{message}").unwrap();
        decode_with(&small(), &filter, &template, Vec::new());
    }
}

/// Commands, and what the kernel tells of images.
pub fn control(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(images) = control::images(&text) {
        for (image, _) in images {
            assert!(image.first.checked_add(image.count).is_some() || image.count > 0);
        }
    }
    let Ok(commands) = control::parse(&text) else {
        return;
    };
    let files = small();
    let images = &files[0].images;
    let mut map = SiteMap::new(images, &Tables::default());
    for image in &mut map.images {
        image.sites = Some(sites());
    }
    let mut writes = Vec::new();
    for command in &commands {
        let Command::Sites(query) = command else {
            continue;
        };
        if query.is_the_kernels() {
            // What is written is what was meant.
            let again = control::parse(&query.text());
            assert_eq!(again.ok().as_deref(), Some(std::slice::from_ref(command)));
            writes.push(query.text());
        }
        let (ids, unknown) = query.resolve(images, &map);
        assert!(unknown.is_empty() && ids.is_sorted());
        assert!(ids.iter().all(|id| (1..=5).contains(id)));
        writes.extend(control::for_ids(&ids, &query.flags));
    }
    let joined = control::writes(&writes);
    assert_eq!(joined.join("\n"), writes.join("\n"));
    for write in joined {
        // The writer reports one that is too long.
        assert!(write.len() < control::WRITE_MAX || !write.contains('\n'));
    }
}

/// Whether it may be: then it is larger than it looks.
fn is_packed(bytes: &[u8]) -> bool {
    matches!(bytes, [0x1f, 0x8b, ..] | [0x28, 0xb5, ..] | [0xfd, ..] | [_, 0x2a, 0x4d, 0x18, ..])
}

/// A log of the kernel, or of ftrace.
pub fn foreign(bytes: &[u8]) {
    let files = small();
    let boots = boot::from_files(&files);
    let open = |kind| {
        let input = Cursor::new(bytes.to_vec());
        Log::new(kind, input, LogClock::Local, 0, &boots[0])
    };
    let both = [LogKind::Dmesg, LogKind::Ftrace];
    for mut log in both.into_iter().filter_map(|kind| open(kind).ok()) {
        let (mut last, mut lines) = (i128::MIN, 0);
        while let Some(line) = log.line() {
            assert!(line.message.len() <= LINE_MAX);
            assert!(log.time().is_some_and(|time| time >= last));
            last = log.time().unwrap_or(last);
            lines += 1;
            log.advance();
        }
        assert!(lines <= bytes.len() || is_packed(bytes));
        assert!(lines > 0 || !log.problems().is_empty());
    }
    let template = Template::parse("{time} {component} {message}").unwrap();
    let logs = both.into_iter().filter_map(|kind| open(kind).ok()).collect();
    decode_with(&files, &Filter::default(), &template, logs);
}
