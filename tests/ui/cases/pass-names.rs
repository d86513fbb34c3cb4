// SPDX-License-Identifier: GPL-2.0

//! What the derive makes of a type goes by types: these are called like integers.

#![forbid(unsafe_code)]

use kernel::blog::{blog_component, blog_info, BlogArg};

blog_component! { DISK, name: "disk" }

mod types {
    use kernel::blog::BlogArg;

    #[derive(Clone, Copy, BlogArg)]
    pub struct Big(pub [u8; 64]);

    impl Big {
        pub fn from_ne_bytes(bytes: [u8; 2]) -> Self {
            Big([bytes[0]; 64])
        }
    }

    #[allow(non_camel_case_types, dead_code)]
    type u16 = Big;

    /// Two bytes, which are passed as an integer, and not as a `Big`.
    #[derive(Clone, Copy, BlogArg)]
    pub struct Flags {
        pub a: bool,
        pub b: bool,
    }
}

/// Its size is what its integer has: this fails to compile where it isn't.
const _: () = assert!(
    core::mem::size_of::<<types::Flags as BlogArg>::Passed<'static>>() == types::Flags::FIXED
);

pub fn flags() {
    blog_info!(DISK, "{:?}", types::Flags { a: true, b: false });
}
