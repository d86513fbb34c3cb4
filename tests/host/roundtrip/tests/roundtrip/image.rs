// SPDX-License-Identifier: GPL-2.0

//! The test's own executable as an image: its call sites in memory get ids, and its `.blog_fmt`
//! becomes a side table, as `blog/` and the decoder do for a module.

use blog_decode::sidetable::{read_table, Sites};
use blog_host_tests::rig::Rig;
use kernel::blog::{record::Level, ring::Ring, RawComponent, Site};
use std::sync::atomic::{AtomicU64, AtomicU8, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex};

static CLOCK: AtomicU64 = AtomicU64::new(1);

/// The component that the tests log to, one at a time.
pub struct Host {
    rig: &'static Rig,
    ring: &'static Ring,
    pub component: RawComponent,
    sites: Sites,
}

static HOST: LazyLock<Mutex<Host>> = LazyLock::new(|| Mutex::new(Host::new()));
static RIG: LazyLock<Box<Rig>> = LazyLock::new(|| Rig::new(2, 1));

/// Runs `test` with the component, alone.
pub fn with_host<R>(test: impl FnOnce(&Host) -> R) -> R {
    // A test that failed leaves nothing half done that another one would see.
    test(&HOST.lock().unwrap_or_else(|e| e.into_inner()))
}

impl Host {
    fn new() -> Self {
        let exe = std::env::current_exe().unwrap();
        let table = read_table(&exe, |_| true)
            .unwrap()
            .expect("no call sites in here");
        register_sites(table.sites.len());
        let rig = &*RIG;
        let ring = rig.adopt(1).unwrap();
        Self {
            rig,
            ring,
            component: RawComponent {
                threshold: AtomicU8::new(Level::Trace as u8 + 1),
                ring,
                clock: || CLOCK.fetch_add(1, Relaxed),
                reserve: |ring, bytes, ts, begun| RIG.reserve(ring, bytes, ts, begun),
            },
            sites: Sites::new(table, exe),
        }
    }

    /// What the last `n` records decode to.
    pub fn texts(&self, n: usize) -> Vec<String> {
        let records = self.rig.read(self.ring.id()).records;
        assert!(
            records.len() >= n,
            "{} of {n} records are left",
            records.len()
        );
        let records = &records[records.len() - n..];
        records
            .iter()
            .map(|(_, site, payload)| self.text(*site, payload))
            .collect()
    }

    /// Records that the ring has taken in all.
    pub fn count(&self) -> u64 {
        self.ring.records()
    }

    fn text(&self, site: u32, payload: &[u8]) -> String {
        let site = &self.sites.sites[site as usize - 1];
        let template = site
            .template
            .as_ref()
            .unwrap_or_else(|e| panic!("{}:{}: {:?}: {e}", site.file, site.line, site.format));
        let mut slots = Vec::new();
        assert!(
            template.cut(payload, &mut slots),
            "{:?}: payload too short",
            site.format
        );
        let mut out = Vec::new();
        template.print(payload, &slots, &mut out);
        String::from_utf8(out).unwrap()
    }

    /// The table's entry for the site of the last record.
    pub fn last_site(&self) -> &blog_decode::sidetable::Site {
        let records = self.rig.read(self.ring.id()).records;
        &self.sites.sites[records.last().unwrap().1 as usize - 1]
    }
}

extern "C" {
    static __start_blog_sites: Site;
    static __stop_blog_sites: Site;
}

/// Gives the sites of this process their ids, from 1.
fn register_sites(count: usize) {
    let start = &raw const __start_blog_sites;
    // SAFETY: Both are bounds of the same section.
    let len = unsafe { (&raw const __stop_blog_sites).offset_from(start) };
    assert_eq!(len, count as isize, "the table has other sites than memory");
    for index in 0..count {
        // SAFETY: The section holds `count` sites.
        let site = unsafe { &*start.add(index) };
        assert_eq!(site.id_shl8.load(Relaxed), 0);
        assert_eq!(site.gate.load(Relaxed), kernel::blog::record::GATE_OFF);
        site.id_shl8.store((index as u32 + 1) << 8, Relaxed);
        site.gate.store(site.level + 1, Relaxed);
    }
}
