// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Side tables: the program of the kernel build and the decoder agree, and neither falls for
//! damaged input. What the program does with files is in `../sidetables`.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Output},
};

use crate::common::{
    blog_fmt_sidetable, commands,
    image::{self, CCall, CALLS, C_FILE, FILE},
    rig::Rig,
};
use blog_decode_core::sidetable::read_table;
use blog_table::{format::Table, image as blog_image, printf::compile_with, source::Source};
use object::{Object, ObjectSection};

fn sidetable(args: &[&str], dir: &Path) -> Output {
    Command::new(blog_fmt_sidetable()).args(args).current_dir(dir).output().unwrap()
}

fn table_of(bytes: Vec<u8>) -> Result<Option<Table>, String> {
    blog_image::read(Source::Memory(bytes), "some-name")
}

fn check(table: &Table) {
    assert_eq!(table.arch, "x86_64");
    assert_eq!(table.types.len(), 1);
    assert_eq!(table.types[0].name, "State");
    assert_eq!(table.sites.len(), CALLS.len());
    for (site, call) in table.sites.iter().zip(CALLS) {
        assert_eq!(site.line, call.line);
        assert_eq!(site.level, call.level);
        assert_eq!(site.format, call.format);
        assert_eq!(site.file, FILE);
        assert_eq!(site.module, "test::inner");
        let args: Vec<_> = site.names.iter().map(String::as_str).zip(site.codes.clone()).collect();
        assert_eq!(args, call.args);
    }
}

#[test]
fn program_and_decoder_read_the_same_from_a_module() {
    let dir = tempfile::tempdir().unwrap();
    let ko = image::module(dir.path(), "test-mod.ko", "one");
    let output = sidetable(&["-v", "test-mod.ko"], dir.path());
    assert!(output.status.success(), "{output:?}");
    let by_program = read_table(&dir.path().join("test_mod.blogfmt"), |_| true);
    let by_program = by_program.unwrap().unwrap();
    let by_decoder = read_table(&ko, |_| true).unwrap().unwrap();
    assert_eq!(by_program, by_decoder);
    check(&by_decoder);
    assert_eq!(by_decoder.name, "test_mod");
    assert_eq!(by_decoder.release, "7.3.4");
    // The same by another reader of ELF.
    let bytes = fs::read(&ko).unwrap();
    let elf = object::File::parse(&*bytes).unwrap();
    assert_eq!(elf.build_id().unwrap().unwrap(), by_decoder.build_id);
}

/// Type codes of private arguments.
const PRIVATE_U32: u64 = 0x32 | 0x03 << 8;
const PRIVATE_CSTR: u64 = 0x32 | 0x23 << 8;

const LISTED: [image::Call; 2] = [
    image::Call {
        line: 31,
        level: 1,
        format: "open {} at {:p} by {}, {} times",
        args: &[("name", 0x22), ("at", 0x25), ("private(uid)", PRIVATE_U32), ("n", 0x03)],
    },
    image::Call {
        line: 5,
        level: 4,
        format: "{:?} {host:?}",
        args: &[("s", image::STATE), ("host", 0x30 | 0x43 << 8)],
    },
];

/// Modules with C calls: name, and formats and arguments of calls in lines from 7 on.
const C_MODULES: [(&str, &[(&str, &str)]); 5] = [
    ("private0.ko", &[(r#""%d""#, "1 + blog_private(n)")]),
    ("private1.ko", &[(r#""%d""#, "blog_private(n) + (1)")]),
    ("private2.ko", &[(r#""%*d""#, "blog_private(w), n")]),
    ("private3.ko", &[(r#""%pI4""#, "blog_private(&host)")]),
    ("bad.ko", &[(r#""%pV""#, "vaf"), (r#""fine %d""#, "vaf"), ("fmt", "vaf")]),
];

fn files(rig: &Rig) {
    let dir = &rig.path("");
    symlink(blog_fmt_sidetable(), dir.join("bin/blog-fmt-sidetable")).unwrap();
    for (file, salt) in [("a.ko", "one"), ("b.ko", "two")] {
        image::module(dir, file, salt);
    }
    image::vmlinux(dir, "one");
    image::module_with_c(dir, "c.ko", "one", CALLS, C_CALLS);
    let listed = [CCall {
        line: 101,
        format: r#""%s by %d of %d""#,
        arguments: r#"blog_private(name(a, b)), __builtin_choose_expr(sizeof("blog_private"), uid, 0), n"#,
    }];
    image::module_with_c(dir, "inventory.ko", "one", &LISTED, &listed);
    for (file, calls) in C_MODULES {
        let calls = (7..).zip(calls);
        let calls: Vec<_> =
            calls.map(|(line, &(format, arguments))| CCall { line, format, arguments }).collect();
        image::module_with_c(dir, file, "one", CALLS, &calls);
    }
    for (name, id) in
        [("x", "that"), ("x", "this"), ("y", "that"), ("other", "that"), ("test_mod", "that")]
    {
        let table = Table { build_id: id.into(), name: name.into(), ..Table::default() };
        rig.write(&format!("{name}-{id}"), table.encode().unwrap());
    }
}

#[test]
fn the_program_writes_tables_and_replaces_nothing_else() {
    commands::check(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sidetables"), files);
}

#[test]
fn private_arguments_have_types_of_their_own() {
    let compiled = compile_with("%d %.*s", &|of_call, stored| (of_call, stored) == (2, 1)).unwrap();
    // In one word: 4 bytes; then, private, a string of at most so many.
    assert_eq!(compiled.codes.0, 0x6e30);
    assert_eq!(compiled.types, [0x13, PRIVATE_CSTR]);
}

#[test]
fn program_and_decoder_read_the_same_from_vmlinux() {
    let dir = tempfile::tempdir().unwrap();
    let vmlinux = image::vmlinux(dir.path(), "one");
    fs::create_dir(dir.path().join("out")).unwrap();
    let output = sidetable(&["vmlinux", "-o", "out"], dir.path());
    assert!(output.status.success(), "{output:?}");
    let by_decoder = read_table(&vmlinux, |_| true).unwrap().unwrap();
    let file = format!("out/vmlinux-{}.blogfmt", by_decoder.build_id_hex());
    let by_program = read_table(&dir.path().join(file), |_| true);
    let by_program = by_program.unwrap().unwrap();
    assert_eq!(by_program, by_decoder);
    check(&by_decoder);
    assert_eq!(by_decoder.name, "vmlinux");
    assert_eq!(by_decoder.release, "7.3.4-test");
}

const C_CALLS: &[CCall] = &[
    CCall { line: 101, format: r#""read %u " "bytes\n""#, arguments: "count(a, b)" },
    CCall { line: 102, format: r#""%s: %*d at %p, 100%%""#, arguments: r#"width, n, &disk[","]"# },
    CCall { line: 103, format: r#""called by %pS""#, arguments: "caller" },
    CCall { line: 104, format: r#""of %pd""#, arguments: "dentry" },
];

/// What of C calls is in a table, and what the program stores for them.
fn check_c(path: &Path, table: &Table) {
    let [.., first, second, third, fourth] = &table.sites[..] else {
        panic!("{} sites", table.sites.len());
    };
    assert_eq!(table.sites.len(), CALLS.len() + C_CALLS.len());
    assert!(first.is_c && !table.sites[0].is_c);
    assert_eq!((first.file.as_str(), first.line), (C_FILE, 101));
    for (n, site) in table.sites[CALLS.len()..].iter().enumerate() {
        let (function, class) = (format!("c_function{n}.part.0"), format!("KIND{n}"));
        assert_eq!((&site.place.function, &site.place.class), (&function, &class));
    }
    assert_eq!(first.format, "read %u bytes\n");
    assert_eq!(first.names, ["count(a, b)"]);
    assert_eq!(first.codes, [0x03]);
    // The macro that has put a format's first argument there doesn't say its name.
    assert_eq!(second.names, ["arg0", "width", "n", "&disk[\",\"]"]);
    assert_eq!(second.codes, [0x23, 0x13, 0x13, 0x25]);
    assert_eq!((&third.codes, &fourth.codes), (&vec![0x23], &vec![0x23]));
    let bytes = fs::read(path).unwrap();
    let elf = object::File::parse(&*bytes).unwrap();
    let contains = |section: &str, what: &[u8]| {
        let data = elf.section_by_name(section).unwrap().data().unwrap();
        data.windows(what.len()).filter(|w| *w == what).count()
    };
    let words = [0x0404_0404_0404_0401u64, 0x43350, 0, 0xcb0, 0xb0].map(u64::to_le_bytes).concat();
    assert_eq!(contains(".rodata", &words), 1);
    // Of the entries, only those of calls with an address say so: one may be in place of a symbol.
    let sites = match elf.section_by_name(".blog_sites") {
        Some(_) => ".blog_sites",
        None => ".data",
    };
    assert_eq!(contains(sites, &[0, 0, 0, 0, 3, 255, 1, 0]), 2);
    // None is uncompiled any more.
    assert_eq!(contains(sites, &[0, 0, 0, 0, 3, 255, 2, 0]), 0);
}

#[test]
fn formats_of_c_calls_are_compiled_into_the_image() {
    let dir = tempfile::tempdir().unwrap();
    let ko = image::module_with_c(dir.path(), "test-mod.ko", "one", CALLS, C_CALLS);
    let vmlinux = image::vmlinux_with_c(dir.path(), "one", C_CALLS);
    for (path, table) in [(ko, "test_mod.blogfmt"), (vmlinux, "vmlinux.blogfmt")] {
        let before = read_table(&path, |_| true).unwrap().unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let output = sidetable(&[name], dir.path());
        assert!(output.status.success(), "{output:?}");
        let table = read_table(&dir.path().join(table), |_| true);
        let table = table.unwrap().unwrap();
        check_c(&path, &table);
        // Nothing that readers see depends on it.
        assert_eq!(before, table);
        assert_eq!(read_table(&path, |_| true).unwrap(), Some(table));
        // Once is enough: the second time, nothing is written.
        let written = fs::metadata(&path).unwrap().modified().unwrap();
        assert!(sidetable(&[name], dir.path()).status.success());
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), written);
    }
}

#[test]
fn a_table_survives_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let ko = image::module(dir.path(), "a.ko", "one");
    let table = read_table(&ko, |_| true).unwrap().unwrap();
    assert_eq!(Table::decode(&table.encode().unwrap()), Ok(table));
}

/// What DKMS, INSTALL_MOD_STRIP and packages do to modules: the descriptors are debug information to
/// `strip`, the table that the kernel build has put into the module is not.
#[test]
fn strip_takes_the_descriptors_and_leaves_the_table() {
    let dir = tempfile::tempdir().unwrap();
    let ko = image::module(dir.path(), "a.ko", "one");
    fs::copy(&ko, dir.path().join("bare.ko")).unwrap();
    let before = fs::read(&ko).unwrap();
    assert!(sidetable(&["a.ko"], dir.path()).status.success());
    let table = read_table(&ko, |_| true).unwrap();
    assert!(table.is_some());
    let is_there = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    let dh_strip = "strip --remove-section=.comment --remove-section=.note --strip-debug";
    for command in [
        // INSTALL_MOD_STRIP, DKMS, dh_strip, rpm's find-debuginfo; the same with LLVM=1.
        "strip --strip-debug",
        "strip -g",
        dh_strip,
        "eu-strip --reloc-debug-sections -g -f stripped.debug",
        "llvm-strip --strip-debug",
        "strip --strip-unneeded",
        "llvm-strip --strip-unneeded",
        // This takes all that isn't loaded, and puts it into the other file.
        "eu-strip -f all.debug",
    ] {
        let mut words: Vec<_> = command.split(' ').collect();
        if !is_there(words[0]) {
            eprintln!("skipped: there is no {}", words[0]);
            continue;
        }
        fs::copy(&ko, dir.path().join("stripped.ko")).unwrap();
        words.push("stripped.ko");
        image::tool(dir.path(), &words);
        let file = match command.contains("all.debug") {
            true => "all.debug",
            false => "stripped.ko",
        };
        let found = read_table(&dir.path().join(file), |_| true);
        assert_eq!(found.unwrap(), table, "{command}");
    }
    image::tool(dir.path(), &["strip", "-g", "a.ko"]);
    assert_eq!(read_table(&ko, |_| true).unwrap(), table);
    image::tool(dir.path(), &["objcopy", "a.ko", "b.ko"]);
    assert_eq!(read_table(&dir.path().join("b.ko"), |_| true).unwrap(), table);
    // One that was made without it says what is missing.
    image::tool(dir.path(), &["strip", "-g", "bare.ko"]);
    let e = read_table(&dir.path().join("bare.ko"), |_| true).unwrap_err();
    assert!(e.to_string().contains("it was stripped off"), "{e}");
    // Another build of that name is not taken for this one.
    fs::remove_file(&ko).unwrap();
    image::module(dir.path(), "a.ko", "two");
    assert!(sidetable(&["a.ko"], dir.path()).status.success());
    let other = read_table(&ko, |_| true).unwrap().unwrap();
    assert_ne!(other.build_id, table.unwrap().build_id);
    let after = fs::read(dir.path().join("b.ko")).unwrap();
    let loaded = |bytes: &[u8]| -> Vec<_> {
        let elf = object::File::parse(bytes).unwrap();
        elf.sections()
            .filter(|s| s.kind() != object::SectionKind::Metadata)
            .filter(|s| !s.name().unwrap().starts_with(".debug"))
            .map(|s| (s.name().unwrap().to_owned(), s.data().unwrap().to_vec()))
            .filter(|(name, _)| name != blog_image::TABLE_SECTION)
            .collect()
    };
    assert!(loaded(&before).iter().any(|(name, _)| name == ".blog_sites"));
    assert_eq!(loaded(&before), loaded(&after));
}

/// Files with debug information alone, as packages and debuginfod have them: most sections have no
/// bytes, and the descriptors may be compressed.
#[test]
fn a_debug_file_has_the_table() {
    let dir = tempfile::tempdir().unwrap();
    let ko = image::module_with_c(dir.path(), "test-mod.ko", "one", CALLS, C_CALLS);
    let vmlinux = image::vmlinux_with_c(dir.path(), "one", C_CALLS);
    for (image, debug) in [(&ko, "test-mod.ko.debug"), (&vmlinux, "vmlinux-7.3.4.debug")] {
        let table = read_table(image, |_| true).unwrap().unwrap();
        let name = image.file_name().unwrap().to_str().unwrap();
        for how in [
            &[][..],
            &["--compress-debug-sections=zlib"],
            &["--compress-debug-sections=zstd"],
            // The old way, and old tools' name for it.
            &["--compress-debug-sections=zlib-gnu"],
            &["--compress-debug-sections=zlib-gnu", "--rename-section=.debug.blog=.zdebug.blog"],
        ] {
            let command = [&["objcopy", "--only-keep-debug"], how, &[name, debug]].concat();
            image::tool(dir.path(), &command);
            let found = read_table(&dir.path().join(debug), |_| true);
            let found = found.unwrap().unwrap();
            assert_eq!((&found.name, &found.build_id), (&table.name, &table.build_id));
            assert_eq!(found.sites, table.sites, "{how:?}");
        }
    }
}

/// A source in another encoding than UTF-8 costs one letter, and no table.
#[test]
fn formats_in_latin_1_are_logged() {
    let dir = tempfile::tempdir().unwrap();
    let calls = [(7, r#""temp %d ~C""#), (8, r#""temp %d \xb0" "C""#)]
        .map(|(line, format)| CCall { line, format, arguments: "t" });
    let ko = image::module_with_c(dir.path(), "a.ko", "one", CALLS, &calls);
    let mut bytes = fs::read(&ko).unwrap();
    let at = bytes.windows(9).position(|w| w == b"temp %d ~").unwrap() + 8;
    bytes[at] = 0xb0;
    fs::write(&ko, bytes).unwrap();
    let output = sidetable(&["a.ko"], dir.path());
    assert!(output.status.success(), "{output:?}");
    let table = read_table(&ko, |_| true).unwrap().unwrap();
    for site in &table.sites[CALLS.len()..] {
        assert_eq!(site.format, "temp %d \u{fffd}C");
    }
}

/// CONFIG_DEBUG_INFO_COMPRESSED_ZLIB and its kin: the descriptors are no DWARF, so they stay plain.
#[test]
fn linking_with_compressed_debug_sections_leaves_the_descriptors_alone() {
    let dir = tempfile::tempdir().unwrap();
    let ko = image::module(dir.path(), "a.ko", "one");
    let table = read_table(&ko, |_| true).unwrap().unwrap();
    let again = dir.path().join("b.ko");
    let ld = Command::new("ld")
        .args(["-r", "--compress-debug-sections=zlib", "-o"])
        .args([&again, &ko])
        .status();
    assert!(ld.unwrap().success());
    assert_eq!(read_table(&again, |_| true).unwrap(), Some(table));
}

#[test]
fn damaged_tables_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let ko = image::module(dir.path(), "a.ko", "one");
    let table = read_table(&ko, |_| true).unwrap().unwrap();
    let good = table.encode().unwrap();
    for n in 0..good.len() {
        assert!(Table::decode(&good[..n]).is_err(), "cut at {n}");
    }
    let mut bytes = good.clone();
    for i in 0..good.len() {
        for flip in [0x01, 0x80, 0xff] {
            bytes[i] ^= flip;
            // Only the reserved word is in the checksum and means nothing.
            assert!(Table::decode(&bytes).is_err(), "byte {i} ^ {flip:#x}");
            bytes[i] ^= flip;
        }
    }
    let mut longer = good.clone();
    longer.push(0);
    assert!(Table::decode(&longer).is_err());
    let mut newer = good;
    newer[8] = 2;
    let error = Table::decode(&newer).unwrap_err();
    assert_eq!(error, "side table version 2, but this program reads 1");
}

/// Whatever is wrong, the answer is a table or an error, soon.
#[test]
fn damaged_images_never_panic() {
    let dir = tempfile::tempdir().unwrap();
    for path in [
        image::module_with_c(dir.path(), "a.ko", "one", CALLS, C_CALLS),
        image::vmlinux_with_c(dir.path(), "one", C_CALLS),
    ] {
        let good = fs::read(&path).unwrap();
        assert!(table_of(good.clone()).unwrap().is_some());
        for n in 0..good.len() {
            let _ = table_of(good[..n].to_vec());
        }
        for i in 0..good.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut bytes = good.clone();
                bytes[i] ^= flip;
                let _ = table_of(bytes);
            }
        }
        // Every word as a huge number.
        for i in (0..good.len() - 8).step_by(4) {
            for word in [u64::MAX, 1 << 63, 1 << 40, u64::MAX - 7] {
                let mut bytes = good.clone();
                bytes[i..i + 8].copy_from_slice(&word.to_le_bytes());
                let _ = table_of(bytes);
            }
        }
    }
}
