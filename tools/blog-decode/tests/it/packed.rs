// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Files that are packed: cut off, damaged, of several members, and larger than they look.

use std::{
    collections::HashSet,
    fs,
    io::{Read, Write},
};

use crate::common::{
    rig::{Rig, Said},
    snapshot::{Builder, Page, Ring, BOOT_ID},
};
use blog_file::unpack;
use liblzma::stream::{Check, Stream};
use ruzstd::encoding::{compress_to_vec, CompressionLevel};

const FORMS: [&str; 3] = ["gz", "zst", "xz"];
const PAGES: u64 = 200;
const IN_PAGE: u64 = 60;

fn xz(bytes: &[u8], check: Check) -> Vec<u8> {
    let stream = Stream::new_easy_encoder(6, check).unwrap();
    let mut out = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn packed(bytes: &[u8], form: &str) -> Vec<u8> {
    match form {
        "gz" => {
            let mut out = flate2::GzBuilder::new()
                .filename("snap")
                .comment("x")
                .extra([1, 2, 3])
                .write(Vec::new(), flate2::Compression::fast());
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
        "zst" => compress_to_vec(bytes, CompressionLevel::Fastest),
        _ => xz(bytes, Check::Crc64),
    }
}

/// Pages of records that no packer makes much smaller.
fn snapshot() -> Vec<u8> {
    let mut b = Builder::new();
    b.system(BOOT_ID)
        .clock(1, &[[0, 0, 0, 0], [1 << 40; 4]])
        .images(&[(1, 4, b"id", "test_mod")])
        .component(1, "disk");
    let mut ring = Ring::task(1, 1, 42, "dd");
    ring.records = PAGES * IN_PAGE;
    b.ring(&ring);
    let mut state = 0x1234_5678_9abc_def0u64;
    for n in 0..PAGES {
        let mut page = Page::new(1, 1 + n, n << 20, n * IN_PAGE);
        for i in 0..IN_PAGE {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            page.record((n << 20) + i, 1, (&state, &state.rotate_left(7)));
        }
        b.page(&ring, &page);
    }
    b.end()
}

fn run(rig: &Rig, args: &[&str]) -> Said {
    rig.run(&[args, &["--modules", "nowhere"]].concat())
}

/// The records of a file, and what is said of it.
fn shown(rig: &Rig, name: &str, bytes: &[u8]) -> (Vec<String>, String) {
    rig.write(name, bytes);
    let Said { out, err, .. } = run(rig, &[name, "--format", "{clock} {message}"]);
    let lines = out.lines().filter(|l| l.contains("<site"));
    (lines.map(str::to_owned).collect(), err)
}

#[test]
fn what_is_there_of_a_packed_file_is_read() {
    let rig = Rig::empty();
    let plain = snapshot();
    for form in FORMS {
        let whole = packed(&plain, form);
        assert!(whole.len() > plain.len() / 2);
        for part in [30, 70, 99] {
            let cut = &whole[..whole.len() * part / 100];
            let (records, said) = shown(&rig, &format!("cut.{form}"), cut);
            let name = match form {
                "gz" => "gzip",
                "zst" => "zstd",
                _ => "xz",
            };
            let start = format!("packed by {name}, and cut off after ");
            let n = said.split(&start).nth(1).unwrap_or_else(|| panic!("{said}"));
            let n: usize = n.split(' ').next().unwrap().parse().unwrap();
            // Forms differ in how much is lost with the end: a block of zstd is 128 KiB.
            let room = if form == "zst" { 128 << 10 } else { 33 << 10 };
            assert!(n + room > plain.len() * part / 100, "{form} {part}: {n}");
            let (expected, _) = shown(&rig, "cut", &plain[..n]);
            assert_eq!(records, expected);
            assert!(n == 0 || said.contains("no end (cut off)"), "{said}");
        }
    }
}

/// A zstd frame of a block of 300 equal bytes and a raw one, with its size: 303.
const FRAME: &[u8] = b"\x28\xb5\x2f\xfd\x60\x2f\x00\x62\x09\x00x\x19\x00\x00end";

#[test]
fn what_is_missing_of_a_frame_is_counted() {
    let rig = Rig::empty();
    let path = rig.path("frame");
    for (len, at) in [(FRAME.len() - 1, 300), (8, 0)] {
        fs::write(&path, &FRAME[..len]).unwrap();
        let error = unpack::read(&path, 1 << 20).unwrap_err().to_string();
        let told = format!("packed by zstd, and cut off after {at} of 303 unpacked bytes");
        assert_eq!(error, told);
    }
    fs::write(&path, [FRAME, &FRAME[..8]].concat()).unwrap();
    let error = unpack::read(&path, 1 << 20).unwrap_err().to_string();
    assert!(error.ends_with("after 303 of 606 unpacked bytes"), "{error}");
}

#[test]
fn a_flipped_bit_costs_what_is_behind_it() {
    let rig = Rig::empty();
    let plain = snapshot();
    let (all, _) = shown(&rig, "whole", &plain);
    assert_eq!(all.len() as u64, PAGES * IN_PAGE);
    for form in FORMS {
        let mut bytes = packed(&plain, form);
        let at = bytes.len() * 7 / 10;
        bytes[at] ^= 0x10;
        let file = format!("flip.{form}");
        let (records, said) = shown(&rig, &file, &bytes);
        assert!(said.contains("and damaged after "), "{form}: {said}");
        assert!(records.len() * 2 > all.len(), "{form}: {}", records.len());
        assert!(records.iter().all(|r| all.contains(r)), "{form}");
        assert_eq!(run(&rig, &[&file]).status, 1, "{form}");
        // So do members after it.
        let both = [&bytes[..], &packed(&plain, "gz")].concat();
        let (first, said_of_both) = shown(&rig, &file, &both);
        assert_eq!((first, said_of_both), (records, said), "{form}");
    }
}

#[test]
fn of_a_few_bytes_of_xz_those_before_the_damage_are_read() {
    let plain = &snapshot()[..10_000];
    let mut bytes = packed(plain, "xz");
    let at = bytes.len() * 9 / 10;
    bytes[at] ^= 0x10;
    let mut seen = Vec::new();
    let read = unpack::reader(&bytes[..]).unwrap().read_to_end(&mut seen);
    assert!(read.is_err() && seen.len() > 5000, "{read:?}: {}", seen.len());
    assert!(plain.starts_with(&seen));
}

#[test]
fn what_is_packed_may_be_packed_again() {
    let rig = Rig::empty();
    let plain = snapshot();
    let (all, _) = shown(&rig, "whole", &plain);
    let known: HashSet<_> = all.iter().collect();
    for inner in FORMS {
        for outer in FORMS {
            let whole = packed(&packed(&plain, inner), outer);
            let name = format!("twice.{inner}.{outer}");
            let (records, said) = shown(&rig, &name, &whole);
            assert!(records == all && !said.contains("packed by"), "{name}: {said}");
            // The inner one was cut off when it was packed again; or both are.
            let half = packed(&plain, inner);
            let half = packed(&half[..half.len() * 7 / 10], outer);
            for bytes in [&half[..], &whole[..whole.len() * 7 / 10]] {
                let (records, said) = shown(&rig, &name, bytes);
                assert!(said.contains("packed by"), "{name}: {said}");
                // A block of zstd is a large part of it.
                let is_most = records.len() * 10 > all.len() * 4;
                assert!(is_most || name.contains("zst"), "{name}: {}", records.len());
                assert!(records.iter().all(|r| known.contains(r)), "{name}");
            }
        }
    }
}

#[test]
fn a_file_may_have_several_members() {
    let rig = Rig::empty();
    let plain = snapshot();
    let (all, _) = shown(&rig, "whole", &plain);
    let (a, b) = plain.split_at(plain.len() / 3);
    for form in FORMS {
        // What tapes are padded with, and xz.
        for padding in [0, 4, 512] {
            let zeros = vec![0; padding];
            let both = [&packed(a, form)[..], &zeros, &packed(b, "gz"), &zeros].concat();
            let (records, said) = shown(&rig, "both", &both);
            assert_eq!((&records, said.contains("packed by")), (&all, false), "{said}");
        }
    }
    for check in [Check::None, Check::Crc32, Check::Crc64, Check::Sha256] {
        let both = [xz(a, check), xz(b, check)].concat();
        let (records, said) = shown(&rig, "both", &both);
        assert_eq!(records, all, "{check:?}: {said}");
    }
    // Frames that readers of zstd skip.
    let skipped = [&[0x5a, 0x2a, 0x4d, 0x18, 5, 0, 0, 0][..], b"12345"].concat();
    let frames = [&skipped[..], &packed(a, "zst"), &skipped, &packed(b, "zst")].concat();
    assert_eq!(shown(&rig, "frames", &frames).0, all);
    // Bytes after it that aren't packed are no part of it, but are reported.
    let tail = [&packed(&plain, "gz")[..], b"tail"].concat();
    let (records, said) = shown(&rig, "tail", &tail);
    assert_eq!(records, all);
    let behind = format!("what comes after {} unpacked bytes isn't packed", plain.len());
    assert!(said.contains(&behind), "{said}");
}

#[test]
fn a_table_is_whole_or_refused() {
    let rig = Rig::empty();
    for form in FORMS {
        let whole = packed(&snapshot(), form);
        let path = rig.path("table");
        let read = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            unpack::read(&path, 1 << 30)
        };
        assert!(read(&whole).is_ok());
        assert!(read(&whole[..whole.len() / 2]).is_err());
        let mut flipped = whole.clone();
        flipped[whole.len() - 2] ^= 1;
        assert!(read(&flipped).is_err(), "{form}");
    }
}

#[test]
fn what_is_unpacked_is_bounded() {
    let rig = Rig::empty();
    let path = rig.path("bomb");
    for form in FORMS {
        fs::write(&path, packed(&vec![0; 2 << 20], form)).unwrap();
        assert!(fs::metadata(&path).unwrap().len() < 100_000);
        assert_eq!(unpack::read(&path, 2 << 20).unwrap().len(), 2 << 20);
        let error = unpack::read(&path, (2 << 20) - 1).unwrap_err();
        assert_eq!(error.to_string(), "too large when it is unpacked");
    }
    // More memory than any packer asks for: the dictionary's size is in the block's header.
    let mut xz = xz(b"x", Check::None);
    let at = xz.windows(3).position(|w| w[..2] == [0x21, 1]).unwrap() + 2;
    xz[at] = 40;
    let header = 12..12 + 4 * (usize::from(xz[12]) + 1);
    let sum = header.end - 4;
    let crc = crc32fast::hash(&xz[header.start..sum]);
    xz[sum..sum + 4].copy_from_slice(&crc.to_le_bytes());
    fs::write(&path, &xz).unwrap();
    let error = unpack::read(&path, 100).unwrap_err().to_string();
    assert!(error.contains("more than 256 MiB of memory"), "{error}");
}

#[test]
fn a_kernel_log_may_be_packed() {
    let rig = Rig::empty();
    rig.write("snap", snapshot());
    let log: String = (0..2000u64)
        .map(|n| format!("[{:5}.000001] line {}\n", n, n.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .collect();
    rig.write("kern.log", log.as_bytes());
    let shown = |name: &str| {
        let out = run(&rig, &["snap", "--dmesg", name, "-w", "component == dmesg"]);
        let lines = out.out.lines().map(str::to_owned).collect::<Vec<_>>();
        (lines, out.err, out.status)
    };
    let (all, _, status) = shown("kern.log");
    assert_eq!((all.len(), status), (2000, 0));
    for form in FORMS {
        let bytes = packed(log.as_bytes(), form);
        let name = format!("kern.log.{form}");
        rig.write(&name, &bytes);
        assert_eq!(shown(&name).0, all, "{form}");
        rig.write(&name, &bytes[..bytes.len() - 20]);
        let (cut, said, status) = shown(&name);
        assert_eq!(status, 1);
        assert!(said.contains(&format!("{name}: packed by ")), "{said}");
        // All but the last line, which may be cut.
        let whole = cut.len().saturating_sub(1);
        assert_eq!(cut[..whole], all[..whole]);
        assert!(whole > 1000 || form == "zst", "{form}: {whole}");
    }
}
