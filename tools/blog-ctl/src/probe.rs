// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `probe`: has components record functions and tracepoints of the kernel that runs here.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::Path,
};

use blog_decode::cli::{
    local_system::explain_missing,
    report::{print_all, Failure, Status},
};
use blog_table::format::Table;
use blog_wire::record::Level;

use crate::{
    args::ProbeWhat,
    btf::Btf,
    commands::unhex,
    compile::{compile, Kind, Text},
    control,
};

/// Types of what is built in, in the directory of types.
const VMLINUX: &str = "vmlinux";

/// Does it.
pub fn probe(what: &ProbeWhat) -> Result<Status, Failure> {
    match what {
        ProbeWhat::Add { component, probe, level, btf, dry_run, blog } => {
            let text = Text::parse(probe)?;
            let types = types(btf, &text)?;
            let level = Level::from_u8(*level).unwrap_or(Level::Info);
            let (line, _) = compile(&text, level, types.as_ref(), &release())?;
            if *dry_run {
                return print_all(|out| writeln!(out, "{line}"));
            }
            write(&blog.blog, component, &line)?;
            Ok(Status::Whole)
        }
        ProbeWhat::List { components, blog } => {
            let names = match components.is_empty() {
                true => {
                    let mut all = control::components(&blog.blog)?;
                    all.retain(|name| blog.blog.join(name).join("probes").exists());
                    all
                }
                false => components.clone(),
            };
            let mut text = String::new();
            for name in &names {
                for probe in listed(&blog.blog, name)? {
                    text += &format!("{name} {probe}\n");
                }
            }
            print_all(|out| out.write_all(text.as_bytes()))
        }
        ProbeWhat::Remove { component, sites, blog } => {
            let sites = match sites.is_empty() {
                true => {
                    let all = listed(&blog.blog, component)?;
                    all.iter().map(|probe| probe.site).collect()
                }
                false => sites.clone(),
            };
            for site in sites {
                write(&blog.blog, component, &format!("-{site}"))?;
            }
            Ok(Status::Whole)
        }
    }
}

/// The types of the kernel, and of the module that has what is probed; `None`: there are none here.
fn types(dir: &Path, text: &Text<'_>) -> Result<Option<Btf>, String> {
    let add = |btf: &mut Btf, path: &Path| {
        let bytes = fs::read(path).map_err(|e| e.to_string());
        let added = bytes.and_then(|bytes| btf.add(&bytes));
        added.map_err(|e| format!("{}: {e}", path.display()))
    };
    let vmlinux = dir.join(VMLINUX);
    if !vmlinux.exists() {
        return Ok(None);
    }
    let mut btf = Btf::default();
    add(&mut btf, &vmlinux)?;
    let symbol = text.symbol.rsplit(':').next().unwrap_or_default();
    if text.kind == Kind::Tracepoint || btf.function(symbol).is_some() {
        return Ok(Some(btf));
    }
    let mut modules: Vec<_> = fs::read_dir(dir).into_iter().flatten().flatten().collect();
    modules.retain(|entry| entry.file_name() != VMLINUX);
    for module in modules {
        let mark = btf.mark();
        add(&mut btf, &module.path())?;
        if btf.function(symbol).is_some() {
            break;
        }
        btf.forget(mark);
    }
    Ok(Some(btf))
}

fn release() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease");
    release.unwrap_or_default().trim_end().to_owned()
}

/// A probe as the kernel lists it.
struct Listed {
    site: u32,
    missed: u64,
    place: String,
    level: String,
    /// What its side table says.
    message: Option<(String, Vec<String>)>,
}

impl std::fmt::Display for Listed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.site, self.level, self.place)?;
        match &self.message {
            Some((format, names)) => {
                write!(f, " {format:?}")?;
                names.iter().try_for_each(|name| write!(f, " {name}"))?;
            }
            None => write!(f, " (its side table is damaged)")?,
        }
        match self.missed {
            0 => Ok(()),
            n => write!(f, " (missed {n} times)"),
        }
    }
}

fn listed(blog: &Path, component: &str) -> Result<Vec<Listed>, String> {
    let path = blog.join(component).join("probes");
    let text = fs::read_to_string(&path).map_err(|e| explain_missing(&path, &e))?;
    let parse = |line: &str| {
        let mut words = line.split_whitespace();
        let (site, missed) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let (place, level) = (words.next()?.to_owned(), words.next()?.to_owned());
        let table = unhex(words.next()?).and_then(|bytes| Table::decode(&bytes).ok());
        let message = table.and_then(|mut table| table.sites.pop());
        Some(Listed {
            site,
            missed,
            place,
            level,
            message: message.map(|site| (site.format, site.names)),
        })
    };
    let wrong = || format!("{}: not understood", path.display());
    text.lines().map(|line| parse(line).ok_or_else(wrong)).collect()
}

fn write(blog: &Path, component: &str, line: &str) -> Result<(), String> {
    let path = blog.join(component).join("probes");
    let file = OpenOptions::new().write(true).open(&path);
    let mut file = file.map_err(|e| explain_missing(&path, &e))?;
    file.write_all(line.as_bytes()).map_err(|e| {
        let why = match e.raw_os_error() {
            Some(1) => "kprobes are refused by lockdown",
            Some(2) => {
                "the kernel has no such function or tracepoint, or the component no such probe"
            }
            Some(7) => "more arguments or pointers than a probe can have",
            Some(19) => "the component's driver isn't loaded",
            Some(22 | 84) => {
                "the place can't be probed: no start of an instruction, or not allowed to be"
            }
            Some(28) => "the component has 64 probes, or there were too many since BLog was loaded",
            Some(95) => "this kernel has no kprobes or no tracepoints, or has CFI",
            _ => return format!("{}: {e}", path.display()),
        };
        format!("{}: {e}: {why}", path.display())
    })
}
