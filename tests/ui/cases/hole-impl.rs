// SPDX-License-Identifier: GPL-2.0

//! Traits and sections that promise something.

#![forbid(unsafe_code)]

use kernel::blog::{
    component::Pointer,
    ring::{PageHeader, Pages},
    types::TypeCode,
    BlogArg, Component, Config, RawComponent,
};

// Arguments that store more than they said.
struct Long;

impl BlogArg for Long {
//~ <- the trait `BlogArg` requires an `unsafe impl` declaration
    type Shown = Self;
    const CODE: TypeCode = <u8 as BlogArg>::CODE;
    const FIXED: usize = 1;
    type Passed<'a> = &'a Self;
    fn pass(&self) -> &Self {
        self
    }
    unsafe fn store(&self, _: *mut u8) {}
//~ ^ implementation of an `unsafe` method
}

// A component that says that it is on, and that nobody knows.
struct Mine(RawComponent);

impl Component for Mine {
//~ <- the trait `Component` requires an `unsafe impl` declaration
    fn is_on(&self) -> bool {
        true
    }
    fn raw(&self) -> &RawComponent {
        &self.0
    }
}

pub fn mine() -> impl Component {
    Mine(RawComponent::new(Config::new()))
}

// A pool that hands out what is no page.
struct Nothing;

impl Pages for Nothing {
//~ <- the trait `Pages` requires an `unsafe impl` declaration
    fn take(&self, _: u32) -> Option<u32> {
        Some(0)
    }
    fn page(&self, _: u32) -> *mut PageHeader {
        core::ptr::null_mut()
    }
    fn size(&self) -> u32 {
        4096
    }
    unsafe fn put(&self, _: u32) {}
//~ ^ implementation of an `unsafe` method
}

// Sites and components that no macro has made.
static RAW: RawComponent = RawComponent::new(Config::new());

#[link_section = ".blog_components"]
//~ <- declaration of a static with `link_section`
static POINTER: Pointer = Pointer::new(&RAW);

#[link_section = ".blog_sites"]
//~ <- declaration of a static with `link_section`
static SITE: [u8; 8] = [0, 0, 0, 0, 1, 1, 0, 0];
