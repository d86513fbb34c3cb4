// SPDX-License-Identifier: GPL-2.0

//! A field whose nesting does not fit into a code.

use kernel::blog::BlogArg;

#[derive(BlogArg)]
pub struct S {
    fits: Option<Option<Option<Option<Option<Option<Option<u8>>>>>>>,
    eight: Option<Option<Option<Option<Option<Option<Option<Option<u8>>>>>>>>,
//~        ^ BLog: `Option` and `Result` are nested too deep in this argument
}
