// SPDX-License-Identifier: GPL-2.0

//! How fast the program is. Not a test of anything; run it by hand:
//! `cargo test --release --test speed -- --ignored --nocapture`

mod common;

use std::{
    fs::{
        self,
        File, //
    },
    path::Path,
    process::Command,
    time::Instant, //
};

use blog_decode::sidetable::read_table;
use common::{
    image,
    snapshot::{
        Builder,
        Page,
        Ring,
        BOOT_ID, //
    }, //
};

const RECORDS: u64 = 2_000_000;
const RINGS: u32 = 16;

#[test]
#[ignore = "takes seconds and proves nothing"]
fn two_million_records_of_two_fields() {
    // Stays there, for profilers.
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let ko = image::module(dir, "a.ko", "one");
    let table = read_table(&ko, |_| true).unwrap().unwrap();
    let mut b = Builder::new();
    b.system(BOOT_ID)
        .clock(2, &[[0, 0, 0, 0], [3 << 40, 1 << 40, 1 << 40, 1 << 40]])
        .images(&[(1, 4, &table.build_id, "test_mod")])
        .component(1, "disk");
    for i in 0..RINGS {
        let ring = Ring::task(1, i, i as i32 + 1, "fio");
        b.ring(&ring);
        let count = RECORDS / u64::from(RINGS);
        let (mut n, mut seq) = (0, 0);
        while n < count {
            let mut page = Page::new(i, seq, n * 1000, n);
            while page.bytes.len() < 4000 && n < count {
                page.record(n * 1000 + u64::from(i), 1, (&8u32, &(n * 8)));
                n += 1;
            }
            b.page(&ring, &page);
            seq += 1;
        }
    }
    let path = dir.join("snap");
    fs::write(&path, b.end()).unwrap();
    for args in [&[][..], &["--json"], &["--grep", "nothing"]] {
        for _ in 0..3 {
            let start = Instant::now();
            let status = Command::new(env!("CARGO_BIN_EXE_blog-decode"))
                .arg("-s")
                .arg(&ko)
                .arg(&path)
                .args(args)
                .stdout(File::create(dir.join("out")).unwrap())
                .status()
                .unwrap();
            let seconds = start.elapsed().as_secs_f64();
            assert!(status.success());
            let millions = RECORDS as f64 / seconds / 1e6;
            println!("{args:?}: {seconds:.2} s, {millions:.1} M records/s");
        }
    }
}
