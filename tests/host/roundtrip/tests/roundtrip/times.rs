// SPDX-License-Identifier: GPL-2.0

//! Times that step back, and forth by more than a record's header tells: what the kernel writes,
//! the decoder reads.

use blog_file::record::{Item, Version, Walk};
use blog_host_tests::rig::Rig;
use blog_wire::page::PageInfo;
use proptest::prelude::*;

/// Times of a clock that mostly goes on, but steps back a little at some times, and goes anywhere
/// at others.
fn times() -> impl Strategy<Value = Vec<u64>> {
    let step = prop_oneof![
        8 => (0u64..1 << 20).prop_map(|n| n as i64),
        4 => (1u64..1000).prop_map(|n| -(n as i64)),
        1 => any::<i64>(),
        1 => Just(1 << 36),
        1 => Just(-1 << 36),
    ];
    // Around a change of the upper bits.
    let start = prop_oneof![(7u64 << 36) - 2000..(7 << 36) + 2000, any::<u64>()];
    (start, prop::collection::vec(step, 1..400)).prop_map(|(start, steps)| {
        let times = steps.into_iter().scan(start, |now, step| {
            *now = now.wrapping_add_signed(step);
            Some(*now)
        });
        times.collect()
    })
}

proptest! {
    #[test]
    fn the_decoder_reads_times_that_step_back(times in times()) {
        let rig = Rig::with_page_size(256, 1, 512);
        let ring = rig.adopt(1).unwrap();
        for ts in &times {
            prop_assert!(rig.log(ring, *ts, 1, &[0; 8]));
        }
        let mut decoded = Vec::new();
        for page in rig.pages_of(ring) {
            let info = PageInfo::read(&page).unwrap();
            let mut walk = Walk::new(&info, page.len(), Version::Two);
            while let Some(item) = walk.next(&page) {
                if let Item::Record { clock, .. } = item {
                    decoded.push(clock);
                }
            }
            prop_assert_eq!((walk.left(), walk.missing()), (0, 0));
        }
        prop_assert_eq!(decoded, times);
    }
}
