// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Side tables by a real debuginfod, on this machine alone. Without it (Debian's packages debuginfod
//! and elfutils, which scripts/setup installs) there is nothing to test, and the test says so.

#![allow(missing_docs)]

mod common;

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::Duration,
};

use blog_decode::{blogfmt::bytes::hex, sidetable::read_table};
use common::{
    image,
    rig::{Rig, Said},
    snapshot::{Builder, Page, Ring, BOOT_ID},
};

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
        let find = Command::new("debuginfod-find").arg("--version").output();
        child
            .ok()
            .filter(|_| find.is_ok())
            .map(|child| Self { child, port })
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

#[test]
fn a_debuginfod_has_the_tables() {
    let rig = Rig::empty();
    let at = &*rig.path("");
    fs::create_dir(at.join("pool")).unwrap();
    let Some(server) = Server::start(at) else {
        eprintln!("skipped: there is no debuginfod (apt install debuginfod elfutils)");
        return;
    };
    // What a package's build makes of modules, and of a kernel.
    let mut ids = Vec::new();
    for (name, command) in [
        ("keep", "objcopy --only-keep-debug"),
        (
            "zlib",
            "objcopy --only-keep-debug --compress-debug-sections=zlib",
        ),
        ("split", "eu-strip -f"),
        ("vmlinux", "objcopy --only-keep-debug"),
    ] {
        let image = match name {
            "vmlinux" => image::vmlinux(at, name),
            _ => image::module(at, &format!("{name}.ko"), name),
        };
        ids.push(read_table(&image, |_| true).unwrap().unwrap().build_id);
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
    let mut b = Builder::new();
    let names = ["keep", "zlib", "split", "vmlinux"];
    let image = |(n, id): (usize, &Vec<u8>)| (1 + 4 * n as u32, 4, id.clone(), names[n]);
    let images: Vec<_> = ids.iter().enumerate().map(image).collect();
    let images: Vec<_> = images.iter().map(|i| (i.0, i.1, &i.2[..], i.3)).collect();
    b.system(BOOT_ID)
        .clock(1, &[[0; 4], [1 << 40; 4]])
        .images(&images)
        .component(1, "disk");
    let mut ring = Ring::task(1, 1, 42, "dd");
    ring.records = 4;
    let mut page = Page::new(1, 1, 1000, 0);
    for n in 0..4u32 {
        page.record(1000 + u64::from(n), 1 + 4 * n, (&n, &0u64));
    }
    b.ring(&ring).page(&ring, &page);
    rig.write("snap", b.end());

    // It goes through its files when it starts, and when it gets a SIGUSR1.
    let mut waited = 0;
    while !ids.iter().all(|id| server.has(&hex(id))) {
        assert!(waited < 300, "debuginfod doesn't find its files");
        if waited % 10 == 9 {
            image::tool(
                at,
                &["sh", "-c", &format!("kill -USR1 {}", server.child.id())],
            );
        }
        waited += 1;
        sleep(Duration::from_millis(100));
    }
    let run = |urls: &str, cache: &str| {
        let mut command = rig.command(&["--modules", "nowhere", "--format", "{message}", "snap"]);
        command.env("DEBUGINFOD_URLS", urls);
        let Said { status, out, err } =
            Said::of(command.env("DEBUGINFOD_CACHE_PATH", at.join(cache)));
        (out, err, status)
    };
    let expected: String = (0..4)
        .map(|n| format!("read {n} sectors at 0x0\n"))
        .collect();
    let url = format!("http://127.0.0.1:{}", server.port);
    assert_eq!(run(&url, "cache"), (expected, String::new(), 0));
    // One that isn't there costs no more than its tables.
    let (text, said, status) = run("http://127.0.0.1:1", "none");
    assert_eq!((text.lines().count(), status), (4, 1));
    assert!(
        said.contains("debuginfod") && said.contains(&hex(&ids[0])),
        "{said}"
    );
}
