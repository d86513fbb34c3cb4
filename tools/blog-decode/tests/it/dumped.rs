// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Commands on crash dumps: the texts in `../dumps`.

use std::os::unix::fs::symlink;

use crate::common::{
    commands,
    rig::Rig,
    snapshot::Page,
    vmcore::{elf, elf_with, flattened, kdump, sample, stock, Ring, NOTIFIER, ROOT},
};
use blog_vmcore::extract;

const HERE: &str = env!("CARGO_MANIFEST_DIR");

fn files(rig: &Rig) {
    let mut ram = sample().finish();
    let mut snapshot = Vec::new();
    extract(&ram, ROOT, &mut snapshot).unwrap();
    rig.write("snap", snapshot);
    let mut later = sample();
    let mut page = Page::new(0, 1, 99_950, 0);
    page.record(99_950, 4, ());
    let ring = Ring { context: 0, cpu: u32::MAX, task: Some(0), exit_clock: 0, pages: vec![page] };
    later.component("late", &[ring]);
    rig.write("new", elf(&later.finish(), 4));
    rig.write("old", elf(&ram, 4));
    rig.write("five", elf(&ram, 5));
    rig.write("flat", flattened(&elf(&ram, 4)));
    rig.write("kdump", &kdump(&ram, 4, 1)[0]);
    for (name, parts) in [("part", 3), ("half", 2)] {
        for (n, bytes) in kdump(&ram, 4, parts).iter().enumerate() {
            rig.write(&format!("{name}{n}"), bytes);
        }
    }
    let rows = stock(&mut ram);
    rig.write("four/old", elf_with(&ram, 4, &rows));
    rig.write("five-levels/old", elf_with(&ram, 5, &rows));
    ram.write(NOTIFIER + 8, &[0; 8]);
    rig.write("unloaded", elf_with(&ram, 4, &rows));
    symlink(format!("{HERE}/../../packaging/kdump"), rig.path("kdump-script")).unwrap();
}

#[test]
fn commands_say_what_dumps_have() {
    commands::check(&format!("{HERE}/tests/dumps"), files);
}
