// SPDX-License-Identifier: GPL-2.0

//! The wire format, bit by bit: numbers, codes and names that other builds and tools rely on.

use kernel::{
    blog::{
        wire::{
            codes::derived_hash,
            dump::{self, state_letter, Root, TICKS},
            file::{Kind, SECTION_MAX},
            name::{check, fit, is_reserved, NAME_MAX},
            pack,
            page::{PageInfo, PAGE_HEADER_SIZE, PAGE_MAGIC, SEQ_MASK},
            record::*,
            ring::RING_BUSY,
            types::{self, *},
        },
        BlogArg, Level, Mode,
    },
    error::{code::EINVAL, Error},
};

#[test]
fn a_header_has_36_bits_of_time_18_of_site_and_10_of_length() {
    assert_eq!(Header::new(1, 0, 0).0, 1 << 28);
    assert_eq!(Header::new(0, 1, 0).0, 1 << 10);
    assert_eq!(Header::new(0, 0, 1).0, 1);
    let clock = 0xabcd_ef12_3456_789a;
    let header = Header::new(clock, SITE_MAX, PAYLOAD_MAX as u32);
    assert_eq!(header, Header::from_parts(clock, SITE_MAX << 10, 1031));
    assert_eq!((SITE_MAX, PAYLOAD_MAX, RECORD_MAX), (0x3_ffff, 1023, 1031));
    assert_eq!((header.ts(), header.site()), (0x2_3456_789a, SITE_MAX));
    assert_eq!((header.payload(), header.size()), (1023, 1031));
    assert_eq!(header.without_payload(), Header::new(clock, SITE_MAX, 0));
    assert_eq!(header.clock(clock ^ 0xf_ffff), clock);
    assert_eq!((TS_MASK, SEQ_MASK), ((1 << 36) - 1, (1 << 48) - 1));
}

#[test]
fn control_records_are_read_as_they_were_written() {
    let task = ControlRecord::Task {
        context: 2,
        cpu: 0x1234,
        pid: -1,
        tgid: 0x0102_0304,
        comm: *b"0123456789abcdef",
    };
    let cases = [
        (ControlRecord::TimeExtend(u64::MAX - 3), 1, 20),
        (ControlRecord::Left(3 << 40), 4, 20),
        (ControlRecord::Lost { cause: 7, count: 1 << 40 }, 0x702, 20),
        (task, 0x1234_0203, 36),
    ];
    for (record, word, size) in cases {
        let bytes = record.bytes(77);
        assert_eq!(record.size(), size);
        assert_eq!(bytes[..8], Header::new(77, 0, size as u32 - 8).0.to_le_bytes());
        assert_eq!(bytes[8..12], u32::to_le_bytes(word));
        assert_eq!(ControlRecord::from_payload(&bytes[8..size]), Some(record));
        for len in 0..size - 8 {
            assert_eq!(ControlRecord::from_payload(&bytes[8..8 + len]), None);
        }
    }
    assert_eq!(task.bytes(0)[12..20], [0xff, 0xff, 0xff, 0xff, 4, 3, 2, 1]);
    assert_eq!(task.bytes(0)[20..], *b"0123456789abcdef");
    for kind in [0u32, 5, 255] {
        assert_eq!(Control::from_word(kind), None);
        assert_eq!(ControlRecord::from_payload(&[kind as u8; 28]), None);
    }
    for kind in [Control::TimeExtend, Control::Lost, Control::Task, Control::Left] {
        assert_eq!(Control::from_word(0xffff_ff00 | kind as u32), Some(kind));
    }
}

#[test]
fn numbers_and_names_do_not_change() {
    let lost = Lost::ALL.map(|cause| (cause as u8, cause.name()));
    let want =
        ["no-page", "nested", "too-long", "disabled", "reader-lag", "full", "no-ring", "frozen"];
    assert_eq!(lost.to_vec(), (0..8).zip(want).collect::<Vec<_>>());
    let levels = (0..=255).filter_map(Level::from_u8);
    let levels: Vec<_> = levels.map(|level| (level as u8, level.name())).collect();
    let want = [(1, "err"), (2, "warn"), (3, "info"), (4, "debug"), (5, "trace")];
    assert_eq!(levels, want);
    let contexts = (0..=255).filter_map(Context::from_u8);
    let contexts: Vec<_> = contexts.map(|c| (c as u8, c.name(), c.percpu_index(2))).collect();
    let want = [
        (0, "task", None),
        (1, "softirq", Some(6)),
        (2, "hardirq", Some(7)),
        (3, "nmi", Some(8)),
        (4, "shared", None),
    ];
    assert_eq!(contexts, want);
    let kinds = (0..=u16::MAX).filter_map(|n| Some((n, Kind::from_u16(n)? as u16)));
    assert_eq!(kinds.collect::<Vec<_>>(), (1..=15).map(|n| (n, n)).collect::<Vec<_>>());
    assert_eq!((RING_BUSY, SECTION_MAX), (0x8000_0000, 0x100_0000));
}

#[test]
fn a_page_s_header_is_read_as_it_was_written() {
    let info = PageInfo {
        magic: PAGE_MAGIC,
        size: 4096,
        ring: 0x0102_0304,
        next: u32::MAX - 1,
        seq: 5 << 48 | 9,
        base: u64::MAX - 7,
        first: 1 << 50,
        commit: 17 << 32 | 500,
    };
    let bytes = info.bytes();
    assert_eq!(&bytes[..12], b"BLPG\x00\x10\x00\x00\x04\x03\x02\x01");
    assert_eq!(bytes[40..], (17u64 << 32 | 500).to_le_bytes());
    assert_eq!((info.end(), info.records()), (500, 17));
    for len in 0..PAGE_HEADER_SIZE {
        assert_eq!(PageInfo::read(&bytes[..len]), None);
    }
    assert_eq!(PageInfo::read(&bytes), Some(info));
}

#[test]
fn a_type_s_code_says_how_it_is_stored() {
    // Kinds, and the size of their fixed part.
    let plain = [
        (&[U8, I8, BOOL, STR, CSTR, BYTES, HEX][..], 1),
        (&[U16, I16], 2),
        (&[U32, I32, CHAR, ERROR, PID, IPV4], 4),
        (&[U64, I64, USIZE, ISIZE, POINTER, INSTANT, DELTA], 8),
        (&[U128, I128, IPV6], 16),
        (&[UNIT], 0),
        (&[MAC], 6),
    ];
    let size_of = |kind| {
        let found = plain.iter().find(|(kinds, _)| kinds.contains(&kind));
        found.map(|(_, size)| *size)
    };
    for kind in 0..=255 {
        let (code, size) = (TypeCode::plain(kind), size_of(kind));
        let tail = [STR, CSTR, BYTES, HEX].contains(&kind);
        assert_eq!((code.kind(), code.0), (kind, kind.into()));
        assert_eq!(code.has_tail(), tail, "{kind:#x}");
        assert_eq!(code.long_size(), if tail { 2 } else { 0 });
        if [BYTE_ARRAY, OPTION, RESULT, PRIVATE, DERIVED].contains(&kind) {
            continue;
        }
        assert_eq!(code.fixed_size(), size, "{kind:#x}");
        assert_eq!(code.is_valid(), size.is_some(), "{kind:#x}");
        let text = TypeCode(code.0 | 1 << 8);
        assert_eq!(text.is_valid(), text == TypeCode::TEXT);
        // The value, or the error in its place, after a byte that says which of them.
        for (outer, or) in [(OPTION, 0), (RESULT, 4), (PRIVATE, PRIVATE_HASH)] {
            let wrapped = code.wrapped(outer);
            assert_eq!((wrapped.kind(), wrapped.inner()), (outer, code));
            assert_eq!(wrapped.fixed_size(), size.map(|n| 1 + n.max(or)));
            assert_eq!((wrapped.has_tail(), wrapped.is_valid()), (tail, size.is_some()));
        }
    }
}

#[test]
fn what_is_private_is_all_of_an_argument() {
    let private = TypeCode::plain(STR).wrapped(PRIVATE);
    assert!(private.is_valid() && private.has_tail());
    for outer in [OPTION, RESULT, PRIVATE] {
        assert_eq!(private.wrapped(outer), TypeCode::TOO_DEEP);
    }
    let twice = TypeCode(private.0 << 8 | u64::from(PRIVATE));
    assert!(!twice.is_valid());
    let large = TypeCode::byte_array(9).unwrap().wrapped(PRIVATE);
    assert_eq!(large.fixed_size(), Some(10));
}

#[test]
fn text_is_stored_as_a_string() {
    let (text, string) = (TypeCode::TEXT, TypeCode::plain(STR));
    assert_eq!((text.kind(), text.fixed_size()), (STR, string.fixed_size()));
    assert!(text.has_tail() && text != string);
    assert!(!TypeCode(u64::from(STR) | 2 << 8).is_valid());
}

#[test]
fn parameters_of_a_type_s_code_are_bounded() {
    for len in [0, 1, 300, MAX_PAYLOAD] {
        let code = TypeCode::byte_array(len).unwrap();
        assert_eq!((code.kind(), code.array_len()), (BYTE_ARRAY, len));
        assert_eq!((code.fixed_size(), code.is_valid()), (Some(len), true));
    }
    assert_eq!(TypeCode::byte_array(MAX_PAYLOAD + 1), None);
    assert!(!TypeCode((MAX_PAYLOAD as u64 + 1) << 8 | u64::from(BYTE_ARRAY)).is_valid());

    let mut code = TypeCode::plain(U8);
    for _ in 0..7 {
        code = code.wrapped(OPTION);
    }
    assert_eq!(code.fixed_size(), Some(8));
    assert_eq!(code.wrapped(OPTION), TypeCode::TOO_DEEP);
    assert!(code.is_valid());

    let derived = TypeCode::derived(u64::MAX);
    assert_eq!(derived.0, 0xff_ffff_ffff_ff50);
    assert!(derived.is_valid() && !TypeCode(derived.0 | 1 << 56).is_valid());
    assert_eq!((derived.fixed_size(), derived.has_tail()), (None, false));
    assert_eq!(derived.wrapped(RESULT).fixed_size(), None);
    // FNV-1a, computed elsewhere.
    assert_eq!(derived_hash("a::module", "Name", 12, 5), 0x0269_ddd5_a330);
}

#[test]
fn tails_are_cut_to_what_is_left_and_long_ones_say_their_length() {
    assert_eq!([0, 254, 255, 65535].map(types::long_size), [0, 0, 2, 2]);
    let mut budget = 10;
    let taken = [4, 6, 1, 0].map(|len| take_tail(&mut budget, len));
    assert_eq!((taken, budget), ([4, 6, 0, 0], 0));
}

#[test]
fn a_component_s_name_is_a_file_s() {
    let longest = [b'a'; 55];
    for good in
        [&b"a"[..], b"nvme0-0000:01:00.0", b"A_z+9", b"sda#2", b"streams", b"strea", &longest]
    {
        assert!(check(good));
        assert!(!is_reserved(good));
    }
    for bad in [&b""[..], &[b'a'; 56], b".", b"#2", b"a/b", b"a b", b"a\x80"] {
        assert!(!check(bad) && !is_reserved(bad));
    }
    for name in ["components", "control", "snapshot", "stats", "stream", "tasks"] {
        assert!(!check(name.as_bytes()) && is_reserved(name.as_bytes()));
    }
}

#[test]
fn any_name_is_made_fit() {
    let fitted = |wanted: &[u8], n| {
        let name = fit(wanted, n);
        assert_eq!(name[NAME_MAX - 1], 0);
        let len = name.iter().position(|b| *b == 0).unwrap();
        String::from_utf8(name[..len].to_vec()).unwrap()
    };
    for (wanted, n, name) in [
        (&b"sda"[..], 1, "sda"),
        (b"sda", 2, "sda#2"),
        (b"sda", 1024, "sda#1024"),
        (b"sda", u32::MAX, "sda#4294967295"),
        (b"cciss/c0d0", 1, "cciss_c0d0"),
        (b"", 1, "_"),
        (b"", 3, "_#3"),
        (b"../etc", 1, "_._etc"),
        (b"#1", 1, "_1"),
        ("/mnt/ä b\n".as_bytes(), 1, "_mnt____b_"),
    ] {
        assert_eq!(fitted(wanted, n), name);
    }
    for len in 50..70 {
        for n in [1, 2, 10, 999] {
            let name = fitted(&vec![b'x'; len], n);
            assert!(check(name.as_bytes()));
            assert_eq!(
                name.matches('x').count() < len,
                len + name.matches(|c| c != 'x').count() > 55
            );
        }
    }
    for byte in 0..=u8::MAX {
        assert!(check(fitted(&[byte], 1).as_bytes()));
        assert!(check(fitted(&[b'a', byte], 1).as_bytes()));
    }
}

#[test]
fn a_task_s_state_is_the_letter_that_ps_shows() {
    let exits = [(0, 0x10, b'X'), (0, 0x20, b'Z'), (1, 0x20, b'Z')];
    let states = [
        (0, b'R'),
        (1, b'S'),
        (2, b'D'),
        (4, b'T'),
        (8, b't'),
        (0x40, b'P'),
        (0x80, b'R'),
        // Not for load, and idle; killable.
        (0x400, b'R'),
        (0x402, b'I'),
        (0x102, b'D'),
        // Waiting for a lock, or frozen: as blocked.
        (0x1000, b'D'),
        (0x8000, b'D'),
        (0x8402, b'D'),
    ];
    let states = states.map(|(state, letter)| (state, 0, letter));
    for (state, exit, letter) in states.into_iter().chain(exits) {
        let found = char::from(state_letter(state, exit));
        assert_eq!(found, char::from(letter), "{state:#x} {exit:#x}");
    }
}

#[test]
fn ticks_of_a_root_are_those_that_are_counted_and_whole() {
    let mut root = Box::new(kernel::blog::root::empty());
    let seen = |root: &Root| root.ticks().map(|tick| tick.jiffies).collect::<Vec<_>>();
    assert!(seen(&root).is_empty());
    for (n, tick) in (1..).zip(&mut root.ticks) {
        (tick.jiffies, tick.pair.clock) = (n, 1000 + n);
    }
    for len in [1, 3, TICKS as u32, u32::MAX] {
        root.ticks_len = len;
        let all: Vec<_> = (1..=u64::from(len).min(TICKS as u64)).collect();
        assert_eq!(seen(&root), all);
    }
    root.ticks_len = 3;
    root.ticks[1].pair.clock = 0;
    assert_eq!(seen(&root), [1, 3]);
}

/// Fixed bytes and tail of an argument.
fn stored<T: BlogArg + ?Sized>(value: &T) -> (Vec<u8>, &[u8]) {
    let mut fixed = vec![0xa5; T::FIXED];
    assert!(T::CODE.fixed_size().is_none_or(|size| size == T::FIXED));
    // SAFETY: There is room.
    unsafe { value.store(fixed.as_mut_ptr()) };
    assert!(T::CODE.has_tail() || value.tail().is_empty());
    (fixed, value.tail())
}

#[test]
fn arguments_are_stored_as_their_codes_say() {
    let errno: [u8; 4] = (-22i32).to_le_bytes();
    let error = [&[1][..], &errno].concat();
    assert_eq!(stored(&0x0102u16), (vec![2, 1], &[][..]));
    assert_eq!(stored("abc"), (vec![3], &b"abc"[..]));
    assert_eq!(stored(&[7u8; 300][..]), (vec![255], &[7; 300][..]));
    assert_eq!(stored(&EINVAL), (errno.to_vec(), &[][..]));
    assert_eq!(stored(&Some("abc")), (vec![1, 3], &b"abc"[..]));
    assert_eq!(stored(&None::<&str>), (vec![0, 0], &[][..]));
    assert_eq!(stored(&Some(-1i64)), ([&[1][..], &[0xff; 8]].concat(), &[][..]));
    // The error is as long as what it stands for, and the other way round.
    assert_eq!(stored(&Ok::<_, Error>(9u8)), (vec![0, 9, 0, 0, 0], &[][..]));
    assert_eq!(stored(&Err::<u8, _>(EINVAL)), (error.clone(), &[][..]));
    assert_eq!(stored(&Ok::<_, Error>("ab")), (vec![0, 2, 0, 0, 0], &b"ab"[..]));
    let long = Err::<u64, _>(EINVAL);
    assert_eq!(stored(&long), ([&error[..], &[0; 4]].concat(), &[][..]));
    assert_eq!(stored(&Ok::<_, Error>(u64::MAX)), ([&[0][..], &[0xff; 8]].concat(), &[][..]));
}

/// What a header of C defines a name as.
fn define(header: &str, name: &str) -> u64 {
    let line = header.lines().find_map(|line| {
        let mut words = line.strip_prefix("#define ")?.split_whitespace();
        (words.next() == Some(name)).then(|| words.next().unwrap())
    });
    let value = line.unwrap_or_else(|| panic!("no {name}"));
    match value.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
        None => value.parse().unwrap(),
    }
}

#[test]
fn c_has_the_same_numbers() {
    let call = include_str!("../../../include/linux/blog_call.h");
    let ccall = include_str!("../../../blog/parts/ccall/ccall.h");
    for (name, value) in [
        ("BLOG_ERR", Level::Err as u64),
        ("BLOG_WARN", Level::Warn as u64),
        ("BLOG_INFO", Level::Info as u64),
        ("BLOG_DEBUG", Level::Debug as u64),
        ("BLOG_TRACE", Level::Trace as u64),
        ("BLOG_OVERWRITE", Mode::Overwrite as u64),
        ("BLOG_DISCARD", Mode::Discard as u64),
        ("__BLOG_GATE_OFF", GATE_OFF.into()),
        ("__BLOG_SITE_UNCOMPILED", SITE_UNCOMPILED.into()),
        ("__BLOG_DESCRIPTOR_MAGIC", u32::from_le_bytes(*b"BLFC").into()),
    ] {
        assert_eq!(define(call, name), value, "{name}");
    }
    for (name, value) in [
        ("BLOG_TEXT_DENTRY", pack::DENTRY),
        ("BLOG_TEXT_FILE", pack::FILE),
        ("BLOG_TEXT_BDEV", pack::BDEV),
        ("BLOG_TEXT_GFP", pack::FLAGS_GFP),
        ("BLOG_TEXT_SYMBOL", pack::SYMBOL),
        ("BLOG_TEXT_CALL", pack::SYMBOL_CALL),
        ("BLOG_CALL_ARGS", pack::CALL_ARGS as u8),
    ] {
        assert_eq!(define(ccall, name), value.into(), "{name}");
    }
    // By number in a table of ccall.c.
    let between = [pack::FLAGS_PAGE, pack::FLAGS_VMA, pack::SYMBOL_NAME];
    assert_eq!(between, [9, 10, 13]);
}

#[test]
fn a_value_of_a_table_is_found_in_each_of_its_forms() {
    // Chunks of three values each; and of 3, 3, 6 and 12.
    let flat = dump::TableRoot { chunks: 10, capacity: 8, per_chunk: 3, stride: 7, doubling: 0 };
    let double = dump::TableRoot { capacity: 4, doubling: dump::CHUNKS_DOUBLE, ..flat };
    let word = |at: u64| Some((at - 10) / 8 * 1000 + 1000);
    for n in 0..24 {
        assert_eq!(flat.find(n, word), Some(u64::from(1000 * (n / 3 + 1) + n % 3 * 7)), "{n}");
        let (chunk, first) = match n {
            0..3 => (0, 0),
            3..6 => (1, 3),
            6..12 => (2, 6),
            _ => (3, 12),
        };
        assert_eq!(double.place(n), Some((chunk, n - first)));
        assert!(double.chunk(chunk).unwrap().contains(&n));
        assert_eq!(double.find(n, word), Some(u64::from(1000 * (chunk + 1) + (n - first) * 7)));
    }
    for table in [flat, double] {
        assert_eq!([24, 25, u32::MAX].map(|n| table.find(n, word)), [None; 3]);
        assert_eq!(dump::TableRoot { per_chunk: 0, ..table }.find(0, word), None);
    }
    assert!([32, 33, u32::MAX].iter().all(|n| double.chunk(*n).is_none()));
}
