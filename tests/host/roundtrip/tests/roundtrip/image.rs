// SPDX-License-Identifier: GPL-2.0

//! The test's own executable as an image: its call sites in memory get ids, and its `.debug.blog`
//! becomes a side table, as `blog/` and the decoder do for a module. The calls go through the real
//! `kernel::blog::log`, as a task whose ring is there; what it wants of `blog/` is here, too.

use blog_decode_core::format::value::Value;
use blog_decode_core::sidetable::{read_table, Sites};
use blog_file::record::Version;
use blog_host_tests::rig::{Rig, SLOT};
use kernel::{
    bindings::{task_struct, TASK},
    blog::{
        ring::{Reservation, Ring, Writing},
        task::{way_of, Tls},
        wire::record::Level,
        Config, Instance, RawComponent, Site,
    },
    task::MIGHT_SLEEP,
};
use std::ffi::c_char;
use std::ptr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{LazyLock, Mutex};

/// The component that the tests log to, one at a time.
pub struct Host {
    rig: &'static Rig,
    ring: &'static Ring,
    pub component: Instance,
    sites: Sites,
}

static HOST: LazyLock<Mutex<Host>> = LazyLock::new(|| Mutex::new(Host::new()));
static RIG: LazyLock<Box<Rig>> = LazyLock::new(|| Rig::new(2, 1));
/// The rings of the task that logs.
static TLS: Tls = Tls::new(0, ptr::null_mut());

/// Runs `test` with the component, alone, as the task whose ring it has.
pub fn with_host<R>(test: impl FnOnce(&Host) -> R) -> R {
    // A test that failed leaves nothing half done that another one would see.
    let host = HOST.lock().unwrap_or_else(|e| e.into_inner());
    let mut task = task_struct {
        blog_tls: (&raw const TLS).cast_mut().cast(),
        pid: 1,
        tgid: 1,
        comm: [0; 16],
    };
    TASK.set(&mut task);
    let result = test(&host);
    TASK.set(ptr::null_mut());
    result
}

/// Makes a component that is on.
#[no_mangle]
unsafe extern "C" fn blog_component_register(
    _: *const c_char,
    config: *const Config,
    _: u32,
) -> *const RawComponent {
    // SAFETY: The caller's is valid.
    let raw = Box::leak(Box::new(RawComponent::new(unsafe { *config })));
    // SAFETY: Nobody else knows it.
    let switch = unsafe { raw.switch() };
    switch.slot.store(SLOT.into(), Relaxed);
    switch.way.store(way_of(SLOT.into()), Relaxed);
    switch.threshold.store(Level::Trace as u8 + 1, Relaxed);
    raw
}

/// Nothing to undo.
#[no_mangle]
extern "C" fn blog_component_unregister(_: *const RawComponent) {}

/// Finds a place for a record when its page is full.
#[no_mangle]
extern "C" fn blog_reserve<'a>(
    _: &RawComponent,
    writing: Option<Writing<'a>>,
    bytes: u32,
    ts: u64,
) -> Reservation<'a> {
    let own = writing.as_ref().expect("the task's ring was not found").ring();
    RIG.reserve(own, writing, bytes, ts)
}

/// Nothing is watched.
#[no_mangle]
extern "C" fn blog_stored(_: &RawComponent, _: u32, _: *const u8, _: usize) {}

/// The clock is the one that log calls read themselves.
#[no_mangle]
static blog_clock_is_counter: u8 = 1;

impl Host {
    fn new() -> Self {
        let exe = std::env::current_exe().unwrap();
        let table = read_table(&exe, |_| true).unwrap().expect("no call sites in here");
        register_sites(table.sites.len());
        let rig = &*RIG;
        let ring = rig.adopt(1).unwrap();
        // SAFETY: Nobody else knows the ring, and its component isn't logged to yet.
        unsafe {
            assert!(TLS.add(ring).is_ok());
            TLS.cache(ring, way_of(SLOT.into()) as usize);
        }
        Self {
            rig,
            ring,
            component: Instance::new::<true>(c"roundtrip", Config::new()),
            sites: Sites::new(table, exe),
        }
    }

    /// What the last `n` records decode to.
    pub fn texts(&self, n: usize) -> Vec<String> {
        let records = self.rig.read(self.ring.id()).records;
        assert!(records.len() >= n, "{} of {n} records are left", records.len());
        let records = &records[records.len() - n..];
        records.iter().map(|(_, site, payload)| self.text(*site, payload)).collect()
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
            template.locate_arguments(payload, Version::Two, &mut slots),
            "{:?}: payload too short",
            site.format
        );
        let mut out = Vec::new();
        template.print(payload, &slots, &mut out);
        String::from_utf8(out).unwrap()
    }

    /// The arguments of the last record: each as the outputs take it that don't print messages.
    pub fn arguments(&self, mut see: impl FnMut(usize, &str, Value<'_>)) {
        let records = self.rig.read(self.ring.id()).records;
        let (_, site, payload) = records.last().unwrap();
        let template = &self.sites.sites[*site as usize - 1].template;
        let template = template.as_ref().unwrap();
        let mut slots = Vec::new();
        assert!(template.locate_arguments(payload, Version::Two, &mut slots), "payload too short");
        for (i, (name, value, _)) in template.arguments(payload, &slots).enumerate() {
            see(i, name, value);
        }
    }

    /// The table's entry for the site of the last record.
    pub fn last_site(&self) -> &blog_decode_core::sidetable::Site {
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
        assert_eq!(site.id(), 0);
        assert_eq!(site.gate(), kernel::blog::wire::record::GATE_OFF);
        // SAFETY: This is its place in the table, and nobody logs yet.
        unsafe {
            site.set_id(index as u32 + 1);
            site.set_gate(site.level().unwrap() as u8 + 1);
        }
    }
}

/// In a kernel that checks it (`CONFIG_DEBUG_ATOMIC_SLEEP`), this is what complains where an
/// instance is dropped in atomic context.
#[test]
fn dropping_an_instance_says_that_it_may_sleep() {
    let linked = Instance::new::<true>(c"sleeps", Config::new());
    let unlinked = Instance::new::<false>(c"sleeps", Config::new());
    let before = MIGHT_SLEEP.get();
    drop(linked);
    assert_eq!(MIGHT_SLEEP.get(), before + 1);
    // Not only where there is something to do.
    drop(unlinked);
    assert_eq!(MIGHT_SLEEP.get(), before + 2);
}
