// SPDX-License-Identifier: GPL-2.0

//! Components that are not declared as they must be.

use kernel::{blog::{blog_component}, prelude::*};

blog_component! { A }
//~ <- a component needs a name: `name: "…"`
blog_component! { B, size_kb: 64 }
//~                  ^ no rules expected
blog_component! { I, name: "i", ring_kb: 1 << 4 }
//~                                        ^ no rules expected
