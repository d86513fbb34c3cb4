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
    let [component, raw, site, args] = hidden(["component", "raw", "site", "args"]);
    let mut types = vec![quote!(::kernel::blog::capture::Text)];
    let (format, names, log): (_, &[_], _) = match device {
        None => ("{}", &["message"], quote!(log::<()>(#args, #raw, #site))),
        Some(device) => {
            types.push(quote!(::kernel::prelude::CStr));
            let name = quote!(::kernel::device::Device::name(#device));
            let log = quote!(log_of::<()>(#name, #args, #raw, #site));
            ("{1}: {0}", &["message", "dev"], log)
        }
    };
    // Nothing is wrong with these.
    let site_fn = site_fn(level, format, names).unwrap_or_default();
    let find = quote! {
        #site_fn
        let #site = __blog_site(#(&::kernel::blog::fmt::Probe::<#types>::new()),*);
    };
    let log = quote!(match #message {
        // SAFETY: The component is on, and the site for it.
        #args => unsafe { ::kernel::blog::capture::#log },
    });
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
