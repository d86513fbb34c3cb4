// SPDX-License-Identifier: GPL-2.0

// KUnit suite: site ids by build ID, and switching sites. It works on its own tables of sites, not
// on those of the running system.

#[kunit_tests(blog_images)]
mod suite {
    use crate::{
        registry::images::{
            query::queries,
            *, //
        },
        sys::glue::errno, //
    };
    use kernel::{
        bindings::ENODATA,
        blog::{
            wire::record::{
                Level,
                SITE_ADDRESS,
                SITE_MAX, //
            },
            Site, //
        },
        prelude::*, //
    };

    const A: [u8; 20] = [0xaa; 20];
    const B: [u8; 20] = [0xbb; 20];

    /// A table of sites as the compiler leaves it, with the levels in turn.
    fn table(n: usize) -> Result<KVVec<Site>> {
        let mut sites = KVVec::with_capacity(n, GFP_KERNEL)?;
        for i in 0..n {
            sites.push(Site::new(Level::ALL[i % 5], 0), GFP_KERNEL)?;
        }
        Ok(sites)
    }

    fn add(images: &mut Images, name: &str, id: [u8; 20], sites: &[Site]) -> Result {
        // SAFETY: All tables here stay as long as the images are used.
        let sites = unsafe { core::slice::from_raw_parts(sites.as_ptr(), sites.len()) };
        images.add(name.as_bytes(), id, sites)
    }

    fn remove(images: &mut Images, sites: &[Site]) -> bool {
        images.remove(|first| core::ptr::eq(first, sites.as_ptr().cast()))
    }

    fn ids(sites: &[Site]) -> Option<(u32, u32)> {
        Some((sites.first()?.id(), sites.last()?.id()))
    }

    fn gates(sites: &[Site]) -> impl Iterator<Item = u8> + '_ {
        sites.iter().map(Site::gate)
    }

    fn control(images: &Images, text: &str) -> Result<u32> {
        let mut n = 0;
        for query in queries(text) {
            n += images.count(&query?);
            images.switch(&query?);
        }
        Ok(n)
    }

    #[test]
    fn facts_of_sites_stay_known_when_their_module_goes() -> Result {
        let (mut a, mut b, mut images) = (KVVec::new(), table(5)?, Images::new());
        for i in 0..10 {
            let flags = u16::from(i % 4 == 3) * SITE_ADDRESS;
            a.push(Site::new(Level::ALL[i % 5], flags), GFP_KERNEL)?;
        }
        b.push(Site::new(Level::Err, SITE_ADDRESS), GFP_KERNEL)?;
        add(&mut images, "a", A, &a)?;
        add(&mut images, "b", B, &b)?;
        assert!(remove(&mut images, &a));
        let known = images.list().iter().flat_map(|image| &image.facts);
        assert!(known
            .map(|site| site.has_address)
            .eq((0..16).map(|i| i % 4 == 3 && i < 10 || i == 15)));
        let levels = images
            .list()
            .iter()
            .flat_map(|image| &image.facts)
            .map(|site| site.level);
        assert!(levels.take(10).eq((0..10).map(|i| Some(Level::ALL[i % 5]))));
        Ok(())
    }

    #[test]
    fn first_image_starts_at_1_and_sites_follow_levels() -> Result {
        let (a, mut images) = (table(10)?, Images::new());
        add(&mut images, "a", A, &a)?;
        assert_eq!(ids(&a), Some((1, 10)));
        assert!(gates(&a).eq([2, 3, 4, 5, 6, 2, 3, 4, 5, 6]));
        Ok(())
    }

    #[test]
    fn same_build_again_gets_the_same_range() -> Result {
        let (a, b, again) = (table(10)?, table(3)?, table(10)?);
        let mut images = Images::new();
        add(&mut images, "a", A, &a)?;
        add(&mut images, "b", B, &b)?;
        assert_eq!(ids(&b), Some((11, 13)));
        assert!(remove(&mut images, &a));
        assert!(images
            .list()
            .first()
            .is_some_and(|image| image.entry.loaded == 0));
        add(&mut images, "a", A, &again)?;
        assert_eq!(ids(&again), Some((1, 10)));
        assert_eq!(images.list().len(), 2);
        Ok(())
    }

    #[test]
    fn another_build_never_gets_a_range_that_was_used() -> Result {
        let mut images = Images::new();
        let mut next = 1;
        for n in 0..20u8 {
            let sites = table(5)?;
            // The same name each time, as of a module that is built again and again.
            add(&mut images, "driver", [n + 1; 20], &sites)?;
            assert_eq!(ids(&sites), Some((next, next + 4)));
            next += 5;
            assert!(remove(&mut images, &sites));
        }
        Ok(())
    }

    #[test]
    fn what_is_not_surely_the_same_build_gets_a_new_range() -> Result {
        let mut images = Images::new();
        // Another name, another number of sites.
        let (three, four, five) = (table(4)?, table(4)?, table(5)?);
        add(&mut images, "a", A, &three)?;
        assert!(remove(&mut images, &three));
        add(&mut images, "b", A, &four)?;
        assert_eq!(ids(&four), Some((5, 8)));
        add(&mut images, "a", A, &five)?;
        assert_eq!(ids(&five), Some((9, 13)));
        // Twice at a time.
        let six = table(4)?;
        add(&mut images, "b", A, &six)?;
        assert_eq!(ids(&six), Some((14, 17)));
        Ok(())
    }

    #[test]
    fn ids_run_out_and_say_so() -> Result {
        let (most, rest, none) = (table(SITE_MAX as usize - 1)?, table(2)?, table(1)?);
        let mut images = Images::new();
        add(&mut images, "most", A, &most)?;
        assert_eq!(add(&mut images, "rest", B, &rest), Err(ENOSPC));
        assert_eq!(ids(&rest), Some((0, 0)));
        assert!(gates(&rest).all(|gate| gate == 255));
        add(&mut images, "last", B, &none)?;
        assert_eq!(ids(&none), Some((SITE_MAX, SITE_MAX)));
        assert_eq!(add(&mut images, "x", [1; 20], &rest), Err(ENOSPC));
        Ok(())
    }

    /// No record of it could ever be decoded, and each load would need ids of its own.
    #[test]
    fn an_image_without_a_build_id_never_logs() -> Result {
        let (sites, mut images) = (table(4)?, Images::new());
        for _ in 0..100 {
            assert_eq!(add(&mut images, "a", [0; 20], &sites), Err(errno(ENODATA)));
            assert!(!remove(&mut images, &sites));
        }
        assert_eq!((ids(&sites), images.list().len()), (Some((0, 0)), 0));
        assert!(gates(&sites).all(|gate| gate == 255));
        Ok(())
    }

    #[test]
    fn an_image_without_sites_is_none() -> Result {
        let mut images = Images::new();
        add(&mut images, "a", A, &[])?;
        assert_eq!(images.list().len(), 0);
        Ok(())
    }

    #[test]
    fn build_ids_have_the_linkers_lengths() {
        let len = |n: usize| {
            let mut id = [0; 20];
            id.iter_mut().take(n).for_each(|b| *b = 1);
            build_id_len(&id)
        };
        assert_eq!(len(0), 0);
        assert_eq!(len(8), 8);
        assert_eq!(len(16), 16);
        assert_eq!(len(20), 20);
        // A SHA-1 that ends in a zero byte is still one.
        assert_eq!(len(19), 20);
    }

    #[test]
    fn control_switches_what_it_means_and_nothing_else() -> Result {
        let (a, b) = (table(5)?, table(5)?);
        let mut images = Images::new();
        add(&mut images, "a", A, &a)?;
        add(&mut images, "b", B, &b)?;
        assert_eq!(control(&images, "module b level debug +p"), Ok(1));
        assert!(gates(&a).eq([2, 3, 4, 5, 6]));
        assert!(gates(&b).eq([2, 3, 4, 1, 6]));
        assert_eq!(control(&images, "site 5-6 -p"), Ok(2));
        assert!(gates(&a).eq([2, 3, 4, 5, 255]));
        assert!(gates(&b).eq([255, 3, 4, 1, 6]));
        let switched = images.list().get(1).map(|i| i.switched());
        assert_eq!(switched, Some((1, 1)));
        assert_eq!(control(&images, "module c +p"), Ok(0));
        assert_eq!(control(&images, "site 11-20 +p"), Ok(0));
        assert_eq!(control(&images, "=_"), Ok(10));
        assert!(gates(&a).eq([2, 3, 4, 5, 6]));
        assert!(gates(&b).eq([2, 3, 4, 5, 6]));
        Ok(())
    }

    #[test]
    fn switches_outlive_a_reload() -> Result {
        let (a, again) = (table(5)?, table(5)?);
        let mut images = Images::new();
        add(&mut images, "a", A, &a)?;
        assert_eq!(control(&images, "site 2 +p; site 4 -p"), Ok(2));
        assert!(remove(&mut images, &a));
        let switched = images.list().first().map(|i| i.switched());
        assert_eq!(switched, Some((1, 1)));
        // Sites that are not loaded can't be switched.
        assert_eq!(control(&images, "module a =_"), Ok(0));
        add(&mut images, "a", A, &again)?;
        assert!(gates(&again).eq([2, 1, 4, 255, 6]));
        Ok(())
    }
}
