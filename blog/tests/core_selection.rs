// SPDX-License-Identifier: GPL-2.0

// KUnit suite: readers that may not see addresses.

#[kunit_tests(blog_selection)]
mod suite {
    use super::rig::*;
    use crate::{
        read::selection::Selection,
        registry::images::ImageFacts,
        tests::pages::{
            walk,
            Item, //
        }, //
    };
    use kernel::{
        blog::wire::{
            page::PAGE_HEADER_SIZE,
            record::{
                Header,
                Level,
                PAYLOAD_MAX, //
            }, //
        },
        prelude::*, //
    };

    /// The levels of sites 1 to 4 are err to debug; those of `secret` have addresses.
    fn selection(secret: &[u32]) -> Result<Selection> {
        let mut selection = Selection::new(false);
        for id in 1..=4 {
            let facts = ImageFacts {
                level: Level::from_u8(id as u8),
                has_address: secret.contains(&id),
            };
            selection.add(id, &[facts])?;
        }
        Ok(selection)
    }

    #[test]
    fn what_is_withheld_leaves_a_record_without_payload() -> Result {
        for secret in [&[][..], &[1], &[2, 4], &[1, 2, 3, 4]] {
            let (mut copy, len) = page_of(40, 5)?;
            let len = selection(secret)?.take_out(&mut copy, len);
            // The header says how long the page is now, and as many records as before.
            assert_eq!(u64_at(&copy, 40)?, 40 << 32 | len as u64);
            let (mut n, mut good) = (0, true);
            walk(&copy[..len], &mut 0, |item| {
                let Item::Record {
                    clock,
                    site,
                    payload,
                    ..
                } = item
                else {
                    return good = false;
                };
                let size = if secret.contains(&site) { 0 } else { 5 * site };
                good &= (clock, site) == (BASE | n, n as u32 % 4 + 1);
                good &= payload.len() as u32 == size;
                n += 1;
            });
            assert!(good);
            assert_eq!(n, 40);
        }
        // Damage ends it: nothing after is given out.
        let (mut damaged, len) = page_of(40, 5)?;
        damaged[PAGE_HEADER_SIZE..PAGE_HEADER_SIZE + 8]
            .copy_from_slice(&Header::new(0, 1, PAYLOAD_MAX as u32).0.to_ne_bytes());
        let none = Selection::new(false).take_out(&mut damaged, len);
        assert_eq!(none, PAGE_HEADER_SIZE);
        Ok(())
    }
}
