// SPDX-License-Identifier: GPL-2.0

//! Entry points of the macros in `rust/macros/blog/`, as `patches/rust-kernel-blog.patch` adds
//! them to the kernel's macro crate.

// In a folder module, so that `mod blog;` looks for its own modules in `blog/`, as in the kernel.
#[path = "../../../../rust/macros"]
mod sources {
    pub(crate) mod blog;
}

use proc_macro::TokenStream;
use sources::blog;
use syn::parse_macro_input;

macro_rules! levels {
    ($($name:ident $level:ident;)*) => {$(
        #[proc_macro]
        pub fn $name(input: TokenStream) -> TokenStream {
            blog::log(blog::Level::$level, parse_macro_input!(input))
                .unwrap_or_else(|e| e.into_compile_error())
                .into()
        }
    )*};
}

levels! {
    blog_log Info;
    blog_err Err;
    blog_warn Warn;
    blog_info Info;
    blog_debug Debug;
    blog_trace Trace;
}

#[proc_macro]
pub fn blog_capture(input: TokenStream) -> TokenStream {
    blog::capture(parse_macro_input!(input)).into()
}

#[proc_macro_derive(BlogArg)]
pub fn derive_blog_arg(input: TokenStream) -> TokenStream {
    blog::derive(parse_macro_input!(input)).unwrap_or_else(|e| e.into_compile_error()).into()
}

#[cfg(test)]
mod tests {
    use super::blog;

    #[test]
    fn a_format_string_cannot_have_a_nul() {
        let log = |text| blog::log(blog::Level::Info, syn::parse_str(text).unwrap());
        assert!(log(r#"C, "a {}", b"#).is_ok());
        let error = log(r#"C, "a\0 {}", b"#).unwrap_err();
        assert!(error.to_string().contains("cannot have a NUL"), "{error}");
    }
}
