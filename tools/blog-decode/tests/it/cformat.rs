// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! C formats: what the kernel's own code packs by a compiled format decodes to what `vsnprintf()`
//! prints.
//!
//! The cases are in c_printf.c of the part ccall: KUnit logs those that a kernel prints so, and compares
//! them with its `snprintf()`. Integers are also held against the C library, where it prints as the
//! kernel does.

#[allow(dead_code)] // A probe's loads are the kernel's.
#[path = "../../../../blog/parts/ccall/pack.rs"]
#[allow(clippy::all)]
mod pack;

use std::{
    cell::Cell,
    ffi::{c_char, c_int, CString},
    ptr,
};

use crate::common::kernel::wire::{
    pack::{Codes, CALL_ARGS, SYMBOL},
    types::{Privacy, TypeCode, MAX_PAYLOAD, RESULT},
};
use blog_decode_core::format::{template::Template, types::Types};
use blog_file::record::Version;
use blog_table::printf;
use pack::SLACK;
use proptest::prelude::*;

/// Where memory is that can be read.
const BASE: u64 = 0xffff_8880_0000_0000;
thread_local! {
    static PRIVACY: Cell<Privacy> = const { Cell::new(Privacy::Hash) };
}

/// `PTR_INVALID` of the kernel's test.
const INVALID: u64 = 0xab;
/// Looks like an address, but nothing is there.
const WILD: u64 = 0xffff_dead_0000_0000;

/// Memory with one readable stretch.
#[derive(Default)]
struct Space {
    bytes: Vec<u8>,
    /// Whether it is gone once it was measured.
    vanishes: Cell<bool>,
    gone: Cell<bool>,
    /// How many bytes of strings were looked at.
    seen: Cell<usize>,
}

impl Space {
    fn put(&mut self, bytes: &[u8]) -> u64 {
        let at = BASE + self.bytes.len() as u64;
        self.bytes.extend(bytes);
        at
    }

    fn str(&mut self, s: &str) -> u64 {
        self.put(format!("{s}\0").as_bytes())
    }

    fn get(&self, address: u64, len: usize) -> Option<&[u8]> {
        let start = usize::try_from(address.checked_sub(BASE)?).ok()?;
        self.bytes.get(start..start.checked_add(len)?)
    }
}

thread_local! {
    /// What is there while a call is packed.
    static SPACE: Cell<*const Space> = const { Cell::new(ptr::null()) };
}

fn space<'a>() -> &'a Space {
    // SAFETY: `pack` has set it, and still has it.
    unsafe { &*SPACE.get() }
}

/// In place of a function of the kernel, as the others.
#[no_mangle]
extern "C" fn blog_string_length(address: u64, max: usize) -> isize {
    let space = space();
    for n in 0..max {
        space.seen.set(space.seen.get() + 1);
        match space.get(address + n as u64, 1) {
            Some([0]) => return n as isize,
            Some(_) => {}
            None => return -14,
        }
    }
    max as isize
}

/// Adds up the bytes; those of a number are not in the space.
fn hash(address: u64, len: usize) -> Option<u64> {
    let bytes = match space().get(address, len) {
        Some(bytes) => bytes,
        None if address >= BASE => return None,
        // SAFETY: It is the packer's own.
        None => unsafe { std::slice::from_raw_parts(address as *const u8, len) },
    };
    Some(bytes.iter().map(|&byte| u64::from(byte)).sum())
}

/// It stores as many bytes as that may.
#[no_mangle]
unsafe extern "C" fn blog_copy_string(address: u64, dst: *mut u8, max: usize) -> isize {
    let len = blog_string_length(address, max);
    if let (true, Ok(n)) = (max > 0, usize::try_from(len)) {
        // SAFETY: By this function's requirement.
        unsafe {
            dst.copy_from_nonoverlapping(space().get(address, n).unwrap().as_ptr(), n);
            dst.add(n).write_bytes(0xaa, 7);
        }
    }
    len
}

#[no_mangle]
unsafe extern "C" fn blog_text(kind: u32, address: u64, dst: *mut u8, len: usize) -> isize {
    let text = match (kind < SYMBOL.into(), address.checked_sub(BASE)) {
        (true, Some(at)) => format!("{kind}@{at}"),
        (true, None) => return -14,
        (false, _) => format!("{kind}@{address:x}"),
    };
    let n = text.len().min(len);
    // SAFETY: By this function's requirement.
    unsafe { dst.copy_from_nonoverlapping(text.as_ptr(), n) };
    text.len() as isize
}

unsafe fn copy_nofault(dst: *mut u8, address: u64, len: usize) -> bool {
    let space = space();
    let bytes = space.get(address, len).filter(|_| !space.gone.get());
    if let Some(bytes) = bytes {
        // SAFETY: By this function's requirement.
        unsafe { dst.copy_from_nonoverlapping(bytes.as_ptr(), len) };
    }
    bytes.is_some()
}

/// What a call stores, as it is written by `write_packed`: first where there may be too little
/// room, then where there is enough.
fn pack(space: &Space, words: u128, args: &[u64]) -> Option<Vec<u8>> {
    // An int is passed in a register whose upper half is anything.
    SPACE.set(space);
    let size = stored(Codes(words), args, 0).0;
    if size > MAX_PAYLOAD {
        return None;
    }
    let (again, short) = stored(Codes(words), args, size + SLACK - 1);
    assert!(short.is_none() || again < size, "{words:#x}");
    let simple = simply(words, args, size + SLACK);
    space.gone.set(space.vanishes.get());
    let (now, exact) = stored(Codes(words), args, size + SLACK);
    assert!(now <= size, "{words:#x}");
    let (_, ample) = stored(Codes(words), args, 4000);
    assert_eq!(exact, ample, "{words:#x}");
    assert!(simple.is_none() || simple == exact, "{words:#x}");
    exact
}

/// The payload, if it is packed in one pass.
fn simply(words: u128, args: &[u64], room: usize) -> Option<Vec<u8>> {
    let around = 16;
    let mut bytes = vec![0xee; room + 2 * around];
    let dst = bytes.as_mut_ptr().wrapping_add(around);
    // SAFETY: There is this room.
    let size = unsafe { pack::pack_simple(words as u64, args, dst, dst.wrapping_add(room)) };
    assert_eq!(bytes[..around], [0xee; 16]);
    assert_eq!(bytes[around + room..], [0xee; 16]);
    Some(bytes[around..around + size?].to_vec())
}

/// The size that is wanted, and the payload if it has been stored; nothing is stored beyond the
/// room.
fn stored(codes: Codes, args: &[u64], room: usize) -> (usize, Option<Vec<u8>>) {
    let around = 16;
    let mut bytes = vec![0xee; room + 2 * around];
    let dst = bytes.as_mut_ptr().wrapping_add(around);
    // SAFETY: There is this room.
    let size = unsafe { pack::pack(codes, args, PRIVACY.get(), dst, room) };
    assert_eq!(bytes[..around], [0xee; 16]);
    assert_eq!(bytes[around + room..], [0xee; 16]);
    let is_stored = size + SLACK <= room;
    (size, is_stored.then(|| bytes[around..around + size].to_vec()))
}

fn log(space: &Space, format: &str, args: &[u64]) -> String {
    let compiled = printf::compile(format).unwrap();
    assert_eq!(compiled.count, args.len(), "{format}");
    let payload = pack(space, compiled.codes.0, args).unwrap();
    let mut types = Types::new(&[]);
    let resolved = compiled.types.iter().map(|&c| types.resolve(c).unwrap());
    let names = vec![String::new(); compiled.types.len()];
    let resolved = resolved.collect();
    let template = Template::new_c(format, names, &compiled.types, resolved).unwrap();
    let mut slots = Vec::new();
    assert!(
        template.locate_arguments(&payload, Version::Two, &mut slots),
        "{format}: {payload:02x?}"
    );
    let mut out = Vec::new();
    template.print(&payload, &slots, &mut out);
    String::from_utf8(out).unwrap()
}

/// An `int` as it may come, with an upper half that means nothing.
fn int(n: i32) -> u64 {
    u64::from(n as u32) | 0x5a5a_5a5a_0000_0000
}

fn check(expected: &str, format: &str, args: &[u64]) {
    assert_eq!(log(&Space::default(), format, args), expected, "{format:?} {args:x?}");
}

/// The arguments of a macro's call, of which this is what follows the parenthesis.
fn arguments(source: &str) -> Vec<&str> {
    let (mut all, mut start) = (Vec::new(), 0);
    let (mut depth, mut quote, mut escaped) = (0, None, false);
    for (i, c) in source.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(q), _) if q == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ',' | ')') if depth == 0 => {
                all.push(source[start..i].trim());
                start = i + 1;
                if c == ')' {
                    break;
                }
            }
            (None, ')') => depth -= 1,
            _ => {}
        }
    }
    all
}

/// An argument of a case.
fn argument(space: &mut Space, source: &str) -> u64 {
    let number = |source: &str| match source.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16).unwrap(),
        None => source.parse().unwrap(),
    };
    if let Some((name, rest)) = source.split_once('(') {
        let words = arguments(rest);
        let digits = words[0].trim_matches('"').as_bytes().chunks(2);
        let byte = |two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap();
        let numbers = words.iter().copied().map(number);
        return match name {
            "HEX" => space.put(&digits.map(byte).collect::<Vec<_>>()),
            "INTS" => {
                space.put(&numbers.flat_map(|n| (n as i32).to_le_bytes()).collect::<Vec<_>>())
            }
            "LONGS" => {
                space.put(&numbers.flat_map(|n| (n as u64).to_le_bytes()).collect::<Vec<_>>())
            }
            "ERR_PTR" => numbers.sum::<i128>() as u64,
            _ => panic!("{source}"),
        };
    }
    match (source.as_bytes(), source.strip_suffix("ULL")) {
        (b"NULL", _) => 0,
        ([b'"', ..], _) => space.str(&printf::literal(source).unwrap()),
        ([b'\'', c, b'\''], _) => int((*c).into()),
        (_, Some(long)) => number(long) as u64,
        _ => int(number(source) as i32),
    }
}

/// The arguments of all calls of a macro in the table.
fn rows(name: &str) -> Vec<Vec<&'static str>> {
    let source = include_str!("../../../../blog/parts/ccall/tests/c_printf.c");
    source.split(&format!("\n\t{name}(")).skip(1).map(arguments).collect()
}

#[test]
fn cases() {
    let all = [rows("CASE"), rows("HOST")];
    assert!(all[0].len() > 80 && all[1].len() > 10);
    for case in all.concat() {
        let mut space = Space::default();
        let args: Vec<_> = case[2..].iter().map(|a| argument(&mut space, a)).collect();
        let [expected, format] = [case[0], case[1]].map(|s| printf::literal(s).unwrap());
        assert_eq!(log(&space, &format, &args), expected, "{case:?}");
    }
    check(&"0".repeat(32_767), "%.99999d", &[0]);
    let mut space = Space::default();
    let bytes = space.put(&[b'x'; 200]);
    assert_eq!(log(&space, "%*pE", &[int(200), bytes]), "x".repeat(200));
}

#[test]
fn long_strings_are_cut_and_say_so() {
    let mut space = Space::default();
    let long = "x".repeat(2000);
    let at = space.str(&long);
    let kept = MAX_PAYLOAD - 4 - 1 - 2;
    let expected = format!("7 {}\u{2026}[more]", &long[..kept]);
    assert_eq!(log(&space, "%d %s", &[int(7), at]), expected);
    // One that is just too long is seen to its end.
    let ends = space.str(&long[..1022]);
    let expected = format!("7 {}\u{2026}[+6 bytes]", &long[..kept]);
    assert_eq!(log(&space, "%d %s", &[int(7), ends]), expected);
    let expected = &long[..300];
    assert_eq!(log(&space, "%.300s", &[at]), expected);
    let text = log(&space, "%s%s", &[at, at]);
    assert!(text.ends_with("\u{2026}[more]\u{2026}[more]"), "{text}");
    // A precision that is beyond what fits doesn't say where the string ends.
    let text = log(&space, "%.1500s", &[at]);
    assert!(text.ends_with("x\u{2026}[more]"), "{text}");
}

/// A call may have interrupts off: how long it takes must not depend on what it finds.
#[test]
fn strings_are_looked_at_no_further_than_they_are_stored() {
    let mut space = Space::default();
    let at = space.str(&"x".repeat(60_000));
    let seen = |format, args: &[u64]| {
        let codes = Codes(printf::compile(format).unwrap().codes.0);
        SPACE.set(&space);
        stored(codes, args, 0);
        space.seen.take()
    };
    // Once to see that it is too long, and once by what is left for it.
    assert_eq!(seen("%s", &[at]), 2 * (MAX_PAYLOAD + 1));
    // Together, but for a byte each, which says that there is more.
    let together = seen("%s%s%s%s%s%s%s%s%s%s%s%s", &[at; 12]);
    assert!(together <= 2 * (MAX_PAYLOAD + 12));
}

/// Numbers that print in part are stored whole: the flags of a resource, seconds whose date or time
/// of day alone is wanted, the class of traffic in a socket's flow information.
fn prints_in_part(ext: &str, at: usize) -> bool {
    let starts = |all: &[&str]| all.iter().any(|start| ext.starts_with(start));
    match at {
        4 if starts(&["IS", "iS"]) => ext.contains('f'),
        ..8 => starts(&["tTd", "tTt", "tSd", "tSt"]),
        24.. => ext.starts_with('R'),
        _ => false,
    }
}

/// What the format doesn't print may be an address, or what the stack had there before.
#[test]
fn what_a_pointer_leads_to_is_stored_as_far_as_it_prints() {
    let resource = |flags: u64| [0x1000, 0x1fff, 0xffff_8880_1234_5678, flags, 7];
    let resources = [0x200, 0x2000_0200, 0x2000_0000, 0x400].map(resource);
    let resources = resources.map(|words| words.map(u64::to_le_bytes).concat());
    let ints = [1, 2, 3, 4, 5, 126, 0x5a5a, 0x5a5a, 0x5a5a, 0x5a5a].map(i32::to_le_bytes);
    let sockets = [2u8, 10, 1].map(|family| [&[family, 0][..], &[0x55; 38]].concat());
    let objects = [&resources[..], &[ints.concat(), [b'x'; 40].to_vec()], &sockets].concat();
    let mut sockets = vec![String::new()];
    for letter in ["p", "f", "s", "c", "n", "h"] {
        sockets.extend(sockets.clone().iter().map(|before| format!("{before}{letter}")));
    }
    let formats = [
        "ra r R tR tRd tRt tRs tRtr tT tTd tTt tS tSp tSd tSt M MF MR m mR I4 i4 I4h I4l I6 i6 I6c",
        "U Ub Ul UB UL a ad ap NF 4cc 4ch 4cb 4cl b bl h hC hD hN E Ehp",
    ];
    let formats = formats.iter().flat_map(|line| line.split(' ').map(String::from));
    let sockets = ["IS", "iS"].map(|ip| sockets.iter().map(move |rest| format!("{ip}{rest}")));
    let all: Vec<String> = formats.chain(sockets.into_iter().flatten()).collect();
    let mut compared = 0;
    for ext in &all {
        for width in ["", "3", "13", "64", "*"] {
            let format = format!("%{width}p{ext}");
            let is_sized = ext.starts_with(['b', 'h', 'E']);
            if !is_sized && !width.is_empty() {
                continue;
            }
            // Of text, bytes that aren't UTF-8 all print as one character.
            let fits = |object: &&Vec<u8>| object.is_ascii() || !ext.starts_with('E');
            for object in objects.iter().filter(fits) {
                let say = |object: &[u8]| {
                    let mut space = Space::default();
                    let at = space.put(object);
                    let args = if width == "*" { vec![int(13), at] } else { vec![at] };
                    let words = printf::compile(&format).unwrap().codes.0;
                    let text = log(&space, &format, &args);
                    (pack(&space, words, &args).unwrap(), text)
                };
                let (stored, text) = say(object);
                for bit in (0..8 * object.len()).filter(|bit| !prints_in_part(ext, bit / 8)) {
                    let mut other = object.clone();
                    other[bit / 8] ^= 1 << (bit % 8);
                    let (other, printed) = say(&other);
                    assert!(
                        other == stored || printed != text,
                        "{format}: bit {bit} of {object:x?}"
                    );
                    compared += 1;
                }
            }
        }
    }
    println!("{compared} bits");
    // Those are all letters of formats that store what a pointer leads to.
    let letters: Vec<char> = ('a'..='z').chain('A'..='Z').chain('0'..='9').collect();
    for (a, b, c) in letters
        .iter()
        .flat_map(|a| letters.iter().flat_map(move |b| "hlbcdts".chars().map(move |c| (a, b, c))))
    {
        let Ok(compiled) = printf::compile(&format!("%p{a}{b}{c}")) else {
            continue;
        };
        let is_result = compiled.types.iter().any(|&ty| TypeCode(ty).kind() == RESULT);
        let is_known = |ext: &String| ext.starts_with(*a);
        assert!(!is_result || all.iter().any(is_known), "%p{a}{b}{c}");
    }
}

/// What can't be stored, or isn't printed by the kernel, is refused, and the reason names it.
#[test]
fn what_cannot_be_stored_is_refused() {
    let refused = rows("REFUSED");
    assert!(refused.len() > 20);
    let refused =
        refused.into_iter().map(|row| [row[1], row[0]].map(|s| printf::literal(s).unwrap()));
    let many = [("%d".repeat(32), "32 arguments"), ("%pI4".repeat(11), "more arguments")];
    let many = many.map(|(format, reason)| [format, reason.into()]);
    for [format, reason] in refused.chain(many) {
        let error = printf::compile(&format).expect_err(&format);
        assert!(error.contains(&reason), "{format}: {error}");
    }
}

#[test]
fn sources_say_which_argument_is_stored() {
    let compiled = printf::compile("%*d %.*s %*ph %c").unwrap();
    assert_eq!(compiled.sources, [0, 1, 3, 4, 5, 6]);
    assert_eq!(compiled.count, 7);
}

/// As many arguments as C passes are stored, numbers or not.
#[test]
fn many_arguments_are_stored() {
    for count in [7, 8, 15, 16, CALL_ARGS] {
        let args: Vec<_> = (0..count as u64).collect();
        let expected: Vec<_> = args.iter().map(u64::to_string).collect();
        check(&expected.join(" "), &vec!["%llu"; count].join(" "), &args);
    }
    let mut space = Space::default();
    let at = space.str("text");
    let (format, args) = (["%hhu %s "; 15].concat() + "%d", [7, at].repeat(15));
    let expected = ["7 text "; 15].concat() + "-1";
    assert_eq!(log(&space, &format, &[&args[..], &[int(-1)]].concat()), expected);
}

#[test]
fn short_strings_are_packed_in_one_pass() {
    let mut space = Space::default();
    let [short, empty, long] = ["short", "", &"x".repeat(255)].map(|s| space.str(s));
    SPACE.set(&space);
    let simply =
        |format, args: &[u64], room| simply(printf::compile(format).unwrap().codes.0, args, room);
    let (args, payload) = ([short, 7, empty], b"\x05short\x07\0\0\0\0");
    assert_eq!(simply("%s %d %s", &args, 11 + SLACK), Some(payload.to_vec()));
    assert_eq!(simply("%s %d %s", &args, 10 + SLACK), None);
    for address in [0, INVALID, WILD, long] {
        assert_eq!(simply("%s", &[address], 1000), None);
    }
    // More or fewer than are passed, and what is no string or number.
    for format in ["%s %d", "%s %d %s %d", "%s %d %pI4", "%d %d %d"] {
        assert_eq!(simply(format, &args, 1000), None, "{format}");
    }
}

/// The writer is given what the image has, whatever that is.
#[test]
fn any_words_are_harmless() {
    let mut space = Space::default();
    let at = space.put(&[7; 3000]);
    let mut words = 0x1234_5678_9abc_def1u128;
    for i in 0..20_000u64 {
        words ^= words << 13;
        words ^= words >> 7;
        words ^= words << 17;
        words ^= u128::from(i) << 64;
        let args = [at; CALL_ARGS].map(|a| if words & 64 == 0 { a } else { words as u64 });
        let _ = pack(&space, words, &args[..words as usize % CALL_ARGS]);
    }
}

/// What was readable when it was measured need not be when it is copied. Of a string, what is
/// measured is copied.
#[test]
fn memory_may_vanish_meanwhile() {
    let mut space = Space::default();
    let at = space.str("there");
    space.vanishes.set(true);
    assert_eq!(
        log(&space, "%s|%4ph|%*ph|%d", &[at, at, int(2), at, int(5)]),
        "there|(efault)|(efault)|5"
    );
}

#[test]
fn literals_are_what_the_compiler_makes_of_them() {
    for (source, expected) in [
        (r#""read %u\n""#, "read %u\n"),
        (r#""a" "b"   "c""#, "abc"),
        (r#""\"q\" \\ \x41\102\e\?\'""#, "\"q\" \\ AB\x1b?'"),
        (r#""\001" "3" "x""#, "\u{1}3x"),
        (r#""""#, ""),
        // A byte of another encoding.
        (r#""\xb0" "C""#, "\u{fffd}C"),
    ] {
        assert_eq!(printf::literal(source).as_deref(), Ok(expected), "{source}");
    }
    for source in ["fmt", r#""a" fmt"#, r#""a"#, r#""\q""#, r#""\0""#] {
        assert!(printf::literal(source).is_err(), "{source}");
    }
    assert_eq!(
        printf::arguments(r#"n, f(a, b), ",", x[i, j], ',', "\",\"""#),
        ["n", "f(a, b)", "\",\"", "x[i, j]", "','", r#""\",\"""#]
    );
    assert!(printf::arguments("").is_empty());
}

extern "C" {
    fn snprintf(buf: *mut c_char, size: usize, format: *const c_char, ...) -> c_int;
}

/// What the C library prints.
fn libc(format: &str, width: i32, precision: i32, n: u64) -> String {
    let format = CString::new(format).unwrap();
    let mut buf = [0u8; 256];
    // SAFETY: The format takes two ints and a number, whose size is in it.
    let len = unsafe {
        snprintf(buf.as_mut_ptr().cast(), buf.len(), format.as_ptr(), width, precision, n)
    };
    String::from_utf8(buf[..len as usize].to_vec()).unwrap()
}

proptest! {
    #[test]
    fn integers_print_as_by_the_c_library(
        flags in "[-+ #]{0,3}",
        zero in any::<bool>(),
        width in -40i32..40,
        precision in 1i32..40,
        size in prop::sample::select(vec!["hh", "h", "", "l", "ll", "z"]),
        letter in prop::sample::select(vec!["d", "i", "u", "x", "X", "o"]),
        shift in 0u32..64,
        n in any::<u64>(),
    ) {
        // Where the kernel isn't C: no zeros with a precision, and no prefix before a zero or as
        // one of the digits of a precision.
        let n = n >> shift | 1;
        let octal = letter == "o" && flags.contains('#');
        let (zero, precision) = if zero || octal { ("0", 1) } else { ("", precision) };
        let format = if precision == 1 {
            format!("%{flags}{zero}{width}{size}{letter}", width = width.abs() + 1)
        } else {
            format!("%{flags}*.*{size}{letter}")
        };
        if precision == 1 {
            // The same without arguments before it.
            let spaced = format!("%.0d%.0d{format}");
            let expected = libc(&spaced, 0, 0, n);
            prop_assert_eq!(log(&Space::default(), &format, &[n]), expected);
        } else {
            let expected = libc(&format, width, precision, n);
            let args = [int(width), int(precision), n];
            prop_assert_eq!(log(&Space::default(), &format, &args), expected);
        }
    }

    #[test]
    fn any_format_is_compiled_or_refused(format in "(%[-+ #0]{0,2}[0-9*]{0,2}\\.?[0-9*]{0,2}[hlzLt]{0,2}[a-zA-Z%][a-zA-Z0-9]{0,3}|.){0,6}") {
        if let Ok(compiled) = printf::compile(&format) {
            let payload = pack(&Space::default(), compiled.codes.0, &[WILD; CALL_ARGS]);
            prop_assert!(payload.is_some());
            log(&Space::default(), &format, &vec![WILD; compiled.count]);
        }
    }
}

#[test]
fn private_arguments_are_stored_as_the_setting_says() {
    let mut space = Space::default();
    let name = space.put(b"ab\0");
    let codes = printf::compile_with("%d %s %.1s %d %s %s", &|i, _| i != 3).unwrap();
    let args = [(7 << 32) + 258, name, name, 5, 0, WILD];
    let stored = |privacy| {
        PRIVACY.set(privacy);
        pack(&space, codes.codes.0, &args).unwrap()
    };
    let number = |first: u8, n: u64| [&[first][..], &n.to_le_bytes()].concat();
    let sum = |text: &str| text.bytes().map(u64::from).sum();
    let want = |first, values: [u64; 5]| {
        let [n, name, start, null, wild] = values.map(|n| number(first, n));
        [n, name, start, 5i32.to_le_bytes().to_vec(), null, wild].concat()
    };
    // The upper half of an int is anything.
    let hashes = [3, sum("ab"), sum("a"), sum("(null)"), sum("(efault)")];
    assert_eq!(stored(Privacy::Hash), want(0, hashes));
    assert_eq!(stored(Privacy::Omit), want(1, [0; 5]));
    let text = |text: &str| [number(2, text.len() as u64), text.into()].concat();
    let kept = [
        number(2, 258),
        text("ab"),
        text("a"),
        5i32.to_le_bytes().to_vec(),
        text("(null)"),
        text("(efault)"),
    ];
    assert_eq!(stored(Privacy::Keep), kept.concat());
}
