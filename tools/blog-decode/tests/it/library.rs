// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The library as other programs use it: what `examples/fields.rs` has.

use std::{collections::BTreeMap, fs, path::PathBuf, process::Command};

use blog_decode::{Captures, Entry, Error, EventKind, Expr, Filter, Selector, Val};
use blog_decode_core::field::{Scope, COLUMNS};
use serde_json::Value;

fn golden(name: &str) -> PathBuf {
    let here = env!("CARGO_MANIFEST_DIR");
    [here, "tests/golden/expected", name].iter().collect()
}

fn open() -> Captures {
    Captures::open([golden("new.snap")], &[golden("golden_mod.blogfmt")], None)
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
    let (captures, filter) = (open(), Filter::default());
    let mut entries = captures.entries(&filter);
    for entry in &mut entries {
        assert!(entry.real() >= last);
        last = entry.real();
        if entry.is_record() {
            texts.push(String::from_utf8_lossy(&entry.message).into_owned());
        }
    }
    assert_eq!(entries.undecoded().sum(), 1);
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
    for entry in open().entries(&filter).filter(Entry::is_record) {
        let Some(Val::Number(n)) = count.value(&entry) else {
            panic!("no number");
        };
        let mut text = Vec::new();
        assert!(file.print(&entry, &mut text));
        found.push((n, String::from_utf8(text).unwrap()));
    }
    let place = "drivers/block/test.rs".to_owned();
    assert_eq!(found, [(8, place.clone()), (16, place)]);
}

/// Records and losses of each task, as a third party would count them: of all files but those that
/// are none of ours, up to the first record that begins with `last`.
fn tasks(paths: &[PathBuf], last: &[u8]) -> Result<BTreeMap<String, (u64, u64)>, Error> {
    let captures = Captures::open(paths, &[golden("golden_mod.blogfmt")], None);
    let mut problems = captures.problems().into_iter();
    if let Some(grave) = problems.find(|e| matches!(e.kind(), Error::CutOff)) {
        return Err(grave);
    }
    let mut tasks = BTreeMap::<_, (u64, u64)>::new();
    for entry in captures.entries(&Filter::default()) {
        let Some(task) = entry.task() else { continue };
        let counts = tasks.entry(format!("{}[{}]", task.name(), task.pid)).or_default();
        match entry.event.kind {
            EventKind::Loss { count, .. } => counts.1 += count,
            _ => counts.0 += 1,
        }
        if entry.message.starts_with(last) {
            break;
        }
    }
    Ok(tasks)
}

#[test]
fn one_bad_file_does_not_end_the_others_and_a_loop_may_stop() {
    let dir = tempfile::tempdir().unwrap();
    let (bad, cut) = (dir.path().join("bad"), dir.path().join("cut"));
    fs::write(&bad, "text").unwrap();
    let whole = fs::read(golden("version-3/new.snap")).unwrap();
    fs::write(&cut, &whole[..whole.len() - 100]).unwrap();
    let sum = |tasks: &BTreeMap<_, (u64, u64)>| tasks.values().map(|n| n.0).sum::<u64>();
    let good = golden("version-3/new.snap");
    let all = tasks(&[bad.clone(), good.clone()], b"\0").unwrap();
    assert!(sum(&all) > 5, "{all:?}");
    assert!(all.keys().any(|name| name.starts_with("fio[")), "{all:?}");
    let some = tasks(&[good.clone(), bad.clone()], b"read").unwrap();
    assert!((1..sum(&all)).contains(&sum(&some)), "{some:?}");
    let error = tasks(&[good, cut.clone()], b"").unwrap_err();
    assert!(matches!(error.kind(), Error::CutOff), "{error}");
    assert!(error.to_string().contains("cut: no end"), "{error}");
    let problems = Captures::open([&bad, &cut], &[], None).problems();
    let missing = problems.iter().map(Error::kind);
    assert!(missing.into_iter().any(|e| matches!(e, Error::NoTable { .. })), "{problems:?}");
}

#[test]
fn errors_say_which_file() {
    let problems = Captures::open([golden("text.txt")], &[], None).problems();
    let [error] = &problems[..] else { panic!("{problems:?}") };
    assert!(matches!(error.kind(), Error::NotOurs(_)), "{error:?}");
    assert!(error.to_string().contains("text.txt"), "{error}");
    assert!(matches!(Expr::parse("level <="), Err(Error::Syntax(_))));
    assert!(Selector::parse("nonsense").unwrap().is_none());
}

/// A table of the manual, of columns that are chosen by their scope.
fn table(is_in: impl Fn(Scope) -> bool) -> String {
    let chosen = COLUMNS.iter().filter(|column| is_in(column.scope));
    let rows: Vec<_> = chosen.map(|c| (format!("``{}``", c.name), c.doc.trim())).collect();
    let wide = rows.iter().map(|(name, _)| name.len()).max().unwrap();
    let doc = rows.iter().map(|(_, doc)| doc.len()).max().unwrap();
    let bar = format!("{}  {}\n", "=".repeat(wide), "=".repeat(doc));
    let row = |(name, doc): &(String, &str)| format!("{name:<wide$}  {doc}\n");
    let rows: String = rows.iter().map(row).collect();
    format!("{bar}{}{bar}{rows}{bar}", row(&("field".into(), "value")))
}

#[test]
fn the_manual_has_all_columns() {
    let here = env!("CARGO_MANIFEST_DIR");
    let page = fs::read_to_string(format!("{here}/../../Documentation/blog/decode.rst")).unwrap();
    for is_output in [false, true] {
        let table = table(|scope| (scope == Scope::Output) == is_output);
        assert!(page.contains(&table), "decode.rst lacks\n{table}");
    }
}
