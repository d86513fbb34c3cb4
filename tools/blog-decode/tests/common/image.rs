// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Builds a module and a vmlinux with call sites, by the host's assembler and linker.
//!
//! The descriptors are written as the macros write them: label differences for lengths, and a
//! reference to the entry in `.blog_sites`.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A call site of a test image.
pub struct Call {
    pub line: u32,
    pub level: u8,
    pub format: &'static str,
    /// Names and type codes.
    pub args: &'static [(&'static str, u64)],
}

pub const FILE: &str = "drivers/block/test.rs";

pub const CALLS: &[Call] = &[
    Call {
        line: 11,
        level: 3,
        format: "read {} sectors at {sector:#x}",
        args: &[("count", 0x03), ("sector", 0x04)],
    },
    Call {
        line: 22,
        level: 1,
        format: "failed: {e:?} in {:?}",
        args: &[("name", 0x22), ("e", 0x26)],
    },
    Call { line: 33, level: 4, format: "state {:#?}", args: &[("s", STATE)] },
    Call { line: 44, level: 5, format: "nothing to say", args: &[] },
];

/// Code of the derived type `State`.
pub const STATE: u64 = 0x50 | 0x1234 << 8;

fn site(asm: &mut String, n: usize, c: &Call) {
    let names: Vec<&str> = c.args.iter().map(|(name, _)| *name).collect();
    let names = names.join("\\037");
    let format = c.format.replace('\\', "\\\\").replace('"', "\\\"");
    writeln!(
        asm,
        r#"
.pushsection .blog_sites,"aw",@progbits
.balign 8
771{n}: .long 0
.byte {level}, 255
.short 0
.popsection
.pushsection .debug.blog,"",@progbits
.balign 8
772{n}: .long 0x44464c42, 773{n}f - 772{n}b
.quad 771{n}b
.long {line}
.byte {level}, {argc}, 1, 0
.short 775{n}f - 774{n}f, 776{n}f - 775{n}f, 777{n}f - 776{n}f, 778{n}f - 777{n}f"#,
        level = c.level,
        line = c.line,
        argc = c.args.len(),
    )
    .unwrap();
    for (_, code) in c.args {
        writeln!(asm, ".quad {code:#x}").unwrap();
    }
    writeln!(
        asm,
        r#"774{n}: .ascii "{format}"
775{n}: .ascii "{FILE}"
776{n}: .ascii "test::inner"
777{n}: .ascii "{names}"
778{n}: .balign 8
773{n}:
.popsection"#
    )
    .unwrap();
}

/// A C call site of a test image; format and arguments as in the source.
pub struct CCall {
    pub line: u32,
    pub format: &'static str,
    pub arguments: &'static str,
}

pub const C_FILE: &str = "drivers/block/test.c";

/// As `include/linux/blog.h` has it.
fn c_site(asm: &mut String, n: usize, c: &CCall) {
    let quoted = |s: &str| s.replace('\\', "\\\\").replace('"', "\\\"");
    // More than three arguments, or three with a comma: then there is a word more than it needs.
    let many = usize::from(c.arguments.matches(',').count() > 2);
    writeln!(
        asm,
        r#"
.pushsection .blog_sites,"aw",@progbits
.balign 8
.Lc_site{n}: .long 0
.byte 3, 255
.short 2
.popsection
.pushsection .rodata,"a",@progbits
.balign 8
.Lc_codes{n}: .rept 1 + {many}
.quad -1
.endr
.popsection
.pushsection .debug.blog,"",@progbits
.balign 8
772{n}: .long 0x43464c42, 773{n}f - 772{n}b
.quad .Lc_site{n}
.quad .Lc_codes{n}
.long {line}
.byte 3, 3
.short 2 * {many}
.short 775{n}f - 774{n}f, 776{n}f - 775{n}f, 777{n}f - 776{n}f, 778{n}f - 777{n}f
774{n}: .ascii "{format}"
775{n}: .ascii "{C_FILE}"
776{n}: .ascii "test"
777{n}: .ascii "{arguments}"
778{n}: .balign 8
773{n}: .long 0x50464c42, 783{n}f - 773{n}b
.quad .Lc_site{n}, 770{n}f
.short 0, 782{n}f - 781{n}f, 0, 0
781{n}: .ascii "KIND{n}"
782{n}: .balign 8
783{n}:
.popsection
.pushsection .text,"ax",@progbits
.type c_function{n}.part.0, @function
c_function{n}.part.0: .byte 0x90
770{n}: .byte 0x90
.size c_function{n}.part.0, . - c_function{n}.part.0
.popsection"#,
        line = c.line,
        format = quoted(c.format),
        arguments = quoted(c.arguments),
    )
    .unwrap();
}

fn state_type(asm: &mut String) {
    let name = |s: &str| format!(".ascii \"{s}\"\n.balign 8\n");
    writeln!(
        asm,
        r#"
.pushsection .debug.blog,"",@progbits
.balign 8
881: .long 0x54464c42, 882f - 881b
.quad {STATE:#x}
.long 2, 2
.short 5, 0, 0, 0
{state}
.short 4, 0
.byte 0, 0, 0, 0
{idle}
.short 4, 1
.byte 2, 0, 0, 0
{busy}
.quad 0x03
.short 3, 0, 0, 0
{tag}
882:
.popsection"#,
        state = name("State"),
        idle = name("Idle"),
        busy = name("Busy"),
        tag = name("tag"),
    )
    .unwrap();
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn assemble(dir: &Path, name: &str, asm: &str) -> PathBuf {
    let source = dir.join(format!("{name}.s"));
    let object = dir.join(format!("{name}.o"));
    fs::write(&source, asm).unwrap();
    run(Command::new("cc").arg("-c").arg(&source).arg("-o").arg(&object));
    object
}

/// A component, as far as its name goes.
const COMPONENT: &str = r#"
.pushsection .data
.balign 8
.Ldisk: .zero 32
.quad .Lname
.popsection
.pushsection .rodata,"a",@progbits
.Lname: .asciz "disk"
.popsection
.pushsection .blog_components,"aw",@progbits
.balign 8
.quad .Ldisk
.popsection
"#;

/// Two object files, so that the linker has something to merge.
fn objects(dir: &Path, name: &str, salt: &str, calls: &[Call], c_calls: &[CCall]) -> Vec<PathBuf> {
    let mut first = format!(".text\n.ascii \"{salt}\"\n.balign 16\n");
    let mut second = String::new();
    first.push_str(COMPONENT);
    state_type(&mut first);
    state_type(&mut second);
    for (i, c) in calls.iter().enumerate() {
        site(if i < 2 { &mut first } else { &mut second }, i, c);
    }
    for (i, c) in c_calls.iter().enumerate() {
        c_site(&mut second, i, c);
    }
    writeln!(
        second,
        ".section .modinfo,\"a\"\n.asciz \"license=GPL\"\n.asciz \"name=test_mod\"\n\
         .asciz \"vermagic=7.3.4 SMP preempt mod_unload \""
    )
    .unwrap();
    vec![assemble(dir, &format!("{name}-1"), &first), assemble(dir, &format!("{name}-2"), &second)]
}

/// A module. Another salt makes another build.
pub fn module(dir: &Path, file: &str, salt: &str) -> PathBuf {
    module_of(dir, file, salt, CALLS)
}

/// A module with these call sites.
pub fn module_of(dir: &Path, file: &str, salt: &str, calls: &[Call]) -> PathBuf {
    module_with_c(dir, file, salt, calls, &[])
}

/// A module with these call sites of Rust and of C.
pub fn module_with_c(
    dir: &Path,
    file: &str,
    salt: &str,
    calls: &[Call],
    c_calls: &[CCall],
) -> PathBuf {
    let path = dir.join(file);
    run(Command::new("ld")
        .args(["-r", "--build-id=sha1", "-o"])
        .arg(&path)
        .args(objects(dir, file, salt, calls, c_calls)));
    path
}

/// A linked image with a linker script like vmlinux's.
pub fn vmlinux(dir: &Path, salt: &str) -> PathBuf {
    vmlinux_with_c(dir, salt, &[])
}

/// The same with C calls in it.
pub fn vmlinux_with_c(dir: &Path, salt: &str, c_calls: &[CCall]) -> PathBuf {
    let path = dir.join("vmlinux");
    let script = dir.join("vmlinux.lds");
    let text = r#"
SECTIONS {
  . = 0xffffffff81000000;
  .text : { *(.text) }
  .rodata : { *(.rodata) }
  .modinfo : { *(.modinfo) }
  .notes : { *(.note.*) }
  .data : { *(.data) . = ALIGN(8); QUAD(1)
    __start_blog_sites = .; *(.blog_sites) __stop_blog_sites = .;
    __start_blog_components = .; *(.blog_components) __stop_blog_components = .; }
  .debug.blog 0 : { *(.debug.blog) }
}
"#;
    fs::write(&script, text).unwrap();
    let banner = ".section .rodata,\"a\"\n.globl linux_banner\nlinux_banner:\n\
                  .asciz \"Linux version 7.3.4-test (blog@localhost) #1\\n\"\n";
    let banner = assemble(dir, "banner", banner);
    run(Command::new("ld")
        .args(["-static", "--build-id=sha1", "-e", "0", "-T"])
        .arg(&script)
        .arg("-o")
        .arg(&path)
        .arg(banner)
        .args(objects(dir, "vmlinux", salt, CALLS, c_calls)));
    path
}

/// Runs a program in `dir`, which must succeed.
pub fn tool(dir: &Path, command: &[&str]) {
    let status = Command::new(command[0]).args(&command[1..]).current_dir(dir).status();
    assert!(status.unwrap().success(), "{command:?}");
}
