// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Files that gzip, zstd or xz have packed, which their first bytes say. Who reads sets the limit:
//! a few bytes can be unpacked to any number.

use std::{
    fs::File,
    io::{
        self,
        BufRead,
        BufReader,
        Cursor,
        Read,
        Write, //
    },
    path::Path,
};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

/// How a file is packed.
#[derive(Clone, Copy)]
enum Form {
    Gzip,
    Zstd,
    Xz,
}

/// What xz has packed is unpacked at once, and so much of it at most.
const XZ_MAX: usize = 1 << 30;
/// What files end with that are packed.
pub const EXTENSIONS: [&str; 3] = ["gz", "zst", "xz"];

impl Form {
    /// By a file's first bytes.
    fn of(start: &[u8]) -> Option<Self> {
        match start {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            [0xfd, b'7', b'z', b'X', b'Z', ..] => Some(Self::Xz),
            _ => None,
        }
    }
}

/// Whether a regular file is packed.
pub fn is_packed(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(8).read_to_end(&mut start)?;
    Ok(Form::of(&start).is_some())
}

/// Unpacks `input` as it is read, if it is packed.
pub fn reader<'a>(input: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut input = BufReader::with_capacity(64 << 10, input);
    Ok(match Form::of(input.fill_buf()?) {
        None => Box::new(input),
        Some(Form::Gzip) => Box::new(MultiGzDecoder::new(input)),
        Some(Form::Xz) => {
            let mut out = Bounded(Vec::new());
            lzma_rs::xz_decompress(&mut input, &mut out).map_err(io::Error::other)?;
            Box::new(Cursor::new(out.0))
        }
        Some(Form::Zstd) => Box::new(Frames {
            input: Some(input),
            frame: None,
        }),
    })
}

/// Reads a whole file, unpacked, of at most `max` bytes.
pub fn read(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = reader(File::open(path)?)?;
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::Error::other("too large when it is unpacked"));
    }
    Ok(bytes)
}

/// At most [`XZ_MAX`] bytes.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match bytes.len() <= XZ_MAX - self.0.len() {
            true => self.0.write(bytes),
            false => Err(io::Error::other("too large when it is unpacked")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The frames of a zstd file, of which there may be several.
struct Frames<R: BufRead> {
    input: Option<R>,
    frame: Option<StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>,
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                match frame.read(buf)? {
                    0 if !buf.is_empty() => {}
                    n => return Ok(n),
                }
            }
            if let Some(frame) = self.frame.take() {
                self.input = Some(frame.into_inner());
            }
            let Some(mut input) = self.input.take() else {
                return Ok(0);
            };
            if input.fill_buf()?.is_empty() {
                return Ok(0);
            }
            let frame = StreamingDecoder::new(input).map_err(io::Error::other)?;
            self.frame = Some(frame);
        }
    }
}
