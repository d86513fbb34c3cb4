// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Files that gzip, zstd or xz have packed; their first bytes show it.
//!
//! A file may have several members, one after the other. If one is damaged or cut off, a [`Reader`]
//! returns what was unpacked before, then reports once what is [`Lost`], and has nothing more. A
//! packed file may be packed again. The reader sets the limit: a few bytes can be unpacked to any
//! number.

use std::{
    error, fmt,
    fs::File,
    io::{self, BufRead, BufWriter, Read, Write},
    mem,
    path::Path,
};

use flate2::{bufread::GzDecoder, write::GzEncoder, Compression};
use liblzma::{
    bufread::XzDecoder,
    stream::{Error as XzError, Stream},
};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// What files end with that are packed.
pub const EXTENSIONS: [&str; 3] = ["gz", "zst", "xz"];
/// A form is known by as many bytes.
const MAGIC: usize = 6;
/// As much of a packed file is read at once.
const WINDOW: usize = 64 << 10;
/// So much is unpacked at once. What a damaged member gives with the damage is lost.
const CHUNK: usize = 16 << 10;
/// The same of xz, whose decoder gives nothing if it finds damage later in the same chunk.
const XZ_CHUNK: usize = 512;
/// What is packed more often stays so.
const LAYERS: u32 = 4;
/// More memory isn't taken to unpack what xz has packed; `xz -9` needs a quarter of it.
const XZ_MEMORY: u64 = 256 << 20;
/// Ends a zstd frame that ends too early: an empty last block, and a checksum.
const ZSTD_END: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];
/// So many zeros are not written to a file: it has a hole there.
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
    fn from_start(start: &[u8]) -> Option<Self> {
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
    pub fn from_error(e: &io::Error) -> Option<&Self> {
        e.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl error::Error for Lost {}

/// Packs what is written to it, by gzip.
pub struct Packer<W: Write>(BufWriter<GzEncoder<W>>);

impl<W: Write> Packer<W> {
    /// Starts a file.
    pub fn new(to: W) -> Self {
        // A few bytes a call would cost the encoder most of its time.
        Self(BufWriter::with_capacity(WINDOW, GzEncoder::new(to, Compression::default())))
    }

    /// Ends it.
    pub fn finish(self) -> io::Result<W> {
        self.0.into_inner().map_err(io::IntoInnerError::into_error)?.finish()
    }
}

impl<W: Write> Write for Packer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Whether a regular file is packed.
pub fn is_packed(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(MAGIC as u64).read_to_end(&mut start)?;
    Ok(Form::from_start(&start).is_some())
}

/// Unpacks `input` as it is read, if it is packed.
pub fn reader<'a>(input: impl Read + 'a) -> io::Result<Reader<'a>> {
    let mut reader = Reader::new(Box::new(input))?;
    for _ in 1..LAYERS {
        if matches!(reader.member, Member::Plain(_)) {
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
pub fn to_file(from: impl Read, mut to: &File, max: u64) -> io::Result<Option<String>> {
    use std::io::{Seek, SeekFrom};
    let mut from = reader(from)?;
    let (mut lost, mut size) = (None, 0u64);
    let mut buffer = vec![0; 16 * HOLE];
    loop {
        let n = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => n,
            Err(e) => {
                let why = Lost::from_error(&e).map(Lost::to_string);
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
struct ByteStream<'a> {
    from: Box<dyn Read + 'a>,
    bytes: Vec<u8>,
    at: usize,
    /// What is lost of it, if it is packed in another.
    lost: Option<io::Error>,
}

impl ByteStream<'_> {
    /// What comes next: at least `n` bytes, if there are so many.
    fn peek(&mut self, n: usize) -> io::Result<&[u8]> {
        while self.bytes.len() - self.at < n {
            self.bytes.drain(..mem::take(&mut self.at));
            let end = self.bytes.len();
            self.bytes.resize(end + WINDOW, 0);
            let result = self.from.read(&mut self.bytes[end..]);
            self.bytes.truncate(end + *result.as_ref().unwrap_or(&0));
            match result {
                Ok(0) => break,
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // Its end comes next.
                Err(e) if Lost::from_error(&e).is_some() => self.lost = Some(e),
                Err(e) => return Err(e),
            }
        }
        Ok(&self.bytes[self.at..])
    }

    /// Goes on by at most as many bytes as there are in memory.
    fn skip(&mut self, n: usize) {
        self.at = (self.at + n).min(self.bytes.len());
    }
}

impl Read for ByteStream<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.peek(1)?.read(buf)?;
        self.skip(n);
        Ok(n)
    }
}

impl BufRead for ByteStream<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.peek(1)
    }

    fn consume(&mut self, n: usize) {
        self.skip(n);
    }
}

/// Gives what is in a file, unpacked.
pub struct Reader<'a> {
    member: Member<'a>,
    /// What was unpacked last, and how much of that it has given.
    chunk: Vec<u8>,
    at: usize,
    /// Bytes that were unpacked.
    unpacked: u64,
    /// As many will have been at the end of the member, where its header says that.
    whole: Option<u64>,
}

enum Member<'a> {
    Plain(ByteStream<'a>),
    Gzip(Box<GzDecoder<ByteStream<'a>>>),
    Zstd(Box<Zstd>, ByteStream<'a>),
    Xz(Box<XzDecoder<ByteStream<'a>>>),
    /// What readers of zstd skip: it gives nothing.
    Skipped(ByteStream<'a>),
    /// There is no more.
    Ended,
}

const CUT: &str = "cut off";
const DAMAGED: &str = "damaged";

/// Why a member can't be unpacked any further.
enum Failed {
    /// Its own bytes say so.
    Packed(&'static str),
    Reading(io::Error),
}

impl From<io::Error> for Failed {
    fn from(e: io::Error) -> Self {
        let of_xz = e.get_ref().and_then(|e| e.downcast_ref());
        match e.kind() {
            _ if e.raw_os_error().is_some() => Self::Reading(e),
            _ if of_xz == Some(&XzError::MemLimit) => {
                Self::Packed("needing more than 256 MiB of memory")
            }
            io::ErrorKind::UnexpectedEof => Self::Packed(CUT),
            _ => Self::Packed(DAMAGED),
        }
    }
}

impl Member<'_> {
    /// Unpacks some bytes; 0: the member has ended.
    fn unpack(&mut self, to: &mut [u8]) -> Result<usize, Failed> {
        match self {
            Self::Plain(_) | Self::Skipped(_) | Self::Ended => Ok(0),
            Self::Gzip(gzip) => Ok(gzip.read(to)?),
            Self::Zstd(zstd, input) => zstd.unpack(input, to),
            Self::Xz(xz) => {
                let len = to.len().min(XZ_CHUNK);
                Ok(xz.read(&mut to[..len])?)
            }
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Gzip(_) => Form::Gzip.name(),
            Self::Xz(_) => Form::Xz.name(),
            _ => Form::Zstd.name(),
        }
    }
}

impl<'a> Member<'a> {
    /// What comes after it.
    fn into_rest(self) -> Option<ByteStream<'a>> {
        match self {
            Self::Gzip(gzip) => Some(gzip.into_inner()),
            Self::Xz(xz) => Some(xz.into_inner()),
            Self::Plain(input) | Self::Zstd(_, input) | Self::Skipped(input) => Some(input),
            Self::Ended => None,
        }
    }
}

impl Read for Reader<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if let Member::Plain(input) = &mut self.member {
            return match input.read(buf)? {
                0 => input.lost.take().map_or(Ok(0), Err),
                n => Ok(n),
            };
        }
        while self.at == self.chunk.len() {
            if matches!(self.member, Member::Ended) {
                return Ok(0);
            }
            self.chunk.resize(CHUNK, 0);
            let result = self.member.unpack(&mut self.chunk);
            let n = *result.as_ref().unwrap_or(&0);
            (self.at, self.unpacked) = (0, self.unpacked + n as u64);
            self.chunk.truncate(n);
            match result {
                Ok(0) => self.next()?,
                Ok(_) => {}
                Err(Failed::Reading(e)) => return Err(e),
                Err(Failed::Packed(why)) => return Err(self.lost(why)),
            }
        }
        let n = (&self.chunk[self.at..]).read(buf)?;
        self.at += n;
        Ok(n)
    }
}

impl<'a> Reader<'a> {
    fn new(from: Box<dyn Read + 'a>) -> io::Result<Self> {
        let mut input = ByteStream { from, bytes: Vec::new(), at: 0, lost: None };
        let is_packed = Form::from_start(input.peek(MAGIC)?).is_some();
        let (member, chunk) = (Member::Plain(input), Vec::new());
        let mut this = Self { member, chunk, at: 0, unpacked: 0, whole: None };
        if is_packed {
            this.next()?;
        }
        Ok(this)
    }

    /// Begins the next member, if there is one.
    fn next(&mut self) -> io::Result<()> {
        let Some(mut input) = mem::replace(&mut self.member, Member::Ended).into_rest() else {
            return Ok(());
        };
        // Tapes, and xz, pad with zeros.
        loop {
            let zeros = input.peek(MAGIC)?.iter().take_while(|b| **b == 0).count();
            if zeros == 0 {
                break;
            }
            input.skip(zeros);
        }
        let start = input.peek(MAGIC)?;
        let form = Form::from_start(start);
        self.whole = None;
        self.member = match form {
            None if start.is_empty() => return input.lost.take().map_or(Ok(()), Err),
            None => {
                let at = self.unpacked;
                return Err(told(format!("what comes after {at} unpacked bytes isn't packed")));
            }
            Some(Form::Gzip) => Member::Gzip(Box::new(GzDecoder::new(input))),
            Some(Form::Zstd) => {
                let mut frame = FrameDecoder::new();
                let failed = match frame.init(&mut input) {
                    Ok(()) => None,
                    Err(_) => Some(why(&mut input)?),
                };
                let size = Some(frame.content_size()).filter(|size| *size > 0);
                self.whole = size.map(|size| self.unpacked.saturating_add(size));
                Member::Zstd(Box::new(Zstd { frame, failed }), input)
            }
            Some(Form::Skipped) => {
                skip_frame(&mut input)?;
                Member::Skipped(input)
            }
            Some(Form::Xz) => {
                let stream = Stream::new_stream_decoder(XZ_MEMORY, 0);
                Member::Xz(Box::new(XzDecoder::new_stream(input, stream?)))
            }
        };
        Ok(())
    }

    /// Ends, and says why: what is lost of the file in which this one is packed goes first.
    fn lost(&mut self, why: &str) -> io::Error {
        let member = mem::replace(&mut self.member, Member::Ended);
        let (name, at) = (member.name(), self.unpacked);
        let of = self.whole.map_or(String::new(), |n| format!("of {n} "));
        member.into_rest().and_then(|input| input.lost).unwrap_or_else(|| {
            told(format!("packed by {name}, and {why} after {at} {of}unpacked bytes"))
        })
    }
}

fn told(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, Lost(why))
}

/// Whether what was read is cut off or damaged.
fn why(input: &mut ByteStream<'_>) -> io::Result<&'static str> {
    Ok(if input.peek(1)?.is_empty() { CUT } else { DAMAGED })
}

/// A frame of zstd.
struct Zstd {
    frame: FrameDecoder,
    /// Why it can't be unpacked any further.
    failed: Option<&'static str>,
}

impl Zstd {
    fn unpack(&mut self, input: &mut ByteStream<'_>, to: &mut [u8]) -> Result<usize, Failed> {
        let Self { frame, failed } = self;
        while frame.can_collect() == 0 {
            if let Some(why) = *failed {
                return Err(Failed::Packed(why));
            }
            if frame.is_finished() {
                let sum = frame.get_checksum_from_data();
                return match sum.is_none() || sum == frame.get_calculated_checksum() {
                    true => Ok(0),
                    false => Err(Failed::Packed(DAMAGED)),
                };
            }
            let one = BlockDecodingStrategy::UptoBlocks(1);
            if frame.decode_blocks(&mut *input, one).is_err() {
                *failed = Some(why(input)?);
                // What it holds back for later blocks is all that there will be.
                let _ = frame.decode_blocks(&ZSTD_END[..], BlockDecodingStrategy::All);
            }
        }
        Ok(frame.read(to)?)
    }
}

fn skip_frame(input: &mut ByteStream<'_>) -> io::Result<()> {
    let len = match input.peek(8)? {
        [_, _, _, _, a, b, c, d, ..] => u32::from_le_bytes([*a, *b, *c, *d]),
        _ => 0,
    };
    io::copy(&mut input.take(8 + u64::from(len)), &mut io::sink()).map(|_| ())
}
