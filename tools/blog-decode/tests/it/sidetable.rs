// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Side tables: the program of the kernel build and the decoder agree, and neither falls for
//! damaged input.

use std::{
    fs,
    os::unix::fs::{symlink, FileTypeExt},
    path::Path,
    process::{Command, Output},
    thread,
};

use crate::common::{
    blog_fmt_sidetable,
    image::{self, CCall, CALLS, C_FILE, FILE},
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

#[test]
fn an_inventory_lists_strings_addresses_and_what_is_private() {
    let dir = tempfile::tempdir().unwrap();
    let calls = [
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
    let c_calls = [CCall {
        line: 101,
        format: r#""%s by %d of %d""#,
        arguments: r#"blog_private(name(a, b)), __builtin_choose_expr(sizeof("blog_private"), uid, 0), n"#,
    }];
    image::module_with_c(dir.path(), "a.ko", "one", &calls, &c_calls);
    let text = |file: &str| {
        let output = sidetable(&["--inventory", file], dir.path());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let id = |text: &str| text.split(", ").nth(1).unwrap().to_owned();
    let got = text("a.ko");
    let lines = [
        &format!("image test_mod, {}, components: disk", id(&got)),
        "drivers/block/test.c:101\tinfo\tprivate string\tname(a, b)\t\"%s by %d of %d\"",
        "drivers/block/test.c:101\tinfo\tprivate value\tuid\t\"%s by %d of %d\"",
        "drivers/block/test.rs:5\tdebug\tnetwork address\thost\t\"{:?} {host:?}\"",
        "drivers/block/test.rs:31\terr\tstring\tname\t\"open {} at {:p} by {}, {} times\"",
        "drivers/block/test.rs:31\terr\taddress\tat\t\"open {} at {:p} by {}, {} times\"",
        "drivers/block/test.rs:31\terr\tprivate value\tprivate(uid)\t\"open {} at {:p} by {}, {} times\"",
    ];
    assert_eq!(got.lines().collect::<Vec<_>>(), lines);
    // A table knows no components, a linked image does.
    assert!(sidetable(&["a.ko"], dir.path()).status.success());
    let of_table = text("test_mod.blogfmt");
    assert_eq!(of_table, got.replace("components: disk", "components: unknown"));
    image::vmlinux_with_c(dir.path(), "one", &[]);
    let linked = text("vmlinux");
    assert!(linked.contains(", components: disk\n") && linked.lines().count() == 2, "{linked}");
    let output = sidetable(&["--inventory", "-o", ".", "a.ko"], dir.path());
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn only_a_whole_argument_of_a_kind_that_fits_is_private() {
    for (format, arguments, why) in [
        (r#""%d""#, "1 + blog_private(n)", "is not all of the argument"),
        (r#""%d""#, "blog_private(n) + (1)", "is not all of the argument"),
        (r#""%*d""#, "blog_private(w), n", "a width or precision can't be private"),
        (r#""%pI4""#, "blog_private(&host)", "only numbers, addresses and strings"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let calls = [CCall { line: 7, format, arguments }];
        image::module_with_c(dir.path(), "a.ko", "one", CALLS, &calls);
        let output = sidetable(&["a.ko"], dir.path());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments}: {stderr}");
        assert!(stderr.contains(why), "{arguments}: {stderr}");
    }
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
fn formats_that_cannot_be_logged_are_errors_with_their_place() {
    let dir = tempfile::tempdir().unwrap();
    let calls = [(7, r#""%pV""#), (8, r#""fine %d""#), (9, "fmt")].map(|(line, format)| CCall {
        line,
        format,
        arguments: "vaf",
    });
    let ko = image::module_with_c(dir.path(), "a.ko", "one", CALLS, &calls);
    let bytes = fs::read(&ko).unwrap();
    let output = sidetable(&["a.ko"], dir.path());
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr);
    for line in [
        "drivers/block/test.c:7: \"%pV\": ",
        "drivers/block/test.c:9: fmt: the format is not a string literal",
    ] {
        assert!(stderr.lines().any(|l| l.starts_with(line)), "{stderr}");
    }
    assert!(!stderr.contains("test.c:8"), "{stderr}");
    assert_eq!(fs::read(&ko).unwrap(), bytes);
    assert!(!dir.path().join("test_mod.blogfmt").exists());
}

/// As modules_install puts them into /lib/modules/RELEASE/blog.
#[test]
fn tables_of_several_builds_are_installed_beside_each_other() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("out")).unwrap();
    let mut expected = Vec::new();
    for salt in ["one", "two", "one"] {
        let ko = image::module(dir.path(), "a.ko", salt);
        assert!(sidetable(&["a.ko"], dir.path()).status.success());
        let table = read_table(&ko, |_| true).unwrap().unwrap();
        expected.push(format!("test_mod-{}.blogfmt", table.build_id_hex()));
        let output = sidetable(&["test_mod.blogfmt", "-o", "out"], dir.path());
        assert!(output.status.success(), "{output:?}");
        let installed = dir.path().join("out").join(&expected[expected.len() - 1]);
        assert_eq!(read_table(&installed, |_| true).unwrap(), Some(table));
    }
    expected.sort();
    expected.dedup();
    let names = fs::read_dir(dir.path().join("out")).unwrap();
    let mut names: Vec<_> = names.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, expected);
    assert_eq!(names.len(), 2);
    // Without -o, a table is no image.
    let output = sidetable(&["test_mod.blogfmt"], dir.path());
    assert_eq!(output.status.code(), Some(1));
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
fn usage_and_input_errors_have_their_exit_status() {
    let dir = tempfile::tempdir().unwrap();
    image::module(dir.path(), "a.ko", "one");
    fs::write(dir.path().join("text"), "not an image").unwrap();
    fs::write(dir.path().join("empty"), "").unwrap();
    for (args, status, text) in [
        (&["--help"][..], 0, ""),
        (&[], 2, "no ELF file"),
        (&["--nonsense"], 2, "unknown option"),
        (&["a.ko", "-o", "nowhere"], 2, "not a directory"),
        (&["a.ko", "-o"], 2, "needs a value"),
        (&["absent.ko"], 1, "absent.ko"),
        (&["."], 1, "is a directory"),
        (&["/dev/null"], 1, "not a regular file"),
        (&["text"], 1, "cut off"),
        (&["empty"], 1, "cut off"),
        // The good one is done all the same.
        (&["text", "a.ko"], 1, "text"),
        (&["--inventory", "test_mod.blogfmt"], 0, ""),
    ] {
        let output = sidetable(args, dir.path());
        assert_eq!(output.status.code(), Some(status), "{args:?} {output:?}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(text), "{args:?}: {stderr}");
    }
    assert!(dir.path().join("test_mod.blogfmt").exists());
}

/// Makes x.o, an image without call sites, with this build ID if that isn't empty.
fn bare(dir: &Path, build_id: &[u8]) {
    let mut text = ".text\nnop\n".to_owned();
    if !build_id.is_empty() {
        text += ".section .note.gnu.build-id, \"a\", @note\n.long 4, ";
        text += &format!("{}, 3\n.asciz \"GNU\"\n", build_id.len());
        build_id.iter().for_each(|b| text += &format!(".byte {b}\n"));
    }
    fs::write(dir.join("x.s"), text).unwrap();
    image::tool(dir, &["cc", "-c", "x.s"]);
}

/// A table that a file may be.
fn named(name: &str, build_id: &[u8]) -> Vec<u8> {
    let table = Table { build_id: build_id.to_vec(), name: name.into(), ..Table::default() };
    table.encode().unwrap()
}

#[test]
fn an_image_without_call_sites_gets_no_table() {
    let dir = tempfile::tempdir().unwrap();
    bare(dir.path(), b"this");
    let old = dir.path().join("old");
    // That of an earlier build goes.
    fs::write(&old, named("x", b"that")).unwrap();
    let output = sidetable(&["x.o", "--output", "old", "-v"], dir.path());
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("no call sites"));
    assert!(!old.exists());
    // What isn't known for one stays.
    for content in [
        b"a text".to_vec(),
        named("y", b"that"),
        named("x", b"this"),
        named("x", b"that")[..20].to_vec(),
    ] {
        fs::write(&old, &content).unwrap();
        let output = sidetable(&["x.o", "--output", "old"], dir.path());
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert_eq!(fs::read(&old).unwrap(), content);
    }
}

/// "It has none" and "it has lost its table" are different answers.
#[test]
fn a_table_that_was_stripped_off_is_no_table_of_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let ko = image::module(dir.path(), "a.ko", "one");
    let good = read_table(&ko, |_| true).unwrap().unwrap();
    let good = good.encode().unwrap();
    let vmlinux = image::vmlinux(dir.path(), "one");
    let vmlinux = vmlinux.file_name().unwrap().to_str().unwrap();
    for image in ["a.ko", vmlinux] {
        image::tool(dir.path(), &["objcopy", "--remove-section=.debug.blog", image]);
        // Also the table that it should have is there.
        fs::write(dir.path().join("old"), &good).unwrap();
        for args in [&[][..], &["--output", "old"], &["--inventory"], &["-v"], &["-o", "."]] {
            let output = sidetable(&[&[image], args].concat(), dir.path());
            assert_eq!(output.status.code(), Some(1), "{image} {args:?} {output:?}");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains("it was stripped off"), "{said}");
            assert!(output.stdout.is_empty(), "{output:?}");
        }
        assert_eq!(fs::read(dir.path().join("old")).unwrap(), good);
    }
}

#[test]
fn a_module_that_contains_its_table_gives_it_again() {
    let dir = tempfile::tempdir().unwrap();
    let ko = image::module(dir.path(), "a.ko", "one");
    assert!(sidetable(&["a.ko"], dir.path()).status.success());
    let table = dir.path().join("test_mod.blogfmt");
    let good = fs::read(&table).unwrap();
    image::tool(dir.path(), &["objcopy", "--remove-section=.debug.blog", "a.ko"]);
    fs::remove_file(&table).unwrap();
    let before = fs::read(&ko).unwrap();
    let output = sidetable(&["a.ko"], dir.path());
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fs::read(&table).unwrap(), good);
    assert_eq!(fs::read(&ko).unwrap(), before);
}

#[test]
fn the_table_of_an_object_is_that_of_its_module() {
    let dir = tempfile::tempdir().unwrap();
    let whole = image::module_with_c(dir.path(), "whole.ko", "one", CALLS, C_CALLS);
    let remove = "--remove-section=.note.gnu.build-id";
    image::tool(dir.path(), &["objcopy", remove, "whole.ko", "test_mod.o"]);
    let output = sidetable(&["test_mod.o"], dir.path());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no build ID"));

    let object = dir.path().join("test_mod.o");
    assert!(sidetable(&["--object", "test_mod.o"], dir.path()).status.success());
    let once = fs::read(&object).unwrap();
    assert!(sidetable(&["--object", "test_mod.o"], dir.path()).status.success());
    assert_eq!(fs::read(&object).unwrap(), once);
    assert!(!dir.path().join("test_mod.blogfmt").exists());

    image::tool(dir.path(), &["ld", "-r", "--build-id=sha1", "-o", "a.ko", "test_mod.o"]);
    image::tool(dir.path(), &["strip", "-g", "a.ko"]);
    let table = read_table(&dir.path().join("a.ko"), |_| true).unwrap().unwrap();
    let wanted = read_table(&whole, |_| true).unwrap().unwrap();
    assert_eq!((&table.name, &table.sites), (&wanted.name, &wanted.sites));
    assert_eq!(table.build_id.len(), 20);
    assert_ne!(table.build_id, wanted.build_id);
}

/// Wherever a table goes: what isn't an older one of the same image stays.
#[test]
fn only_older_tables_of_the_same_image_are_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let ko = image::module(dir.path(), "a.ko", "one");
    let run = |args: &[&str]| sidetable(&[&["a.ko"], args].concat(), dir.path());
    let good = read_table(&ko, |_| true).unwrap().unwrap();
    let id = good.build_id_hex();
    let good = good.encode().unwrap();
    fs::create_dir(path("tables")).unwrap();
    let by_id = format!("tables/test_mod-{id}.blogfmt");
    for (args, to) in
        [(&["--output", "to"][..], "to"), (&[], "test_mod.blogfmt"), (&["-o", "tables"], &*by_id)]
    {
        for (old, is_replaced) in [
            (b"a text".to_vec(), false),
            (named("other", b"that"), false),
            (named("test_mod", b"that"), true),
            (Vec::new(), true),
        ] {
            fs::write(path(to), &old).unwrap();
            let output = run(args);
            assert_eq!(output.status.success(), is_replaced, "{to} {output:?}");
            let new = fs::read(path(to)).unwrap();
            assert!(new == if is_replaced { good.clone() } else { old }, "{to}");
        }
    }
    // A link stays one.
    symlink("to", path("link")).unwrap();
    fs::write(path("to"), named("test_mod", b"that")).unwrap();
    assert!(run(&["--output", "link"]).status.success());
    assert!(path("link").is_symlink());
    assert_eq!(fs::read(path("to")).unwrap(), good);
    symlink("nowhere", path("gone")).unwrap();
    assert!(!run(&["--output", "gone"]).status.success());
    assert!(path("gone").is_symlink());
    // A pipe gets the table. A device is written to, too.
    image::tool(dir.path(), &["mkfifo", "pipe"]);
    let reader = thread::spawn({
        let pipe = path("pipe");
        move || fs::read(pipe).unwrap()
    });
    assert!(run(&["--output", "pipe"]).status.success());
    assert_eq!(reader.join().unwrap(), good);
    assert!(fs::metadata(path("pipe")).unwrap().file_type().is_fifo());
    symlink("/dev/null", path("null")).unwrap();
    assert!(run(&["--output", "null"]).status.success());
    assert!(path("null").is_symlink());
    bare(dir.path(), b"");
    let output = sidetable(&["x.o", "--output", "pipe"], dir.path());
    assert!(output.status.success() && path("pipe").exists(), "{output:?}");
    let left = fs::read_dir(dir.path()).unwrap();
    assert!(!left.into_iter().any(|e| e.unwrap().file_name().to_string_lossy().contains(".tmp")));
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
