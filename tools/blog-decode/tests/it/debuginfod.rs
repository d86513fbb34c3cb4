// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Side tables by a real debuginfod, on this machine alone, and by servers that do harm. Without
//! elfutils (Debian's packages debuginfod and elfutils, which scripts/setup installs) there is nothing
//! to test, and the tests say so.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        atomic::{AtomicUsize, Ordering},
        Arc,
    },
    thread::{sleep, spawn},
    time::Duration,
};

use crate::common::{
    image,
    rig::{Rig, Said},
    snapshot::{Builder, Page, Ring, BOOT_ID},
};
use blog_decode_core::sidetable::read_table;
use blog_table::bytes::hex;

struct Server {
    child: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Serves what is in `pool`.
    fn start(dir: &Path) -> Option<Self> {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let child = Command::new("debuginfod")
            .args(["-F", "-d", "index.sqlite", "-p", &port.to_string(), "pool"])
            .current_dir(dir)
            .env_remove("DEBUGINFOD_URLS")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        child.ok().filter(|_| can_ask()).map(|child| Self { child, port })
    }

    /// Whether it has the file of a build ID.
    fn has(&self, id: &str) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else {
            return false;
        };
        let asked = write!(stream, "GET /buildid/{id}/debuginfo HTTP/1.0\r\n\r\n");
        let mut answer = [0; 12];
        asked.and_then(|()| stream.read_exact(&mut answer)).is_ok() && answer.ends_with(b" 200")
    }
}

fn can_ask() -> bool {
    let find = Command::new("debuginfod-find").arg("--version").output();
    if find.is_err() {
        eprintln!("skipped: there is no debuginfod (apt install debuginfod elfutils)");
    }
    find.is_ok()
}

/// The snapshot "snap", with a record of each image, of which the build IDs are given.
fn write_snapshot(rig: &Rig, images: &[(&str, Vec<u8>)]) {
    let numbered = (0u32..).zip(images);
    let images: Vec<_> = numbered.map(|(n, (name, id))| (1 + 4 * n, 4, &id[..], *name)).collect();
    let mut b = Builder::new();
    b.system(BOOT_ID).clock(1, &[[0; 4], [1 << 40; 4]]).images(&images).component(1, "disk");
    let mut ring = Ring::task(1, 1, 42, "dd");
    ring.records = images.len() as u64;
    let mut page = Page::new(1, 1, 1000, 0);
    for n in 0..images.len() as u32 {
        page.record(1000 + u64::from(n), 1 + 4 * n, (&n, &0u64));
    }
    b.ring(&ring).page(&ring, &page);
    rig.write("snap", b.end());
}

/// Reads that snapshot with tables of these servers alone. Setting a limit leaves blog-decode, and all
/// that it starts, with files of 1 MiB at most.
fn read_by(rig: &Rig, url: &str, cache: &str, is_limited: bool) -> (String, String, i32) {
    let command = rig.command(&["--modules", "nowhere", "--format", "{message}", "snap"]);
    let mut limited = Command::new("sh");
    let limit = if is_limited { "ulimit -f 2048; " } else { "" };
    limited
        .args(["-c", &format!("{limit}exec \"$0\" \"$@\"")])
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(rig.path(""))
        .envs(command.get_envs().filter_map(|(k, v)| Some((k, v?))))
        .env("DEBUGINFOD_URLS", url)
        .env("DEBUGINFOD_TIMEOUT", "1")
        .env("DEBUGINFOD_CACHE_PATH", rig.path(cache));
    let Said { status, out, err } = Said::of(&mut limited);
    (out, err, status)
}

#[test]
fn a_debuginfod_has_the_tables() {
    let rig = Rig::empty();
    let at = &*rig.path("");
    fs::create_dir(at.join("pool")).unwrap();
    let Some(server) = Server::start(at) else {
        return;
    };
    // What a package's build makes of modules, and of a kernel.
    let mut images = Vec::new();
    for (name, command) in [
        ("table", "objcopy --only-keep-debug --add-section .blog.table=table"),
        ("keep", "objcopy --only-keep-debug"),
        ("zlib", "objcopy --only-keep-debug --compress-debug-sections=zlib"),
        ("split", "eu-strip -f"),
        ("vmlinux", "objcopy --only-keep-debug"),
    ] {
        let image = match name {
            "vmlinux" => image::vmlinux(at, name),
            _ => image::module(at, &format!("{name}.ko"), name),
        };
        let table = read_table(&image, |_| true).unwrap().unwrap();
        rig.write("table", table.encode().unwrap());
        images.push((name, table.build_id));
        let file = image.file_name().unwrap().to_str().unwrap();
        let debug = format!("pool/{file}.debug");
        let mut words: Vec<_> = command.split(' ').collect();
        match words[0] {
            "eu-strip" => words.extend([&debug, file]),
            _ => words.extend([file, &debug]),
        }
        image::tool(at, &words);
        fs::remove_file(&image).unwrap();
    }
    write_snapshot(&rig, &images);

    // It goes through its files when it starts, and when it gets a SIGUSR1.
    let mut waited = 0;
    while !images.iter().all(|(_, id)| server.has(&hex(id))) {
        assert!(waited < 300, "debuginfod doesn't find its files");
        if waited % 10 == 9 {
            image::tool(at, &["sh", "-c", &format!("kill -USR1 {}", server.child.id())]);
        }
        waited += 1;
        sleep(Duration::from_millis(100));
    }
    let expected: String =
        (0..images.len()).map(|n| format!("read {n} sectors at 0x0\n")).collect();
    let url = format!("http://127.0.0.1:{}", server.port);
    assert_eq!(read_by(&rig, &url, "cache", false), (expected, String::new(), 0));
    // Of a module that has its table, only that came.
    assert_eq!(tables_in(&at.join("cache"), &images[0].1).len(), 1);
    let came = fs::read_dir(at.join("cache").join(hex(&images[0].1))).unwrap();
    assert_eq!(came.count(), 1);
    // One that isn't there costs no more than its tables.
    let (text, said, status) = read_by(&rig, "http://127.0.0.1:1", "none", false);
    assert_eq!((text.lines().count(), status), (images.len(), 1));
    assert!(
        said.contains("debuginfod-find: Connection refused") && said.contains(&hex(&images[0].1)),
        "{said}"
    );
}

/// The tables of a build ID in elfutils' cache, each as `CACHE/ID/FILE`. Newer releases put a hash into
/// the file's name.
fn tables_in(cache: &Path, build_id: &[u8]) -> Vec<String> {
    let id = hex(build_id);
    let files = fs::read_dir(cache.join(&id)).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let cache = cache.file_name().unwrap().to_str().unwrap();
    names
        .filter(|name| name.starts_with("section-") && name.ends_with("-.blog.table"))
        .map(|name| format!("{cache}/{id}/{name}"))
        .collect()
}

/// A server whose every answer is that one; the number is how many came to it.
fn serve(answer: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (count, answer) = (Arc::new(AtomicUsize::new(0)), Arc::new(answer));
    let counted = count.clone();
    spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, answer) = (stream.unwrap(), answer.clone());
            counted.fetch_add(1, Ordering::Relaxed);
            spawn(move || {
                let mut asked = [0; 4096];
                let _ = stream.read(&mut asked);
                answer(&mut stream);
            });
        }
    });
    (url, count)
}

const GOOD: &[u8] = b"HTTP/1.0 200 OK\r\n\r\n";

#[test]
fn a_server_can_do_no_harm() {
    if !can_ask() {
        return;
    }
    let rig = Rig::empty();
    write_snapshot(&rig, &[("one", vec![1; 20]), ("two", vec![2; 20])]);
    let read = |url: &str, cache: &str| {
        let (text, said, status) = read_by(&rig, url, cache, true);
        assert_eq!((text.lines().count(), status), (2, 1), "{said}");
        said
    };

    // It never answers. Nothing more is asked then.
    let (url, count) = serve(|_| sleep(Duration::from_secs(600)));
    let said = read(&url, "hangs");
    assert!(said.contains("debuginfod-find: no answer in time"), "{said}");
    assert_eq!(count.load(Ordering::Relaxed), 1);

    // It never ends. What came is removed.
    let (url, _) = serve(|stream| {
        let _ = stream.write_all(GOOD);
        while stream.write_all(&[b'x'; 1 << 16]).is_ok() {}
    });
    let said = read(&url, "endless");
    assert!(said.contains("debuginfod-find: Input/output error"), "{said}");
    let mut left = Command::new("find");
    left.args(["endless", "-type", "f", "-size", "+1"]);
    let left = Said::of(left.current_dir(rig.path("")));
    assert_eq!((&*left.out, left.status), ("", 0), "{left:?}");

    // It has something else.
    let (url, _) = serve(|stream| {
        let _ = stream.write_all(&[GOOD, &b"garbage ".repeat(99)].concat());
    });
    let said = read(&url, "garbage");
    let file = tables_in(&rig.path("garbage"), &[1; 20]).remove(0);
    let problem = format!("{file}: from debuginfod: neither a BLog side table");
    assert!(said.contains(&problem), "{said}");
}
