// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The library as other programs use it: what `examples/fields.rs` has.

use std::{path::PathBuf, process::Command};

use blog_decode::{Captures, Content, Error, Expr, Filter, Selector, Val};
use serde_json::Value;

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
        .args(["--modules", "/nowhere", "--json", "-s"])
        .args([golden("golden_mod.blogfmt"), golden("new.snap")])
        .output()
        .unwrap();
    let printed: Vec<_> = String::from_utf8(program.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|object| object["type"] == "record")
        .map(|object| object["message"].as_str().unwrap().to_owned())
        .collect();
    let (mut texts, mut last) = (Vec::new(), i128::MIN);
    let undecoded = open().for_each(&Filter::default(), |entry| {
        assert!(entry.real() >= last);
        last = entry.real();
        if let Content::Record(record) = &entry.content {
            texts.push(String::from_utf8_lossy(record.message).into_owned());
        }
    });
    assert_eq!(undecoded.sum(), 1);
    assert_eq!(texts, printed);
    assert!(texts.len() > 10);
}

#[test]
fn fields_and_conditions_are_by_name() {
    let filter = Filter {
        expr: Some(Expr::parse("arg.count >= 8 && level == info").unwrap()),
        ..Filter::default()
    };
    let (count, file) =
        (Selector::parse("arg.count").unwrap().unwrap(), Selector::parse("file").unwrap().unwrap());
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
    let error = Captures::open([golden("text.txt")], &[], None).err().unwrap();
    assert!(error.to_string().contains("text.txt"), "{error}");
    assert!(matches!(Expr::parse("level <="), Err(Error::Syntax(_))));
    assert!(Selector::parse("nonsense").unwrap().is_none());
}
