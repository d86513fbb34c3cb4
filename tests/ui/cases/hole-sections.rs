// SPDX-License-Identifier: GPL-2.0

//! Sites and components that no macro has made.

#![forbid(unsafe_code)]

use kernel::blog::{component::Pointer, Config, Level, RawComponent, Site};

static RAW: RawComponent = RawComponent::new(Config::new());

#[link_section = ".blog_components"]
//~ <- declaration of a static with `link_section`
static POINTER: Pointer = Pointer::new(&RAW);

#[link_section = ".blog_sites"]
//~ <- declaration of a static with `link_section`
static SITE: Site = Site::new(Level::Err);
