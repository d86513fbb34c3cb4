// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Writes the side tables of vmlinux and of modules: the format string, place and types of each
//! log call, which `blog-decode` needs and which are not in the kernel's memory.
//!
//! The kernel build runs it as a host program after linking. It reads ELF, writes `NAME.blogfmt`,
//! and stores into the image which arguments its C calls pass. It uses nothing but `std` and never
//! touches the network.

// The modules are shared with blog-decode, a library, where `pub` is what it says.
#![allow(unreachable_pub)]

mod bytes;
mod descriptor;
mod elf;
mod embed;
mod format;
mod image;
mod inflate;
mod inventory;
mod printf;
mod source;
#[allow(dead_code, unused_imports)]
#[path = "../../rust/kernel/blog/wire/mod.rs"]
mod wire;

use std::{
    ffi::OsString,
    fs,
    io::{
        ErrorKind,
        Write, //
    },
    os::unix::fs::FileExt,
    path::{
        Path,
        PathBuf, //
    },
    process::ExitCode, //
};

use source::Source;

const HELP: &str = "\
Write the BLog side tables of kernel images.

Usage: blog-fmt-sidetable [OPTIONS] FILE...

Reads vmlinux and modules (.ko), and writes a side table NAME.blogfmt for each
image with log calls, from Rust or C. NAME is vmlinux, or the module's name as
lsmod prints it. blog-decode finds the table by the image's build ID. A module
also contains its table, even if it is stripped of debug information. An image
without log calls gets no table; that is no error. One with log calls whose table
was stripped off is an error. The program replaces nothing but older tables of
the same image, and empty files. It compiles the formats of C calls, and stores
the result into the image. A format that can't be compiled is an error; for a
captured message it is a warning, and the message is not recorded. With -o, inputs
may also be tables.

Options:
  -o DIR         Write tables to DIR, which must exist, as NAME-BUILDID.blogfmt,
                 so that tables of other builds stay (default: beside each ELF)
      --output FILE
                 Write the table of a single ELF to FILE, which may be a device
                 or a pipe; if the image has no log calls, remove the table of
                 an earlier build that FILE is
      --object   The files are objects that modules will be linked from: put each
                 table into the object, and write no file. The module then contains
                 its table, which gets the module's build ID when it is read
      --inventory
                 Print each string, address and private argument that the images
                 may ever record: place, level, what it is, name and format, with
                 tabs between them; and write nothing
  -v, --verbose  Report what was written
  -h, --help     Print this help

Examples:
  blog-fmt-sidetable vmlinux drivers/block/rnull.ko -o tables
  blog-fmt-sidetable --inventory vmlinux drivers/block/rnull.ko

Exit status: 0 all inputs were read; 1 some were not, or have lost their table
(the tables of the others are written); 2 wrong usage.
";

#[derive(Default)]
struct Options {
    inputs: Vec<PathBuf>,
    dir: Option<PathBuf>,
    output: Option<PathBuf>,
    object: bool,
    inventory: bool,
    verbose: bool,
}

fn parse_args(mut args: impl Iterator<Item = OsString>) -> Result<Option<Options>, String> {
    let mut o = Options::default();
    let mut only_files = false;
    while let Some(arg) = args.next() {
        let mut value = |name: &str| {
            args.next()
                .map(PathBuf::from)
                .ok_or_else(|| format!("{name} needs a value"))
        };
        match arg.to_str() {
            Some(_) if only_files => o.inputs.push(arg.into()),
            Some("--") => only_files = true,
            Some("-h" | "--help") => return Ok(None),
            Some("-o") => o.dir = Some(value("-o")?),
            Some("--output") => o.output = Some(value("--output")?),
            Some("--object") => o.object = true,
            Some("--inventory") => o.inventory = true,
            Some("-v" | "--verbose") => o.verbose = true,
            Some(s) if s.starts_with('-') && s.len() > 1 => {
                return Err(format!("unknown option {s}"));
            }
            _ => o.inputs.push(arg.into()),
        }
    }
    if o.inputs.is_empty() {
        return Err("no ELF file given".into());
    }
    if o.output.is_some() && (o.inputs.len() != 1 || o.dir.is_some()) {
        return Err("--output goes with a single ELF file and without -o".into());
    }
    if o.object && (o.inventory || o.dir.is_some() || o.output.is_some()) {
        return Err("--object goes with no other option but -v".into());
    }
    if o.inventory && (o.dir.is_some() || o.output.is_some()) {
        return Err("--inventory writes nothing: it doesn't go with -o or --output".into());
    }
    if let Some(dir) = &o.dir {
        if !dir.is_dir() {
            return Err(format!("{}: not a directory", dir.display()));
        }
    }
    Ok(Some(o))
}

fn main() -> ExitCode {
    let options = match parse_args(std::env::args_os().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print_or_exit(HELP);
            return ExitCode::SUCCESS;
        }
        Err(e) => {
            eprintln!("blog-fmt-sidetable: {e}\nTry 'blog-fmt-sidetable --help'.");
            return ExitCode::from(2);
        }
    };
    let mut failed = false;
    for input in &options.inputs {
        let result = match options.inventory {
            true => inventory(input),
            false => process(input, &options),
        };
        if let Err(e) = result {
            eprintln!("blog-fmt-sidetable: {}: {e}", input.display());
            failed = true;
        }
    }
    ExitCode::from(u8::from(failed))
}

/// A closed pipe on standard output is not worth a panic.
fn print_or_exit(text: &str) {
    if std::io::stdout().write_all(text.as_bytes()).is_err() {
        std::process::exit(1);
    }
}

fn open(path: &Path) -> Result<Source, String> {
    Source::open(path).map_err(|e| e.to_string())
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .map(|s| s.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn process(input: &Path, options: &Options) -> Result<(), String> {
    if let Some(dir) = &options.dir {
        if let Some(table) = read_table(&open(input)?)? {
            return write_by_id(dir, &table).map(|_| ());
        }
    }
    let compiled = image::compile(open(input)?, &stem(input), options.object)?;
    let say = |text: String| {
        if options.verbose {
            print_or_exit(&format!("{text}\n"));
        }
    };
    match &compiled {
        Some(image::Compiled {
            table,
            words,
            left_out,
        }) => {
            tell(input, table, left_out);
            store(input, words).map_err(|e| format!("storing what C calls pass: {e}"))?;
            let bytes = table.encode()?;
            embed::embed(input, &bytes)?;
            if options.object {
                say(format!("{}: {} sites", input.display(), table.sites.len()));
                return Ok(());
            }
            let file = match (&options.output, &options.dir) {
                (None, Some(dir)) => write_by_id(dir, table)?,
                (output, _) => {
                    let file = match output {
                        Some(file) => file.clone(),
                        None => input.with_file_name(file_name(table, "")?),
                    };
                    write_table(&file, &table.name, &bytes)?;
                    file
                }
            };
            say(format!(
                "{}: {} sites, build ID {}",
                file.display(),
                table.sites.len(),
                table.build_id_hex()
            ));
        }
        None => {
            if let Some(file) = &options.output {
                remove_old(file, input)?;
            }
            say(format!("{}: no call sites", input.display()));
        }
    }
    Ok(())
}

/// What a table's file is called.
fn file_name(table: &format::Table, id: &str) -> Result<String, String> {
    if !image::is_plain_name(&table.name) {
        return Err(format!("its name {:?} is no file name", table.name));
    }
    Ok(format!("{}{id}.{}", table.name, format::EXTENSION))
}

/// Writes a table where those of all builds are.
fn write_by_id(dir: &Path, table: &format::Table) -> Result<PathBuf, String> {
    let id = format!("-{}", table.build_id_hex());
    let file = dir.join(file_name(table, &id)?);
    write_table(&file, &table.name, &table.encode()?)?;
    Ok(file)
}

/// Where a table goes that is written to a path.
enum Target {
    /// To a file with this name, and in place of the table that is there.
    File(PathBuf, Option<format::Table>),
    /// To what takes bytes and keeps none under its name: a device, a pipe.
    Stream,
}

/// Looks at a path to which a table of an image called `name` is to be written. Whatever else is
/// there stays: only an older table of the same image is replaced, or an empty file.
fn target(path: &Path, name: &str) -> Result<Target, String> {
    let told = |e: std::io::Error| format!("{}: {e}", path.display());
    let meta = match fs::metadata(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            return match fs::symlink_metadata(path) {
                Err(_) => Ok(Target::File(path.to_owned(), None)),
                Ok(_) => Err(format!("{}: a link that leads nowhere", path.display())),
            };
        }
        meta => meta.map_err(told)?,
    };
    if meta.is_dir() {
        return Err(format!("{}: is a directory", path.display()));
    }
    if !meta.is_file() {
        return Ok(Target::Stream);
    }
    let file = fs::canonicalize(path).map_err(told)?;
    if meta.len() == 0 {
        return Ok(Target::File(file, None));
    }
    match open(path).and_then(|source| read_table(&source)) {
        Ok(Some(old)) if old.name == name => Ok(Target::File(file, Some(old))),
        _ => Err(format!(
            "{}: exists already, and is no side table of {name}",
            path.display()
        )),
    }
}

/// Removes the table of an earlier build of an image that has no call sites now. By its build ID, a
/// reader would refuse it; better none.
fn remove_old(path: &Path, input: &Path) -> Result<(), String> {
    let (name, build_id) = image::identity(open(input)?, &stem(input))?;
    let Target::File(file, Some(old)) = target(path, &name)? else {
        return Ok(());
    };
    if build_id.is_some_and(|id| id == old.build_id) {
        return Err(format!(
            "has no call sites that can be found, but {} is its side table",
            path.display()
        ));
    }
    fs::remove_file(&file).map_err(|e| format!("{}: {e}", path.display()))
}

/// The table, if the file is one.
fn read_table(source: &Source) -> Result<Option<format::Table>, String> {
    let mut magic = [0; 8];
    source.read_some(0, &mut magic).map_err(|e| e.to_string())?;
    if !format::is_table(&magic) {
        return Ok(None);
    }
    let bytes = source
        .read(0, source.size(), format::FILE_MAX)
        .map_err(|e| e.to_string())?
        .ok_or_else(|| format!("larger than {} bytes, the limit", format::FILE_MAX))?;
    format::Table::decode(&bytes).map(Some)
}

/// Says which `calls` of an image are not recorded: captured messages that BLog can't store.
fn tell(image: &Path, table: &format::Table, calls: &[String]) {
    if !calls.is_empty() {
        eprintln!(
            "blog-fmt-sidetable: {}: {} of {} calls are not recorded:\n{}",
            image.display(),
            calls.len(),
            table.sites.len(),
            calls.join("\n")
        );
    }
}

/// Stores what C calls pass, where the image doesn't have it yet.
fn store(image: &Path, words: &[image::Word]) -> std::io::Result<()> {
    let has = fs::File::open(image)?;
    let mut changes = Vec::new();
    for word in words {
        let (mut codes, mut flags) = (vec![0; word.codes.len()], [0; 2]);
        let flags_at = word.entry_at + image::FLAGS_AT;
        has.read_exact_at(&mut codes, word.codes_at)?;
        has.read_exact_at(&mut flags, flags_at)?;
        if codes != word.codes {
            changes.push((word.codes_at, word.codes.clone()));
        }
        if flags != word.flags.to_le_bytes() {
            changes.push((flags_at, word.flags.to_le_bytes().to_vec()));
        }
    }
    if changes.is_empty() {
        return Ok(());
    }
    let file = fs::OpenOptions::new().write(true).open(image)?;
    changes
        .iter()
        .try_for_each(|(at, bytes)| file.write_all_at(bytes, *at))
}

/// Writes the table of an image called `name`, so that a file is either the old table or the whole
/// new one.
fn write_table(path: &Path, name: &str, bytes: &[u8]) -> Result<(), String> {
    let told = |e: std::io::Error| format!("{}: {e}", path.display());
    let file = match target(path, name)? {
        Target::File(file, _) => file,
        Target::Stream => {
            let open = fs::OpenOptions::new().write(true).open(path);
            return open.and_then(|mut to| to.write_all(bytes)).map_err(told);
        }
    };
    let mut temporary = file.file_name().ok_or("no file name")?.to_owned();
    temporary.push(format!(".tmp{}", std::process::id()));
    let temporary = file.with_file_name(temporary);
    let mut new = fs::File::create_new(&temporary).map_err(told)?;
    let done = new
        .write_all(bytes)
        .and_then(|()| fs::rename(&temporary, &file));
    done.map_err(|e| {
        let _ = fs::remove_file(&temporary);
        told(e)
    })
}

fn inventory(input: &Path) -> Result<(), String> {
    let source = open(input)?;
    let (table, components) = match read_table(&source)? {
        Some(table) => (Some(table), None),
        None => {
            let table = image::read(source, &stem(input))?;
            let elf = elf::Elf::open(open(input)?)?;
            (table, Some(inventory::components(&elf)?))
        }
    };
    print_or_exit(&match table {
        Some(table) => inventory::inventory(&table, components.as_deref()),
        None => format!("{}: no call sites\n", input.display()),
    });
    Ok(())
}
