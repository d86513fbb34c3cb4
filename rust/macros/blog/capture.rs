// SPDX-License-Identifier: GPL-2.0

//! `blog_capture!`: records a message of a driver that is captured.
//!
//! `pr_info!`, `dev_dbg!` and their kin expand to it under `--cfg BLOG_CAPTURE`, in addition to the
//! print. It expands as a log call does (see `log`). Its arguments are the message as a `Text`, and
//! the name of the device if the message has one.

use proc_macro2::{
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
    Result,
    Token, //
};

use super::{
    log::{
        hidden,
        on,
        site_fn, //
    },
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

/// Expands a message.
pub(crate) fn capture(input: CaptureInput) -> TokenStream {
    let CaptureInput {
        component: value,
        device,
        message,
        level,
    } = input;
    let [component, raw, site, args, dev] = hidden(["component", "raw", "site", "args", "dev"]);
    let mut types = vec![quote!(::kernel::blog::capture::Text)];
    let (format, names, value_of, log): (_, &[_], _, _) = match device {
        None => {
            let log =
                quote!(#args => unsafe { ::kernel::blog::capture::log::<()>(#args, #raw, #site) });
            ("{}", &["message"], quote!(#message), log)
        }
        Some(device) => {
            types.push(quote!(::kernel::prelude::CStr));
            // What the user has written stays outside of `unsafe`.
            let log = quote!((#dev, #args) => unsafe {
                ::kernel::blog::capture::log_of::<()>(#dev, #args, #raw, #site)
            });
            let value = quote!((::kernel::device::Device::name(#device), #message));
            ("{1}: {0}", &["message", "dev"], value, log)
        }
    };
    // Nothing is wrong with these.
    let site_fn = site_fn(level, format, names).unwrap_or_default();
    let find = quote! {
        #site_fn
        let #site = __blog_site(#(&::kernel::blog::Logged::<#types>::new()),*);
    };
    // SAFETY (of what this expands to): The component is on, and the site for it.
    let log = quote!(match #value_of { #log });
    let on = on(level, &value, &component, find, log);
    let reachable = reachable();
    quote! {{
        #[cfg(#reachable)]
        #on
        // The same types, and no code.
        #[cfg(not(#reachable))]
        if false {
            let _ = #message;
        };
    }}
}
