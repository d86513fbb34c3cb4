// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `console`: records out of the lines that the kernel printed to its log, or to a QR code.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use super::{
    args::Console,
    input::Input,
    report::{complain, Failure, Status},
    session::Session,
    show,
};
use crate::{
    blogfmt::source::Source,
    qr,
    snapshot::Snapshot,
    unpack::{self, Lost},
    words::{Event, Scan},
};

/// At a time.
const READ: usize = 64 << 10;

/// Prints records.
pub fn console(args: &Console) -> Result<Status, Failure> {
    let filter = args.filters.build()?;
    args.tables.check()?;
    let (mut files, mut status) = (Vec::new(), Status::Whole);
    for path in &args.files {
        let name = path.display();
        let mut scan = Scan::default();
        if let Err(e) = read(path, &mut scan) {
            complain(&format!("{name}: {e}"));
            status = Status::Partial;
        }
        scan.end();
        match (&scan.events[..], scan.damaged) {
            ([], 0) => complain(&format!("{name}: has no last words of a kernel")),
            (_, 0) => {}
            (_, 1) => complain(&format!("{name}: 1 damaged line")),
            (_, n) => complain(&format!("{name}: {n} damaged lines")),
        }
        if scan.events.is_empty() || scan.damaged > 0 {
            status = Status::Partial;
        }
        for event in &scan.events {
            match snapshot(&name.to_string(), event, &mut status) {
                Ok(file) => files.push(file),
                Err(e) => complain(&e),
            }
        }
    }
    if files.is_empty() {
        return Err(Failure::PRINTED);
    }
    let input = Input::new(files, &args.tables, status);
    let session = Session::new(input, filter, &args.filters, false)?;
    show::print_all(session, &args.output)
}

/// An event of a text as a file.
fn snapshot(text: &str, event: &Event, status: &mut Status) -> Result<Snapshot, String> {
    let (head, missing) = (event.head, event.missing());
    let name = format!("{text}: {} {:08x}", head.why.name(), head.tag);
    if missing > 0 {
        let are = if missing == 1 { "is" } else { "are" };
        complain(&format!("{name}: {missing} of {} lines {are} missing", head.count));
        *status = Status::Partial;
    }
    Ok(Snapshot::read(name, Source::Memory(event.stream()))?)
}

fn read(path: &Path, scan: &mut Scan) -> io::Result<()> {
    let mut input: Box<dyn Read> = match path == Path::new("-") {
        true => Box::new(unpack::reader(io::stdin().lock())?),
        false => Box::new(unpack::reader(File::open(path)?)?),
    };
    let told = |e: io::Error| {
        let lost = Lost::of(&e).map(ToString::to_string);
        lost.map_or(e, io::Error::other)
    };
    let mut buffer = Vec::new();
    let mut start = input.by_ref().take(qr::TEXT_MAX as u64 + 1);
    let read = start.read_to_end(&mut buffer);
    scan.feed(qr::log(&buffer).as_ref().unwrap_or(&buffer));
    read.map_err(told)?;
    buffer.resize(READ, 0);
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => scan.feed(&buffer[..n]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(told(e)),
        }
    }
}
