// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! C formats: what the kernel's own code packs by a compiled format decodes to what `vsnprintf()`
//! prints.
//!
//! Most cases are in tests/kunit/c_printf.c; KUnit logs them in a kernel, and compares them with
//! its `snprintf()`. Here are those that a kernel wouldn't print so, or would die of. Integers are
//! also held against the C library, where it prints as the kernel does.

mod common;

extern crate self as kernel;

/// The kernel's crate, as far as its writer of C calls wants it.
pub mod blog {
    pub use crate::common::kernel::wire;
}

#[path = "../../../blog/write/pack.rs"]
#[allow(clippy::all)]
mod pack;

use std::{
    cell::Cell,
    ffi::{c_char, c_int, CString},
    ptr,
};

use blog_decode::{
    blogfmt::printf,
    format::{template::Template, types::Types},
    record::Version,
};
use common::kernel::wire::{
    pack::{Codes, SYMBOL, UNCOMPILED},
    types::{MAX_ARGS, MAX_PAYLOAD},
};
use pack::{Numbers, Packed};
use proptest::prelude::*;

/// Where memory is that can be read.
const BASE: u64 = 0xffff_8880_0000_0000;
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

/// In place of the kernel's function, as the other two.
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

#[no_mangle]
unsafe extern "C" fn blog_copy_nofault(dst: *mut u8, address: u64, len: usize) -> bool {
    let space = space();
    let bytes = space.get(address, len).filter(|_| !space.gone.get());
    if let Some(bytes) = bytes {
        // SAFETY: By this function's requirement.
        unsafe { dst.copy_from_nonoverlapping(bytes.as_ptr(), len) };
    }
    bytes.is_some()
}

/// What a call stores.
fn pack(space: &Space, word: u64, args: &[u64]) -> Option<Vec<u8>> {
    // An int is passed in a register whose upper half is anything.
    let mut slots = [0xbad0_bad0_bad0_bad0; MAX_ARGS];
    slots[..args.len()].copy_from_slice(args);
    SPACE.set(space);
    let packed = Packed::new(Codes(word), &slots);
    space.gone.set(space.vanishes.get());
    if let Some(packed) = &packed {
        // SAFETY: As `stored` says.
        return Some(stored(packed.size, |dst| unsafe { packed.store(dst) }));
    }
    // Numbers alone are stored in the same way, however many there can be.
    let few: &[u64; 3] = slots.first_chunk().unwrap();
    let some: &[u64; 6] = slots.first_chunk().unwrap();
    let numbers = [
        stored_numbers(word, few),
        stored_numbers(word, some),
        stored_numbers(word, &slots),
    ];
    let count = (word & 15 == 13).then_some((word >> 4 & 15) as usize);
    for (stored, most) in numbers.iter().zip([3, 6, MAX_ARGS]) {
        assert_eq!(
            stored.is_some(),
            count.is_some_and(|n| n <= most),
            "{word:#x}"
        );
    }
    let mut all = numbers.into_iter().flatten().collect::<Vec<_>>();
    if word.checked_shr(8 + 4 * count? as u32).unwrap_or(0) == 0 {
        all.dedup();
        assert!(all.len() <= 1, "{word:#x}");
    }
    all.pop()
}

fn stored_numbers<const N: usize>(word: u64, args: &[u64; N]) -> Option<Vec<u8>> {
    let numbers = Numbers::new(Codes(word), args)?;
    // SAFETY: As `stored` says.
    Some(stored(numbers.size(), |dst| unsafe { numbers.store(dst) }))
}

/// The payload; nothing is stored beyond it, and before it no more than a header is long. There is
/// room for both.
fn stored(size: usize, store: impl FnOnce(*mut u8)) -> Vec<u8> {
    let around = 16;
    let mut bytes = vec![0xee; size + 2 * around];
    store(bytes.as_mut_ptr().wrapping_add(around));
    assert_eq!(bytes[..around - 8], [0xee; 8]);
    assert_eq!(bytes[around + size..], [0xee; 16]);
    assert!(size <= MAX_PAYLOAD);
    bytes[around..around + size].to_vec()
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
        template.cut(&payload, Version::Two, &mut slots),
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
    assert_eq!(
        log(&Space::default(), format, args),
        expected,
        "{format:?} {args:x?}"
    );
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
            "INTS" => space.put(
                &numbers
                    .flat_map(|n| (n as i32).to_le_bytes())
                    .collect::<Vec<_>>(),
            ),
            "LONGS" => space.put(
                &numbers
                    .flat_map(|n| (n as u64).to_le_bytes())
                    .collect::<Vec<_>>(),
            ),
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

#[test]
fn cases() {
    let source = include_str!("../../../tests/kunit/c_printf.c");
    let cases = source.split("\n\tCASE(").skip(1).map(arguments);
    for case in cases.clone() {
        let mut space = Space::default();
        let args: Vec<_> = case[2..].iter().map(|a| argument(&mut space, a)).collect();
        let [expected, format] = [case[0], case[1]].map(|s| printf::literal(s).unwrap());
        assert_eq!(log(&space, &format, &args), expected, "{case:?}");
    }
    assert!(cases.count() > 80);
}

#[test]
fn what_a_kernel_prints_otherwise() {
    check("100%", "100%5%", &[]);
    check("ffff", "%Lx", &[0xffff]);
    check("\u{fffd}", "%c", &[int(0xe9)]);
    let plain = 0xffff_0123_4567_89ab;
    check("ffff0123456789ab", "%p", &[plain]);
    check(
        "ffff0123456789ab|  ffff0123456789ab",
        "%px|%18pK",
        &[plain, plain],
    );
    check("0000000000000000", "%p", &[0]);
    check("00000000000000ab", "%px", &[INVALID]);
    check(
        "12@ffff0123456789ab|13@0|14@1000|  12@a",
        "%pS|%ps|%pB|%6pSR",
        &[plain, 0, 4096, 10],
    );
    let mut space = Space::default();
    let at = space.put(&[1, 1, 7, 0x2000_0000].map(u64::to_le_bytes).concat());
    let bytes = space.put(&[b'x'; 200]);
    // No byte after the precision is looked at: this one has no end.
    let open = space.put(b"open");
    for (expected, format, args) in [
        ("open|open", "%.4s|%.*s", vec![open, int(4), open]),
        ("(efault)", "%s", vec![open]),
        (
            "(null)|(efault)|(efault)",
            "%s|%s|%s",
            vec![0, INVALID, WILD],
        ),
        ("  (null)|(n", "%8s|%.2s", vec![0, 0]),
        ("(efault)", "%s", vec![u64::MAX - 10]),
        ("    (efault)", "%*ph", vec![int(12), WILD]),
        ("(efault)|(efault)", "%pI6|%pISpc", vec![WILD, WILD]),
        ("(null)|    (efault)", "%pR|%12pr", vec![0, WILD]),
        ("[??? 0x00000001 flags 0x20000000]", "%pR", vec![at]),
        (&"x".repeat(200), "%*pE", vec![int(200), bytes]),
    ] {
        assert_eq!(log(&space, format, &args), expected, "{format}");
    }
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
    log(&space, "%s", &[at]);
    assert_eq!(space.seen.take(), MAX_PAYLOAD + 1);
    // Together, but for a byte each, which says that there is more.
    log(&space, "%s%s%s%s%s%s%s%s%s%s%s%s", &[at; 12]);
    assert!(space.seen.take() <= MAX_PAYLOAD + 12);
}

/// What they are called is up to the kernel; here it is the kind, and where.
#[test]
fn objects_are_stored_by_name() {
    let mut space = Space::default();
    let at = space.put(b"object");
    for (expected, format) in [
        ("0@0", "%pd"),
        ("1@0  |", "%-5pd2|"),
        ("3@", "%.2pd4"),
        (" 6@0", "%4pD3"),
        ("8@0", "%pg"),
        ("9@0", "%pGp"),
        ("10@0", "%pGv"),
        ("11@0", "%20pGg"),
    ] {
        assert_eq!(log(&space, format, &[at]), expected, "{format}");
    }
    assert_eq!(
        log(&space, "%pd|%pD|%pg", &[0, INVALID, 0]),
        "(null)|(efault)|(null)"
    );
    assert_eq!(log(&space, "%*pd2", &[int(-4), at]), "1@0 ");
}

/// What can't be stored, or isn't printed by the kernel, is refused, and the reason names it.
#[test]
fn what_cannot_be_stored_is_refused() {
    for (format, reason) in [
        ("%pV", "can't be stored"),
        ("%pA", "Rust"),
        ("%pOF", "firmware's tables"),
        ("%pfw", "firmware's tables"),
        ("%pC", "clock framework"),
        ("%pks", "BPF"),
        ("%pI5", "knows no %pI5"),
        ("%pt", "knows no %pt"),
        ("%pNx", "knows no %pNx"),
        ("%p4cx", "knows no %p4cx"),
        ("%pGx", "knows no %pGx"),
        ("%8pg", "width or precision of %pg"),
        ("%256pE", "longer than 255 bytes"),
        ("%n", "%n stores"),
        ("%hhn", "%n stores"),
        ("%f", "no conversion 'f'"),
        ("%q", "no conversion 'q'"),
        ("tail %", "ends in the middle"),
        ("%-5.", "ends in the middle"),
        ("%l", "ends in the middle"),
        ("%*%", "no conversion '%'"),
        ("%d%é", "no conversion 'é'"),
        ("%*.*ph", "means nothing"),
        ("%2048pb", "longer than 255 bytes"),
        ("%9999999pb", "longer than"),
        ("%d%d%d%d%d%d%d%d%d%d%d%d%d", "13 arguments"),
        ("%pI4%pI4%pI4%pI4%pI4%pI4", "more arguments"),
    ] {
        let error = printf::compile(format).expect_err(format);
        assert!(error.contains(reason), "{format}: {error}");
    }
}

#[test]
fn sources_say_which_argument_is_stored() {
    let compiled = printf::compile("%*d %.*s %*ph %c").unwrap();
    assert_eq!(compiled.sources, [0, 1, 3, 4, 5, 6]);
    assert_eq!(compiled.count, 7);
}

/// The writer is given what the image has, whatever that is.
#[test]
fn any_word_of_codes_is_harmless() {
    assert!(pack(&Space::default(), UNCOMPILED, &[]).is_none());
    let mut space = Space::default();
    let at = space.put(&[7; 3000]);
    let mut word = 0x1234_5678_9abc_def1u64;
    for _ in 0..20_000 {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        let args = [at; MAX_ARGS].map(|a| if word & 64 == 0 { a } else { word });
        let _ = pack(&space, word, &args);
    }
}

/// What was readable when it was measured need not be when it is copied.
#[test]
fn memory_may_vanish_meanwhile() {
    let mut space = Space::default();
    let at = space.str("there");
    space.vanishes.set(true);
    assert_eq!(
        log(&space, "%s|%4ph|%*ph|%d", &[at, at, int(2), at, int(5)]),
        "|(efault)|00 00|5"
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
        snprintf(
            buf.as_mut_ptr().cast(),
            buf.len(),
            format.as_ptr(),
            width,
            precision,
            n,
        )
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
            let payload = pack(&Space::default(), compiled.codes.0, &[WILD; MAX_ARGS]);
            prop_assert!(payload.is_some());
            log(&Space::default(), &format, &vec![WILD; compiled.count]);
        }
    }
}

#[test]
fn bases_are_known_where_the_text_has_none() {
    let base = |format: &str| {
        let compiled = printf::compile(format).unwrap();
        let mut types = Types::new(&[]);
        let resolved = compiled.types.iter().map(|&c| types.resolve(c).unwrap());
        let (names, resolved) = (vec![String::new()], resolved.collect());
        let template = Template::new_c(format, names, &compiled.types, resolved);
        template.unwrap().base(0)
    };
    let formats = ["%x", "%08X", "%o", "%u", "%#x", "%p"];
    assert_eq!(formats.map(base), [16, 16, 8, 10, 10, 10]);
}
