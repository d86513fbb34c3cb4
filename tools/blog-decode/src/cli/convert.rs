// SPDX-License-Identifier: GPL-2.0

//! `convert`: records into a file of another program's format.

use std::{
    fs::{
        self,
        File, //
    },
    io::{
        self,
        BufWriter,
        Write, //
    },
    path::Path,
};

use super::{
    args::{
        Convert,
        Form, //
    },
    complain,
    input::{
        tell_undecoded,
        Input, //
    },
    progress::{
        Progress,
        Unit, //
    },
    PARTIAL, //
};
use crate::{
    decode::Decoder,
    merge,
    output::{
        ctf::Ctf,
        html::Html,
        perfetto::Perfetto, //
    },
    snapshot::text, //
};

/// Converts.
pub fn convert(args: &Convert) -> Result<u8, String> {
    let filter = args.filters.build()?;
    if args.output.exists() {
        return Err(format!("{}: exists already", args.output.display()));
    }
    let input = match Input::open(&args.input) {
        Ok(input) => input,
        Err(status) => return Ok(status),
    };
    let streams = input.streams(&filter.components);
    let decoder = Decoder::new(&input.files, &streams, &input.boots, &input.maps, &filter);
    let mut progress = Progress::new("converting", Unit::Records, false);
    let all = Some(merge::records(&streams));
    let decoder = decoder.with_tick(move |done| progress.at(done, all));
    let mut decoder = decoder.with_logs(input.logs(&args.logs)?);
    let written = match args.to {
        Form::Ctf => ctf(&input, &mut decoder, &args.output),
        Form::Perfetto => perfetto(&mut decoder, &args.output),
        Form::Html => html(&input, &mut decoder, &args.output),
    };
    written.map_err(|e| format!("{}: {e}", args.output.display()))?;
    let mut status = input.status();
    if decoder.counts().any(|c| c.damaged != 0) {
        complain("some records are damaged");
        status = status.max(PARTIAL);
    }
    for problem in decoder.log_problems() {
        complain(&problem);
        status = status.max(PARTIAL);
    }
    if decoder.undecoded().any() {
        tell_undecoded(decoder.undecoded());
        status = status.max(PARTIAL);
    }
    Ok(status)
}

fn ctf(input: &Input, decoder: &mut Decoder<'_>, path: &Path) -> io::Result<()> {
    fs::create_dir(path)?;
    let mut trace = Ctf::new(BufWriter::new(File::create(path.join("records"))?));
    decoder.run(|entry| trace.entry(entry))?;
    let (host, release) = machine(input);
    fs::write(path.join("metadata"), trace.end(&host, &release)?)
}

/// Names of the machines, and a kernel release.
fn machine(input: &Input) -> (String, String) {
    let mut hosts: Vec<&str> = input.files.iter().map(|f| f.host.as_str()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let system = input.files.iter().find_map(|f| f.system);
    let release = system.map_or_else(String::new, |s| text(&s.release));
    (hosts.join(", "), release)
}

fn html(input: &Input, decoder: &mut Decoder<'_>, path: &Path) -> io::Result<()> {
    let mut report = Html::default();
    decoder.run(|entry| report.entry(entry))?;
    let (host, release) = machine(input);
    report.end(&host, &release, &mut BufWriter::new(File::create(path)?))
}

fn perfetto(decoder: &mut Decoder<'_>, path: &Path) -> io::Result<()> {
    const BUFFER: usize = 64 << 10;
    let mut file = File::create(path)?;
    let (mut trace, mut out) = (Perfetto::default(), Vec::new());
    decoder.run(|entry| {
        trace.entry(entry, &mut out);
        if out.len() >= BUFFER {
            file.write_all(&out)?;
            out.clear();
        }
        Ok::<_, io::Error>(())
    })?;
    file.write_all(&out)
}
