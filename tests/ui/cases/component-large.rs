// SPDX-License-Identifier: GPL-2.0

//! A size that is larger than any.

use kernel::blog::blog_component;

blog_component! { L, name: "l", ring_kb: 5000000000 }
//~                                      ^ literal out of range for `u32`
