// SPDX-License-Identifier: GPL-2.0

//! Text for the assembler: the lines of an `asm!` template.

use proc_macro2::TokenStream;
use quote::{
    quote,
    ToTokens, //
};

/// The magic number of a call site's descriptor: `BLFD`.
pub(super) const SITE_MAGIC: u32 = 0x4446_4c42;
/// The magic number of the descriptor of a site's place: `BLFP`.
pub(super) const PLACE_MAGIC: u32 = 0x5046_4c42;
/// Version of the call site's descriptor.
pub(super) const SITE_VERSION: u8 = 1;

/// The strings of a template, each a literal or a macro that makes one. A string may have several
/// lines. All together are one string, as `kernel::asm!` wants it.
#[derive(Default)]
pub(super) struct Template(Vec<TokenStream>);

impl Template {
    /// Adds lines. `{…}` stands for an operand.
    pub(super) fn lines(&mut self, lines: impl AsRef<str>) {
        self.0.push(lines.as_ref().to_token_stream());
    }

    /// Puts two symbols around what a crate has in a section that is a table of 8-byte entries:
    /// NAME and NAME_end, by which `blog/` finds the table of a module (vmlinux's, the linker
    /// script marks). An assembler puts subsections in the order of their numbers: entries are in
    /// 1, or in 0 if they come later. A third symbol says which BLog the crate was built for: its
    /// value is the operand `abi`.
    pub(super) fn bounds(&mut self, section: &str, name: &str) {
        self.lines(format!(
            "
            .ifndef {name}
            .pushsection {section},\"aw\",@progbits
            .balign 8
            .set {name}, .
            .subsection 2
            .set {name}_end, .
            .popsection
            .set __blog_abi, {{abi}}
            .endif"
        ));
    }

    /// Opens the section of the descriptors, which is not loaded.
    pub(super) fn open_fmt(&mut self) {
        self.lines(".pushsection .debug.blog,\"\",@progbits\n.balign 8");
    }

    /// Adds the bytes of a text, without a NUL. Any text is fine.
    pub(super) fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.lines(format!(".ascii \"{}\"", escape(text)));
        }
    }

    /// Adds the bytes of a macro's literal, which must need no escapes: `fmt::is_plain` says so of
    /// the name of a file, and a path of modules has none.
    pub(super) fn macro_text(&mut self, literal: TokenStream) {
        self.0
            .push(quote!(::core::concat!(".ascii \"", #literal, "\"")));
    }
}

impl ToTokens for Template {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let strings = &self.0;
        tokens.extend(quote!(::core::concat!(#(#strings, "\n"),*)));
    }
}

/// Escapes for the assembler and for `asm!` at once: what is not plain becomes an octal escape of
/// three digits.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b" _.,:;-+=/()[]<>".contains(&byte) {
            out.push(byte.into());
        } else {
            out.push_str(&format!("\\{byte:03o}"));
        }
    }
    out
}
