// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! What becomes of the lines of a kernel's log on their way to a file.

/// A line as the kernel logged it: time in us, and text. Its level is info.
pub type Logged<'a> = (u64, &'a str);

pub struct Transport {
    pub name: &'static str,
    /// The file that has these lines.
    pub file: fn(&[Logged<'_>]) -> Vec<u8>,
}

/// "[    4.500000] text"
fn printed((us, text): &Logged<'_>) -> String {
    format!("[{:5}.{:06}] {text}", us / 1_000_000, us % 1_000_000)
}

/// All lines, each of which `form` makes one or more of.
fn each(lines: &[Logged<'_>], form: impl Fn(&Logged<'_>) -> String) -> Vec<u8> {
    lines.iter().map(form).collect::<String>().into_bytes()
}

/// All lines, as a console prints them, each in pieces of `width` letters that `form` makes a line of.
fn pieces(lines: &[Logged<'_>], width: usize, form: impl Fn(&str) -> String) -> Vec<u8> {
    each(lines, |line| {
        let line = printed(line);
        let parts = line.as_bytes().chunks(width);
        parts.map(|part| form(std::str::from_utf8(part).unwrap())).collect()
    })
}

/// As one string of JSON.
fn string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('/', "\\/"))
}

fn utf16(text: &[u8], bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let text = format!("\u{feff}{}", std::str::from_utf8(text).unwrap());
    text.encode_utf16().flat_map(bytes).collect()
}

/// Packets of extended netconsole, of at most 1000 bytes.
fn netconsole((us, text): &Logged<'_>, release: &str, end: &str) -> String {
    let head = format!("{release}6,300,{us},-");
    if head.len() + text.len() < 999 {
        return format!("{head};{text}\n");
    }
    let parts = text.as_bytes().chunks(300).enumerate();
    let part = |(n, part): (usize, &[u8])| {
        let part = std::str::from_utf8(part).unwrap();
        format!("{head},ncfrag={}/{};{part}{end}", n * 300, text.len())
    };
    let all: String = parts.map(part).collect();
    all.trim_end().to_owned() + "\n"
}

/// Quoted-printable, with lines of at most 76 letters.
fn quoted_printable(lines: &[Logged<'_>], plus: &str) -> Vec<u8> {
    let head = b"Content-Type: text/plain\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n";
    let body = each(lines, |line| {
        let text = printed(line).replace('=', "=3D").replace('+', plus);
        let (mut out, mut rest) = (String::new(), &text[..]);
        while rest.len() > 76 {
            // Not within an escape.
            let at = (73..=75).find(|at| !rest[at - 2..*at].contains('=')).unwrap();
            out += &format!("{}=\r\n", &rest[..at]);
            rest = &rest[at..];
        }
        out + rest + "\r\n"
    });
    [&head[..], &body].concat()
}

macro_rules! transports {
    ($($name:literal => $file:expr,)*) => {
        &[$(Transport { name: $name, file: $file }),*]
    };
}

/// Those that there are.
pub const TRANSPORTS: &[Transport] = transports! {
    "dmesg" => |lines| each(lines, |line| printed(line) + "\n"),
    "dmesg, in a file of Windows" => |lines| each(lines, |line| printed(line) + "\r\n"),
    "dmesg, in UTF-16" => |lines| {
        utf16(&each(lines, |line| printed(line) + "\r\n"), u16::to_le_bytes)
    },
    "dmesg, in UTF-16 of the other order" => |lines| {
        utf16(&each(lines, |line| printed(line) + "\n"), u16::to_be_bytes)
    },
    "dmesg --decode" => |lines| each(lines, |line| format!("kern  :info  : {}\n", printed(line))),
    "dmesg --raw" => |lines| each(lines, |line| format!("<6>{}\n", printed(line))),
    "dmesg --json" => |lines| {
        let object = |line: &Logged<'_>| {
            let (us, text) = line;
            let text = text.replace('/', "\\/");
            let (s, us) = (us / 1_000_000, us % 1_000_000);
            format!(
                "{{\n         \"pri\": 6,\n         \"time\": {s:5}.{us:06},\n         \"msg\": \"{text}\"\n      }}"
            )
        };
        let objects: Vec<_> = lines.iter().map(object).collect();
        format!("{{\n   \"dmesg\": [\n      {}\n   ]\n}}\n", objects.join(",")).into_bytes()
    },
    "dmesg --json, by jq -c" => |lines| {
        let object = |(us, text): &Logged<'_>| {
            let text = text.replace('+', "\\u002B");
            format!("{{\"pri\":6,\"time\":{}.{:06},\"msg\":\"{text}\"}}", us / 1_000_000, us % 1_000_000)
        };
        let objects: Vec<_> = lines.iter().map(object).collect();
        format!("{{\"dmesg\":[{}]}}\n", objects.join(",")).into_bytes()
    },
    "/dev/kmsg" => |lines| each(lines, |(us, text)| format!("6,300,{us},-;{text}\n SUBSYSTEM=x\n")),
    "journalctl -o json" => |lines| each(lines, |(us, text)| {
        format!(
            "{{\"_TRANSPORT\":\"kernel\",\"PRIORITY\":\"6\",\"__REALTIME_TIMESTAMP\":\"{}\",\
             \"_SOURCE_MONOTONIC_TIMESTAMP\":\"{us}\",\"MESSAGE\":{},\"_HOSTNAME\":\"tests\",\
             \"SYSLOG_IDENTIFIER\":\"kernel\",\"__MONOTONIC_TIMESTAMP\":\"{}\"}}\n",
            1_700_000_000_000_000 + us, string(text), us + 77,
        )
    }),
    "journalctl -o json, with text that is no UTF-8" => |lines| each(lines, |(us, text)| {
        format!(
            "{{ \"MESSAGE\" : {:?}, \"_SOURCE_MONOTONIC_TIMESTAMP\" : \"{us}\", \"PRIORITY\" : \"6\" }}\n",
            text.as_bytes()
        )
    }),
    "journalctl -o json-pretty" => |lines| each(lines, |(us, text)| {
        format!(
            "{{\n\t\"_SOURCE_MONOTONIC_TIMESTAMP\" : \"{us}\",\n\t\"MESSAGE\" : {},\n\t\"PRIORITY\" : \
             \"6\"\n}}\n",
            string(text)
        )
    }),
    "journalctl -o json-seq" => |lines| each(lines, |(us, text)| {
        format!(
            "\x1e{{\"_SOURCE_MONOTONIC_TIMESTAMP\":\"{us}\",\"MESSAGE\":{}}}\n",
            string(text)
        )
    }),
    "JSON of another program, as .NET writes it" => |lines| each(lines, |line| {
        format!("{{\"m\": \"{}\"}}\n", printed(line).replace('+', "\\u002B"))
    }),
    "a container's log" => |lines| each(lines, |line| {
        format!(
            "{{\"log\":\"{}\\n\",\"stream\":\"stdout\",\"time\":\"2023-11-14T22:13:24.5Z\"}}\n",
            printed(line)
        )
    }),
    "a pod's log" => |lines| each(lines, |line| {
        format!("2023-11-14T22:13:24.123456789Z stdout F {}\n", printed(line))
    }),
    "kern.log" => |lines| each(lines, |line| {
        format!("Nov 14 22:13:24 tests kernel: {}\n", printed(line))
    }),
    "kern.log, with dates of ISO 8601" => |lines| each(lines, |line| {
        format!("2023-11-14T23:13:24.123456+01:00 tests.example kernel: {}\n", printed(line))
    }),
    "syslog of RFC 3164" => |lines| each(lines, |line| {
        format!("<6>Nov 14 22:13:24 tests kernel: {}\n", printed(line))
    }),
    "syslog of RFC 5424" => |lines| each(lines, |line| {
        format!("<6>1 2023-11-14T22:13:24.1Z tests kernel - - - {}\n", printed(line))
    }),
    "conserver" => |lines| each(lines, |line| {
        format!("[Tue Nov 14 22:13:24 2023] {}\n", printed(line))
    }),
    "xCAT" => |lines| each(lines, |line| format!("[Tue Nov 14 22:13:24 2023]{}\n", printed(line))),
    "goconserver" => |lines| each(lines, |line| format!("[2023-11-14 22:13:24] {}\n", printed(line))),
    "minicom" => |lines| each(lines, |line| format!("[2023-11-14 22:13:24.123] {}\n", printed(line))),
    "ts" => |lines| each(lines, |line| format!("Nov 14 22:13:24 {}\n", printed(line))),
    "ts, with a time of day" => |lines| each(lines, |line| format!("22:13:24 {}\n", printed(line))),
    "tio" => |lines| each(lines, |line| format!("[22:13:24.123] {}\n", printed(line))),
    "dates of ISO 8601" => |lines| each(lines, |line| {
        format!("2023-11-14T22:13:24.123+00:00 {}\n", printed(line))
    }),
    "a console server's log of syslog" => |lines| each(lines, |line| {
        format!("[Tue Nov 14 22:13:24 2023] Nov 14 22:13:24 tests kernel: {}\n", printed(line))
    }),
    "syslog of busybox" => |lines| each(lines, |line| {
        format!("Nov 14 22:13:24 tests kern.info kernel: {}\n", printed(line))
    }),
    "OpenWrt's log" => |lines| each(lines, |line| {
        format!("Tue Nov 14 22:13:24 2023 kern.info kernel: {}\n", printed(line))
    }),
    "syslog that a template has made, with the message's blank" => |lines| each(lines, |line| {
        format!("2023-11-14T22:13:24.1Z tests kernel - - -  {}\n", printed(line))
    }),
    "netconsole, by syslog" => |lines| each(lines, |line| {
        format!("Nov 14 22:13:24 10.0.0.7 {}\n", printed(line))
    }),
    "extended netconsole, by syslog" => |lines| each(lines, |line| {
        let packets = netconsole(line, "7.3.4,", "\n");
        packets.lines().map(|line| format!("Nov 14 22:13:24 10.0.0.7 {line}\n")).collect()
    }),
    "ts, with seconds since 1970" => |lines| each(lines, |line| {
        format!("1700000004.123456 {}\n", printed(line))
    }),
    "seconds since 1970 in brackets" => |lines| each(lines, |line| {
        format!("[1700000004.123456] {}\n", printed(line))
    }),
    "dates with a bar" => |lines| each(lines, |line| {
        format!("2023-11-14 22:13:24 | {}\n", printed(line))
    }),
    "a console that ends lines the other way round" => |lines| each(lines, |line| printed(line) + "\n\r"),
    "text that is indented" => |lines| each(lines, |line| format!("    {}\n", printed(line))),
    "a terminal with colours" => |lines| each(lines, |(us, text)| {
        format!(
            "\x1b[32m[{:5}.{:06}] \x1b[0m\x1b[33m{text}\x1b[0m\r\n", us / 1_000_000, us % 1_000_000
        )
    }),
    "netconsole" => |lines| each(lines, |line| netconsole(line, "", "")),
    "netconsole, with the release" => |lines| each(lines, |line| netconsole(line, "7.3.4-rc1+,", "\n")),
    "netconsole, with dates" => |lines| each(lines, |line| {
        let packets = netconsole(line, "7.3.4,", "\n");
        packets.lines().map(|line| format!("2023-11-14 22:13:24 {line}\n")).collect()
    }),
    "quoted mail" => |lines| each(lines, |line| format!("> {}\n", printed(line))),
    "mail that is quoted twice" => |lines| each(lines, |line| format!(">> {}\n", printed(line))),
    "quoted-printable" => |lines| quoted_printable(lines, "+"),
    "quoted-printable, with more escapes" => |lines| quoted_printable(lines, "=2B"),
    "blanks at the ends" => |lines| each(lines, |line| printed(line) + "     \n"),
};

/// Those that break a line, so that nobody can tell where the next one begins: only last words are found.
pub const BREAKS: &[Transport] = transports! {
    "a screen" => |lines| pieces(lines, 80, |part| format!("{part}\n")),
    "a screen with blanks at the ends" => |lines| pieces(lines, 83, |part| format!("{part:100}\n")),
    "quoted mail that was broken" => |lines| pieces(lines, 72, |part| format!("> {part}\r\n")),
    "a console server that breaks lines" => |lines| {
        pieces(lines, 80, |part| format!("[Tue Nov 14 22:13:24 2023] {part}\n"))
    },
    "minicom, which breaks lines" => |lines| {
        pieces(lines, 80, |part| format!("[2023-11-14 22:13:24.123] {part}\n"))
    },
    "ts, of a terminal that breaks lines" => |lines| {
        pieces(lines, 80, |part| format!("Nov 14 22:13:24 {part}\n"))
    },
    "syslog that breaks lines" => |lines| {
        pieces(lines, 500, |part| format!("Nov 14 22:13:24 tests kernel: {part}\n"))
    },
    "JSON in quoted mail" => |lines| each(lines, |line| {
        let line = format!("{{\"MESSAGE\":{}}}", string(&printed(line)));
        let parts = line.as_bytes().chunks(70);
        let part = |part| format!("> {}\n", std::str::from_utf8(part).unwrap());
        parts.map(part).collect()
    }),
};
