// SPDX-License-Identifier: GPL-2.0

//! `blog_log!` and its kin: a call site.
//!
//! A call expands to this, in which `a` is an argument:
//!
//! ```ignore
//! {
//!     fn __blog_site<A0: BlogArg + ?Sized>(_: &Probe<A0>) -> Loaded {
//!         asm!(…)                      // entry, descriptor; code: two loads
//!     }
//!     match &(COMPONENT) {
//!         component => if is_on(component) {                   // patched no-op
//!             let probe0 = Probe::new();
//!             let known0 = known(&probe0);                     // only checks the type
//!             Display(&known0);                                // likewise
//!             let site = __blog_site(&known0);
//!             if site.is_on(component) {
//!                 match (&a,) {                                // evaluates
//!                     values => {
//!                         probe0.bind(values.0);               // tells A0
//!                         unsafe { (value(values.0),).log(component, site) };
//!                     }
//!                 }
//!             }
//!         }
//!     }
//! }
//! ```
//!
//! The probes carry the arguments' types to the descriptor by type inference, before the arguments
//! are evaluated. No closure is around the arguments, so `?`, `return` and `break` work in them.

use std::collections::BTreeSet;

use proc_macro2::{
    Span,
    TokenStream,
    TokenTree, //
};
use quote::{
    format_ident,
    quote,
    quote_spanned,
    ToTokens, //
};
use syn::{
    ext::IdentExt,
    parse::{
        Parse,
        ParseStream, //
    },
    spanned::Spanned,
    Error,
    Expr,
    Ident,
    LitStr,
    Result,
    Token, //
};

use super::{
    asm::{
        Template,
        PLACE_MAGIC,
        SITE_MAGIC,
        SITE_VERSION, //
    },
    format::{
        self,
        Piece,
        Position,
        Trait, //
    },
    reachable,
    wire::{
        record::{
            Level,
            GATE_OFF, //
        },
        types::MAX_ARGS, //
    }, //
};

/// What a user may write between the parentheses.
pub(crate) struct LogInput {
    component: Expr,
    format: LitStr,
    args: Vec<Arg>,
}

struct Arg {
    name: Option<Ident>,
    value: Expr,
}

impl Parse for LogInput {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.is_empty() {
            return Err(input.error("expected a component and a format string"));
        }
        if input.peek(LitStr) {
            return Err(input.error("expected a component in front of the format string"));
        }
        let component = input.parse()?;
        if input.is_empty() {
            return Err(input.error("expected a format string after the component"));
        }
        input.parse::<Token![,]>()?;
        if !input.peek(LitStr) {
            return Err(input.error("the format must be a string literal"));
        }
        let format: LitStr = input.parse()?;
        if !format.suffix().is_empty() {
            return Err(Error::new(format.span(), "a format string has no suffix"));
        }

        let mut args: Vec<Arg> = Vec::new();
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            let arg: Arg = input.parse()?;
            match &arg.name {
                Some(name) if args.iter().any(|a| a.name.as_ref() == Some(name)) => {
                    let message = format!("duplicate argument named `{name}`");
                    return Err(Error::new(name.span(), message));
                }
                None if args.last().is_some_and(|a| a.name.is_some()) => {
                    return Err(Error::new_spanned(
                        &arg.value,
                        "positional arguments cannot follow named arguments",
                    ));
                }
                _ => args.push(arg),
            }
        }
        Ok(Self {
            component,
            format,
            args,
        })
    }
}

impl Parse for Arg {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let named = input.peek(Ident::peek_any)
            && input.peek2(Token![=])
            && !input.peek2(Token![==])
            && !input.peek2(Token![=>]);
        let name = if named {
            let name = input.call(Ident::parse_any)?;
            input.parse::<Token![=]>()?;
            Some(name)
        } else {
            None
        };
        Ok(Self {
            name,
            value: input.parse()?,
        })
    }
}

/// An argument as it is stored: with what the format string wants of it.
struct Stored {
    /// What the side table calls it: its name, if it has one, or its source.
    name: String,
    is_named: bool,
    value: TokenStream,
    span: Span,
    traits: BTreeSet<Trait>,
    is_count: bool,
}

impl Stored {
    fn new(name: String, is_named: bool, value: impl ToTokens, span: Span) -> Self {
        Self {
            name,
            is_named,
            value: value.into_token_stream(),
            span,
            traits: BTreeSet::new(),
            is_count: false,
        }
    }

    fn is_used(&self) -> bool {
        self.is_count || !self.traits.is_empty()
    }

    /// Whether it is the address of the argument that is stored.
    fn is_pointer(&self) -> bool {
        self.traits.contains(&Trait::Pointer)
    }
}

/// The arguments of a call, and the names that its format string captures.
struct Args {
    stored: Vec<Stored>,
    explicit: usize,
    format_span: Span,
}

impl Args {
    fn new(args: Vec<Arg>, format_span: Span) -> Self {
        let stored: Vec<_> = args
            .into_iter()
            .map(|Arg { name, value }| {
                let is_named = name.is_some();
                let name = name.map_or_else(|| source_text(&value), |n| n.unraw().to_string());
                let span = value.span();
                Stored::new(name, is_named, value, span)
            })
            .collect();
        Self {
            explicit: stored.len(),
            stored,
            format_span,
        }
    }

    fn error<T>(&self, message: impl std::fmt::Display) -> Result<T> {
        Err(Error::new(self.format_span, message))
    }

    /// The argument that is meant; captures a name that is not among the arguments.
    fn resolve(&mut self, position: &Position) -> Result<&mut Stored> {
        let index = match position {
            Position::Next(i) | Position::Index(i) if *i < self.explicit => *i,
            Position::Next(i) | Position::Index(i) => {
                return self.error(format!(
                    "invalid reference to positional argument {i} ({})",
                    there_are(self.explicit)
                ));
            }
            Position::Name(name) => {
                let mut known = self.stored.iter();
                match known.position(|arg| arg.is_named && arg.name == *name) {
                    Some(i) => i,
                    None => self.capture(name)?,
                }
            }
        };
        Ok(&mut self.stored[index])
    }

    fn capture(&mut self, name: &str) -> Result<usize> {
        // As in `format!`, keywords are taken for raw identifiers.
        let ident = match name {
            "self" => Ok(Ident::new("self", self.format_span)),
            _ => syn::parse_str(name).or_else(|_| syn::parse_str(&format!("r#{name}"))),
        };
        let Ok(mut ident) = ident else {
            return self.error(format!("invalid argument name `{name}` in format string"));
        };
        let span = self.format_span;
        ident.set_span(span);
        self.stored
            .push(Stored::new(name.into(), true, ident, span));
        Ok(self.stored.len() - 1)
    }

    /// Finds out what `pieces` want of each argument. A number of arguments which doesn't fit is
    /// reported in one sentence.
    fn use_in(&mut self, pieces: &[Piece]) -> Result<()> {
        let placeholders = || {
            pieces.iter().filter_map(|piece| match piece {
                Piece::Literal(_) => None,
                Piece::Placeholder(p) => Some(p),
            })
        };
        let positions = placeholders().flat_map(|p| p.counts().chain([&p.argument]));
        let wanted = positions.map(|position| match position {
            Position::Next(i) => i + 1,
            _ => 0,
        });
        let wanted = wanted.max().unwrap_or(0);
        if wanted > self.explicit {
            return self.error(format!(
                "{wanted} positional argument{} in format string, but {}",
                if wanted == 1 { "" } else { "s" },
                there_are(self.explicit)
            ));
        }
        for p in placeholders() {
            for position in p.counts() {
                self.resolve(position)?.is_count = true;
            }
            self.resolve(&p.argument)?.traits.insert(p.print);
        }
        Ok(())
    }

    /// Reports what is wrong with single arguments, all at once.
    fn check_each(&self) -> Result<()> {
        let mut errors: Option<Error> = None;
        let mut report = |span, message: String| {
            let error = Error::new(span, message);
            match &mut errors {
                Some(errors) => errors.combine(error),
                None => errors = Some(error),
            }
        };
        for (i, arg) in self.stored.iter().enumerate() {
            if i >= MAX_ARGS {
                report(
                    arg.span,
                    format!("more than {MAX_ARGS} arguments cannot be logged by one call"),
                );
            }
            if !arg.is_used() {
                let named = if arg.is_named { "named " } else { "" };
                report(arg.span, format!("{named}argument never used"));
            }
            if arg.is_pointer() && (arg.traits.len() > 1 || arg.is_count) {
                report(
                    arg.span,
                    "an argument of `{:p}` cannot be printed in another way, too: pass it twice"
                        .into(),
                );
            }
        }
        errors.map_or(Ok(()), Err)
    }
}

fn there_are(n: usize) -> String {
    match n {
        0 => "there are no arguments".into(),
        1 => "there is 1 argument".into(),
        n => format!("there are {n} arguments"),
    }
}

/// The text of an expression, without the white space that tokens do not need: `self.len()`.
fn source_text(expr: &Expr) -> String {
    const LIMIT: usize = 80;
    let mut out = String::new();
    write_tokens(expr.to_token_stream(), &mut out);
    // What separates names in the descriptor cannot be in one.
    let mut out = out.replace(|c: char| c.is_control(), " ");
    if let Some((end, _)) = out.char_indices().nth(LIMIT) {
        out.truncate(end);
        out.push('…');
    }
    out
}

fn write_tokens(tokens: TokenStream, out: &mut String) {
    for token in tokens {
        let text = match &token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    proc_macro2::Delimiter::Parenthesis => ("(", ")"),
                    proc_macro2::Delimiter::Brace => ("{", "}"),
                    proc_macro2::Delimiter::Bracket => ("[", "]"),
                    proc_macro2::Delimiter::None => ("", ""),
                };
                out.push_str(open);
                write_tokens(group.stream(), out);
                out.push_str(close);
                continue;
            }
            token => token.to_string(),
        };
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '"' || c == '\'';
        let after_comma = out.ends_with(',');
        if after_comma || out.ends_with(is_word) && text.starts_with(is_word) {
            out.push(' ');
        }
        out.push_str(&text);
    }
}

/// Expands a call.
pub(crate) fn log(level: Level, input: LogInput) -> Result<TokenStream> {
    let (format, span) = (input.format.value(), input.format.span());
    let pieces = format::parse(&format).map_err(|e| Error::new(span, e))?;
    let mut args = Args::new(input.args, span);
    args.use_in(&pieces)?;
    args.check_each()?;
    let args = args.stored;

    let names: Vec<_> = args.iter().map(|arg| arg.name.as_str()).collect();
    let site_fn = site_fn(level, &format, &names).map_err(|e| Error::new(span, e))?;
    let value = &input.component;
    // Invisible to the user's expressions; at the component, so that it is reported there, and
    // once, if it is none.
    let component = Ident::new("component", at(value.span()));
    let as_raw = quote_spanned!(component.span()=> ::kernel::blog::Component::raw(#component));
    let [raw, site, values] = hidden(["raw", "site", "values"]);
    let Probes {
        declare,
        evaluate,
        refs,
        binds,
        checked,
    } = Probes::new(&args, &values);
    let find = quote!(#site_fn #declare let #site = __blog_site(#(#refs),*););
    let log = quote!(match (#(#evaluate,)*) {
        #values => {
            #binds
            // SAFETY: The component is on, and the site for it.
            unsafe { ::kernel::blog::BlogArgs::log((#(#checked,)*), #raw, #site) };
        }
    });
    let on = on(level, value, &component, find, log);
    let reachable = reachable();

    Ok(quote! {{
        #[cfg(#reachable)]
        #on
        // The same types, and no code.
        #[cfg(not(#reachable))]
        if false {
            match &(#value) {
                #component => {
                    let _ = #as_raw;
                    #declare
                    match (#(#evaluate,)*) {
                        #values => {
                            #binds
                            let _ = (#(#checked,)*);
                        }
                    }
                }
            }
        };
    }})
}

/// Names that are invisible to the user's expressions.
pub(super) fn hidden<const N: usize>(names: [&str; N]) -> [Ident; N] {
    names.map(|name| Ident::new(name, Span::mixed_site()))
}

/// Expands a call that can reach the logger: `find` makes `site`, and `log` writes the record for
/// that and for the component as `raw`.
pub(super) fn on(
    level: Level,
    value: &Expr,
    component: &Ident,
    find: TokenStream,
    log: TokenStream,
) -> TokenStream {
    let [raw, site] = hidden(["raw", "site"]);
    let is_on = quote_spanned!(component.span()=> ::kernel::blog::Component::is_on(#component));
    let as_raw = quote_spanned!(component.span()=> ::kernel::blog::Component::raw(#component));
    let cold = matches!(level, Level::Err | Level::Warn).then(|| quote!(::kernel::blog::cold();));
    quote! {
        match &(#value) {
            #component => if #is_on {
                #find
                let #raw = #as_raw;
                if #site.is_on(#raw) {
                    #cold
                    #log
                }
            }
        };
    }
}

/// A span in the user's code, for names of our own.
pub(super) fn at(span: Span) -> Span {
    Span::mixed_site().located_at(span)
}

/// What is done with the probes. Each token is at its argument: this is where the compiler reports
/// what cannot be logged.
#[derive(Default)]
struct Probes {
    /// Declares them, and checks what placeholders want of their types.
    declare: TokenStream,
    /// References to the arguments.
    evaluate: Vec<TokenStream>,
    /// References to the probes.
    refs: Vec<TokenStream>,
    /// Ties them to the arguments, which are a tuple of references.
    binds: TokenStream,
    /// The arguments again, with known types.
    checked: Vec<TokenStream>,
}

impl Probes {
    fn new(args: &[Stored], values: &Ident) -> Self {
        let mut this = Self::default();
        for (i, arg) in args.iter().enumerate() {
            let span = at(arg.span);
            let probe = format_ident!("probe{i}", span = span);
            let known = format_ident!("known{i}", span = span);
            let mut index = syn::Index::from(i);
            index.span = span;
            let mut values = values.clone();
            values.set_span(span);
            this.declare.extend(quote_spanned! {span=>
                let #probe = ::kernel::blog::fmt::Probe::new();
                let #known = ::kernel::blog::fmt::known(&#probe);
            });
            for check in &arg.traits {
                let check = Ident::new(&format!("{check:?}"), span);
                this.declare
                    .extend(quote_spanned!(span=> ::kernel::blog::fmt::#check(&#known);));
            }
            if arg.is_count {
                // Of the probe itself, so that an integer literal becomes a `usize`.
                this.declare
                    .extend(quote_spanned!(span=> ::kernel::blog::fmt::Count(&#probe);));
            }
            let value = &arg.value;
            this.evaluate.push(if arg.is_pointer() {
                quote_spanned!(span=> &::kernel::blog::Ptr::of(&(#value)))
            } else {
                quote_spanned!(span=> &(#value))
            });
            this.refs.push(quote_spanned!(span=> &#known));
            this.binds
                .extend(quote_spanned!(span=> #probe.bind(#values.#index);));
            this.checked
                .push(quote_spanned!(span=> ::kernel::blog::fmt::value(#values.#index)));
        }
        this
    }
}

/// The function that emits the entry and the descriptor, and loads the entry. Or what is wrong with
/// the format string.
pub(super) fn site_fn(
    level: Level,
    format: &str,
    names: &[&str],
) -> std::result::Result<TokenStream, &'static str> {
    let (level, argc, names) = (level as u8, names.len(), names.join("\x1f"));
    if format.contains('\0') {
        // It would end the string in the descriptor.
        return Err("a format string cannot have a NUL (`\\0`)");
    }
    if format.len() > usize::from(u16::MAX) || names.len() > usize::from(u16::MAX) {
        return Err("this format string is too long");
    }
    let types: Vec<_> = (0..argc).map(|i| format_ident!("A{i}")).collect();
    let codes: Vec<_> = (0..argc).map(|i| format_ident!("c{i}")).collect();

    let mut t = Template::default();
    t.bounds(".blog_sites", "__blog_sites");
    t.lines(format!(
        "
        .pushsection .blog_sites,\"aw\",@progbits
        .subsection 1
        .balign 8
        771: .long 0
        .byte {level}, {GATE_OFF}
        .short {{flags}}
        .popsection"
    ));
    t.open_fmt();
    t.lines(format!(
        "
        772: .long {SITE_MAGIC:#x}, 779f - 772b
        .quad 771b
        .long {{line}}
        .byte {level}, {argc}, {SITE_VERSION}, 0
        .short 774f - 773f, 775f - 774f, 776f - 775f, 777f - 776f"
    ));
    for code in &codes {
        t.lines(format!(".quad {{{code}}}"));
    }
    t.lines("773:");
    t.text(format);
    t.lines("774:");
    t.macro_text(quote!(::core::file!()));
    t.lines("775:");
    t.macro_text(quote!(::core::module_path!()));
    t.lines("776:");
    t.text(&names);
    t.lines(format!(
        "
        777: .balign 8
        779: .long {PLACE_MAGIC:#x}, 32
        .quad 771b, 770f, 0
        .popsection"
    ));

    Ok(quote! {
        #[inline(always)]
        fn __blog_site<#(#types: ::kernel::blog::BlogArg + ?Sized,)*>(
            #(_: &::kernel::blog::fmt::Probe<#types>,)*
        ) -> ::kernel::blog::Loaded {
            const {
                #(::kernel::blog::fmt::shallow(<#types as ::kernel::blog::BlogArg>::CODE);)*
                ::core::assert!(
                    0 #(
                        + <#types as ::kernel::blog::BlogArg>::FIXED
                        + <#types as ::kernel::blog::BlogArg>::CODE.long_size()
                    )* <= ::kernel::blog::types::MAX_PAYLOAD,
                    "BLog: these arguments are larger than a record (1023 bytes)"
                );
                ::core::assert!(
                    ::kernel::blog::fmt::is_plain(::core::file!()),
                    "BLog: this file has a quote or a backslash in its name"
                );
            }
            #(<#types as ::kernel::blog::BlogArg>::describe();)*
            // SAFETY: The code is a load of an entry that is laid out as `Site` is: first of its
            // gate, or of all.
            unsafe {
                let (id_shl10, gate) = ::kernel::__blog_load!(
                    #t;
                    line = const ::core::line!(),
                    abi = const ::kernel::blog::ABI,
                    flags = const ::kernel::blog::site_flags(
                        false #(|| <#types as ::kernel::blog::BlogArg>::ADDRESS)*
                    ),
                    #(#codes = const <#types as ::kernel::blog::BlogArg>::CODE.0,)*
                );
                ::kernel::blog::Loaded::new(id_shl10, gate, #level)
            }
        }
    })
}
