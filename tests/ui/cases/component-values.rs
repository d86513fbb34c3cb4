// SPDX-License-Identifier: GPL-2.0

//! Components with settings that there aren't, and values that these can't have.

use kernel::blog::blog_component;

blog_component! { B, name: "a/b" }
//~                        ^ a component's name has 1 to 55 letters, digits and `_-.:+#`, does not start with `.` or `#`, and is not that of a file of BLog's own: not this
blog_component! { C, name: "control" }
//~                        ^ a component's name has 1 to 55 letters, digits and `_-.:+#`, does not start with `.` or `#`, and is not that of a file of BLog's own: not this
blog_component! { S, name: "stream" }
//~                        ^ a component's name has 1 to 55 letters, digits and `_-.:+#`, does not start with `.` or `#`, and is not that of a file of BLog's own: not this
blog_component! { D, name: "" }
//~                        ^ a component's name has 1 to 55 letters, digits and `_-.:+#`, does not start with `.` or `#`, and is not that of a file of BLog's own: not this
blog_component! { E, name: "e", nmae: "f" }
//~                             ^ no method named `nmae` found for struct `Config` in the current scope
blog_component! { F, name: "f", level: Loud }
//~                                    ^ no variant or associated item named `Loud` found for enum `Level` in the current scope
blog_component! { G, name: "g", mode: Keep }
//~                                   ^ no variant or associated item named `Keep` found for enum `Mode` in the current scope
blog_component! { H, name: "h", size_kb: 0 }
//~                                      ^ a size must not be 0: not this
blog_component! { P, name: "j", name: "k" }
//~                                   ^ mismatched types
blog_component! { K, name: "k", enabled: 1 }
//~                                      ^ mismatched types
blog_component! { M, name: "m", symbol: "strlen" }
//~                             ^ no method named `symbol` found for struct `Config` in the current scope
blog_component! { J, name: "j", ring_kb: 8, ring_kb: 8 }
//~                                         ^ identifier `ring_kb` is bound more than once in this parameter list
blog_component! { N, captured: "", name: "n" }
//~                            ^ a component's name has 1 to 55 letters, digits and `_-.:+#`, does not start with `.` or `#`, and is not that of a file of BLog's own: not this
blog_component! { O, captured: "o@1", name: "o" }
//~                            ^ a component's name has 1 to 55 letters, digits and `_-.:+#`, does not start with `.` or `#`, and is not that of a file of BLog's own: not this
