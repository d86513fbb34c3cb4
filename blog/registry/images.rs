// SPDX-License-Identifier: GPL-2.0

//! Site ids: which range of them belongs to which build of vmlinux or of a module.
//!
//! The registry adds an image when vmlinux's or a module's sites become known, and takes it out
//! when the module goes; the snapshot lists the ranges, the control file switches their sites.
//! A range is handed out once per build, in ascending order: the same build ID loaded again gets
//! the same ids, and no other build ever gets them. Nothing here is called from a log call.

use kernel::{
    blog::{
        wire::{
            file::{
                self,
                BUILD_ID_MAX,
                NAME_MAX, //
            },
            record::{
                Level,
                GATE_OFF,
                GATE_ON,
                SITE_MAX, //
            }, //
        },
        Site, //
    },
    prelude::*,
    sync::Arc, //
};

use core::mem;

use super::names::{
    name_bytes,
    name_field, //
};

/// A GNU build ID; of length 0 where the image was linked without one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct BuildId {
    bytes: [u8; BUILD_ID_MAX],
    len: u8,
}

impl BuildId {
    /// Takes a build ID as the kernel keeps it: zero padded, without a length.
    ///
    /// The linker makes them 20 (SHA-1), 16 (MD5, UUID) or 8 (fast) bytes long.
    pub(crate) fn new(bytes: [u8; BUILD_ID_MAX]) -> Self {
        let zero_from = |n: usize| bytes.iter().skip(n).all(|b| *b == 0);
        let len = if zero_from(0) {
            0
        } else if zero_from(8) {
            8
        } else if zero_from(16) {
            16
        } else {
            20
        };
        Self { bytes, len }
    }

    /// The bytes that count.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or(&[])
    }
}

/// The site entries of an image that is in memory now.
///
/// # Invariants
///
/// `first` points to `count` entries which stay valid as long as this value is in [`Images`].
#[derive(Clone, Copy)]
pub(crate) struct Sites {
    first: *const Site,
    count: u32,
}

// SAFETY: A `Site` has atomics for all that changes, so it can be used from any thread.
unsafe impl Send for Sites {}

impl Sites {
    /// Describes a table of sites.
    ///
    /// # Safety
    ///
    /// `first` must point to `count` entries that stay valid until [`Images::remove`] was called
    /// for them.
    pub(crate) unsafe fn new(first: *const Site, count: u32) -> Self {
        // INVARIANT: By this function's requirements.
        Self { first, count }
    }

    /// Indices of those that have an address among their arguments.
    pub(crate) fn addresses(&self) -> Result<Arc<KVVec<u32>>> {
        let mut indices = KVVec::new();
        for (index, site) in (0..).zip(self.as_slice()) {
            if site.has_address() {
                indices.push(index, GFP_KERNEL)?;
            }
        }
        Ok(Arc::new(indices, GFP_KERNEL)?)
    }

    fn as_slice(&self) -> &[Site] {
        if self.count == 0 {
            return &[];
        }
        // SAFETY: By the type invariants.
        unsafe { core::slice::from_raw_parts(self.first, self.count as usize) }
    }
}

/// What a [`Query`] does to the sites that it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    /// `+p` or `=p`: they log at any level of their component.
    On,
    /// `-p`: they never log.
    Off,
    /// `=_`: they follow their component's level, as at the start.
    Follow,
}

/// One command of the `control` file: which sites, and what to do to them. Conditions that aren't
/// given hold for all sites.
///
/// The words are those of dynamic debug, as far as the kernel can know the answer: it has no
/// strings. `file`, `line`, `func`, `format` and `component` are for `blog-decode`, which looks
/// them up in the side tables and writes `site` commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Query<'a> {
    /// `module NAME`: the image's name, `vmlinux` for what is built in.
    pub(crate) module: Option<&'a str>,
    /// `site ID` or `site FIRST-LAST`.
    pub(crate) ids: Option<(u32, u32)>,
    /// `level NAME-OR-NUMBER`.
    pub(crate) level: Option<Level>,
    /// `+p`, `=p`, `-p`, `=_`.
    pub(crate) switch: Setting,
}

/// The gate of a site that follows its component's level.
fn follow(site: &Site) -> u8 {
    // A gate above any threshold where the level is none, so that a broken entry stays off.
    site.level().map_or(GATE_OFF, |level| level as u8 + 1)
}

/// What the sites of an image are switched to.
#[derive(Clone, Copy, Default)]
pub(crate) struct Switched {
    /// Sites that log at any level of their component.
    pub(crate) on: u32,
    /// Sites that never log.
    pub(crate) off: u32,
}

/// One build of vmlinux or of a module.
pub(crate) struct Build {
    first: u32,
    count: u32,
    build_id: BuildId,
    name: [u8; NAME_MAX],
    /// `None`: not loaded now.
    sites: Option<Sites>,
    /// Indices of sites that have an address among their arguments.
    addresses: Arc<KVVec<u32>>,
    /// Gates to restore when it is loaded again; empty where no site was switched.
    gates: KVVec<u8>,
}

impl Build {
    /// Id of the last site.
    pub(crate) fn last(&self) -> u32 {
        self.first + self.count - 1
    }

    /// Whether it is loaded now.
    pub(crate) fn loaded(&self) -> bool {
        self.sites.is_some()
    }

    /// `vmlinux` or the module's name.
    pub(crate) fn name(&self) -> &[u8] {
        name_bytes(&self.name)
    }

    /// How many sites are switched on or off whatever their component's level is.
    pub(crate) fn switched(&self) -> Switched {
        let mut n = Switched::default();
        let mut count = |gate| match gate {
            GATE_ON => n.on += 1,
            GATE_OFF => n.off += 1,
            _ => (),
        };
        match &self.sites {
            Some(sites) => sites.as_slice().iter().for_each(|site| count(site.gate())),
            None => self.gates.iter().for_each(|gate| count(*gate)),
        }
        n
    }

    /// Indices of sites that have an address among their arguments, loaded or not.
    pub(crate) fn addresses(&self) -> &Arc<KVVec<u32>> {
        &self.addresses
    }

    /// The image as a snapshot lists it.
    pub(crate) fn entry(&self) -> file::Image {
        file::Image {
            first: self.first,
            count: self.count,
            loaded: u32::from(self.loaded()),
            build_id_len: u32::from(self.build_id.len),
            build_id: self.build_id.bytes,
            reserved: 0,
            name: self.name,
        }
    }

    /// Calls `f` for each loaded site that `query` means; returns their number.
    fn matching(&self, query: &Query<'_>, mut f: impl FnMut(&Site)) -> u32 {
        if query.module.is_some_and(|m| m.as_bytes() != self.name()) {
            return 0;
        }
        let Some(sites) = &self.sites else {
            return 0;
        };
        let mut n = 0;
        for (id, site) in (self.first..).zip(sites.as_slice()) {
            if query.ids.is_some_and(|(low, high)| id < low || id > high)
                || query.level.is_some_and(|level| Some(level) != site.level())
            {
                continue;
            }
            n += 1;
            f(site);
        }
        n
    }
}

/// All images since BLog was loaded.
///
/// # Invariants
///
/// The images' ranges follow each other from 1 on, up to [`SITE_MAX`] at most.
pub(crate) struct Images {
    list: KVVec<Build>,
    /// Sites that never log, as they have no ids.
    refused: u64,
}

impl Images {
    /// No image.
    pub(crate) const fn new() -> Self {
        Self {
            list: KVVec::new(),
            refused: 0,
        }
    }

    /// How many sites never log, as they have no ids; summed over all loads.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }

    /// Counts sites as such.
    pub(crate) fn refuse(&mut self, sites: Sites) {
        self.refused += u64::from(sites.count);
    }

    /// The images, in the order in which they came. They are never taken out, so each keeps its
    /// place.
    pub(crate) fn list(&self) -> &[Build] {
        &self.list
    }

    /// Whether there is room for one more image, in `room` if need be, which is empty: so that
    /// [`Self::add`] doesn't allocate.
    pub(crate) fn has_room(&mut self, room: &mut KVVec<Build>) -> bool {
        if self.list.len() < self.list.capacity() {
            return true;
        }
        if room.capacity() <= self.list.len() {
            return false;
        }
        for image in mem::replace(&mut self.list, mem::take(room)) {
            // It has more room than there are.
            let _ = self.list.push_within_capacity(image);
        }
        true
    }

    /// Gives ids to the sites of an image, and lets them follow their components' levels, or
    /// restores what they were switched to when this build was loaded before.
    ///
    /// `addresses` are those that [`Sites::addresses`] says. Where it fails, the sites never log:
    /// with `ENOSPC` when there are no ids left, with `ENODATA` where the image has no build ID, so
    /// that nobody could tell whose records these are.
    pub(crate) fn add(
        &mut self,
        name: &[u8],
        build_id: BuildId,
        sites: Sites,
        addresses: &Arc<KVVec<u32>>,
    ) -> Result {
        if sites.count == 0 {
            return Ok(());
        }
        if build_id.len == 0 {
            return Err(ENODATA);
        }
        let name = name_field(name);
        let known = self.list.iter().position(|image| {
            image.build_id == build_id
                && image.name == name
                && image.count == sites.count
                && !image.loaded()
        });
        let at = match known {
            Some(at) => at,
            None => {
                let first = self.list.last().map_or(0, Build::last) + 1;
                if sites.count > SITE_MAX + 1 - first {
                    return Err(ENOSPC);
                }
                // INVARIANT: The new range follows the last one.
                self.list.push(
                    Build {
                        first,
                        count: sites.count,
                        build_id,
                        name,
                        sites: None,
                        addresses: addresses.clone(),
                        gates: KVVec::new(),
                    },
                    GFP_NOWAIT | __GFP_NOWARN,
                )?;
                self.list.len() - 1
            }
        };
        let image = self.list.get_mut(at).ok_or(EINVAL)?;
        for (i, site) in sites.as_slice().iter().enumerate() {
            let gate = image.gates.get(i).copied();
            // SAFETY: No component of the image is enabled yet, so nobody logs. By the type
            // invariants, the range has room for this id.
            unsafe {
                site.set_id(image.first + i as u32);
                site.set_gate(gate.unwrap_or(follow(site)));
            }
        }
        image.gates = KVVec::new();
        image.sites = Some(sites);
        Ok(())
    }

    /// The sites of a loaded image, by where they are: the first one, and their number.
    pub(crate) fn loaded(&self, here: impl Fn(*const Site) -> bool) -> Option<(*const Site, u32)> {
        let mut loaded = self.list.iter().filter_map(|image| image.sites);
        let sites = loaded.find(|sites| here(sites.first))?;
        Some((sites.first, sites.count))
    }

    /// Forgets where the sites of an image are. Its range stays. What sites were switched to is
    /// kept in `gates`, if there is room for as many as it has; what isn't needed comes back.
    pub(crate) fn remove(&mut self, first: *const Site, mut gates: KVVec<u8>) -> KVVec<u8> {
        let Some(image) = self
            .list
            .iter_mut()
            .find(|image| image.sites.is_some_and(|sites| sites.first == first))
        else {
            return gates;
        };
        let switched = image.switched();
        let Some(sites) = image.sites.take() else {
            return gates;
        };
        if switched.on + switched.off == 0 {
            return gates;
        }
        for site in sites.as_slice() {
            if gates.push_within_capacity(site.gate()).is_err() {
                pr_warn!("no memory to remember which sites were switched\n");
                return gates;
            }
        }
        mem::replace(&mut image.gates, gates)
    }

    /// The number of loaded sites that `query` means.
    pub(crate) fn count(&self, query: &Query<'_>) -> u32 {
        self.list.iter().map(|i| i.matching(query, |_| ())).sum()
    }

    /// Switches the loaded sites that `query` means.
    pub(crate) fn switch(&self, query: &Query<'_>) {
        for image in &self.list {
            image.matching(query, |site| {
                let gate = match query.switch {
                    Setting::On => GATE_ON,
                    Setting::Off => GATE_OFF,
                    Setting::Follow => follow(site),
                };
                // SAFETY: The sites of a loaded image have their ids.
                unsafe { site.set_gate(gate) };
            });
        }
    }
}
