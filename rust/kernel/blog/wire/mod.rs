// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The bytes that leave the kernel: records, pages, snapshot files, and crash dumps.
//!
//! Each format is defined once: here, or if it is only a part's, in the folder of that. The kernel
//! writes by these files, and the crate `blog-wire`, for programs that read, links to them. They
//! need nothing but `core`, never allocate, and hold no state.

/// Defines an enum by the numbers of its variants, of this type.
macro_rules! numbered {
    ($(#[$meta:meta])* $name:ident: $int:ident, $from:ident {
        $($(#[$doc:meta])* $variant:ident = $n:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr($int)]
        pub enum $name {
            $($(#[$doc])* $variant = $n,)*
        }

        impl $name {
            /// The one with this number, where this version knows it.
            pub const fn $from(n: $int) -> Option<Self> {
                match n {
                    $($n => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

/// The same, by their names, too.
macro_rules! named {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$doc:meta])* $variant:ident = $n:literal $text:literal,)*
    }) => {
        numbered! {
            $(#[$meta])*
            #[derive(PartialOrd, Ord)]
            $name: u8, from_u8 { $($(#[$doc])* $variant = $n,)* }
        }

        impl $name {
            /// All of them, in the order of their numbers.
            pub const ALL: [Self; [$($n),*].len()] = [$(Self::$variant),*];

            /// Its name, as files and tools read and print it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

/// Defines a structure by its size and its fields, which have neither padding between them nor
/// after them. `from`: the size in the first version, to which later ones have added fields. A user
/// imports [`Field`](field::Field).
//
// The macros of the kernel crate read this folder, too, and can export none.
#[cfg_attr(not(proc_macro), macro_export)]
#[doc(hidden)]
macro_rules! blog_wire {
    (
        $(#[$meta:meta])*
        pub struct $name:ident: $size:literal $(from $least:literal)? {
            $($(#[$doc:meta])* pub $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$meta])*
        #[repr(C)]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        const _: () = {
            assert!(size_of::<$name>() == $size);
            assert!(0 $(+ size_of::<$type>())* == $size);
        };

        impl $name {
            /// Its size in bytes.
            pub const SIZE: usize = $size;
            /// That of the first version.
            pub const LEAST: usize = [$($least,)? $size][0];

            /// Reads it from the start of `bytes`; `None`: there are fewer than the first version
            /// had. Fields that are missing at the end are 0.
            #[inline]
            pub fn read(bytes: &[u8]) -> Option<Self> {
                (bytes.len() >= Self::LEAST).then(|| Field::get(bytes))
            }

            /// Its bytes.
            #[inline]
            pub fn bytes(&self) -> [u8; $size] {
                let mut bytes = [0; $size];
                Field::put(*self, &mut bytes);
                bytes
            }
        }

        impl Field for $name {
            const SIZE: usize = $size;

            #[inline]
            fn get(bytes: &[u8]) -> Self {
                let from = |at: usize| bytes.get(at..).unwrap_or_default();
                Self {
                    $($field: Field::get(
                        from(core::mem::offset_of!(Self, $field)),
                    ),)*
                }
            }

            #[inline]
            fn put(self, to: &mut [u8]) {
                $(if let Some(to) = to.get_mut(core::mem::offset_of!(Self, $field)..) {
                    Field::put(self.$field, to);
                })*
            }
        }
    };
}

// Programs have all of them.
#[cfg(any(CONFIG_BLOG_ARGS, not(CONFIG_RUST)))]
pub mod codes;
#[cfg(any(CONFIG_BLOG_ROOT, not(CONFIG_RUST)))]
pub mod dump;
pub mod field;
pub mod file;
pub mod name;
#[cfg(any(CONFIG_BLOG_PACK, not(CONFIG_RUST)))]
pub mod pack;
pub mod page;
pub mod record;
#[cfg(any(CONFIG_BLOG_PARTS, not(CONFIG_RUST)))]
pub mod ring;
pub mod types;
#[cfg(any(CONFIG_BLOG_PARTS, not(CONFIG_RUST)))]
pub mod waits;

#[cfg(not(proc_macro))]
#[doc(hidden)]
pub use crate::blog_wire;
