// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Last words: the newest records as lines of the kernel's log, for when that is all that is left.
//!
//! An event (a panic, an oops, a task that hangs, a CPU that is stuck) has up to [`LINES`] lines
//! like
//!
//! ```text
//! blog-words:panic:1/4:0123abcd:DATA:89abcdef
//! ```
//!
//! with its cause, the number of the line and how many there are, a tag that all lines of the event
//! have in common, data, and the CRC-32 of all that is before the last colon, from the line's first
//! letter on. No spaces: whatever passes on the log may break lines at them.
//!
//! Each line can be read without the others. Its data is Base64 without padding of a raw deflate
//! stream, of at most [`RAW_MAX`] bytes: a file's header and whole sections of a
//! stream, whose numbers and checksums are 0. All of it is about one ring, with a
//! piece of that: its newest records that earlier lines don't have. The first line also says what
//! machine it was, how its clocks went, what the task was doing and whom it was waiting for.

/// How each line begins.
pub const MARK: &[u8; 11] = b"blog-words:";
/// Most lines of an event.
pub const LINES: usize = 8;
/// Longest data of all lines together, packed: with what introduces them, 4 KiB of text.
pub const PACKED_ALL: usize = 2680;
/// Longest data of a line, packed.
pub const PACKED_MAX: usize = 681;
/// Longest data of a line, not packed.
pub const RAW_MAX: usize = 4096;
/// Longest line.
pub const LINE_MAX: usize = 947;

const _: () = {
    const AROUND: usize = MARK.len() + "panic:1/4:01234567:".len() + ":01234567".len();
    assert!(LINE_MAX == AROUND + (PACKED_MAX * 4).div_ceil(3));
    // And some for the line that introduces them.
    assert!(LINES * (AROUND + 2) + (PACKED_ALL * 4).div_ceil(3) <= 4096 - 160);
};

/// Why there are last words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Why {
    /// The machine has stopped.
    Panic = 0,
    /// A task or an interrupt has died.
    Oops = 1,
    /// The hung-task detector has found a task.
    Hang = 2,
    /// A CPU does not get on: a lockup.
    Stuck = 3,
}

impl Why {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Panic, Self::Oops, Self::Hang, Self::Stuck];

    /// Its name, as lines have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Panic => "panic",
            Self::Oops => "oops",
            Self::Hang => "hang",
            Self::Stuck => "stuck",
        }
    }
}

/// What a line says besides its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The cause.
    pub why: Why,
    /// Which line it is, from 1 on, and of how many. Less than 10.
    pub number: u8,
    /// See there.
    pub count: u8,
    /// What lines of an event have in common.
    pub tag: u32,
}

/// A line that is being written.
struct Line<'a> {
    to: &'a mut [u8],
    len: usize,
}

impl Line<'_> {
    fn push(&mut self, bytes: &[u8]) {
        if let Some(to) = self.to.get_mut(self.len..self.len + bytes.len()) {
            to.copy_from_slice(bytes);
            self.len += bytes.len();
        }
    }

    fn hex(&mut self, n: u32) {
        let digit = |at: u32| b"0123456789abcdef"[(n >> (28 - 4 * at) & 15) as usize];
        self.push(&core::array::from_fn::<_, 8, _>(|at| digit(at as u32)));
    }

    fn base64(&mut self, bytes: &[u8]) {
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        for three in bytes.chunks(3) {
            let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
            let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
            let digit = |at: usize| DIGITS[(bits >> (18 - 6 * at) & 63) as usize];
            let all: [u8; 4] = core::array::from_fn(digit);
            self.push(&all[..three.len() + 1]);
        }
    }
}

/// Writes a line of packed data, at most [`PACKED_MAX`] bytes, and returns its length. `crc` is
/// CRC-32.
pub fn write(
    to: &mut [u8; LINE_MAX],
    head: &Head,
    packed: &[u8],
    crc: impl Fn(&[u8]) -> u32,
) -> usize {
    let mut text = Line { to, len: 0 };
    text.push(MARK);
    text.push(head.why.name().as_bytes());
    text.push(&[b':', b'0' + head.number, b'/', b'0' + head.count, b':']);
    text.hex(head.tag);
    text.push(b":");
    text.base64(packed);
    let crc = crc(text.to.get(..text.len).unwrap_or_default());
    text.push(b":");
    text.hex(crc);
    text.len
}
