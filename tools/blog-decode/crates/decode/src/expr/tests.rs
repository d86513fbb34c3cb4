// SPDX-License-Identifier: GPL-2.0-only OR MIT

use std::sync::OnceLock;

use super::*;
use crate::{
    boot::Boot,
    clock::Calibration,
    decode::Buffers,
    format::{template::Template, types::Types},
    merge::{Event, EventKind, Payload, Stream},
    record::{Task, Version, Writer},
    sidetable::{Found, ImageSites, Site},
    snapshot::RingPages,
    wire::record::Context,
};

fn check(source: &str) -> bool {
    // A u32, a string, an i32, an error, and one without a name.
    let codes = [0x03, 0x22, 0x13, 0x26, 0x26];
    let mut types = Types::new(&[]);
    let types: Vec<_> = codes.iter().map(|&c| types.resolve(c).unwrap()).collect();
    let names = ["len", "name", "delta", "e", "req.odd.tag"].map(str::to_owned).to_vec();
    let format = "{len} {name} {delta} {e:?} {4:?}";
    let template = Template::new(format, names, types).unwrap();
    let mut payload = 8192u32.to_le_bytes().to_vec();
    payload.extend(b"\x03sda");
    payload.extend((-7i32).to_le_bytes());
    payload.extend((-5i32).to_le_bytes());
    payload.extend((-600i32).to_le_bytes());
    let mut slots = Vec::new();
    assert!(template.locate_arguments(&payload, Version::Two, &mut slots));
    let site = Site {
        level: 2,
        line: 71,
        file: "drivers/x.rs".into(),
        module: "x::y".into(),
        function: "y_read".into(),
        class: "IO".into(),
        format: format.into(),
        types: Vec::new(),
        template: Ok(template),
        json: OnceLock::new(),
    };
    let image = ImageSites { name: "x".into(), build_id: String::new(), sites: None };
    let found = Found { image_index: 0, image: &image, index: 3, site: Some(&site) };
    let stream = Stream::new("disk".into(), 0, RingPages::new((0, 1)).into(), 0);
    let mut comm = [0; 16];
    comm[..3].copy_from_slice(b"fio");
    let writer = Writer {
        context: Some(Context::Task),
        cpu: None,
        task: Some(Task { pid: 42, tgid: 40, comm }),
    };
    let boot = Boot::alone("box", Calibration::new(None, &[]));
    let kind = EventKind::Record {
        site: 9,
        ordinal: 0,
        version: Version::Two,
        payload: Payload::new(payload),
    };
    let event = Event { file: 0, ring: 0, clock: 0, writer, kind };
    let message = b"8192 sda -7 EIO".to_vec();
    let entry = Entry::new(&stream, &boot, event, Buffers::default());
    Expr::parse(source).unwrap().is_true(&Entry { found: Some(found), slots, message, ..entry })
}

#[test]
fn true_ones_are_true_and_false_ones_false() {
    for source in [
        "arg.len > 4096 && component == \"disk\"",
        "arg.len == 8k",
        "host == box && boot_id == 'b007'",
        "arg.len == 0x2000",
        "arg.0 >= 8_192",
        "arg.delta < 0 && arg.delta == -7",
        "arg.name == sda",
        "arg.name =~ '^sd[a-z]$'",
        "arg.name !~ \"nvme\"",
        "arg.e == EIO",
        "arg.e == -5",
        "EIO == arg.e",
        "arg.e != ENOMEM",
        "arg.e < EPERM && arg.e > ENOMEM",
        // A source text as it stands in the call.
        "arg.req.odd.tag != EIO && arg.req.odd.tag == -600",
        "arg.req.odd.tag =~ '^-600$' && arg.req.odd.tag !~ EIO",
        "level == warn && level <= info && level > err",
        "level == warning && level <= notice && level > error",
        "level <= 2",
        "context == task && comm == fio && pid == 42 && tgid == 40",
        "site == 9 && line == 71 && file =~ 'x\\.rs$' && module == 'x::y' && image == x \
         && function =~ '^y_' && class == IO",
        "message =~ '\\bsda\\b'",
        "arg.len",
        "!arg.nothing",
        "!(cpu == 0)",
        "false == component || (pid==1||pid==42)&&!(comm!=fio)",
    ] {
        assert!(check(source), "{source}");
    }
    for source in [
        "arg.len < 8192",
        "arg.nothing == 1",
        "arg.nothing != 1",
        "cpu == 0",
        "cpu != 0",
        "arg.name == 3",
        "arg.name != 3",
        "arg.len.x == 1",
        "arg.req",
        "arg.req.odd",
        "arg.req.odd.tag.x",
        "arg.odd.tag",
        "comm == fi",
        "arg.e == ENOMEM",
        "pid == 1 || pid == 2",
        "pid == 42 && pid == 2",
        "!component",
    ] {
        assert!(!check(source), "{source}");
    }
}

#[test]
fn wrong_ones_are_refused_with_the_place() {
    for (source, what, at) in [
        ("", "a field, a number or a string", 1),
        ("pid ==", "a field, a number or a string", 7),
        ("pid == 1 &&", "a field, a number or a string", 12),
        ("pid == 1 comm == 2", "\"&&\"", 10),
        ("(pid == 1", "\")\"", 10),
        ("compnent == 'x'", "neither side is a field", 1),
        ("fio", "a field of a record", 1),
        ("pid == 1 && task >= context", "no order", 13),
        ("message =~ 4", "=~ takes", 12),
        ("message =~ '('", "invalid regular expression", 12),
        ("comm == 'fio", "does not end", 9),
        ("pid == 4x", "not a number", 8),
        ("arg. == 4", "name of an argument", 5),
        ("pid == 99999999999999999999999999999999999999999999", "not a number", 8),
    ] {
        let e = Expr::parse(source).unwrap_err();
        assert!(e.to_string().contains(what), "{source}: {e}");
        assert!(e.to_string().contains(&format!("at character {at} ")), "{source}: {e}");
    }
    let many = |n| vec!["comm =~ 'x'"; n].join(" || ");
    assert!(Expr::parse(&many(16)).is_ok());
    let e = Expr::parse(&many(17)).unwrap_err();
    assert!(e.to_string().contains("too many regular expressions"), "{e}");
    assert!(Expr::parse(&"(".repeat(100_000)).is_err());
    assert!(Expr::parse(&"!".repeat(100_000)).is_err());
}
