// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The bar that says how far the program is: on a terminal, and nowhere else.
//!
//! What it reads comes through a pipe, and goes on until the bar has been seen, or should have been.

use std::{
    fs::{self, File, OpenOptions},
    io::{Read, Write},
    os::unix::ffi::OsStrExt,
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::common::snapshot::{Builder, Page, Ring, BOOT_ID};
use rustix::{
    pty::{grantpt, openpt, ptsname, unlockpt, OpenptFlags},
    termios::{tcsetwinsize, Winsize},
};

/// A bar must have come by then, on a machine of any speed.
const LATEST: Duration = Duration::from_secs(60);

/// A terminal, and what was written to it.
struct Terminal {
    user: File,
    shown: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Terminal {
    fn new() -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let path = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
        let user = OpenOptions::new().read(true).write(true).open(path);
        let user = user.unwrap();
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&user, size).unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let all = shown.clone();
        let mut master = File::from(master);
        let reader = thread::spawn(move || {
            let mut bytes = [0; 4096];
            // An error when nobody has it open any more.
            while let Ok(n @ 1..) = master.read(&mut bytes) {
                all.lock().unwrap().extend(&bytes[..n]);
            }
        });
        Self { user, shown, reader }
    }

    fn stdio(&self) -> Stdio {
        self.user.try_clone().unwrap().into()
    }

    fn shows(&self, what: &str) -> bool {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).contains(what)
    }

    /// All that was written to it, now that nobody writes any more.
    fn end(self) -> String {
        drop(self.user);
        self.reader.join().unwrap();
        let shown = self.shown.lock().unwrap();
        String::from_utf8(shown.clone()).unwrap()
    }
}

/// Feeds a command with a snapshot, page by page, until `enough`; `whole`: with its end.
fn feed(mut command: Command, whole: bool, mut enough: impl FnMut() -> bool) -> (String, String) {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // A command keeps its side of the terminal open.
    drop(command);
    let mut stdin = child.stdin.take().unwrap();
    let mut b = Builder::new();
    let ring = Ring::task(1, 1, 42, "fio");
    b.system(BOOT_ID).clock(1, &[[0; 4], [1 << 40; 4]]).component(1, "disk").ring(&ring);
    let started = Instant::now();
    let (mut sent, mut n) = (0, 0);
    while !enough() {
        assert!(started.elapsed() < LATEST, "no bar");
        let mut page = Page::new(1, n + 1, n, n);
        page.lost(n, 0, 1);
        b.page(&ring, &page);
        n += 1;
        stdin.write_all(&b.bytes[sent..]).unwrap();
        sent = b.bytes.len();
        thread::sleep(Duration::from_millis(20));
    }
    if whole {
        b.end();
        stdin.write_all(&b.bytes[sent..]).unwrap();
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(if whole { 0 } else { 1 }));
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

/// True after a command that began later has shown its bar on another terminal: where there is
/// none, it would have come by then.
fn beside_a_bar() -> impl FnMut() -> bool {
    let mut other: Option<JoinHandle<()>> = None;
    move || {
        let begin = || {
            let terminal = Terminal::new();
            let command = command("stats", terminal.stdio(), terminal.stdio());
            feed(command, true, || terminal.shows("reading: "));
        };
        let is_over = other.get_or_insert_with(|| thread::spawn(begin)).is_finished();
        if is_over {
            other.take().unwrap().join().unwrap();
        }
        is_over
    }
}

fn command(name: &str, stdout: Stdio, stderr: Stdio) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blog-decode"));
    command
        .args([name, "--modules", "nowhere", "-"])
        .env("TERM", "xterm")
        .stdout(stdout)
        .stderr(stderr);
    command
}

/// What a terminal shows at the end of each line.
fn screen(written: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut rest = written;
    while let Some(c) = rest.chars().next() {
        rest = match rest.strip_prefix("\x1b[2K") {
            Some(rest) => {
                line.clear();
                rest
            }
            None => &rest[c.len_utf8()..],
        };
        match c {
            '\n' => lines.push(std::mem::take(&mut line)),
            '\r' | '\x1b' => {}
            c => line.push(c),
        }
    }
    lines.push(line);
    lines
}

#[test]
fn a_bar_is_on_the_terminal_until_there_is_something_to_say() {
    for (name, whole, last) in [
        ("stats", true, "component "),
        ("show", true, "["),
        ("stats", false, "blog-decode: -: no end (cut off)"),
    ] {
        let terminal = Terminal::new();
        let command = command(name, terminal.stdio(), terminal.stdio());
        feed(command, whole, || terminal.shows("reading: "));
        let written = terminal.end();
        let lines = screen(&written);
        // What comes after is as if there had been none.
        assert!(lines[0].starts_with(last), "{name}: {written:?}");
        assert!(!lines.iter().any(|l| l.contains("reading")), "{written:?}");
        assert!(lines.len() > 1 && lines.last().unwrap().is_empty());
    }
}

#[test]
fn standard_output_may_be_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out");
    let terminal = Terminal::new();
    let stdout = File::create(&path).unwrap().into();
    let command = command("show", stdout, terminal.stdio());
    feed(command, true, || terminal.shows("reading: "));
    assert!(fs::read_to_string(&path).unwrap().starts_with('['));
    assert_eq!(screen(&terminal.end()).concat(), "");
}

#[test]
fn there_is_none_on_pipes_and_none_beside_them() {
    // Who reads the pipe may have the same terminal.
    let terminal = Terminal::new();
    let one = command("show", Stdio::piped(), terminal.stdio());
    feed(one, true, beside_a_bar());
    assert_eq!(terminal.end(), "");
    // To a log.
    let terminal = Terminal::new();
    let one = command("stats", terminal.stdio(), Stdio::piped());
    let (_, stderr) = feed(one, true, beside_a_bar());
    assert_eq!(stderr, "");
    assert!(screen(&terminal.end())[0].starts_with("component "));
    // Where a line can't be taken back.
    let terminal = Terminal::new();
    let mut one = command("stats", terminal.stdio(), terminal.stdio());
    one.env("TERM", "dumb");
    feed(one, true, beside_a_bar());
    assert!(terminal.end().starts_with("component "));
}

/// A loss, without an end.
fn cut_off() -> Vec<u8> {
    let mut b = Builder::new();
    let ring = Ring::task(1, 1, 42, "fio");
    let mut page = Page::new(1, 1, 0, 0);
    page.lost(1, 0, 7);
    b.system(BOOT_ID)
        .clock(1, &[[0; 4], [1 << 40; 4]])
        .component(1, "disk")
        .ring(&ring)
        .page(&ring, &page);
    b.bytes
}

/// The log of this system, with all that is said of it; its colours and the status stay.
#[test]
fn a_pager_gets_what_a_terminal_would() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("snapshot"), cut_off()).unwrap();
    let run = |args: &[&str], pager: Option<&str>| {
        let terminal = Terminal::new();
        let mut command = Command::new(env!("CARGO_BIN_EXE_blog-decode"));
        command
            .args(["--modules", "nowhere", "--blog", "."])
            .args(args)
            .current_dir(dir.path())
            .env("TERM", "xterm")
            .env("LESS", "-j10")
            .stdin(Stdio::null())
            .stdout(terminal.stdio())
            .stderr(terminal.stdio());
        match pager {
            Some(pager) => command.env("BLOG_PAGER", pager),
            None => command.env_remove("PAGER").env_remove("BLOG_PAGER").env("PATH", "nowhere"),
        };
        let status = command.status().unwrap();
        drop(command);
        assert_eq!(status.code(), Some(1));
        terminal.end()
    };
    let said = "no end (cut off)";
    let lost = "7 records lost here";
    for args in [&[][..], &["snapshot"]] {
        let shown = run(args, Some("sleep 0.2; cat > paged"));
        assert_eq!(shown, "");
        let paged = fs::read_to_string(dir.path().join("paged")).unwrap();
        assert!(paged.contains(said) && paged.contains(lost) && paged.contains("\x1b[32m"));
        fs::remove_file(dir.path().join("paged")).unwrap();
    }
    // One that isn't there is reported, and nothing is lost.
    let shown = run(&[], Some("no-such-pager -x"));
    assert!(shown.contains("the pager no-such-pager -x can't be run"), "{shown}");
    assert!(shown.contains(said) && shown.contains(lost), "{shown}");
    // Nor by one that fails, or gives up, before it has read anything.
    for pager in ["false; exit 1", "most-is-not-there; echo", "exit 0"] {
        let shown = run(&[], Some(pager));
        assert!(shown.contains(said) && shown.contains(lost), "{shown}");
    }
    // less shows colours, whatever else a user has it do.
    run(&[], Some("echo \"$LESS\" > options; cat > paged"));
    assert_eq!(fs::read_to_string(dir.path().join("options")).unwrap(), "-R -j10\n");
    // The reader has seen enough.
    let shown = run(&[], Some("head -c 1 > /dev/null; exit 1"));
    assert_eq!(shown, "");
    for (args, pager) in [
        (&["--no-pager"][..], Some("cat > paged")),
        (&["snapshot"], Some("cat")),
        (&[], Some("cat")),
        (&[], None),
    ] {
        let shown = run(args, pager);
        assert!(shown.contains(said) && shown.contains(lost), "{args:?}: {shown:?}");
    }
}

/// What sets no TERM may be a terminal that shows escapes as letters.
#[test]
fn without_term_there_are_no_colours() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("snap"), cut_off()).unwrap();
    for (term, has_color) in [(Some("xterm"), true), (Some("dumb"), false), (None, false)] {
        let terminal = Terminal::new();
        let mut command = Command::new(env!("CARGO_BIN_EXE_blog-decode"));
        command
            .args(["--modules", "nowhere", "--no-pager", "snap"])
            .current_dir(dir.path())
            .env_remove("TERM")
            .envs(term.map(|term| ("TERM", term)))
            .stdin(Stdio::null())
            .stdout(terminal.stdio());
        command.output().unwrap();
        drop(command);
        assert_eq!(terminal.end().contains("\x1b[3"), has_color, "{term:?}");
    }
}
