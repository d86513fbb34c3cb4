// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Texts with commands, and below each what it prints, and its status:
//!
//! ```text
//! $ COMMAND
//! > what it prints
//! ? its status, if that is not 0
//! % COMMAND with {} in the place of arguments
//! | ARGUMENTS => what it prints, in one line (its status)
//! ```

use std::{
    collections::HashMap,
    env, fs,
    os::unix::fs::{symlink, PermissionsExt},
    path::Path,
    process::Command,
    thread,
};

use blog_decode_core::sidetable::read_table;

use super::{
    fixture,
    rig::{Rig, PROGRAM},
};

/// `orders OPTIONS FILES FILES...`: what the program says with files in one order, and whether it says
/// the same with them in others, or with other files.
const ORDERS: &str = r#"#!/bin/sh
options=$1; shift; first=
for files; do
    eval "blog-decode $options $files" > .now 2>&1
    if [ -z "$first" ]; then
        cat .now; mv .now .first; first=1
    elif cmp -s .now .first; then
        echo "$files: the same"
    else
        echo "$files: other"; cat .now
    fi
done
"#;

/// `short`: of messages, each in a line, the numbers of sectors, in few lines.
const SHORT: &str = "#!/bin/sh\nsed 's/read \\([0-9]*\\) sectors at 0x0$/\\1/' | fmt -w 100\n";

/// Writes the files that a text has: `= NAME`, and indented lines as `fixture.rs` takes them; or
/// `= NAME from OTHER: OLD -> NEW | ...`, with what is changed in the lines of another one, and more
/// lines.
fn write_files(rig: &Rig, text: &str) {
    let mut bodies: HashMap<&str, String> = HashMap::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(head) = line.strip_prefix("= ") else {
            continue;
        };
        let (head, changes) = head.split_once(": ").unwrap_or((head, ""));
        let (name, base) = head.split_once(" from ").unwrap_or((head, ""));
        let mut body = bodies.get(base).cloned().unwrap_or_default();
        assert_eq!(base.is_empty(), body.is_empty(), "{line}");
        for change in changes.split(" | ").filter(|change| !change.is_empty()) {
            let (old, new) = change.split_once(" ->").expect(line);
            assert_eq!(body.matches(old).count(), 1, "{change}: {body}");
            body = body.replace(old, new.trim_start());
        }
        while let Some(line) = lines.next_if(|line| line.starts_with("  ")) {
            body += line;
            body.push('\n');
        }
        rig.write(name, fixture::compile(&body, &rig.build_id));
        bodies.insert(name, body);
    }
}

/// Runs the commands of a text in a shell, and puts below each what it says, and its status.
fn answered(text: &str, files: fn(&Rig)) -> String {
    let rig = Rig::new();
    let bin = rig.path("bin");
    fs::create_dir(&bin).unwrap();
    files(&rig);
    write_files(&rig, text);
    let program = Path::new(PROGRAM);
    symlink(program, bin.join(program.file_name().unwrap())).unwrap();
    for (name, script) in [("orders", ORDERS), ("short", SHORT)] {
        fs::write(bin.join(name), script).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", bin.display(), env::var("PATH").unwrap());
    let other = rig.path("other/other.ko");
    let other = other.exists().then(|| read_table(&other, |_| true).unwrap().unwrap());
    let other = other.map_or("no other".into(), |table| table.build_id_hex());
    let run = |command: &str| {
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1; {command}")])
            .current_dir(rig.path(""))
            .env("PATH", &path)
            .env("ID", rig.id())
            .env("TZ", "UTC")
            .env_remove("DEBUGINFOD_URLS")
            .output()
            .unwrap();
        // The linker makes build IDs.
        let said = String::from_utf8(output.stdout).unwrap();
        let said = said.replace(&rig.id(), "$ID").replace(&other, "$OTHER_ID");
        (said, output.status.code().unwrap_or(-1))
    };
    let (mut all, mut table) = (String::new(), "");
    for line in text.lines().filter(|line| !line.starts_with(['>', '?'])) {
        if let Some(row) = line.strip_prefix("| ") {
            let arguments = row.split(" =>").next().unwrap_or_default();
            let (said, status) = run(&table.replace("{}", arguments));
            let said: Vec<_> = said.lines().filter(|line| !line.trim().is_empty()).collect();
            let status = if status == 0 { String::new() } else { format!(" ({status})") };
            let row = format!("| {arguments} => {}{status}", said.join("; "));
            all += &format!("{}\n", row.trim_end());
            continue;
        }
        all += &format!("{line}\n");
        table = line.strip_prefix("% ").unwrap_or(table);
        let Some(command) = line.strip_prefix("$ ") else {
            continue;
        };
        let (said, status) = run(command);
        for line in said.lines() {
            all += format!("> {line}").trim_end();
            all.push('\n');
        }
        if status != 0 {
            all += &format!("? {status}\n");
        }
    }
    all
}

/// Where a text differs from what its commands say now.
fn differs(path: &Path, files: fn(&Rig)) -> Option<String> {
    let text = fs::read_to_string(path).unwrap();
    let now = answered(&text, files);
    if env::var_os("BLOG_BLESS").is_some() {
        fs::write(path, &now).unwrap();
        return None;
    }
    let mut old = text.lines();
    let new = now.lines().find(|&new| old.next() != Some(new));
    (now != text).then(|| format!("{}: now {new:?}", path.display()))
}

/// Runs all texts of a folder, each where `files` has put what it needs; `BLOG_BLESS=1` writes them
/// anew.
pub fn check(folder: &str, files: fn(&Rig)) {
    let texts = fs::read_dir(folder).unwrap();
    let texts: Vec<_> = texts.map(|text| text.unwrap().path()).collect();
    let wrong: Vec<_> = thread::scope(|scope| {
        let all: Vec<_> =
            texts.iter().map(|path| scope.spawn(move || differs(path, files))).collect();
        all.into_iter().filter_map(|one| one.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}
