// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The bytes that leave the kernel: records, pages, snapshot files, mapped memory, crash dumps, and
//! memory that survives a reboot.
//!
//! Each format is defined here, once: the kernel writes by these files, and `blog-decode` includes
//! them by path to read. They need nothing but `core`, never allocate, and hold no state.

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

pub mod dump;
pub mod file;
pub mod map;
pub mod name;
pub mod pack;
pub mod page;
pub mod persist;
pub mod record;
pub mod thin;
pub mod types;
pub mod words;
