// SPDX-License-Identifier: GPL-2.0

//! BLog's macros, for kernels whose own crate `macros` lacks them, with the additions of
//! `patches/rust-kernel-blog.patch` to that crate.

#![cfg_attr(not(CONFIG_RUSTC_HAS_SPAN_FILE), feature(proc_macro_span))]

use proc_macro::TokenStream;
use proc_macro2::TokenTree;
use quote::quote;
use syn::{
    parse_macro_input,
    LitStr, //
};

/// The `name: "…"` among what `module!` is given, or in the braces at its end.
fn module_name(input: proc_macro2::TokenStream) -> Option<LitStr> {
    let tokens: Vec<_> = input.into_iter().collect();
    let name = tokens.windows(3).find_map(|three| match three {
        [TokenTree::Ident(key), TokenTree::Punct(_), name @ TokenTree::Literal(_)]
            if key == "name" =>
        {
            Some(name.clone())
        }
        _ => None,
    });
    match (name, tokens.last()) {
        (Some(name), _) => syn::parse2(name.into()).ok(),
        (None, Some(TokenTree::Group(group))) => module_name(group.stream()),
        _ => None,
    }
}

/// Declares what the messages of a module are recorded to, as `module!` does in a patched kernel.
#[doc(hidden)]
#[proc_macro]
pub fn blog_captured(input: TokenStream) -> TokenStream {
    // What lacks a name is an error of `module!`.
    let Some(name) = module_name(input.into()) else {
        return TokenStream::new();
    };
    let module = name.value().replace('-', "_");
    quote! {
        #[cfg(BLOG_CAPTURE)]
        ::kernel::blog::blog_component! {
            #[doc(hidden)]
            pub(crate) __BLOG_CAPTURE,
            captured: #module,
            name: #name,
            level: Debug,
        }
    }
    .into()
}
