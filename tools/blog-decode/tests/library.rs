// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The library as other programs use it: what `examples/fields.rs` has.

use std::{path::PathBuf, process::Command};

use blog_decode::{Captures, Content, Error, Expr, Filter, Selector, Val};

fn golden(name: &str) -> PathBuf {
    let here = env!("CARGO_MANIFEST_DIR");
    [here, "tests/golden/expected", name].iter().collect()
}

fn open() -> Captures {
    Captures::open([golden("new.snap")], &[golden("golden_mod.blogfmt")], None).unwrap()
}

#[test]
fn records_have_the_text_that_the_program_prints() {
    let program = Command::new(env!("CARGO_BIN_EXE_blog-decode"))
        .args(["--modules", "/nowhere", "--format", "{message}", "-s"])
        .args([golden("golden_mod.blogfmt"), golden("new.snap")])
        .output()
        .unwrap();
    let (mut text, mut last) = (Vec::new(), i128::MIN);
    let undecoded = open().for_each(&Filter::default(), |entry| {
        assert!(entry.real() >= last);
        last = entry.real();
        if let Content::Record(record) = &entry.content {
            text.extend_from_slice(record.message);
            text.push(b'\n');
        }
    });
    assert_eq!(undecoded.sum(), 1);
    // Its text is escaped for terminals.
    let printed = String::from_utf8(program.stdout).unwrap();
    let text = String::from_utf8(text).unwrap();
    let both: Vec<_> = printed.lines().filter(|line| text.contains(line)).collect();
    assert!(
        both.len() > 10 && both[0] == "read 8 sectors at 0x1000",
        "{both:?}"
    );
}

#[test]
fn fields_and_conditions_are_by_name() {
    let filter = Filter {
        expr: Some(Expr::parse("arg.count >= 8 && level == info").unwrap()),
        ..Filter::default()
    };
    let (count, file) = (
        Selector::parse("arg.count").unwrap().unwrap(),
        Selector::parse("file").unwrap().unwrap(),
    );
    let mut found = Vec::new();
    open().for_each(&filter, |entry| {
        let Some(subject) = entry.subject() else {
            return;
        };
        let Some(Val::Number(n)) = count.value(&subject) else {
            panic!("no number");
        };
        let mut text = Vec::new();
        assert!(file.print(&subject, &mut text));
        found.push((n, String::from_utf8(text).unwrap()));
    });
    let place = "drivers/block/test.rs".to_owned();
    assert_eq!(found, [(8, place.clone()), (16, place)]);
}

#[test]
fn errors_say_which_file() {
    let error = Captures::open([golden("text.txt")], &[], None)
        .err()
        .unwrap();
    assert!(error.to_string().contains("text.txt"), "{error}");
    assert!(matches!(Expr::parse("level <="), Err(Error::Syntax(_))));
    assert!(Selector::parse("nonsense").unwrap().is_none());
}
