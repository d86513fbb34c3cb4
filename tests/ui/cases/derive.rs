// SPDX-License-Identifier: GPL-2.0

//! Types that cannot be derived.

use kernel::{blog::{BlogArg}, prelude::*};

#[derive(BlogArg)]
struct Text {
    number: u32,
    name: &'static str,
    //~   ^ BLog: a field of a derived type has a fixed size: log strings and slices as arguments
}

#[derive(BlogArg)]
enum Unknown {
    A(std::vec::Vec<u8>),
//~   ^ `std::vec::Vec<u8>` cannot be logged by BLog: not a type that BLog knows
}

#[derive(BlogArg)]
struct Generic<T>(T);
//~           ^ `#[derive(BlogArg)]` does not support generic types: a descriptor has fixed fields

#[derive(BlogArg)]
enum Never {}
//~  ^ `#[derive(BlogArg)]` does not support enums without variants: they have no values

#[derive(BlogArg)]
union Either {
//~ <- `#[derive(BlogArg)]` does not support unions: nothing says which field is valid
    a: u32,
    b: i32,
}
