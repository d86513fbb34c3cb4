// SPDX-License-Identifier: GPL-2.0

//! `#[kunit_tests(NAME)]` for suites on kernels without KUnit and without Rust: the kernel's own
//! macro needs the kernel's crates.
//!
//! Each function with `#[test]` becomes a case of the suite NAME. `assert!` and `assert_eq!` end the
//! case that they are in, as in the kernel.

use proc_macro::{
    Group,
    TokenStream,
    TokenTree, //
};

const ASSERTIONS: &str = "
#[allow(unused_macros)]
macro_rules! assert {
    ($cond:expr $(,)?) => {
        if !$cond {
            crate::kunit::failed(file!(), line!(), stringify!($cond));
        }
    };
}
#[allow(unused_macros)]
macro_rules! assert_eq {
    ($left:expr, $right:expr $(,)?) => {
        if $left != $right {
            crate::kunit::failed(file!(), line!(), stringify!($left == $right));
        }
    };
}
";

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident.to_string() == word)
}

/// Whether this is the group of an attribute `#[test]`.
fn is_test(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.to_string() == "[test]")
}

/// A function with `#[test]`.
struct Case {
    name: String,
    /// Its attributes `#[cfg(…)]`.
    cfg: String,
}

/// The module's items without `#[test]`, and the functions that had it.
fn cases(items: TokenStream) -> (Vec<TokenTree>, Vec<Case>) {
    let (mut kept, mut cases) = (Vec::new(), Vec::new());
    let mut cfg = None;
    for token in items {
        if is_test(&token) {
            // With its `#`
            kept.pop();
            cfg = Some(String::new());
            continue;
        }
        if let Some(mut attributes) = cfg.take() {
            if kept.last().is_some_and(|last| is_word(last, "fn")) {
                let name = token.to_string();
                cases.push(Case {
                    name,
                    cfg: attributes,
                });
            } else {
                if token.to_string().starts_with("[cfg") {
                    attributes += &format!("#{token}");
                }
                cfg = Some(attributes);
            }
        }
        kept.push(token);
    }
    (kept, cases)
}

/// The suite of these cases, which `kunit.c` finds by the section.
fn suite(name: &str, cases: &[Case]) -> TokenStream {
    let (mut runs, mut table) = (String::new(), String::new());
    for Case { name, cfg } in cases {
        runs += &format!(
            "{cfg} extern \"C\" fn run_{name}() {{ crate::kunit::ended({name}(), file!(), line!()); }}"
        );
        table += &format!("{cfg} crate::kunit::Case::new(c\"{name}\", run_{name}),");
    }
    let text = format!(
        "{runs}
        static SUITE: crate::kunit::Suite =
            crate::kunit::Suite::new(c\"{name}\", &[{table} crate::kunit::Case::END]);
        core::arch::global_asm!(
            \".pushsection .kunit_test_suites, \\\"aw\\\", @progbits\",
            \".subsection 1\", \".quad {{}}\", \".popsection\", sym SUITE,
        );"
    );
    text.parse().expect("a suite")
}

#[proc_macro_attribute]
pub fn kunit_tests(name: TokenStream, module: TokenStream) -> TokenStream {
    let name = name.to_string();
    let mut module: Vec<TokenTree> = module.into_iter().collect();
    let Some(TokenTree::Group(body)) = module.pop() else {
        panic!("the suite {name} is no module with its items");
    };
    let (kept, cases) = cases(body.stream());
    let mut items: TokenStream = ASSERTIONS.parse().expect("macros");
    items.extend(kept);
    items.extend(suite(&name, &cases));
    module.push(Group::new(body.delimiter(), items).into());
    module.into_iter().collect()
}
