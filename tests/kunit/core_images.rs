// SPDX-License-Identifier: GPL-2.0

// KUnit suite: site ids by build ID, and switching sites. It works on tables of sites of its own,
// not on those of the running system.

#[kunit_tests(blog_images)]
mod suite {
    use super::rig;
    use crate::{
        read::withheld::Withheld,
        registry::control::queries,
        registry::ids,
        registry::images::*, //
    };
    use kernel::{
        blog::{
            wire::record::{
                Level,
                SITE_MAX, //
            },
            Config,
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
            sites.push(Site::new(Level::ALL[i % 5]), GFP_KERNEL)?;
        }
        Ok(sites)
    }

    fn add(images: &mut Images, name: &str, id: [u8; 20], sites: &[Site]) -> Result {
        // SAFETY: All tables here outlive the images.
        let sites = unsafe { Sites::new(sites.as_ptr(), sites.len() as u32) };
        images.add(
            name.as_bytes(),
            BuildId::new(id),
            sites,
            &sites.addresses()?,
        )
    }

    /// Where [`Images::remove`] keeps what sites are switched to.
    fn room() -> Result<KVVec<u8>> {
        Ok(KVVec::with_capacity(16, GFP_KERNEL)?)
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
    fn sites_with_addresses_stay_known_when_their_module_goes() -> Result {
        let (mut a, mut b, mut images) = (KVVec::new(), table(5)?, Images::new());
        for (i, site) in table(10)?.into_iter().enumerate() {
            let site = if i % 4 == 3 {
                site.with_address()
            } else {
                site
            };
            a.push(site, GFP_KERNEL)?;
        }
        b.push(Site::new(Level::Err).with_address(), GFP_KERNEL)?;
        add(&mut images, "a", A, &a)?;
        add(&mut images, "b", B, &b)?;
        images.remove(a.as_ptr(), room()?);
        let mut withheld = Withheld::new();
        assert!(withheld.has(1));
        let known = |withheld: &Withheld| (1..20).filter(|id| withheld.has(*id)).count();
        for (image, more) in images.list().iter().zip([2, 1]) {
            let before = known(&withheld);
            let first = image.entry().first;
            withheld.add(first, image.last(), image.addresses())?;
            let sites = image.last() - first + 1;
            assert_eq!(before - known(&withheld), (sites - more) as usize);
        }
        // What comes later is not known, so it is withheld.
        assert!((1..18).filter(|id| withheld.has(*id)).eq([4, 8, 16, 17]));
        // Nor what gets ids that lie between known ones.
        let mut holes = Withheld::new();
        holes.add(11, 13, &[1])?;
        holes.add(3, 4, &[])?;
        assert!((1..15).filter(|id| !holes.has(*id)).eq([3, 4, 11, 13]));
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
        images.remove(a.as_ptr(), room()?);
        assert!(images.list().first().is_some_and(|image| !image.loaded()));
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
            images.remove(sites.as_ptr(), room()?);
        }
        Ok(())
    }

    #[test]
    fn what_is_not_surely_the_same_build_gets_a_new_range() -> Result {
        let mut images = Images::new();
        let (one, two) = (table(4)?, table(4)?);
        // Without a build ID.
        add(&mut images, "a", [0; 20], &one)?;
        images.remove(one.as_ptr(), room()?);
        add(&mut images, "a", [0; 20], &two)?;
        assert_eq!(ids(&two), Some((5, 8)));
        // Another name, another number of sites.
        let (three, four, five) = (table(4)?, table(4)?, table(5)?);
        add(&mut images, "a", A, &three)?;
        images.remove(three.as_ptr(), room()?);
        add(&mut images, "b", A, &four)?;
        assert_eq!(ids(&four), Some((13, 16)));
        add(&mut images, "a", A, &five)?;
        assert_eq!(ids(&five), Some((17, 21)));
        // Twice at a time.
        let six = table(4)?;
        add(&mut images, "b", A, &six)?;
        assert_eq!(ids(&six), Some((22, 25)));
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

    /// Builds of a module come and go until ids run out, and then those of builds that nothing
    /// tells of any more are used again.
    #[test]
    fn ids_of_builds_that_are_gone_are_used_again() -> Result {
        let mut images = Images::with_ids(100);
        let vmlinux = table(20)?;
        add(&mut images, "vmlinux", A, &vmlinux)?;
        let load = |images: &mut Images, build: u8, count| -> Result<u32> {
            let sites = table(count)?;
            add(images, "driver", [build; 20], &sites)?;
            let first = sites.first().ok_or(EINVAL)?.id();
            images.remove(sites.as_ptr(), room()?);
            Ok(first)
        };
        for build in 0..8u8 {
            let first = 21 + 10 * u32::from(build);
            assert_eq!(load(&mut images, build + 1, 10), Ok(first));
        }
        assert_eq!(load(&mut images, 9, 10), Err(ENOSPC));
        let gone = |images: &Images| -> Result<KVVec<Gone>> {
            let mut list = KVVec::new();
            for mut image in images.gone() {
                // Records name builds 1, 4 and 6.
                image.used = [21, 51, 71].contains(&image.first);
                list.push(image, GFP_KERNEL)?;
            }
            Ok(list)
        };
        assert_eq!(gone(&images)?.len(), 8);
        // Who has a file open may have been told of all of them.
        let known = gone(&images)?;
        images.reader(true);
        assert!(images.gone().next().is_none());
        images.free(&known);
        assert_eq!(load(&mut images, 9, 10), Err(ENOSPC));
        images.reader(false);
        // Build 2 comes again just now.
        let old = gone(&images)?;
        assert_eq!(load(&mut images, 2, 10), Ok(31));
        images.free(&old);
        assert_eq!(images.gone().count(), 4);
        // Builds 3, 5, 7 and 8 had 41 to 50, 61 to 70 and 81 to 100.
        assert_eq!(load(&mut images, 9, 11), Ok(81));
        assert_eq!(load(&mut images, 10, 10), Ok(41));
        assert_eq!(load(&mut images, 11, 9), Ok(92));
        assert_eq!(load(&mut images, 12, 9), Ok(61));
        assert_eq!(load(&mut images, 13, 2), Err(ENOSPC));
        // What was used is as it was.
        assert_eq!(load(&mut images, 4, 10), Ok(51));
        // Build 3 had to give way.
        assert_eq!(load(&mut images, 3, 10), Err(ENOSPC));
        Ok(())
    }

    #[test]
    fn what_records_name_is_found() -> Result {
        let rig = rig::Rig::new(c"blog_test_ids", Config::new().size_kb(64).ring_kb(32))?;
        assert!(rig.log(1));
        rig.state()?.clear()?;
        assert!(rig.log(2));
        let mut images = Images::new();
        // Records of the rig are of site 7; there may be others of these images.
        for (name, count) in [
            ("small", 10),
            ("large", SITE_MAX as usize - 20),
            ("rare", 10),
        ] {
            let sites = table(count)?;
            add(&mut images, name, A, &sites)?;
            images.remove(sites.as_ptr(), room()?);
        }
        let mut gone = KVVec::new();
        for image in images.gone() {
            gone.push(image, GFP_KERNEL)?;
        }
        ids::find_used(&mut gone)?;
        assert!(gone.first().is_some_and(|image| image.used));
        assert!(gone.last().is_some_and(|image| !image.used));
        images.free(&gone);
        assert_eq!(
            images.list().first().map(|image| image.entry().count),
            Some(10)
        );
        assert_eq!(
            images.list().last().map(|image| image.entry().count),
            Some(0)
        );
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
            BuildId::new(id).as_bytes().len()
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
        assert_eq!(switched.map(|n| (n.on, n.off)), Some((1, 1)));
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
        images.remove(a.as_ptr(), room()?);
        let switched = images.list().first().map(|i| i.switched());
        assert_eq!(switched.map(|n| (n.on, n.off)), Some((1, 1)));
        // Sites that are not loaded can't be switched.
        assert_eq!(control(&images, "module a =_"), Ok(0));
        add(&mut images, "a", A, &again)?;
        assert!(gates(&again).eq([2, 1, 4, 255, 6]));
        Ok(())
    }
}
