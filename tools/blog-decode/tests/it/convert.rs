// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Traces for other programs, field by field. That babeltrace2, Perfetto's definitions and a browser
//! take them is tested in `tests/suites/test_convert.py`.

use std::{
    collections::HashMap,
    fs,
    io::{Read, Write},
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
};

use crate::{
    common::{
        image,
        rig::{Rig, Said},
        snapshot::{Builder, Page, Ring, BOOT_ID},
    },
    proto::{fields, messages, texts, unpacked, Proto},
};
use base64::{engine::general_purpose::STANDARD, Engine as _};
use blog_decode_core::sidetable::read_table;
use rustix::process::{kill_process, Pid, Signal};

const SECOND: u64 = 1_000_000_000;

fn rig() -> Rig {
    let rig = Rig::new();
    let start = 1_700_000_000 * SECOND;
    let mut b = rig.disk(&[[0, 0, 0, start], [SECOND, SECOND, SECOND, start + SECOND]]);
    let mut fio = Ring::task(1, 1, 42, "fio");
    fio.records = 8;
    b.ring(&fio);
    let mut p = Page::new(1, 2, SECOND, 5);
    p.record(SECOND, 1, (&8u32, &0x1000u64));
    p.record(2 * SECOND, 2, ("sda \"quoted\"", &-5i32));
    p.record(3 * SECOND, 3, (&1u8, &3u32));
    b.page(&fio, &p);
    let softirq = Ring::softirq(1, 2, 1);
    b.ring(&softirq);
    let mut p = Page::new(2, 1, SECOND, 0);
    p.record(2 * SECOND + 500, 4, ());
    b.page(&softirq, &p);
    rig.write("snap", b.end());
    rig
}

fn convert(rig: &Rig, form: &str, output: &str) -> Said {
    convert_with(rig, form, output, &[])
}

fn convert_with(rig: &Rig, form: &str, output: &str, args: &[&str]) -> Said {
    let start = ["convert", "snap", "--to", form, "--output", output];
    rig.run(&[&start, args].concat())
}

/// All that is in the folder, but for the module.
fn names(rig: &Rig) -> Vec<String> {
    let entries = fs::read_dir(rig.path("")).unwrap();
    let mut names: Vec<_> = entries
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with("test-mod"))
        .collect();
    names.sort();
    names
}

#[test]
fn what_exists_is_not_overwritten() {
    let rig = rig();
    let output = convert(&rig, "perfetto", "snap");
    assert_eq!(output.status, 2, "{output:?}");
    assert!(fs::read(rig.path("snap")).unwrap().starts_with(b"BLOGSNAP"));
    // Nor is what a link leads to made, that leads nowhere.
    std::os::unix::fs::symlink("nowhere", rig.path("link")).unwrap();
    for form in ["ctf", "html", "parquet", "perfetto"] {
        let output = convert(&rig, form, "link");
        assert_eq!(output.status, 2, "{output:?}");
        assert!(output.err.contains("link: exists already"));
    }
    assert_eq!(names(&rig), ["link", "snap"]);
}

#[test]
fn what_fails_leaves_nothing_behind() {
    let rig = rig();
    // A limit for the size of files stands for a full disk.
    for form in ["ctf", "html", "parquet", "perfetto"] {
        let limited = format!(
            "trap '' XFSZ; ulimit -f 0; exec {} convert --to {form} -o out -s test-mod.ko snap",
            env!("CARGO_BIN_EXE_blog-decode")
        );
        let mut shell = Command::new("sh");
        let output = Said::of(shell.args(["-c", &limited]).current_dir(rig.path("")));
        assert_eq!(output.status, 2, "{output:?}");
        assert!(output.err.contains("File too large"));
        assert_eq!(names(&rig), ["snap"], "{form}");
    }
    // So it can be done again.
    assert_eq!(convert(&rig, "html", "out").status, 0);
}

#[test]
fn a_dash_is_standard_output() {
    let rig = rig();
    for form in ["html", "perfetto"] {
        assert_eq!(convert(&rig, form, "file").status, 0);
        let mut command = rig.command(&["convert", "snap", "--to", form, "-o", "-"]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(output.stdout == fs::read(rig.path("file")).unwrap());
        fs::remove_file(rig.path("file")).unwrap();
    }
    assert_eq!(convert(&rig, "ctf", "-").status, 2);
    assert_eq!(names(&rig), ["snap"]);
}

#[test]
fn a_signal_ends_it_and_leaves_nothing_behind() {
    let rig = rig();
    let fifo = rig.path("fifo");
    let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    for form in ["ctf", "html", "parquet", "perfetto"] {
        let args = ["convert", "--to", form, "-o", "out", "--dmesg", "fifo", "snap"];
        let mut command = rig.command(&args);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        // It is opened when the other end is.
        let mut log = fs::OpenOptions::new().write(true).open(&fifo).unwrap();
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        // It may have gone already.
        let _ = log.write_all(b"[    0.500000] one\n[    9.000000] two\n");
        drop(log);
        assert_eq!(child.wait().unwrap().code(), Some(2));
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(said.contains("interrupted"), "{said}");
        assert_eq!(names(&rig), ["fifo", "snap"], "{form}");
    }
}

#[test]
fn only_the_owner_may_read_it() {
    let rig = rig();
    for (form, mode) in [("ctf", 0o700), ("html", 0o600), ("parquet", 0o700), ("perfetto", 0o600)] {
        assert_eq!(convert(&rig, form, form).status, 0);
        let found = fs::metadata(rig.path(form)).unwrap().permissions().mode();
        assert_eq!(found & 0o777, mode, "{form}");
    }
}

#[test]
fn ctf_declares_what_was_logged() {
    let rig = rig();
    let output = convert(&rig, "ctf", "trace");
    assert!(output.status == 0, "{output:?}");
    let metadata = rig.read("trace/metadata");
    for part in [
        "name = \"test::inner:11\";",
        "size = 64; align = 8; signed = false; base = 10; } _sector;",
        "string { encoding = UTF8; } _e;",
        "hostname = \"tests\";",
        "offset_s = 1700000000;",
    ] {
        assert!(metadata.contains(part), "{part}: {metadata}");
    }
}

#[test]
fn perfetto_gets_a_track_for_each_thread_and_component() {
    let rig = rig();
    let output = convert(&rig, "perfetto", "trace");
    assert!(output.status == 0, "{output:?}");
    let trace = fields(&unpacked(&fs::read(rig.path("trace")).unwrap()));
    assert!(trace.iter().all(|(n, _)| *n == 1));
    let packets = messages(&trace, 1);
    // TracePacket.trusted_packet_sequence_id
    assert!(packets.iter().all(|p| texts(p, 10) == ["1"]));
    // TracePacket.track_descriptor: uuid, name or that of process or thread, parent
    let tracks: Vec<_> = packets
        .iter()
        .flat_map(|p| messages(p, 60))
        .map(|d| {
            let mut name = texts(&d, 2);
            name.extend(messages(&d, 3).iter().map(|p| texts(p, 1).join("/")));
            name.extend(messages(&d, 4).iter().map(|t| texts(t, 5).join("/")));
            (texts(&d, 1).concat(), name.concat(), texts(&d, 5).concat())
        })
        .collect();
    let tracks: Vec<_> = tracks
        .iter()
        .map(|(uuid, name, parent)| (uuid.as_str(), name.as_str(), parent.as_str()))
        .collect();
    assert_eq!(
        tracks,
        [
            ("1", "42", ""),
            ("2", "fio", "1"),
            ("3", "disk", "2"),
            ("4", "softirq/1", ""),
            ("5", "disk", "4"),
        ]
    );
    // TracePacket.interned_data: ids and names of categories (1), events (2) and annotations (3)
    let interned = |field| -> HashMap<String, String> {
        let all = packets.iter().flat_map(|p| messages(p, 12));
        let all = all.flat_map(|data| messages(&data, field));
        all.map(|i| (texts(&i, 1).concat(), texts(&i, 2).concat())).collect()
    };
    let (categories, events, names) = (interned(1), interned(2), interned(3));
    // DebugAnnotation: name, and a uint_value or string_value
    let annotations = |event: &[(u64, Proto)]| -> Vec<String> {
        let all = messages(event, 4).into_iter();
        all.map(|a| {
            let value = [texts(&a, 3), texts(&a, 6)].concat().concat();
            format!("{}={value}", names[&texts(&a, 1).concat()])
        })
        .collect()
    };
    // TracePacket.track_event: time since the one before, track, categories, name or that of the
    // name's id, annotations
    let told: Vec<String> = packets
        .iter()
        .flat_map(|p| {
            let (time, categories, events) = (texts(p, 8), &categories, &events);
            let annotations = &annotations;
            messages(p, 11).into_iter().map(move |e| {
                // TYPE_INSTANT
                assert_eq!(texts(&e, 9), ["3"]);
                let of: Vec<_> = texts(&e, 3).iter().map(|id| categories[id].clone()).collect();
                let mut name = texts(&e, 23);
                name.extend(texts(&e, 10).iter().map(|id| events[id].clone()));
                let parts = [&time, &texts(&e, 11), &of, &name, &annotations(&e)];
                parts.map(|p| p.join(",")).join(" | ")
            })
        })
        .collect();
    assert_eq!(
        told,
        [
            "0 | 3 | lost | overwritten | count=5,message=5 older records overwritten",
            "0 | 3 | info,disk | read {} sectors at {sector:#x} | \
             message=read 8 sectors at 0x1000,count=8,sector=4096",
            "1000000000 | 3 | err,disk | failed: {e:?} in {:?} | \
             message=failed: EIO in \"sda \\\"quoted\\\"\",name=sda \"quoted\",e=EIO",
            "500 | 5 | trace,disk | nothing to say | ",
            "999999500 | 3 | debug,disk | state {:#?} | \
             message=state Busy {\n    tag: 3,\n},s=Busy { tag: 3 }",
        ]
    );
}

#[test]
fn a_thread_with_the_id_of_one_that_has_ended_has_its_own_track() {
    let rig = rig();
    let mut b = Builder::new();
    b.system(BOOT_ID).clock(1, &[[0; 4], [SECOND; 4]]).component(1, "disk").component(2, "net");
    // Two rings of one task, then two of another that got its id.
    for (n, (component, comm, exit)) in
        (1..).zip([(1, "old", 3 * SECOND), (2, "old", 2 * SECOND), (1, "new", 0), (2, "new", 0)])
    {
        let mut ring = Ring::task(component, n, 42, comm);
        ring.exit_clock = exit;
        b.ring(&ring);
        let mut p = Page::new(n, 1, SECOND, 0);
        p.record(u64::from(n) * SECOND, 4, ());
        b.page(&ring, &p);
    }
    rig.write("snap", b.end());
    convert(&rig, "perfetto", "trace");
    let trace = fields(&unpacked(&fs::read(rig.path("trace")).unwrap()));
    let packets = messages(&trace, 1);
    let tracks = packets.iter().flat_map(|p| messages(p, 60));
    let tracks: Vec<_> = tracks
        .map(|d| {
            let of = |number, name| {
                let inner = messages(&d, number);
                inner.iter().map(|t| texts(t, name).concat()).collect()
            };
            let names: [String; 3] = [texts(&d, 2).concat(), of(3, 6), of(4, 5)];
            (names.concat(), texts(&d, 5).concat())
        })
        .collect();
    let tracks: Vec<_> = tracks.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(
        tracks,
        [
            ("old", ""),
            ("old", "1"),
            ("disk", "2"),
            ("net", "2"),
            ("new", ""),
            ("new", "5"),
            ("disk", "6"),
            ("net", "6"),
        ]
    );
}

/// None takes the place of another, or of what the form has itself.
#[test]
fn arguments_keep_apart_whatever_they_are_called() {
    let rig = rig();
    let call = image::Call {
        line: 11,
        level: 3,
        format: "both {message} {msg} {}",
        args: &[("message", 0x03), ("msg", 0x03), ("message", 0x03)],
    };
    let ko = image::module_of(&rig.path(""), "test-mod.ko", "two", &[call]);
    let id = read_table(&ko, |_| true).unwrap().unwrap().build_id;
    let mut b = Builder::new();
    b.system(BOOT_ID)
        .clock(1, &[[0; 4], [SECOND; 4]])
        .images(&[(1, 1, &id, "test_mod")])
        .component(1, "disk");
    let ring = Ring::task(1, 1, 42, "fio");
    let mut p = Page::new(1, 1, SECOND, 0);
    p.record(SECOND, 1, (&1u32, &2u32, &3u32));
    b.ring(&ring).page(&ring, &p);
    rig.write("snap", b.end());
    for form in ["perfetto", "ctf", "otlp"] {
        assert_eq!(convert(&rig, form, form).status, 0);
    }
    let trace = fields(&unpacked(&fs::read(rig.path("perfetto")).unwrap()));
    let interned = messages(&trace, 1)
        .into_iter()
        .flat_map(|p| messages(&p, 12))
        .flat_map(|data| messages(&data, 3));
    let names: Vec<_> = interned.map(|i| texts(&i, 2).concat()).collect();
    assert_eq!(names, ["message", "message'", "msg", "message''"]);
    let metadata = rig.read("ctf/metadata");
    for name in ["_msg;", "_message;", "_msg_;", "_message_;"] {
        let of_site = metadata.split("test::inner:11").nth(1).unwrap();
        assert_eq!(of_site.matches(&format!(" {name}")).count(), 1, "{metadata}");
    }
    let log = rig.read("otlp");
    for name in ["message", "msg", "message'"] {
        assert_eq!(log.matches(&format!("\"blog.arg.{name}\"")).count(), 1, "{log}");
    }
}

/// What a stream of the page holds.
fn unpack(page: &str, class: &str) -> Vec<u8> {
    let packed = STANDARD.decode(script(page, class)).unwrap();
    let mut raw = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut raw).unwrap();
    raw
}

fn script<'a>(page: &'a str, id: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("=\"{id}\">")).unwrap();
    rest.split_once("</script>").unwrap().0
}

fn numbers<const N: usize>(bytes: &[u8]) -> Vec<usize> {
    let number = |b: &[u8]| b.iter().rev().fold(0, |n, b| n << 8 | usize::from(*b));
    bytes.chunks(N).map(number).collect()
}

#[test]
fn a_report_has_all_records() {
    let rig = rig();
    let spans = ["--span", "read *", "state *", "--span", "read *", "nothing*"];
    let output =
        convert_with(&rig, "html", "report.html", &[&spans[..], &["-k", "component"]].concat());
    assert!(output.status == 0, "{output:?}");
    let page = rig.read("report.html");
    let about: serde_json::Value = serde_json::from_str(script(&page, "about-data")).unwrap();
    assert_eq!(about["records"], 5);
    assert_eq!(about["lost"], 5);
    assert_eq!((&about["start_s"], &about["start_ns"]), (&1.into(), &0.into()));
    assert_eq!(about["real_s"], 1_700_000_001);
    let columns = unpack(&page, "columns");
    let (times, rest) = columns.split_at(5 * 8);
    let times: Vec<f64> =
        times.chunks(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(times, [0.0, 0.0, 1e9, 1e9 + 500.0, 2e9]);
    let (lengths, rest) = rest.split_at(2 * 8);
    let lengths = lengths.chunks(8).map(|b| f64::from_le_bytes(b.try_into().unwrap()));
    assert_eq!(lengths.collect::<Vec<_>>(), [2e9, 1e9 + 500.0]);
    let (ends, rest) = rest.split_at(5 * 4);
    let (spans, rest) = rest.split_at(2 * 3 * 4);
    // The spans of a kind are of the records that start and end them; then their rows.
    assert_eq!(numbers::<4>(spans), [1, 4, 0, 1, 3, 0]);
    assert_eq!(about["spans"][1]["name"], "read * \u{2192} nothing*");
    let (lanes, sites) = rest.split_at(6 * 2);
    let (ends, lanes, sites) = (numbers::<4>(ends), numbers::<2>(lanes), numbers::<2>(sites));
    let (text, mut start) = (unpack(&page, "text"), 0);
    assert_eq!(about["text_bytes"], text.len());
    let mut got = Vec::new();
    for i in 0..5 {
        let lane = &about["lanes"][lanes[i]];
        let site = &about["sites"][sites[i]];
        let names = site["args"].as_array().unwrap();
        let (places, message) = text[start..ends[i]].split_at(2 * names.len());
        let message = String::from_utf8_lossy(message).into_owned();
        let args = names.iter().zip(places.chunks(2)).map(|(name, place)| {
            let from = usize::from(place[0]);
            let value = &message[from..from + usize::from(place[1])];
            format!(" {}={value:?}", name["name"].as_str().unwrap())
        });
        let args: String = args.collect();
        let context = lane["context"].as_str().unwrap();
        got.push(format!("{} {context} {}: {message}{args}", site["level"], site["line"]));
        start = ends[i];
    }
    assert_eq!(
        got,
        [
            "-1 fio[42] 0: 5 older records overwritten",
            "3 fio[42] 11: read 8 sectors at 0x1000 count=\"8\" sector=\"0x1000\"",
            "1 fio[42] 22: failed: EIO in \"sda \\\"quoted\\\"\" \
             name=\"\\\"sda \\\\\\\"quoted\\\\\\\"\\\"\" e=\"EIO\"",
            "5 softirq/1 44: nothing to say",
            "4 fio[42] 33: state Busy {\n    tag: 3,\n} s=\"Busy {\\n    tag: 3,\\n}\"",
        ]
    );
}

#[test]
fn spans_that_do_not_fit_are_refused() {
    let rig = rig();
    for (form, args, said) in [
        ("ctf", &["--span", "a", "b"][..], "only html and perfetto have spans"),
        ("html", &["-k", "arg.tag"], "--key needs --span"),
        ("html", &["--span", "a"], "2 values required"),
    ] {
        let output = convert_with(&rig, form, "out", args);
        assert_eq!(output.status, 2, "{output:?}");
        assert!(output.err.contains(said), "{output:?}");
        assert!(!rig.path("out").exists());
    }
}

#[test]
fn what_has_no_other_half_is_reported() {
    let rig = rig();
    for form in ["html", "perfetto"] {
        let spans = ["--span", "read *", "nothing*", "--span", "state *", "no"];
        let output = convert_with(&rig, form, form, &[&spans[..], &["-k", "level"]].concat());
        assert_eq!(output.status, 1, "{output:?}");
        let said = output.err;
        for what in [
            "read * \u{2192} nothing*: there are no spans",
            "read * \u{2192} nothing*: unpaired: 1 starts, 0 of them before a loss; 1 ends, ",
            "state * \u{2192} no: unpaired: 1 starts, 0 of them before a loss; 0 ends, ",
        ] {
            assert!(said.contains(what), "{said}");
        }
        let output =
            convert_with(&rig, form, &format!("whole.{form}"), &["--span", "read *", "state *"]);
        assert_eq!(output.status, 0, "{output:?}");
        assert!(output.err.is_empty(), "{output:?}");
    }
}
