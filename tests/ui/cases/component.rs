// SPDX-License-Identifier: GPL-2.0

//! Components that are not declared as they must be.

use kernel::{blog::{blog_component}, prelude::*};

blog_component! { A }
//~               ^ a component needs a name: `name: "…"`
blog_component! { B, name: "a/b" }
//~                        ^ a name has letters, digits and `_-.:+#` only, and does not start with `.` or `#`
blog_component! { C, name: "control" }
//~                        ^ `control` is the name of a file of BLog's own
blog_component! { S, name: "stream" }
//~                        ^ `stream` is the name of a file of BLog's own
blog_component! { D, name: "" }
//~                        ^ a name has 1 to 55 characters
blog_component! { E, name: "e", nmae: "f" }
//~                             ^ unknown setting `nmae`; known are `name`, `size_kb`, `ring_kb`, `level`, `mode` and `enabled`
blog_component! { F, name: "f", level: Loud }
//~                                    ^ expected one of `Err`, `Warn`, `Info`, `Debug`, `Trace`
blog_component! { G, name: "g", mode: Keep }
//~                                   ^ expected one of `Overwrite`, `Discard`
blog_component! { H, name: "h", size_kb: 0 }
//~                                      ^ `size_kb` must not be 0
blog_component! { I, name: "i", ring_kb: 1 << 4 }
//~                                        ^ expected `,`
blog_component! { J, name: "j", name: "k" }
//~                             ^ `name` is given twice
blog_component! { K, name: "k", enabled: 1 }
//~                                      ^ expected boolean literal
blog_component! { L, name: "l", ring_kb: 5000000000 }
//~                                      ^ number too large to fit in target type
blog_component! { M, name: "m", symbol: "strlen" }
//~                                     ^ `symbol` is for `module!`: `blog_captured_` and the module's name
blog_component! { N, name: "n", symbol: "blog_captured_" }
//~                                     ^ `symbol` is for `module!`: `blog_captured_` and the module's name
blog_component! { O, name: "o", symbol: "blog_captured_o@1" }
//~                                     ^ `symbol` is for `module!`: `blog_captured_` and the module's name
