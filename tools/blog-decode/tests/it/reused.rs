// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `spans` of threads whose ids were used again. What else they answer is in `commands`.

use crate::common::{
    rig::Rig,
    snapshot::{Page, Ring},
};

const MS: u64 = 1_000_000;

fn page(ring: u32, times: &[u64]) -> Page {
    let mut page = Page::new(ring, 1, times[0] * MS, 0);
    for ms in times {
        page.record(ms * MS, 1, (&(*ms as u32), &0u64));
    }
    page
}

/// A thread that has the id of one that has ended, in another ring or in the same one.
#[test]
fn an_id_that_is_used_again_is_another_thread() {
    let rig = Rig::new();
    for (ring, seq, ended) in [(2, 1, true), (1, 5, true), (1, 5, false)] {
        let file = |taken: u64, rings: &[(Ring, Page)]| {
            let mut b = rig.disk(&[[0; 4], [taken * MS; 4]]);
            for (ring, page) in rings {
                b.ring(ring).page(ring, page);
            }
            b.end()
        };
        let mut first = Ring::task(1, 1, 7, "first");
        let mut second = Ring::task(1, ring, 7, "second");
        (first.records, second.records) = (2, 2);
        let mut later = Page::new(ring, seq, 5_000 * MS, 0);
        later.record(5_000 * MS, 1, (&2000u32, &0u64));
        later.record(5_300 * MS, 1, (&5300u32, &0u64));
        let files = match ended {
            true => {
                first.exit_clock = 2_500 * MS;
                let both = [(first, page(1, &[1_000, 2_000])), (second, later)];
                vec![file(9_000, &both)]
            }
            // Nobody has seen it end.
            false => vec![
                file(3_000, &[(first, page(1, &[1_000, 2_000]))]),
                file(9_000, &[(second, later)]),
            ],
        };
        let names = ["snap", "snap2"];
        for (name, bytes) in names.iter().zip(&files) {
            rig.write(name, bytes);
        }
        let names = &names[..files.len()];
        let text = rig.good(&[&["spans", "*", "*"], names].concat());
        let silences = text.lines().filter(|l| l.contains(" for "));
        let expected = ["1.00s for first[7]", "300ms for second[7]"];
        assert_eq!(silences.collect::<Vec<_>>(), expected, "{ring} {seq} {ended}");
        let spans = ["spans", "read * sectors*", "read 2000 *"];
        let mut spans = rig.json(&[&spans, names].concat());
        spans.retain(|object| object["type"] == "span");
        // From 1 s to 2 s; what begins at 2 s has no end.
        let lengths: Vec<_> = spans.iter().map(|span| &span["ns"]).collect();
        assert_eq!(lengths, [1_000_000_000], "{ring} {seq} {ended}");
    }
}
