// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Private arguments. Hashes are unmistakable in all outputs, what was kept is what it is, and so is
//! what was left out.

use crate::common::{
    image,
    rig::Rig,
    snapshot::{Builder, Page, Ring, BOOT_ID},
};
use serde_json::{json, Value};

use blog_decode_core::sidetable::read_table;

const S: u64 = 1_000_000_000;
const STR: u64 = 0x32 | 0x22 << 8;
const U32: u64 = 0x32 | 0x03 << 8;

#[test]
fn private_arguments_are_shown_as_such() {
    let mut rig = Rig::empty();
    let calls = [image::Call {
        line: 1,
        level: 3,
        format: "open {name:>4} by {uid:#x}",
        args: &[("name", STR), ("uid", U32)],
    }];
    let c_calls = [image::CCall {
        line: 2,
        format: r#""open %4s by %x""#,
        arguments: "blog_private(name), blog_private(uid)",
    }];
    let ko = image::module_with_c(&rig.path(""), "test-mod.ko", "one", &calls, &c_calls);
    rig.build_id = read_table(&ko, |_| true).unwrap().unwrap().build_id;
    let mut b = Builder::new();
    b.system(BOOT_ID)
        .clock(1, &[[0; 4], [100 * S; 4]])
        .images(&[(1, 2, &rig.build_id, "test_mod")])
        .component(1, "disk");
    let mut page = Page::new(1, 1, S, 0);
    let hash = |n: u64| [&[0][..], &n.to_le_bytes()].concat();
    let omitted = [&[1][..], &[0; 8]].concat();
    let kept_name = [&[2, 3][..], &[0; 7], b"abc"].concat();
    let kept_uid = [&[2, 42][..], &[0; 7]].concat();
    for (at, site) in [(1, 1), (2, 2)] {
        let values = [
            [hash(0x1f3a), hash(u64::MAX)],
            [omitted.clone(), omitted.clone()],
            [kept_name.clone(), kept_uid.clone()],
        ];
        for value in values {
            page.raw_record(at * S, site, &value.concat());
        }
    }
    let mut ring = Ring::task(1, 1, 7, "fio");
    ring.records = page.records().into();
    rig.write("snap", b.ring(&ring).page(&ring, &page).end());
    let one = [
        "open <private 0000000000001f3a> by <private ffffffffffffffff>",
        "open <private> by <private>",
        "open  abc by 0x2a",
    ];
    let lines = rig.lines(&["show", "snap"]);
    assert_eq!(lines.len(), 6);
    for (i, line) in lines.iter().enumerate() {
        let want = match i / 3 {
            0 => one[i].to_owned(),
            _ => one[i % 3].replace("0x2a", "2a"),
        };
        assert!(line.ends_with(&want), "{line} not {want}");
    }
    let mut records = rig.json(&["show", "snap"]);
    records.retain(|row| row["type"] == "record");
    let value = |record: usize, argument: usize| {
        let of = &records[record]["args"][argument];
        (of["name"].clone(), of["text"].clone(), of["value"].clone())
    };
    let hash = json!("<private 0000000000001f3a>");
    assert_eq!(value(0, 0), (json!("name"), hash, Value::Null));
    assert_eq!(value(4, 1), (json!("uid"), json!("<private>"), Value::Null));
    assert_eq!(value(2, 0), (json!("name"), json!("abc"), Value::Null));
    assert_eq!(value(2, 1), (json!("uid"), Value::Null, json!(42)));
    for condition in ["arg.name == '<private 0000000000001f3a>'", "arg.uid == 42"] {
        let found = rig.lines(&["show", "-w", condition, "snap"]);
        assert_eq!(found.len(), 2, "{condition}");
    }
    for form in ["ctf", "perfetto", "html", "otlp", "parquet"] {
        let said = rig.run(&["convert", "--to", form, "-o", form, "snap"]);
        assert_eq!(said.status, 0, "{said:?}");
        let file = match form {
            "ctf" => rig.path("ctf/records"),
            "otlp" => rig.path("otlp"),
            // These are packed.
            _ => continue,
        };
        let bytes = std::fs::read(file).unwrap();
        let hash = b"<private 0000000000001f3a>";
        let times = bytes.windows(hash.len()).filter(|w| w == hash).count();
        // In messages, and as arguments.
        assert!(times >= 4, "{form}: {times}");
    }
}
