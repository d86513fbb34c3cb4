// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Files that gzip, zstd or xz have packed; their first bytes show it.
//!
//! A file may have several members, one after the other. If one is damaged or cut off, only the
//! rest of that member is lost: a [`Reader`] returns all bytes that could be unpacked, then reports
//! once what is [`Lost`], and goes on with the next member. That may begin before the place where
//! the damage shows, as a decoder takes the next bytes for its own at first. A packed file may be
//! packed again. The reader sets the limit: a few bytes can be unpacked to any number.

use std::{
    error, fmt,
    fs::File,
    io::{self, Read},
    path::Path,
};

use flate2::{Crc, Decompress, FlushDecompress, Status};
use liblzma::stream::{Action, Stream};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// What files end with that are packed.
pub const EXTENSIONS: [&str; 3] = ["gz", "zst", "xz"];
/// A form is known by as many bytes.
const MAGIC: usize = 6;
/// As much of a packed file is read at once.
const WINDOW: usize = 64 << 10;
/// As much of what was read is kept, to look for a member that was taken for a part of one before it:
/// what a decoder goes through before it notices is less, as a rule.
const KEPT: usize = 256 << 10;
/// So often is that done in one file.
const REWINDS: u32 = 64;
/// What is packed more often stays so.
const LAYERS: u32 = 4;
/// More memory isn't taken to unpack what xz has packed; `xz -9` needs a quarter of it.
const XZ_MEMORY: u64 = 256 << 20;
/// Ends a zstd frame that ends too early: an empty last block, and a checksum.
const ZSTD_END: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];
/// A name or comment in gzip's header is no longer.
const GZIP_NAME: usize = 64 << 10;
/// So many zeros are not written to a file: it has a hole there.
#[cfg(feature = "vmcore")]
const HOLE: usize = 4096;

/// How a member is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Gzip,
    Zstd,
    /// What readers of zstd skip.
    Skipped,
    Xz,
}

impl Form {
    /// By its first bytes.
    fn of(start: &[u8]) -> Option<Self> {
        match start {
            [0x1f, 0x8b, 8, flags, ..] if flags & 0xe0 == 0 => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Skipped),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd | Self::Skipped => "zstd",
            Self::Xz => "xz",
        }
    }
}

/// What could not be unpacked: the source of an [`io::Error`] of [`Reader::read`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost(String);

impl Lost {
    /// The one that an error is about, if it is one.
    pub fn of(e: &io::Error) -> Option<&Self> {
        e.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl error::Error for Lost {}

/// Whether a regular file is packed.
pub fn is_packed(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(MAGIC as u64).read_to_end(&mut start)?;
    Ok(Form::of(&start).is_some())
}

/// Unpacks `input` as it is read, if it is packed.
pub fn reader<'a>(input: impl Read + 'a) -> io::Result<Reader<'a>> {
    let mut reader = Reader::new(Box::new(input))?;
    for _ in 1..LAYERS {
        if matches!(reader.state, State::Plain) {
            break;
        }
        reader = Reader::new(Box::new(reader))?;
    }
    Ok(reader)
}

/// Reads a whole file, unpacked, of at most `max` bytes. What is damaged is an error.
pub fn read(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = reader(File::open(path)?)?;
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(too_large());
    }
    Ok(bytes)
}

/// Unpacks at most `max` bytes to a file; the answer is what is lost of them. Where there are only
/// zeros, it has holes.
#[cfg(feature = "vmcore")]
pub(crate) fn to_file(from: impl Read, mut to: &File, max: u64) -> io::Result<Option<String>> {
    use std::io::{Seek, SeekFrom, Write};
    let mut from = reader(from)?;
    let (mut lost, mut size) = (None, 0u64);
    let mut buffer = vec![0; 16 * HOLE];
    loop {
        let n = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => n,
            Err(e) => {
                let why = Lost::of(&e).map(Lost::to_string);
                lost.get_or_insert(why.ok_or(e)?);
                continue;
            }
        };
        size += n as u64;
        if size > max {
            return Err(too_large());
        }
        for part in buffer[..n].chunks(HOLE) {
            match part.iter().all(|b| *b == 0) {
                true => {
                    to.seek(SeekFrom::Current(part.len() as i64))?;
                }
                false => to.write_all(part)?,
            }
        }
    }
    to.set_len(size)?;
    to.rewind()?;
    Ok(lost)
}

fn too_large() -> io::Error {
    io::Error::other("too large when it is unpacked")
}

/// A packed file, of which a part is in memory.
struct Input<'a> {
    from: Box<dyn Read + 'a>,
    bytes: Vec<u8>,
    at: usize,
    /// What of the file is not in memory any more.
    before: u64,
    /// What is lost of it, if it is packed in another.
    lost: Option<io::Error>,
}

impl Input<'_> {
    /// What comes next: at least `n` bytes, if there are so many.
    fn peek(&mut self, n: usize) -> io::Result<&[u8]> {
        while self.bytes.len() - self.at < n {
            let old = self.at.saturating_sub(KEPT);
            self.bytes.drain(..old);
            self.at -= old;
            self.before += old as u64;
            let end = self.bytes.len();
            self.bytes.resize(end + WINDOW.max(n), 0);
            let result = loop {
                match self.from.read(&mut self.bytes[end..]) {
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    // What comes after it comes next.
                    Err(e) if Lost::of(&e).is_some() => {
                        self.lost.get_or_insert(e);
                    }
                    result => break result,
                }
            };
            let read = *result.as_ref().unwrap_or(&0);
            self.bytes.truncate(end + read);
            if result? == 0 {
                break;
            }
        }
        Ok(&self.bytes[self.at..])
    }

    /// Goes on by at most as many bytes as there are in memory.
    fn skip(&mut self, n: usize) {
        self.at = (self.at + n).min(self.bytes.len());
    }

    /// How many bytes of the file it has gone through.
    fn place(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Goes back to a place, as near as it is in memory.
    fn rewind(&mut self, place: u64) {
        self.at = self.at.min(place.saturating_sub(self.before) as usize);
    }

    fn is_at_end(&mut self) -> io::Result<bool> {
        Ok(self.peek(1)?.is_empty())
    }
}

impl Read for Input<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.peek(1)?.read(buf)?;
        self.skip(n);
        Ok(n)
    }
}

/// Gives what is in a file, unpacked.
pub struct Reader<'a> {
    input: Input<'a>,
    state: State,
    /// Bytes that it has given.
    given: u64,
    /// As many it will have given at the end of the member, where its header says that.
    whole: Option<u64>,
    /// Why the member can't be unpacked any further, once its bytes are given.
    failed: Option<&'static str>,
    /// Where the member begins.
    member: u64,
    rewinds: u32,
}

enum State {
    Plain,
    /// A member begins, or the file ends.
    Between,
    /// What comes belongs to no member.
    Astray,
    Gzip(Box<Gzip>),
    Zstd(Box<Zstd>),
    Xz(Stream),
}

/// What a decoder has done.
enum Step {
    /// It gives that many bytes.
    Gives(usize),
    /// Its member has ended.
    Ends,
    /// It gives so many, and can't go on.
    Fails(usize, &'static str),
}

const CUT: &str = "cut off";
const DAMAGED: &str = "damaged";

impl Read for Reader<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some(e) = self.input.lost.take() {
                return Err(e);
            }
            if let Some(why) = self.failed.take() {
                return Err(self.lost(why));
            }
            let input = &mut self.input;
            let step = match &mut self.state {
                State::Plain => match input.read(buf)? {
                    0 if input.lost.is_some() => continue,
                    n => return Ok(n),
                },
                State::Between => match self.begin()? {
                    false if self.input.lost.is_none() => return Ok(0),
                    _ => continue,
                },
                State::Astray => {
                    self.find()?;
                    continue;
                }
                State::Gzip(member) => member.step(input, buf)?,
                State::Zstd(member) => member.step(input, buf)?,
                State::Xz(stream) => xz(stream, input, buf)?,
            };
            let n = match step {
                Step::Gives(n) => n,
                Step::Ends => {
                    self.state = State::Between;
                    continue;
                }
                Step::Fails(n, why) => {
                    self.failed = Some(why);
                    n
                }
            };
            self.given += n as u64;
            if n > 0 {
                return Ok(n);
            }
        }
    }
}

impl<'a> Reader<'a> {
    fn new(from: Box<dyn Read + 'a>) -> io::Result<Self> {
        let mut input = Input { from, bytes: Vec::new(), at: 0, before: 0, lost: None };
        let state = match Form::of(input.peek(MAGIC)?) {
            Some(_) => State::Between,
            None => State::Plain,
        };
        Ok(Self { input, state, given: 0, whole: None, failed: None, member: 0, rewinds: 0 })
    }

    /// Begins the next member; `false`: there is none.
    fn begin(&mut self) -> io::Result<bool> {
        // Tapes, and xz, pad with zeros.
        loop {
            let bytes = self.input.peek(MAGIC)?;
            let zeros = bytes.iter().take_while(|b| **b == 0).count();
            if zeros == 0 {
                break;
            }
            self.input.skip(zeros);
        }
        let start = self.input.peek(MAGIC)?;
        if start.is_empty() {
            return Ok(false);
        }
        let form = Form::of(start);
        self.member = self.input.place();
        self.whole = None;
        let Some(form) = form else {
            self.state = State::Astray;
            let at = self.given;
            return Err(told(format!("what comes after {at} unpacked bytes isn't packed")));
        };
        let begun = match form {
            Form::Gzip => Gzip::begin(&mut self.input)?.map(|gzip| State::Gzip(Box::new(gzip))),
            Form::Zstd => {
                let mut frame = FrameDecoder::new();
                let begun = frame.init(&mut self.input);
                let size = Some(frame.content_size()).filter(|size| *size > 0);
                self.whole = size.map(|size| self.given.saturating_add(size));
                let failed = None;
                begun.is_ok().then(|| State::Zstd(Box::new(Zstd { frame, failed })))
            }
            Form::Skipped => {
                skip_frame(&mut self.input)?;
                Some(State::Between)
            }
            Form::Xz => {
                let stream = Stream::new_stream_decoder(XZ_MEMORY, 0);
                Some(State::Xz(stream.map_err(io::Error::other)?))
            }
        };
        match begun {
            Some(state) => {
                self.state = state;
                Ok(true)
            }
            None => {
                let why = self.why()?;
                Err(self.lost_of(form.name(), why))
            }
        }
    }

    /// Goes to the next member, or to the end.
    fn find(&mut self) -> io::Result<()> {
        loop {
            let bytes = self.input.peek(MAGIC)?;
            let whole = bytes.len().saturating_sub(MAGIC - 1);
            let found = (0..whole)
                .find(|&i| Form::of(&bytes[i..]).is_some_and(|form| form != Form::Skipped));
            let (n, is_end) = (bytes.len(), whole == 0);
            self.input.skip(found.unwrap_or(if is_end { n } else { whole }));
            if found.is_some() || is_end {
                self.state = State::Between;
                return Ok(());
            }
        }
    }

    /// Whether what was read is cut off or damaged.
    fn why(&mut self) -> io::Result<&'static str> {
        Ok(if self.input.is_at_end()? { CUT } else { DAMAGED })
    }

    /// Gives the member up.
    fn lost(&mut self, why: &str) -> io::Error {
        let name = match self.state {
            State::Gzip(_) => Form::Gzip.name(),
            State::Zstd(_) => Form::Zstd.name(),
            _ => Form::Xz.name(),
        };
        self.lost_of(name, why)
    }

    fn lost_of(&mut self, name: &str, why: &str) -> io::Error {
        self.state = State::Astray;
        if self.rewinds < REWINDS {
            self.rewinds += 1;
            self.input.rewind(self.member + 1);
        }
        let at = self.given;
        let of = self.whole.map_or(String::new(), |n| format!("of {n} "));
        told(format!("packed by {name}, and {why} after {at} {of}unpacked bytes"))
    }
}

fn told(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, Lost(why))
}

/// A member that gzip has packed.
struct Gzip {
    inflate: Decompress,
    crc: Crc,
    /// All is unpacked.
    is_through: bool,
}

impl Gzip {
    /// Reads its header; `None`: it is damaged or cut off.
    fn begin(input: &mut Input<'_>) -> io::Result<Option<Self>> {
        let fixed = input.peek(10)?;
        let (flags, mut is_whole) = (fixed.get(3).copied().unwrap_or(0), fixed.len() >= 10);
        input.skip(10);
        if is_whole && flags & 4 != 0 {
            let len = match input.peek(2)? {
                [a, b, ..] => 2 + usize::from(u16::from_le_bytes([*a, *b])),
                _ => return Ok(None),
            };
            is_whole = input.peek(len)?.len() >= len;
            input.skip(len);
        }
        for flag in [8, 16] {
            if is_whole && flags & flag != 0 {
                let bytes = input.peek(GZIP_NAME)?;
                let end = bytes.iter().take(GZIP_NAME).position(|b| *b == 0);
                is_whole = end.is_some();
                input.skip(end.map_or(0, |n| n + 1));
            }
        }
        if is_whole && flags & 2 != 0 {
            is_whole = input.peek(2)?.len() >= 2;
            input.skip(2);
        }
        Ok(is_whole.then(|| Self {
            inflate: Decompress::new(false),
            crc: Crc::new(),
            is_through: false,
        }))
    }

    fn step(&mut self, input: &mut Input<'_>, buf: &mut [u8]) -> io::Result<Step> {
        if self.is_through {
            return self.end(input);
        }
        let packed = input.peek(1)?;
        let is_end = packed.is_empty();
        let (before, given) = (self.inflate.total_in(), self.inflate.total_out());
        let result = self.inflate.decompress(packed, buf, FlushDecompress::None);
        let read = (self.inflate.total_in() - before) as usize;
        let n = (self.inflate.total_out() - given) as usize;
        input.skip(read);
        self.crc.update(&buf[..n]);
        match result {
            Err(_) => Ok(Step::Fails(n, DAMAGED)),
            Ok(Status::Ok | Status::BufError) if n == 0 && read == 0 && is_end => {
                Ok(Step::Fails(0, CUT))
            }
            Ok(status) => {
                self.is_through = status == Status::StreamEnd;
                Ok(Step::Gives(n))
            }
        }
    }

    /// Compares with what comes after it.
    fn end(&mut self, input: &mut Input<'_>) -> io::Result<Step> {
        let sums = match input.peek(8)? {
            [a, b, c, d, e, f, g, h, ..] => [[*a, *b, *c, *d], [*e, *f, *g, *h]],
            _ => return Ok(Step::Fails(0, CUT)),
        };
        input.skip(8);
        let own = [self.crc.sum(), self.crc.amount()];
        Ok(match sums.map(u32::from_le_bytes) == own {
            true => Step::Ends,
            false => Step::Fails(0, DAMAGED),
        })
    }
}

/// A frame of zstd.
struct Zstd {
    frame: FrameDecoder,
    /// Why it can't be unpacked any further.
    failed: Option<&'static str>,
}

impl Zstd {
    fn step(&mut self, input: &mut Input<'_>, buf: &mut [u8]) -> io::Result<Step> {
        let Self { frame, failed } = self;
        while frame.can_collect() == 0 {
            if let Some(why) = *failed {
                return Ok(Step::Fails(0, why));
            }
            if frame.is_finished() {
                let sum = frame.get_checksum_from_data();
                let is_right = sum.is_none() || sum == frame.get_calculated_checksum();
                return Ok(match is_right {
                    true => Step::Ends,
                    false => Step::Fails(0, DAMAGED),
                });
            }
            let one = BlockDecodingStrategy::UptoBlocks(1);
            if frame.decode_blocks(&mut *input, one).is_err() {
                *failed = Some(if input.is_at_end()? { CUT } else { DAMAGED });
                // What it holds back for later blocks is all that there will be.
                let _ = frame.decode_blocks(&ZSTD_END[..], BlockDecodingStrategy::All);
            }
        }
        frame.read(buf).map(Step::Gives)
    }
}

fn skip_frame(input: &mut Input<'_>) -> io::Result<()> {
    let len = match input.peek(8)? {
        [_, _, _, _, a, b, c, d, ..] => u32::from_le_bytes([*a, *b, *c, *d]),
        _ => 0,
    };
    io::copy(&mut input.take(8 + u64::from(len)), &mut io::sink()).map(|_| ())
}

/// Goes on in a stream of xz.
fn xz(stream: &mut Stream, input: &mut Input<'_>, buf: &mut [u8]) -> io::Result<Step> {
    let packed = input.peek(1)?;
    let is_end = packed.is_empty();
    let action = if is_end { Action::Finish } else { Action::Run };
    let (before, given) = (stream.total_in(), stream.total_out());
    let result = stream.process(packed, buf, action);
    let read = (stream.total_in() - before) as usize;
    let n = (stream.total_out() - given) as usize;
    input.skip(read);
    Ok(match result {
        Ok(liblzma::stream::Status::StreamEnd) if n > 0 => Step::Gives(n),
        Ok(liblzma::stream::Status::StreamEnd) => Step::Ends,
        Ok(_) if n == 0 && read == 0 && is_end => Step::Fails(0, CUT),
        Ok(_) => Step::Gives(n),
        Err(liblzma::stream::Error::MemLimit) => {
            Step::Fails(n, "needing more than 256 MiB of memory")
        }
        Err(_) => Step::Fails(n, DAMAGED),
    })
}
