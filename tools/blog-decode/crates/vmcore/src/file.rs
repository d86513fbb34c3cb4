// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Opens a vmcore, up to the kernel's virtual memory and BLog's root.
//!
//! libkdumpfile knows the formats; from it come physical memory and VMCOREINFO only.

use std::{
    cell::{Cell, RefCell},
    fs::File,
    io::{self, Read, Seek},
    ops::Range,
    path::{Path, PathBuf},
};

use kdumpfile::Dump;

use crate::{
    anchor,
    crashed::{self, Crashed},
    diskdump::{self, Header, Part},
    elf,
    error::Error,
    flat, kind,
    memory::{Fault, Physical},
    paging::Paging,
    unpack::{self, Lost},
    vmcoreinfo::VmcoreInfo,
    wire::file::FILE_MAGIC,
};

/// No dump is larger when it is unpacked.
const DUMP_MAX: u64 = 1 << 42;

/// An open vmcore.
pub struct Vmcore {
    /// Its kernel's memory.
    pub memory: Paging<Pages>,
    /// Address of the root.
    pub root: u64,
    /// The task that crashed, if nobody noted it.
    pub crashed: Option<Crashed>,
    /// What is wrong with the file as such, if anything.
    pub problem: Option<String>,
}

/// Physical memory by pages, the last one of which is at hand.
pub struct Pages {
    dump: Dump,
    /// Address of the page in `page`; `u64::MAX`: none.
    at: Cell<u64>,
    page: RefCell<[u8; PAGE]>,
    /// What is not in the file, though libkdumpfile reads zeros.
    zeros: Range<u64>,
}

const PAGE: usize = 4096;

impl Physical for Pages {
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), Fault> {
        let (start, within) = (addr & !(PAGE as u64 - 1), addr as usize % PAGE);
        if start < self.zeros.end && self.zeros.start < start.saturating_add(PAGE as u64) {
            return Err(Fault::Damaged("the dump is cut off in it".into()));
        }
        let mut page = self.page.borrow_mut();
        if self.at.get() != start {
            self.at.set(u64::MAX);
            self.dump.read(start, &mut *page).map_err(|e| match e {
                kdumpfile::Fault::Missing => Fault::Missing,
                kdumpfile::Fault::Damaged(how) => Fault::Damaged(how),
            })?;
            self.at.set(start);
        }
        let bytes = page.get(within..).and_then(|rest| rest.get(..buf.len()));
        buf.copy_from_slice(bytes.ok_or(Fault::Missing)?);
        Ok(())
    }
}

/// Files that are of one dump, in the order in which they are given: the parts of one that was split.
pub fn dumps(paths: &[PathBuf]) -> Vec<Vec<PathBuf>> {
    let mut all: Vec<(Option<Part>, Vec<PathBuf>)> = Vec::new();
    for path in paths {
        let part = start(path).ok().and_then(|start| Header::parse(&start)?.part);
        let same = |of: &&mut (Option<Part>, _)| match (&of.0, &part) {
            (Some(a), Some(b)) => a.is_same_dump(b),
            _ => false,
        };
        match all.iter_mut().find(same) {
            Some((_, paths)) => paths.push(path.clone()),
            None => all.push((part, vec![path.clone()])),
        }
    }
    all.into_iter().map(|(_, paths)| paths).collect()
}

/// What is in a file, unpacked, up to where its headers end.
fn start(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = unpack::reader(File::open(path)?)?.take(diskdump::START as u64);
    match file.read_to_end(&mut bytes) {
        Err(e) if Lost::from_error(&e).is_none() => Err(e),
        _ => Ok(bytes),
    }
}

/// One file of a dump.
struct Opened {
    file: File,
    /// Why it isn't whole.
    problem: Option<String>,
    part: Option<Part>,
    /// Bytes of a page, if the file says so.
    page: Option<u64>,
    zeros: Range<u64>,
}

fn open_one(path: &Path) -> Result<Opened, Error> {
    let mut file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(Error::File("is a directory".into()));
    }
    let mut problem = None;
    if unpack::is_packed(path)? {
        let to = tempfile::tempfile()?;
        problem = unpack::to_file(file, &to, DUMP_MAX).map_err(|e| {
            let dir = std::env::temp_dir();
            Error::File(format!(
                "packed, and can't be unpacked in {}: {e}; set TMPDIR, or unpack it",
                dir.display()
            ))
        })?;
        file = to;
    }
    let mut bytes = Vec::new();
    (&file).take(diskdump::START as u64).read_to_end(&mut bytes)?;
    if bytes.is_empty() {
        return Err(Error::File(problem.unwrap_or("the file is empty".into())));
    }
    if bytes.starts_with(&FILE_MAGIC) {
        return Err(Error::File("this is a snapshot: give it without --vmcore".into()));
    }
    file.rewind().map_err(|e| Error::File(format!("cannot seek in this file: {e}")))?;
    if bytes.starts_with(flat::SIGNATURE) {
        let (ordered, cut) = flat::rearrange(file)?;
        problem = problem.or(cut);
        file = ordered;
        bytes.clear();
        (&file).take(diskdump::START as u64).read_to_end(&mut bytes)?;
    }
    let cut = elf::check(&file)?;
    let zeros = cut.as_ref().map_or(0..0, |cut| cut.zeros.clone());
    let header = Header::parse(&bytes);
    let size = file.metadata()?.len();
    // What was cut when it was packed or flattened may be cut in itself, which says no more.
    problem = problem.or(cut.map(|cut| cut.why)).or_else(|| header.as_ref()?.cut_off(&file, size));
    if header.is_none() && !bytes.starts_with(b"\x7fELF") {
        problem = problem.or(kind::describe(&bytes).map(|what| format!("this is {what}")));
    }
    Ok(Opened {
        file,
        problem,
        page: header.as_ref().map(|header| header.block),
        part: header.and_then(|header| header.part),
        zeros,
    })
}

/// Opens a vmcore, which may be in several files. The error says what to do, where there is something
/// to be done; what is known of the file itself comes first.
pub fn open(paths: &[PathBuf]) -> Result<Vmcore, Error> {
    let (mut files, mut parts, mut zeros, mut page) = (Vec::new(), Vec::new(), 0..0, None);
    let mut problems = Vec::new();
    for path in paths {
        let named = |e: Error| match paths {
            [_] => e,
            _ => e.at(path.display().to_string()),
        };
        let opened = open_one(path).map_err(named)?;
        problems.extend(opened.problem.map(|why| named(Error::File(why)).to_string()));
        if !opened.zeros.is_empty() {
            zeros = opened.zeros;
        }
        parts.extend(opened.part);
        page = page.or(opened.page);
        files.push(opened.file);
    }
    problems.extend(diskdump::missing(parts));
    let problem = (!problems.is_empty()).then(|| problems.join("; "));
    inside(files, page, zeros).map_or_else(
        |e| {
            Err(match &problem {
                Some(problem) => Error::File(format!("{problem}. Of what there is: {e}")),
                None => e,
            })
        },
        |(memory, root, crashed)| Ok(Vmcore { memory, root, crashed, problem: problem.clone() }),
    )
}

/// Memory, root, and who crashed.
type Inside = (Paging<Pages>, u64, Option<Crashed>);

fn inside(files: Vec<File>, page: Option<u64>, zeros: Range<u64>) -> Result<Inside, Error> {
    let dump =
        Dump::open(files).map_err(|e| Error::File(format!("libkdumpfile can't read it: {e}")))?;
    let info = dump.vmcoreinfo().map_err(|e| {
        Error::File(format!(
            "it has no VMCOREINFO, without which nothing can be found ({e}); \
             QEMU writes it if the guest has \"-device vmcoreinfo\""
        ))
    })?;
    if let Some(bytes) = page {
        dump.set_page_size(bytes)
            .map_err(|e| Error::File(format!("pages of {bytes} bytes: {e}")))?;
    }
    let info = VmcoreInfo::parse(&info);
    let pages = Pages { dump, at: Cell::new(u64::MAX), page: RefCell::new([0; PAGE]), zeros };
    let memory = Paging::new(pages, &info)?;
    let root = anchor::root(&memory, &info)?;
    let crashed = crashed::find(&memory, &info);
    Ok((memory, root, crashed))
}
