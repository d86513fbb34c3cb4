// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Texts with commands, and below each what it prints, and its status.

use std::{env, fs, os::unix::fs::symlink, path::Path, process::Command, thread};

use blog_decode_core::sidetable::read_table;

use super::rig::{Rig, PROGRAM};

/// Runs the commands of a text in a shell, and puts below each what it says, and its status.
fn answered(text: &str, files: fn(&Rig)) -> String {
    let rig = Rig::new();
    files(&rig);
    let bin = rig.path("bin");
    fs::create_dir(&bin).unwrap();
    let program = Path::new(PROGRAM);
    symlink(program, bin.join(program.file_name().unwrap())).unwrap();
    let path = format!("{}:{}", bin.display(), env::var("PATH").unwrap());
    let other = rig.path("other/other.ko");
    let other = other.exists().then(|| read_table(&other, |_| true).unwrap().unwrap());
    let other = other.map_or("no other".into(), |table| table.build_id_hex());
    let mut all = String::new();
    for line in text.lines().filter(|line| !line.starts_with(['>', '?'])) {
        all += &format!("{line}\n");
        let Some(command) = line.strip_prefix("$ ") else {
            continue;
        };
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
        for line in said.lines() {
            all += format!("> {line}").trim_end();
            all.push('\n');
        }
        match output.status.code() {
            Some(0) => {}
            status => all += &format!("? {}\n", status.unwrap_or(-1)),
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
