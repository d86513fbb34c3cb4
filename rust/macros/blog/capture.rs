// SPDX-License-Identifier: GPL-2.0

//! `blog_capture!`: records a message of a driver that is captured.
//!
//! `pr_info!`, `dev_dbg!` and their kin expand to it under `--cfg BLOG_CAPTURE`, beside what prints
//! the message. It expands to this:
//!
//! ```ignore
//! {
//!     fn __blog_site<A0: BlogArg + ?Sized>(_: &Probe<A0>) -> Loaded { … }
//!     match &(crate::__BLOG_CAPTURE) {
//!         component => if is_on(component) {
//!             let site = __blog_site(&Probe::<Text>::new());
//!             if site.is_on(component) {
//!                 match MESSAGE {                            // evaluates
//!                     message => unsafe { log(message, component, site) },
//!                 }
//!             }
//!         }
//!     }
//! }
//! ```

use proc_macro2::{
    Span,
    TokenStream,
    TokenTree, //
};
use quote::quote;
use syn::{
    parse::{
        Parse,
        ParseStream, //
    },
    Expr,
    Ident,
    Result,
    Token, //
};

use super::{
    format::{
        Count,
        Kind,
        Piece,
        Placeholder,
        Position, //
    },
    log::site_fn,
    reachable,
    Level, //
};

/// What the printing macros pass: `COMPONENT, MESSAGE, LEVEL` or `COMPONENT, DEVICE: MESSAGE,
/// LEVEL`. The message is a `fmt::Arguments`, the level the macro's own name for it.
pub(crate) struct CaptureInput {
    component: Expr,
    device: Option<Expr>,
    message: Expr,
    level: Level,
}

impl Parse for CaptureInput {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let component = input.parse()?;
        input.parse::<Token![,]>()?;
        let (mut device, mut message) = (None, input.parse()?);
        if input.parse::<Option<Token![:]>>()?.is_some() {
            device = Some(message);
            message = input.parse()?;
        }
        input.parse::<Token![,]>()?;
        Ok(Self {
            component,
            device,
            message,
            level: level(&last_word(input.parse()?)),
        })
    }
}

/// The last word of a path, which may be a group without delimiters.
fn last_word(tokens: TokenStream) -> String {
    let mut word = String::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) => word = last_word(group.stream()),
            TokenTree::Ident(ident) => word = ident.to_string(),
            _ => (),
        }
    }
    word
}

/// The level of what is printed by a format string of `kernel::print`, or by a method of
/// `kernel::device::Device`.
fn level(name: &str) -> Level {
    match name {
        "EMERG" | "ALERT" | "CRIT" | "ERR" => Level::Err,
        "pr_emerg" | "pr_alert" | "pr_crit" | "pr_err" => Level::Err,
        "WARNING" | "pr_warn" => Level::Warn,
        "DEBUG" | "pr_dbg" => Level::Debug,
        // What continues a line, too.
        _ => Level::Info,
    }
}

/// A placeholder with nothing but a place.
fn placeholder(place: usize) -> Piece {
    Piece::Placeholder(Placeholder {
        value: Position::Index(place),
        flags: String::new(),
        width: Count::Implied,
        precision: Count::Implied,
        kind: Kind::Display,
    })
}

/// Expands a message.
pub(crate) fn capture(input: CaptureInput) -> TokenStream {
    let CaptureInput {
        component: to,
        device,
        message,
        level,
    } = input;
    let mut pieces = vec![placeholder(0)];
    let mut names = vec!["message"];
    let mut types = vec![quote!(::kernel::blog::capture::Text)];
    if device.is_some() {
        pieces.splice(0..0, [placeholder(1), Piece::Text(": ".into())]);
        names.push("dev");
        types.push(quote!(::kernel::prelude::CStr));
    }
    // Nothing is wrong with these.
    let site_fn = site_fn(level, &pieces, &names).unwrap_or_default();

    let hidden = |name| Ident::new(name, Span::mixed_site());
    let [component, raw, site, args] = ["component", "raw", "site", "args"].map(hidden);
    let log = match &device {
        None => quote!(log::<()>(#args, #raw, #site)),
        Some(device) => quote! {
            log_of::<()>(::kernel::device::Device::name(#device), #args, #raw, #site)
        },
    };
    let reachable = reachable();
    let cold = matches!(level, Level::Err | Level::Warn).then(|| quote!(::kernel::blog::cold();));
    quote! {{
        #[cfg(#reachable)]
        {
            #site_fn
            match &(#to) {
                #component => if ::kernel::blog::Component::is_on(#component) {
                    let #raw = ::kernel::blog::Component::raw(#component);
                    let #site = __blog_site(#(&::kernel::blog::fmt::Probe::<#types>::new()),*);
                    if #site.is_on(#raw) {
                        #cold
                        match #message {
                            // SAFETY: The component is on, and the site for it.
                            #args => unsafe { ::kernel::blog::capture::#log },
                        }
                    }
                }
            }
        };
        // The same types, and no code.
        #[cfg(not(#reachable))]
        if false {
            let _ = #message;
        };
    }}
}
