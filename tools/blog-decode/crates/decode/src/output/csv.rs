// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Entries as comma-separated values (RFC 4180, lines end with LF), for spreadsheets and databases.
//!
//! The columns are those of [`HEADER`]; what isn't known is empty. `source` is `blog`, or `dmesg` or
//! `ftrace` for a line of those. Losses have `lost` as their level. Bytes that are no UTF-8 become U+FFFD.

use super::{
    level_name,
    text::{escape_lines, loss},
};
use crate::{
    blogfmt::bytes::until_nul,
    decode::{Content, Entry},
    digits,
};

/// The columns.
pub const HEADER: &str =
    "boot_ns,wall_ns,host,boot_id,source,level,component,context,cpu,pid,tgid,comm,ring,module,file,line,message";

/// Appends the header line.
pub fn header(out: &mut Vec<u8>) {
    out.extend_from_slice(HEADER.as_bytes());
    out.push(b'\n');
}

/// Appends an entry's line.
pub fn entry(entry: &Entry<'_>, out: &mut Vec<u8>) {
    let (clock, c, writer) = (entry.clock, &entry.boot.calibration, &entry.writer);
    let site = match &entry.content {
        Content::Record(r) => r.found.as_ref().and_then(|f| f.site),
        Content::Loss { .. } | Content::Line { .. } => None,
    };
    digits::push_signed(out, c.boot(clock));
    out.push(b',');
    if c.is_known() {
        digits::push_signed(out, c.real(clock));
    }
    out.push(b',');
    field(entry.boot.host.as_bytes(), out);
    out.push(b',');
    field(entry.boot.id.as_deref().unwrap_or("").as_bytes(), out);
    let (source, component): (&[u8], _) = match &entry.content {
        Content::Line { .. } => (entry.stream.component.as_bytes(), ""),
        _ => (b"blog", &entry.stream.component),
    };
    out.push(b',');
    field(source, out);
    out.push(b',');
    match &entry.content {
        Content::Record(_) => field(site.map_or("", |s| level_name(s.level)).as_bytes(), out),
        Content::Loss { .. } => field(b"lost", out),
        Content::Line { level, .. } => field(level.map_or("", level_name).as_bytes(), out),
    }
    out.push(b',');
    field(component.as_bytes(), out);
    out.push(b',');
    field(writer.context.map_or("", |c| c.name()).as_bytes(), out);
    out.push(b',');
    let task = writer.task.as_ref();
    let numbers =
        [writer.cpu.map(i128::from), task.map(|t| t.pid.into()), task.map(|t| t.tgid.into())];
    for n in numbers {
        if let Some(n) = n {
            digits::push_signed(out, n);
        }
        out.push(b',');
    }
    field(task.map_or(&[][..], |t| until_nul(&t.comm)), out);
    out.push(b',');
    if !matches!(entry.content, Content::Line { .. }) {
        digits::push(out, entry.stream.id.into());
    }
    out.push(b',');
    field(site.map_or("", |s| s.module.as_str()).as_bytes(), out);
    out.push(b',');
    field(site.map_or("", |s| s.file.as_str()).as_bytes(), out);
    out.push(b',');
    if let Some(site) = site {
        digits::push(out, site.line.into());
    }
    out.push(b',');
    match &entry.content {
        Content::Record(r) => field(r.message, out),
        Content::Line { message, .. } => field(message, out),
        Content::Loss { cause, count, .. } => {
            let mut text = Vec::new();
            loss(*cause, *count, &mut text);
            field(&text, out);
        }
    }
    out.push(b'\n');
}

/// A cell of text. One that a spreadsheet would take for a formula gets an apostrophe in front.
pub(super) fn field(bytes: &[u8], out: &mut Vec<u8>) {
    let is_plain = |b: &u8| matches!(b, b' '..=b'~') && *b != b'"' && *b != b',';
    let is_formula = bytes.first().is_some_and(|b| b"=+-@\t".contains(b));
    if bytes.iter().all(is_plain) && !is_formula {
        return out.extend_from_slice(bytes);
    }
    let mut text = bytes.to_vec();
    escape_lines(&mut text, 0);
    out.extend_from_slice(if is_formula { b"\"'" } else { b"\"" });
    for b in text {
        out.extend_from_slice(if b == b'"' { b"\"" } else { b"" });
        out.push(b);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        for (bytes, expected) in [
            (&b"plain text"[..], "plain text"),
            (b"a,b", "\"a,b\""),
            (b"say \"x\"", "\"say \"\"x\"\"\""),
            (b"two\nlines", "\"two\nlines\""),
            (b"=1+1", "\"'=1+1\""),
            (b"@x", "\"'@x\""),
            (b"+x", "\"'+x\""),
            (b"-x", "\"'-x\""),
            (b"\x1b[2J\r\xe2\x80\xae", "\"\\x1b[2J\\x0d\\u{202e}\""),
            (b"\xff", "\"\u{fffd}\""),
            (b"", ""),
        ] {
            let mut out = Vec::new();
            field(bytes, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
