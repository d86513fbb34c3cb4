// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `convert`: records into a file of another program's format.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::Path,
};

use super::{
    args::{Convert, Form},
    extract::extract,
    input::Input,
    new,
    poll::Signals,
    report::{complain, Failure, Status},
    session::{End, Session},
    spans::{notes, problems, NONE},
};
use crate::{
    batch::Work,
    decode::{Decoder, Entry},
    foreign::Log,
    output::{
        ctf::Ctf,
        html::Html,
        otlp::{Maker, Otlp},
        perfetto::{pack_full, Perfetto},
    },
    snapshot::{text, Snapshot},
    spans::{Found, Pair, Unpaired},
    wire::file::System,
};

/// Converts.
pub fn convert(args: &Convert) -> Result<Status, Failure> {
    if matches!(args.to, Form::Snapshot) {
        return extract(args);
    }
    let pairs = args.spans.pairs();
    if pairs.is_empty() && !args.spans.keys.key.is_empty() {
        return Err("--key needs --span START END".into());
    }
    if !pairs.is_empty() && !matches!(args.to, Form::Html | Form::Perfetto) {
        return Err("--span: only html and perfetto have spans".into());
    }
    let mut session = Session::open(&args.input, &args.filters, !args.logs.is_empty(), args.jobs)?;
    // Nothing is written so far.
    let signals = Signals::new()?;
    let mut logs = session.input.logs(&args.logs)?;
    // They have no time that others could be put beside.
    logs.iter_mut().for_each(Log::leave_out_earlier);
    let input = &session.input;
    input.tell_unknown("--key", &args.spans.keys.key);
    let is_alone = session.threads == 1 || !logs.is_empty();
    let decoder = session.decoder("converting", false);
    let mut decoder = decoder.with_logs(logs);
    let mut each = Each {
        decoder: &mut decoder,
        signals: &signals,
        threads: if is_alone { 1 } else { session.threads },
    };
    let mut odd = Odd::default();
    let made = match args.to {
        Form::Ctf => {
            new::directory(&args.output, |path| told(ctf(input, &mut each, path)).map(|n| odd = n))
        }
        Form::Perfetto => {
            new::file(&args.output, |out| told(perfetto(pairs, &mut each, out)).map(|n| odd = n))
        }
        Form::Html => {
            new::file(&args.output, |out| told(html(input, pairs, &mut each, out)).map(|n| odd = n))
        }
        #[cfg(feature = "parquet")]
        Form::Parquet => new::directory(&args.output, |path| {
            told(parquet(input, &mut each, path)).map(|n| odd = n)
        }),
        #[cfg(not(feature = "parquet"))]
        Form::Parquet => Err("this blog-decode was built without Parquet: \
                              build it with the feature parquet"
            .into()),
        Form::Otlp => {
            new::file(&args.output, |out| told(otlp(input, &mut each, out)).map(|n| odd = n))
        }
        // Made above: it takes no records.
        Form::Snapshot => Ok(()),
    };
    match made {
        Ok(()) => {}
        // The reader has enough.
        Err(e) if e == new::CLOSED => return Ok(session.input.status),
        Err(e) => return Err(e.into()),
    }
    let End { mut status, is_empty } = session.end(&decoder.outcome());
    for (n, what) in [
        (odd.left_out, "left out: their times are beyond what readers can hold"),
        (odd.moved, "have the time of the one before: theirs is earlier"),
    ] {
        if n > 0 {
            complain(&format!("{n} records or losses {what}"));
            status = status.max(Status::Partial);
        }
    }
    Ok(status.max(tell_unpaired(odd.spans, is_empty)))
}

/// Says what of spans has no other half; the answer is the exit status. `is_empty`: there are no
/// records.
fn tell_unpaired(kinds: Vec<Found>, is_empty: bool) -> Status {
    let mut status = Status::Whole;
    for kind in kinds {
        let unpaired = kind.unpaired;
        let mut problems = problems(&unpaired);
        problems.extend((kind.spans == 0 && !is_empty).then(|| NONE.into()));
        if !problems.is_empty() {
            status = Status::Partial;
        }
        let (backward, rest) = (unpaired.backward, Unpaired::default());
        if unpaired != (Unpaired { backward, ..rest }) {
            problems.extend(notes(&unpaired));
        }
        for what in problems {
            complain(&format!("{}: {what}", kind.name));
        }
    }
    status
}

/// What is not converted as it is.
#[derive(Default)]
struct Odd {
    /// Records and losses.
    left_out: u64,
    moved: u64,
    spans: Vec<Found>,
}

/// Goes through the records, until there are no more or a signal asks for an end.
struct Each<'a, 'b> {
    decoder: &'a mut Decoder<'b>,
    signals: &'a Signals,
    /// Threads that decode; 1 if there are other logs.
    threads: usize,
}

impl<'b> Each<'_, 'b> {
    fn run(&mut self, mut entry: impl FnMut(&Entry<'_>) -> io::Result<()>) -> io::Result<()> {
        let signals = self.signals;
        self.decoder.run(|e| {
            goes_on(signals)?;
            entry(e)
        })
    }

    /// The same by other threads, which do `work`.
    fn run_by<W: Work + 'b>(
        &mut self,
        work: impl Fn() -> W,
        mut take: impl FnMut(&mut W::Made) -> io::Result<()>,
    ) -> io::Result<()> {
        let signals = self.signals;
        self.decoder.run_by(self.threads, work, |made| {
            goes_on(signals)?;
            take(made)
        })
    }
}

fn goes_on(signals: &Signals) -> io::Result<()> {
    match signals.asked() {
        true => Err(io::Error::other("interrupted")),
        false => Ok(()),
    }
}

fn told<T>(result: io::Result<T>) -> Result<T, String> {
    result.map_err(|e| match e.kind() {
        io::ErrorKind::BrokenPipe => new::CLOSED.into(),
        _ => format!("not converted: {e}"),
    })
}

fn ctf(input: &Input, each: &mut Each<'_, '_>, path: &Path) -> io::Result<Odd> {
    let mut trace = Ctf::new(BufWriter::new(File::create(path.join("records"))?));
    each.run(|entry| trace.entry(entry))?;
    let (host, release) = machine(input);
    let odd = Odd { left_out: trace.left_out, moved: trace.moved, ..Odd::default() };
    fs::write(path.join("metadata"), trace.end(&host, &release)?)?;
    Ok(odd)
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

fn html(
    input: &Input,
    pairs: Vec<Pair>,
    each: &mut Each<'_, '_>,
    out: &mut dyn Write,
) -> io::Result<Odd> {
    let mut report = Html::new(out, pairs)?;
    each.run(|entry| report.entry(entry))?;
    let (host, release) = machine(input);
    Ok(Odd { moved: report.moved, spans: report.end(&host, &release)?, ..Odd::default() })
}

fn perfetto(pairs: Vec<Pair>, each: &mut Each<'_, '_>, out: &mut dyn Write) -> io::Result<Odd> {
    let (mut trace, mut bytes) = (Perfetto::new(pairs), Vec::new());
    each.run(|entry| {
        trace.entry(entry, &mut bytes);
        pack_full(&mut bytes, out)
    })?;
    Ok(Odd { left_out: trace.left_out, spans: trace.end(&mut bytes, out)?, ..Odd::default() })
}

/// Releases of the kernels, by file.
fn releases(input: &Input) -> Vec<String> {
    let release = |s: System| text(&s.release);
    let of = |f: &Snapshot| f.system.map_or_else(String::new, release);
    input.files.iter().map(of).collect()
}

#[cfg(feature = "parquet")]
fn parquet(input: &Input, each: &mut Each<'_, '_>, path: &Path) -> io::Result<Odd> {
    use crate::output::parquet::{packer, Parquet};
    std::thread::scope(|scope| {
        let packer = packer(scope, usize::from(each.threads > 1))?;
        let mut rows = Parquet::new(path, releases(input), packer);
        each.run(|entry| rows.entry(entry))?;
        let odd = Odd { left_out: rows.left_out, ..Odd::default() };
        rows.end()?;
        Ok(odd)
    })
}

fn otlp(input: &Input, each: &mut Each<'_, '_>, out: &mut dyn Write) -> io::Result<Odd> {
    let mut logs = Otlp::new(out, releases(input));
    match each.threads {
        1 => each.run(|entry| logs.entry(entry))?,
        _ => each.run_by(Maker::default, |made| logs.add(made, |file| &input.boots[file]))?,
    }
    let odd = Odd { left_out: logs.left_out, ..Odd::default() };
    logs.end()?;
    Ok(odd)
}
