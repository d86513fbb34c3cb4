// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `convert`: records into a file of another program's format.

#[cfg(feature = "ctf")]
use std::collections::HashSet;
use std::{
    io::{self, Write},
    path::Path,
    thread,
};

use super::{
    args::{Convert, Converted, Form, InputArgs, Report},
    atomic_output,
    extract::extract,
    input::Input,
    poll::Signals,
    report::{complain, Failure, Status},
    session::{End, Session},
    spans::{notes, problems, NONE},
};
use crate::{
    batch::{Coded, Coding, Work},
    decode::{Decoder, Entry},
    export::{
        html::{packer, Html, Places},
        perfetto::{self, Packets, Perfetto},
    },
    filter::Filter,
    foreign::Log,
    output::text::Line,
    snapshot::text,
    spans::{Found, Pair, Unpaired},
    tasks::{collect, Wanted},
};

/// That the program was built without a format. scripts/build-decode looks for that of Parquet.
#[cfg(not(all(feature = "ctf", feature = "otlp", feature = "parquet")))]
macro_rules! lacks {
    ($form:literal, $feature:literal) => {
        Err(concat!(
            "this blog-decode was built without ",
            $form,
            ": build it with the feature ",
            $feature
        )
        .into())
    };
}

/// Converts.
pub fn convert(args: &Convert) -> Result<Status, Failure> {
    match args.to {
        Form::Snapshot => extract(args),
        form => write(&args.input, form, &args.output, &args.what),
    }
}

/// Writes a report, which is a form of its own.
pub fn report(args: &Report) -> Result<Status, Failure> {
    write(&args.input, Form::Html, &args.output, &args.what)
}

/// Writes records in a form.
fn write(input: &InputArgs, to: Form, output: &Path, args: &Converted) -> Result<Status, Failure> {
    let pairs = args.spans.pairs();
    if pairs.is_empty() && !args.spans.keys.key.is_empty() {
        return Err("--key needs --span START END".into());
    }
    if !pairs.is_empty() && !matches!(to, Form::Html | Form::Perfetto) {
        return Err("--span: only html and perfetto have spans".into());
    }
    let mut session = Session::open(input, &args.filters, !args.logs.is_empty(), args.jobs)?;
    // Nothing is written so far.
    let signals = Signals::new()?;
    let mut logs = session.input.logs(&args.logs)?;
    // They have no time that others could be put beside.
    logs.iter_mut().for_each(Log::leave_out_earlier);
    let input = &session.input;
    input.tell_unknown("--key", &args.spans.keys.key);
    let (has_logs, threads) = (!logs.is_empty(), session.threads);
    #[cfg(feature = "ctf")]
    let components: HashSet<_> = session.streams.iter().map(|s| s.component.clone()).collect();
    #[cfg(feature = "ctf")]
    let counts = (components.len() + logs.len(), input.boots.len() + logs.len());
    let decoder = session.decoder("converting", false);
    let mut decoder = decoder.with_logs(logs);
    let mut each = EntryWriter { decoder: &mut decoder, signals: &signals, has_logs, threads };
    let mut odd = ConvertNotes::default();
    let made = match to {
        #[cfg(feature = "ctf")]
        Form::Ctf => atomic_output::directory(output, |path| {
            told(ctf(input, counts, &mut each, path)).map(|n| odd = n)
        }),
        #[cfg(not(feature = "ctf"))]
        Form::Ctf => lacks!("CTF", "ctf"),
        Form::Perfetto => atomic_output::file(output, args.force, |out| {
            told(to_perfetto(pairs, &mut each, out)).map(|n| odd = n)
        }),
        Form::Html => atomic_output::file(output, args.force, |out| {
            let hang = hang(input, &session.filter);
            told(html(input, (pairs, &hang), &mut each, out)).map(|n| odd = n)
        }),
        #[cfg(feature = "parquet")]
        Form::Parquet => {
            atomic_output::directory(output, |path| told(parquet(&mut each, path)).map(|n| odd = n))
        }
        #[cfg(not(feature = "parquet"))]
        Form::Parquet => lacks!("Parquet", "parquet"),
        #[cfg(feature = "otlp")]
        Form::Otlp => atomic_output::file(output, args.force, |out| {
            told(otlp(&mut each, out)).map(|n| odd = n)
        }),
        #[cfg(not(feature = "otlp"))]
        Form::Otlp => lacks!("OTLP", "otlp"),
        // Made above: it takes no records.
        Form::Snapshot => Ok(()),
    };
    match made {
        Ok(()) => {}
        // The reader has enough.
        Err(e) if e == atomic_output::CLOSED => return Ok(session.input.status),
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
struct ConvertNotes {
    /// Records and losses.
    left_out: u64,
    moved: u64,
    spans: Vec<Found>,
}

/// Goes through the records, until there are no more or a signal asks for an end.
struct EntryWriter<'a, 'b> {
    decoder: &'a mut Decoder<'b>,
    signals: &'a Signals,
    /// Whether there are other logs: then no other thread decodes.
    has_logs: bool,
    threads: usize,
}

impl<'b> EntryWriter<'_, 'b> {
    fn run(&mut self, mut entry: impl FnMut(&Entry<'_>) -> io::Result<()>) -> io::Result<()> {
        let signals = self.signals;
        self.decoder.run(|e| {
            goes_on(signals)?;
            entry(e)
        })
    }

    /// The same by other threads, which do `work`.
    fn run_by<W: Work<'b> + 'b>(
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

impl EntryWriter<'_, '_> {
    /// The same with entries of which bytes are made, by other threads if there are no other logs;
    /// if `is_each`, or there are, with each entry.
    fn run_coded<C: FnMut(&Entry<'_>, &mut Vec<u8>) + Send + 'static>(
        &mut self,
        is_each: bool,
        code: impl Fn() -> C,
        mut take: impl FnMut(Option<&Entry<'_>>, &mut Coded<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        if !is_each && !self.has_logs {
            return self.run_by(|| Coding(code()), |coded| take(None, coded));
        }
        let mut code = code();
        self.run(|entry| {
            let mut coded = Coded::default();
            coded.add(entry, &mut code);
            take(Some(entry), &mut coded)
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
        io::ErrorKind::BrokenPipe => atomic_output::CLOSED.into(),
        _ => format!("not converted: {e}"),
    })
}

#[cfg(feature = "ctf")]
fn ctf(
    input: &Input,
    (components, hosts): (usize, usize),
    each: &mut EntryWriter<'_, '_>,
    path: &Path,
) -> io::Result<ConvertNotes> {
    use std::{
        fs::{self, File},
        io::BufWriter,
    };

    use crate::export::ctf::{fields, Ctf};

    let records = BufWriter::new(File::create(path.join("records"))?);
    let mut trace = Ctf::new(records, components, hosts);
    each.run_coded(false, || fields, |_, coded| trace.add(coded))?;
    let (host, release) = machine(input);
    let odd = ConvertNotes { left_out: trace.left_out, moved: trace.moved, ..Default::default() };
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

/// Who holds up whom, in each boot: whatever records are chosen.
fn hang(input: &Input, filter: &Filter) -> Vec<u8> {
    let wanted = Wanted { boots: filter.boots.clone(), ..Wanted::default() };
    let (answers, _) = collect(&input.captures, &Filter::default(), &wanted, |_| Line::default());
    let mut out = vec![b'['];
    for (n, answer) in answers.iter().enumerate() {
        out.extend_from_slice(if n == 0 { b"" } else { b"," });
        answer.page(&input.boots[answer.file], &mut out);
    }
    out.push(b']');
    out
}

fn html(
    input: &Input,
    (pairs, hang): (Vec<Pair>, &[u8]),
    each: &mut EntryWriter<'_, '_>,
    out: &mut dyn Write,
) -> io::Result<ConvertNotes> {
    thread::scope(|scope| {
        let has_spans = !pairs.is_empty();
        let packer = packer(scope, each.threads - 1);
        let mut report = Html::new(out, pairs, packer)?;
        let code = || {
            let mut places = Places::default();
            move |entry: &Entry<'_>, out: &mut Vec<u8>| places.code(entry, out)
        };
        each.run_coded(has_spans, code, |entry, coded| {
            if let Some(entry) = entry {
                report.span(entry);
            }
            report.add(coded)
        })?;
        let (host, release) = machine(input);
        Ok(ConvertNotes {
            moved: report.moved,
            spans: report.end(&host, &release, hang)?,
            ..Default::default()
        })
    })
}

fn to_perfetto(
    pairs: Vec<Pair>,
    each: &mut EntryWriter<'_, '_>,
    out: &mut dyn Write,
) -> io::Result<ConvertNotes> {
    thread::scope(|scope| {
        let mut packets = Packets::new(perfetto::packer(scope, each.threads - 1), out);
        let mut trace = Perfetto::new(pairs);
        each.run(|entry| {
            trace.entry(entry, &mut packets.waiting);
            packets.pack_full()
        })?;
        Ok(ConvertNotes {
            left_out: trace.left_out,
            spans: trace.end(packets)?,
            ..Default::default()
        })
    })
}

#[cfg(feature = "parquet")]
fn parquet(each: &mut EntryWriter<'_, '_>, path: &Path) -> io::Result<ConvertNotes> {
    use crate::export::parquet::{packer, MadeRows, Parquet, RowWork};

    std::thread::scope(|scope| {
        let is_shared = each.threads > 1 && !each.has_logs;
        let packer = packer(scope, if is_shared { 2 } else { 0 })?;
        let mut rows = Parquet::new(path, packer);
        match each.has_logs {
            false => each.run_by(|| RowWork, |made| rows.add(made))?,
            true => each.run(|entry| {
                let mut made = MadeRows::default();
                made.push(entry);
                rows.add(&mut made)
            })?,
        }
        let odd = ConvertNotes { left_out: rows.left_out, ..Default::default() };
        rows.end()?;
        Ok(odd)
    })
}

#[cfg(feature = "otlp")]
fn otlp(each: &mut EntryWriter<'_, '_>, out: &mut dyn Write) -> io::Result<ConvertNotes> {
    let mut logs = crate::export::otlp::Otlp::new(out);
    each.run(|entry| logs.entry(entry))?;
    logs.flush()?;
    Ok(ConvertNotes { left_out: logs.left_out, ..Default::default() })
}
