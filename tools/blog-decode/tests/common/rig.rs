// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The program, in a folder of its own with a module.

use std::{fs, path::PathBuf, process::Command};

use blog_decode_core::sidetable::read_table;
use blog_table::bytes::hex;
use serde_json::Value;

use super::{
    fixture, image,
    snapshot::{Builder, BOOT_ID},
};

const S: u64 = 1_000_000_000;

/// The program of the package whose tests these are.
pub const PROGRAM: &str =
    match (option_env!("CARGO_BIN_EXE_blog-decode"), option_env!("CARGO_BIN_EXE_blog-ctl")) {
        (Some(program), _) | (None, Some(program)) => program,
        (None, None) => "",
    };

/// The pairs of the machine's clock.
pub const CLOCK: [[u64; 4]; 2] =
    [[0, 0, 0, 1_700_000_000 * S], [100 * S, 100 * S, 100 * S, 1_700_000_100 * S]];

/// What a run of the program gave.
#[derive(Debug)]
pub struct Said {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Said {
    pub fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self {
            status: output.status.code().unwrap(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }
}

/// A folder with `test-mod.ko`, where the program finds its table.
pub struct Rig {
    dir: tempfile::TempDir,
    pub build_id: Vec<u8>,
}

impl Rig {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ko = image::module(dir.path(), "test-mod.ko", "one");
        let build_id = read_table(&ko, |_| true).unwrap().unwrap().build_id;
        Self { dir, build_id }
    }

    /// A folder with nothing in it.
    pub fn empty() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), build_id: Vec::new() }
    }

    pub fn id(&self) -> String {
        hex(&self.build_id)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Also makes the folder that the file is in.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// A snapshot of the module's component, so far without rings.
    pub fn disk(&self, clock: &[[u64; 4]]) -> Builder {
        let mut b = Builder::new();
        b.system(BOOT_ID)
            .clock(1, clock)
            .images(&[(1, 4, &self.build_id, "test_mod")])
            .component(1, "disk");
        b
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(args).current_dir(self.dir.path());
        command.env_remove("DEBUGINFOD_URLS");
        command
    }

    pub fn run(&self, args: &[&str]) -> Said {
        Said::of(&mut self.command(args))
    }

    /// Its output, if nothing is wrong.
    pub fn good(&self, args: &[&str]) -> String {
        let said = self.run(args);
        assert_eq!((said.status, &*said.err), (0, ""), "{args:?}: {said:?}");
        said.out
    }

    pub fn lines(&self, args: &[&str]) -> Vec<String> {
        self.good(args).lines().map(str::to_owned).collect()
    }

    pub fn json(&self, args: &[&str]) -> Vec<Value> {
        let lines = self.lines(&[args, &["--json"]].concat());
        let objects = lines.iter().map(|line| serde_json::from_str(line));
        objects.map(Result::unwrap).collect()
    }
}

/// Five records of a task, a softirq and a worker, in two components. An error is stored as its
/// negative number; the third record is of `State::Busy { tag: 3 }`.
const SNAPSHOT: &str = "
    real 1700000000s; clock mono 0 100s; component 1 disk gone 17
    ring 1 task 42 fio records 8; page 2 from 5; call 1s 1 8u32 4096u64
    call 2s 2 x0971756575651b5b324a -5i32; call 3s 3 1u8 3u32
    ring 2 softirq 1 records 0; page 1 base 1s; call 2000000500 4
    component 2 other; ring 1 task 7 kworker/0:1 records 0; page 1 base 1s; call 4s 1 1u32 2u64";

pub fn snapshot(build_id: &[u8]) -> Vec<u8> {
    fixture::compile(SNAPSHOT, build_id)
}
