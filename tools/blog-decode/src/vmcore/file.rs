// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Opens a vmcore: what is in the file, up to the kernel's virtual memory and BLog's root.
//!
//! libkdumpfile knows the formats; from it come physical memory and VMCOREINFO only.

use std::{
    cell::{
        Cell,
        RefCell, //
    },
    fs::File,
    io::{
        Read,
        Seek, //
    },
    ops::Range,
    path::Path, //
};

use kdumpfile::Dump;

use super::{
    anchor,
    crashed::{
        self,
        Crashed, //
    },
    elf,
    flat,
    memory::{
        Fault,
        Physical, //
    },
    paging::Paging,
    vmcoreinfo::VmcoreInfo, //
};
use crate::error::Error;

/// An open vmcore.
pub struct Vmcore {
    /// Its kernel's memory.
    pub memory: Paging<Pages>,
    /// Address of the root.
    pub root: u64,
    /// Who crashed, if nobody noted it.
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

/// Opens a vmcore. The error says what to do, where there is something to be done.
pub fn open(path: &Path) -> Result<Vmcore, Error> {
    let mut file = File::open(path)?;
    let meta = file.metadata()?;
    if meta.is_dir() {
        return Err(Error::File("is a directory".into()));
    }
    let mut start = [0; 8];
    let mut len = 0;
    while let n @ 1.. = file.read(&mut start[len..])? {
        len += n;
    }
    let start = &start[..len];
    if start.is_empty() {
        return Err(Error::File("the file is empty".into()));
    }
    if start.starts_with(&crate::wire::file::FILE_MAGIC) {
        return Err(Error::File(
            "this is a snapshot: give it without --vmcore".into(),
        ));
    }
    file.rewind()
        .map_err(|e| Error::File(format!("not a file that can be read anywhere: {e}")))?;
    let mut problem = None;
    if start.starts_with(flat::SIGNATURE) {
        (file, problem) = flat::rearrange(file)?;
    }
    let cut = elf::check(&file)?;
    let zeros = cut.as_ref().map_or(0..0, |cut| cut.zeros.clone());
    problem = problem.or(cut.map(|cut| cut.why));
    let dump =
        Dump::open(file).map_err(|e| Error::File(format!("libkdumpfile can't read it: {e}")))?;
    let info = dump.vmcoreinfo().map_err(|e| {
        Error::File(format!(
            "it has no VMCOREINFO, without which nothing can be found ({e}); \
             QEMU writes it if the guest has \"-device vmcoreinfo\""
        ))
    })?;
    let info = VmcoreInfo::parse(&info);
    let pages = Pages {
        dump,
        at: Cell::new(u64::MAX),
        page: RefCell::new([0; PAGE]),
        zeros,
    };
    let memory = Paging::new(pages, &info)?;
    Ok(Vmcore {
        root: anchor::root(&memory, &info)?,
        crashed: crashed::find(&memory, &info),
        memory,
        problem,
    })
}
