// SPDX-License-Identifier: GPL-2.0

//! `blog_log!` and its kin: a call site.
//!
//! A call expands to this, in which `a` is an argument:
//!
//! ```text
//! {
//!     fn __blog_site<A0: BlogArg + ?Sized>(_: &Logged<A0>) -> Loaded {
//!         asm!(…)                      // entry, descriptor; code: two loads
//!     }
//!     match &(COMPONENT) {
//!         component => if is_on(component) {                   // patched no-op
//!             let logged0 = Logged::new();
//!             if false { let _: Arguments<'_> = format_args!("…", logged0); }
//!             let site = __blog_site(&logged0);
//!             if site.is_on(component) {
//!                 match (&a,) {                                // evaluates
//!                     values => {
//!                         logged0.bind(values.0);              // tells A0
//!                         unsafe { (values.0,).log(component, site) };
//!                     }
//!                 }
//!             }
//!         }
//!     }
//! }
//! ```
//!
//! `Logged` carries the arguments' types to the descriptor by type inference, before the arguments
//! are evaluated. The compiler's own `format_args!` says what is wrong with the format string, and
//! which argument it doesn't fit. No closure is around the arguments, so `?`, `return` and `break`
//! work in them.

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
        let format = input.parse()?;

        let mut args = Vec::new();
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            args.push(input.parse()?);
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

/// An argument as it is stored.
struct Stored {
    /// Its name, if it has one.
    ident: Option<Ident>,
    value: TokenStream,
    span: Span,
    /// Whether it is the address of the argument that is stored.
    is_pointer: bool,
    /// Whether it is a width or a precision.
    is_count: bool,
    /// Whether a placeholder prints it, and not as a pointer.
    is_printed: bool,
}

impl Stored {
    fn new(ident: Option<Ident>, value: impl ToTokens, span: Span) -> Self {
        Self {
            ident,
            value: value.into_token_stream(),
            span,
            is_pointer: false,
            is_count: false,
            is_printed: false,
        }
    }

    /// What the side table calls it: its name, or its source.
    fn name(&self) -> String {
        match &self.ident {
            Some(ident) => ident.unraw().to_string(),
            None => source_text(self.value.clone()),
        }
    }
}

/// The argument that is meant, of which the call gives `explicit`; a name that is not among them is
/// captured. None where there is no such one, of which the compiler says so.
fn resolve<'a>(
    args: &'a mut Vec<Stored>,
    explicit: usize,
    position: &Position,
    span: Span,
) -> Option<&'a mut Stored> {
    let index = match position {
        Position::Next(i) | Position::Index(i) => (*i < explicit).then_some(*i)?,
        Position::Name(name) => {
            let is_meant = |arg: &Stored| arg.ident.is_some() && arg.name() == *name;
            args.iter().position(is_meant).unwrap_or_else(|| {
                // As in `format!`, keywords are taken for raw identifiers.
                let ident = syn::parse_str(name).or_else(|_| syn::parse_str(&format!("r#{name}")));
                let mut ident = ident.unwrap_or_else(|_| Ident::new("self", span));
                ident.set_span(span);
                args.push(Stored::new(Some(ident.clone()), ident, span));
                args.len() - 1
            })
        }
    };
    args.get_mut(index)
}

/// The arguments of a call and the names that its format string captures, with what the
/// placeholders want of each.
fn stored(args: Vec<Arg>, pieces: &[Piece], span: Span) -> Result<Vec<Stored>> {
    let mut args: Vec<_> = args
        .into_iter()
        .map(|Arg { name, value }| Stored::new(name, &value, value.span()))
        .collect();
    let explicit = args.len();
    for piece in pieces {
        let Piece::Placeholder(p) = piece else {
            continue;
        };
        for position in p.counts() {
            if let Some(arg) = resolve(&mut args, explicit, position, span) {
                arg.is_count = true;
            }
        }
        if let Some(arg) = resolve(&mut args, explicit, &p.argument, span) {
            let is_pointer = p.print == Trait::Pointer;
            arg.is_pointer |= is_pointer;
            arg.is_printed |= !is_pointer;
        }
    }

    let mut errors = args.iter().enumerate().filter_map(|(i, arg)| {
        let message = if i >= MAX_ARGS {
            format!("more than {MAX_ARGS} arguments cannot be logged by one call")
        } else if arg.is_pointer && (arg.is_printed || arg.is_count) {
            "an argument of `{:p}` cannot be printed in another way, too: pass it twice".into()
        } else {
            return None;
        };
        Some(Error::new(arg.span, message))
    });
    match errors.next() {
        Some(error) => Err(error),
        None => Ok(args),
    }
}

/// The text of an expression, without the white space that tokens do not need: `self.len()`.
fn source_text(expr: TokenStream) -> String {
    const LIMIT: usize = 80;
    let mut out = String::new();
    write_tokens(expr, &mut out);
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
    // The compiler says what is wrong with a format; if nothing is, then it isn't the type that is
    // demanded of it here.
    let (pieces, arguments) = match format::parse(&format) {
        Ok(pieces) => (pieces, quote!(::core::fmt::Arguments<'_>)),
        Err(_) => (Vec::new(), quote!(::kernel::blog::fmt::KnownFormat)),
    };
    let args = stored(input.args, &pieces, span)?;

    let names: Vec<_> = args.iter().map(Stored::name).collect();
    let site_fn = site_fn(level, &format, &names).map_err(|e| Error::new(span, e))?;
    let value = &input.component;
    // Invisible to the user's expressions; at the component, so that it is reported there, and
    // once, if it is none.
    let component = Ident::new("component", at(value.span()));
    let as_raw = quote_spanned!(component.span()=> ::kernel::blog::Component::raw(#component));
    let [raw, site, values] = hidden(["raw", "site", "values"]);
    let Tokens {
        declare,
        logged,
        shown,
        evaluate,
        bind,
        checked,
    } = Tokens::new(&args, &values);
    let format = &input.format;
    let declare = quote! {
        #(#declare)*
        if false {
            let _: #arguments = ::core::format_args!(#format #(, #shown)*);
        }
    };
    let find = quote!(#site_fn #declare let #site = __blog_site(#(&#logged),*););
    let log = quote!(match (#(#evaluate,)*) {
        #values => {
            #(#bind)*
            // SAFETY: The site is of the image that was registered for this component, which is on.
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
                            #(#bind)*
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

/// What is done with each argument. Each token is at its argument: this is where the compiler
/// reports what cannot be logged.
#[derive(Default)]
struct Tokens {
    /// Makes their `Logged`s.
    declare: Vec<TokenStream>,
    /// The names of these.
    logged: Vec<Ident>,
    /// Arguments for `format_args!`.
    shown: Vec<TokenStream>,
    /// References to the arguments.
    evaluate: Vec<TokenStream>,
    /// Ties the `Logged`s to the arguments, which are a tuple of references.
    bind: Vec<TokenStream>,
    /// The arguments again, if they can be logged.
    checked: Vec<TokenStream>,
}

impl Tokens {
    fn new(args: &[Stored], values: &Ident) -> Self {
        let mut this = Self::default();
        for (i, arg) in args.iter().enumerate() {
            let span = at(arg.span);
            let new = format_ident!("new{i}", span = span);
            let logged = format_ident!("logged{i}", span = span);
            let mut index = syn::Index::from(i);
            index.span = span;
            let mut values = values.clone();
            values.set_span(span);
            this.declare.push(quote_spanned! {span=>
                let #new = ::kernel::blog::Logged::new();
                let #logged = ::kernel::blog::Logged::known(&#new);
            });
            let name = arg.ident.iter();
            let shown = match arg.is_count {
                true => quote_spanned!(span=> ::kernel::blog::count(&#new)),
                false => quote_spanned!(span=> #logged),
            };
            this.shown.push(quote!(#(#name =)* #shown));
            let value = &arg.value;
            this.evaluate.push(match arg.is_pointer {
                true => quote_spanned!(span=> &::kernel::blog::Ptr::of(&(#value))),
                false => quote_spanned!(span=> &(#value)),
            });
            this.bind
                .push(quote_spanned!(span=> #new.bind(#values.#index);));
            this.checked
                .push(quote_spanned!(span=> ::kernel::blog::checked(#values.#index)));
            this.logged.push(logged);
        }
        this
    }
}

/// The function that emits the entry and the descriptor, and loads the entry. Or what is wrong with
/// the format string.
pub(super) fn site_fn(
    level: Level,
    format: &str,
    names: &[impl AsRef<str>],
) -> std::result::Result<TokenStream, &'static str> {
    let names: Vec<_> = names.iter().map(AsRef::as_ref).collect();
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
            #(_: &::kernel::blog::Logged<#types>,)*
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
