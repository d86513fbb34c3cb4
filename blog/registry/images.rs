// SPDX-License-Identifier: GPL-2.0

//! Site ids: each build of vmlinux or of a module has a range of them.
//!
//! The registry adds an image when vmlinux's or a module's sites become known, and takes it out
//! when the module goes; the snapshot lists the ranges, the control file switches their sites.
//! A range is handed out once per build, in ascending order: the same build ID loaded again gets
//! the same ids, and no other build ever gets them. Nothing here is called from a log call.

use kernel::blog::{
    wire::{
        file::{
            self,
            BUILD_ID_MAX, //
        },
        name::NAME_MAX,
        record::{
            GATE_OFF,
            SITE_MAX, //
        }, //
    },
    Site, //
};

use crate::sys::{
    glue::errno,
    prelude::*, //
};

#[cfg(CONFIG_BLOG_PARTS)]
pub(crate) mod query;
#[cfg(CONFIG_BLOG_PARTS)]
mod tables;

/// How a part makes room for what it keeps by site, up to this one; on an error, the sites never
/// log. One at a time. Set before there are images.
pub(crate) static RESERVE: SetOnce<fn(u32) -> Result> = SetOnce::new();

/// The gate of a site that follows its component's level.
fn follow(site: &Site) -> u8 {
    // A gate above any threshold where the level is none, so that a broken entry stays off.
    site.level().map_or(GATE_OFF, |level| level as u8 + 1)
}

/// How many bytes of a build ID count, which the kernel keeps zero padded: the linker makes them 20
/// (SHA-1), 16 (MD5, UUID) or 8 (fast) bytes long; 0 where the image was linked without one.
pub(crate) fn build_id_len(id: &[u8; BUILD_ID_MAX]) -> u32 {
    let zero_from = |len: &u32| id.iter().skip(*len as usize).all(|b| *b == 0);
    [0, 8, 16]
        .into_iter()
        .find(zero_from)
        .unwrap_or(BUILD_ID_MAX as u32)
}

/// What readers must know of a site, also when its module is gone.
#[derive(Clone, Copy)]
pub(crate) struct ImageFacts {
    #[cfg(CONFIG_BLOG_PARTS)]
    pub(crate) level: Option<kernel::blog::Level>,
    pub(crate) has_address: bool,
}

/// One build of vmlinux or of a module.
pub(crate) struct Build {
    /// The image as a snapshot lists it.
    pub(crate) entry: file::Image,
    /// Where they are in memory; empty while it isn't loaded. A module's go after
    /// [`Images::remove`].
    sites: &'static [Site],
    /// What stays known of its sites.
    pub(crate) facts: KVVec<ImageFacts>,
    /// Gates to restore when it is loaded again; empty where no site was switched.
    #[cfg(CONFIG_BLOG_PARTS)]
    gates: KVVec<u8>,
    /// Its side table, if it has come with one.
    pub(crate) table: VVec<u8>,
}

impl Build {
    pub(crate) fn last(&self) -> u32 {
        self.entry.first + self.entry.count - 1
    }
}

/// All images since BLog was loaded.
///
/// # Invariants
///
/// The images' ranges follow each other from 1 on, up to [`SITE_MAX`] at most.
pub(crate) struct Images {
    list: KVVec<Build>,
    /// How many sites never log, as they have no ids; summed over all loads.
    pub(crate) refused: u64,
}

impl Images {
    pub(crate) const fn new() -> Self {
        Self {
            list: KVVec::new(),
            refused: 0,
        }
    }

    /// The images, in the order in which they came. They are never taken out, so each keeps its
    /// place.
    pub(crate) fn list(&self) -> &[Build] {
        &self.list
    }

    /// Gives ids to the sites of an image, and lets them follow their components' levels, or
    /// restores what they were switched to when this build was loaded before.
    ///
    /// Where it fails, the sites never log: with `ENOSPC` when there are no ids left, with
    /// `ENODATA` where the image has no build ID, so that nobody could tell whose records these
    /// are, with `EINVAL` where formats aren't compiled, so that calls can't write their records.
    pub(crate) fn add(
        &mut self,
        name: &[u8],
        build_id: [u8; BUILD_ID_MAX],
        sites: &'static [Site],
    ) -> Result {
        if sites.is_empty() {
            return Ok(());
        }
        let result = self.build(name, build_id, sites).map(|image| {
            for (i, site) in sites.iter().enumerate() {
                #[cfg(CONFIG_BLOG_PARTS)]
                let gate = image.gate_before(i, site);
                #[cfg(not(CONFIG_BLOG_PARTS))]
                let gate = follow(site);
                // SAFETY: No component of the image is enabled yet, so nobody logs. By the type
                // invariants, the range has room for this id.
                unsafe {
                    site.set_id(image.entry.first + i as u32);
                    site.set_gate(gate);
                }
            }
            #[cfg(CONFIG_BLOG_PARTS)]
            {
                image.gates = KVVec::new();
            }
            image.sites = sites;
            image.entry.loaded = 1;
        });
        if result.is_err() {
            self.refused += sites.len() as u64;
        }
        result
    }

    /// The place of a build that is loaded: that which it had before, or a new one.
    fn build(
        &mut self,
        name: &[u8],
        build_id: [u8; BUILD_ID_MAX],
        sites: &[Site],
    ) -> Result<&mut Build> {
        let build_id_len = build_id_len(&build_id);
        if build_id_len == 0 {
            return Err(errno(bindings::ENODATA));
        }
        if sites.iter().any(Site::is_uncompiled) {
            return Err(EINVAL);
        }
        let mut field = [0; NAME_MAX];
        for (to, from) in field.iter_mut().take(NAME_MAX - 1).zip(name) {
            *to = *from;
        }
        let known = self.list.iter().position(|image| {
            let known = (image.entry.build_id, image.entry.name, image.entry.count);
            known == (build_id, field, sites.len() as u32) && image.entry.loaded == 0
        });
        let at = match known {
            Some(at) => at,
            None => {
                let first = self.list.last().map_or(0, Build::last) + 1;
                if sites.len() > (SITE_MAX + 1 - first) as usize {
                    return Err(ENOSPC);
                }
                if let Some(reserve) = RESERVE.as_ref() {
                    reserve(first + sites.len() as u32 - 1)?;
                }
                let mut facts = KVVec::with_capacity(sites.len(), GFP_KERNEL)?;
                for site in sites {
                    let new = ImageFacts {
                        #[cfg(CONFIG_BLOG_PARTS)]
                        level: site.level(),
                        has_address: site.has_address(),
                    };
                    facts.push(new, GFP_KERNEL)?;
                }
                let new = Build {
                    entry: file::Image {
                        first,
                        count: sites.len() as u32,
                        loaded: 0,
                        build_id_len,
                        build_id,
                        reserved: 0,
                        name: field,
                    },
                    sites: &[],
                    facts,
                    #[cfg(CONFIG_BLOG_PARTS)]
                    gates: KVVec::new(),
                    table: VVec::new(),
                };
                // INVARIANT: The new range follows the last one.
                self.list.push(new, GFP_KERNEL)?;
                self.list.len() - 1
            }
        };
        self.list.get_mut(at).ok_or(EINVAL)
    }

    /// Forgets the sites of an image that is in memory which goes. Its range stays, and what its
    /// sites were switched to. False: there is none.
    pub(crate) fn remove(&mut self, is_within: impl Fn(*const c_void) -> bool) -> bool {
        let here = |image: &&mut Build| {
            let first = image.sites.first();
            first.is_some_and(|first| is_within(core::ptr::from_ref(first).cast()))
        };
        let Some(image) = self.list.iter_mut().find(here) else {
            return false;
        };
        #[cfg(CONFIG_BLOG_PARTS)]
        image.keep_gates();
        image.sites = &[];
        image.entry.loaded = 0;
        true
    }
}
