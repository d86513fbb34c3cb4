// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Objects of JSON that have lines of a log.

use super::{
    date::{dated, Date},
    prefix::{begins_a_line, prefixed, Line, Origin, JOINED_MAX, LEVELS},
};
use crate::wire::words::MARK;

/// Reads objects of JSON, one a line: those of the journal, of `dmesg --json`, or of a
/// container.
#[derive(Default)]
pub struct Json {
    /// Objects and lists that are open, with what was read of the object around each.
    open: Vec<(u8, Object)>,
    in_string: bool,
    /// Within a string: after a backslash; hexadecimal digits that are still to come, and their
    /// number; the first half of a character.
    is_escaped: bool,
    digits: u32,
    unit: u32,
    high: Option<u32>,
    /// A string, a number or a word, which is a key or a value.
    value: Vec<u8>,
    has_value: bool,
    is_string: bool,
    key: Vec<u8>,
    /// Bytes of a list of numbers, as the journal has text that is no UTF-8.
    bytes: Option<Vec<u8>>,
    object: Object,
    /// Of objects that are whole, and all text since the last one.
    pub made: Vec<Line>,
    pub raw: Vec<u8>,
    /// This is no JSON, or none of a log.
    pub is_bad: bool,
    pub origin: Origin,
}

/// What an object says.
#[derive(Default)]
struct Object {
    message: Option<Vec<u8>>,
    /// Seconds since boot, as text.
    seconds: Option<String>,
    program: Vec<u8>,
    origin: Origin,
    /// Text whose meaning isn't known.
    others: Vec<Vec<u8>>,
}

/// Objects of logs are not nested deeper.
const DEPTH: usize = 16;

impl Json {
    pub fn new(origin: Origin) -> Self {
        Self { origin, ..Self::default() }
    }

    /// Takes a line, or the rest of one; where in it the object ends, if it does.
    pub fn read(&mut self, text: &[u8]) -> Option<usize> {
        for (at, &byte) in text.iter().enumerate() {
            self.raw.push(byte);
            if !self.take(byte) || self.raw.len() > JOINED_MAX {
                self.raw.extend_from_slice(&text[at + 1..]);
                self.is_bad = true;
                return None;
            }
            if self.open.is_empty() && matches!(byte, b'}' | b']') {
                return Some(at + 1);
            }
        }
        self.raw.push(b'\n');
        None
    }

    /// Takes the next byte; `false`: this is no JSON.
    fn take(&mut self, byte: u8) -> bool {
        if self.in_string {
            return self.letter(byte);
        }
        match byte {
            b'"' if !self.has_value => {
                self.value.clear();
                (self.in_string, self.is_string, self.has_value) = (true, true, true);
            }
            b':' if self.has_value && self.is_string => {
                self.key = std::mem::take(&mut self.value);
                self.has_value = false;
            }
            b'{' | b'[' if self.open.len() < DEPTH && !self.has_value => {
                self.bytes = (byte == b'[').then(Vec::new);
                let around = match byte {
                    b'{' => std::mem::take(&mut self.object),
                    _ => Object::default(),
                };
                self.open.push((byte, around));
            }
            b',' => self.end_of_value(),
            b']' => {
                self.end_of_value();
                if let Some(bytes) = self.bytes.take().filter(|bytes| !bytes.is_empty()) {
                    (self.value, self.has_value, self.is_string) = (bytes, true, true);
                    self.end_of_value();
                }
                return self.open.pop().is_some_and(|(begin, _)| begin == b'[');
            }
            b'}' => {
                self.end_of_value();
                let Some((b'{', around)) = self.open.pop() else {
                    return false;
                };
                let object = std::mem::replace(&mut self.object, around);
                self.end_of_object(object);
            }
            b' ' | b'\t' | b'\r' => {}
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'+' | b'-' | b'.'
                if !self.has_value || !self.is_string =>
            {
                if !self.has_value {
                    self.value.clear();
                    (self.has_value, self.is_string) = (true, false);
                }
                self.value.push(byte);
            }
            _ => return false,
        }
        true
    }

    /// Takes a byte of a string.
    fn letter(&mut self, byte: u8) -> bool {
        if self.digits > 0 {
            let Some(digit) = char::from(byte).to_digit(16) else {
                return false;
            };
            self.unit = self.unit * 16 + digit;
            self.digits -= 1;
            if self.digits == 0 {
                self.unit();
            }
            return true;
        }
        if std::mem::take(&mut self.is_escaped) {
            let plain = match byte {
                b'u' => {
                    (self.digits, self.unit) = (4, 0);
                    return true;
                }
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'b' => 8,
                b'f' => 12,
                b'"' | b'\\' | b'/' => byte,
                _ => return false,
            };
            self.value.push(plain);
            return true;
        }
        match byte {
            b'"' => self.in_string = false,
            b'\\' => self.is_escaped = true,
            byte => self.value.push(byte),
        }
        true
    }

    /// Takes a character, or half of one, that was escaped by its number.
    fn unit(&mut self) {
        let code = match (self.high.take(), self.unit) {
            (_, high @ 0xd800..=0xdbff) => {
                self.high = Some(high);
                return;
            }
            (Some(high), low @ 0xdc00..=0xdfff) => {
                0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)
            }
            (_, code) => code,
        };
        let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        self.value.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }

    fn end_of_value(&mut self) {
        if !std::mem::take(&mut self.has_value) {
            return;
        }
        let value = std::mem::take(&mut self.value);
        let number = std::str::from_utf8(&value).ok().and_then(|n| n.parse::<u64>().ok());
        if let Some(bytes) = &mut self.bytes {
            bytes.extend(number.and_then(|n| u8::try_from(n).ok()));
            return;
        }
        let object = &mut self.object;
        let level = || LEVELS.iter().position(|name| *name == value).map(|n| n as u8);
        let seconds = |us: u64| format!("{:5}.{:06}", us / 1_000_000, us % 1_000_000);
        match &self.key[..] {
            b"MESSAGE" | b"message" | b"msg" | b"log" => object.message = Some(value),
            b"PRIORITY" | b"pri" => object.origin.priority = number.map(|n| n as u8).or_else(level),
            b"_SOURCE_MONOTONIC_TIMESTAMP" => object.seconds = number.map(seconds),
            b"__MONOTONIC_TIMESTAMP" if object.seconds.is_none() => {
                object.seconds = number.map(seconds);
            }
            b"__REALTIME_TIMESTAMP" => {
                object.origin.date = number.map(|us| Date::from_seconds((us / 1_000_000) as i64));
            }
            b"time" if self.is_string => {
                object.origin.date = dated(&value).and_then(|(_, date, _)| date);
            }
            b"time" => object.seconds = String::from_utf8(value).ok(),
            b"_HOSTNAME" => object.origin.host = Some(value),
            b"_BOOT_ID" => object.origin.boot = Some(value),
            b"SYSLOG_IDENTIFIER" => object.program = value,
            _ if self.is_string => object.others.push(value),
            _ => {}
        }
    }

    /// Makes the lines of an object.
    fn end_of_object(&mut self, object: Object) {
        let own = object.origin.date.or(self.origin.date);
        let (message, seconds) = match (object.message, object.seconds) {
            (Some(message), Some(seconds)) => (message, seconds),
            (message, _) => {
                let is_log = |text: &Vec<u8>| {
                    begins_a_line(text) || text.windows(MARK.len()).any(|w| w == MARK)
                };
                let has_message = message.is_some();
                let texts = message.map_or(object.others, |message| vec![message]);
                if !has_message && !texts.iter().any(is_log) {
                    // Nobody knows what of it was logged.
                    return;
                }
                self.raw.clear();
                let lines = texts.iter().flat_map(|text| text.split(|b| *b == b'\n'));
                for text in lines.filter(|text| !text.is_empty()) {
                    let mut line = prefixed(text.to_vec());
                    line.origin.date = line.origin.date.or(own);
                    self.made.push(line);
                }
                return;
            }
        };
        self.raw.clear();
        let mut text = format!("[{seconds}] ").into_bytes();
        if !object.program.is_empty() && object.program != b"kernel" {
            text.extend_from_slice(&object.program);
            text.extend_from_slice(b": ");
        }
        text.extend_from_slice(&message);
        self.made.push(Line { text, at: 0, origin: object.origin });
    }
}
