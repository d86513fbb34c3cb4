// SPDX-License-Identifier: GPL-2.0

//! `blog_capture!`: what a message of a driver that is captured expands to, with what prints it.
//!
//! `pr_info!`, `dev_dbg!` and their kin expand to it under `--cfg BLOG_CAPTURE`. A message expands
//! to this, in which `a` is an argument, and `print` what it expands to elsewhere:
//!
//! ```ignore
//! {
//!     fn __blog_site<A0: BlogArg + ?Sized>(_: &Probe<A0>) -> Loaded { … }
//!     match &(crate::__BLOG_CAPTURE) {
//!         component => {
//!             let probe0 = Probe::new();
//!             let site = …;                                  // `Some` if the call logs
//!             if true || site.is_some() {                    // of `pr_debug!`: if it prints
//!                 match (&a,) {                              // evaluates
//!                     values => {
//!                         if let Some(site) = site {
//!                             // Raw, or as text: the compiler chooses by the type.
//!                             (&Arg::<_, kind::Display>::new(values.0)).with(
//!                                 format_args!("{}", Adapter(values.0)),
//!                                 |stored0| {
//!                                     probe0.bind(stored0);  // tells A0
//!                                     unsafe { (stored0,).log(component, site) };
//!                                 },
//!                             );
//!                         }
//!                         print(fmt!("{}", *values.0));
//!                     }
//!                 }
//!             }
//!         }
//!     }
//! }
//! ```
//!
//! A message that can't be taken apart so (its format is no literal, it has too many arguments) is
//! formatted as a whole. Nothing here is an error: what is wrong with a message, `fmt!` says.

use proc_macro2::{
    Span,
    TokenStream,
    TokenTree, //
};
use quote::{
    quote,
    quote_spanned, //
};
use syn::{
    parenthesized,
    parse::{
        Parse,
        ParseStream, //
    },
    spanned::Spanned,
    Expr,
    Ident,
    LitStr,
    Result,
    Token, //
};

use super::{
    format::{
        self,
        Count,
        Kind,
        Piece,
        Placeholder,
        Position, //
    },
    log::{
        at,
        site_fn,
        Args,
        Message,
        MAX_ARGS, //
    },
    reachable,
    Level, //
};

/// What the printing macros pass: `COMPONENT, print(…), MESSAGE`.
pub(crate) struct CaptureInput {
    component: Expr,
    print: Print,
    message: TokenStream,
}

/// How a message is printed.
enum Print {
    /// `printk(FORMAT_STRING)`.
    Printk(TokenStream),
    /// `cont()`.
    Cont,
    /// `dev(METHOD, DEVICE)`.
    Device(Ident, Expr),
    /// `record()`: it isn't.
    Not,
}

impl Parse for CaptureInput {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let component = input.parse()?;
        input.parse::<Token![,]>()?;
        let how: Ident = input.parse()?;
        let by;
        parenthesized!(by in input);
        let print = match how.to_string().as_str() {
            "printk" => Print::Printk(by.parse()?),
            "cont" => Print::Cont,
            "record" => Print::Not,
            "dev" => {
                let method = by.parse()?;
                by.parse::<Token![,]>()?;
                Print::Device(method, by.parse()?)
            }
            _ => return Err(syn::Error::new(how.span(), "no way to print")),
        };
        input.parse::<Token![,]>()?;
        Ok(Self {
            component,
            print,
            message: input.parse()?,
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

impl Print {
    fn level(&self) -> Level {
        let name = match self {
            Self::Printk(path) => last_word(path.clone()),
            Self::Cont => String::new(),
            Self::Not => return Level::Debug,
            Self::Device(method, _) => method.to_string(),
        };
        match name.as_str() {
            "EMERG" | "ALERT" | "CRIT" | "ERR" => Level::Err,
            "pr_emerg" | "pr_alert" | "pr_crit" | "pr_err" => Level::Err,
            "WARNING" | "pr_warn" => Level::Warn,
            "DEBUG" | "pr_dbg" => Level::Debug,
            // A level lower than this one is for what continues a line, too.
            _ => Level::Info,
        }
    }

    /// Whether it prints at all, as `pr_debug!` has it; a device's method knows by itself.
    fn prints(&self) -> TokenStream {
        match (self, self.level()) {
            (Self::Printk(_), Level::Debug) => quote!(::core::cfg!(debug_assertions)),
            (Self::Not, _) => quote!(false),
            _ => quote!(true),
        }
    }

    /// The device, evaluated.
    fn device(&self) -> Option<TokenStream> {
        match self {
            Self::Device(_, device) => Some(quote!(#device)),
            _ => None,
        }
    }

    /// The statement that prints `text`, which is a `fmt::Arguments`.
    fn print(&self, text: &TokenStream, device: &TokenStream) -> TokenStream {
        match self {
            Self::Printk(format) => quote! {
                match #text {
                    // SAFETY: `print_macro!` passes one of the fixed format strings, and prefixes
                    // end with a NUL.
                    args => unsafe {
                        ::kernel::print::call_printk(&#format, crate::__LOG_PREFIX, args)
                    }
                }
            },
            Self::Cont => quote!(::kernel::print::call_printk_cont(#text)),
            Self::Not => TokenStream::new(),
            Self::Device(method, _) => quote!(::kernel::device::Device::#method(#device, #text)),
        }
    }
}

/// An argument as it is stored for one placeholder, or for all that have it as width or precision.
struct Entry {
    /// Its place among the arguments.
    arg: usize,
    /// For which placeholder, apart from the argument that it names. `None`: as a number.
    of: Option<Placeholder>,
}

/// A message that was taken apart.
struct Parts {
    pieces: Vec<Piece>,
    args: Args,
    entries: Vec<Entry>,
    /// What `fmt!` gets in front of, and for, the explicit arguments.
    format: LitStr,
    explicit: Vec<Option<Ident>>,
}

impl Parts {
    /// Takes a message apart. `None`: it can't be done, or not for a call site.
    fn new(message: TokenStream) -> Option<Self> {
        let Message { format, args } = syn::parse2(message).ok()?;
        let mut pieces = format::parse(&format.value()).ok()?;
        let explicit: Vec<_> = args.iter().map(|arg| arg.name.clone()).collect();
        let mut args = Args::new(args, format.span());

        // What the placeholders name, in their order; captured names become arguments.
        let mut uses = Vec::new();
        for piece in &pieces {
            let Piece::Placeholder(p) = piece else {
                continue;
            };
            for count in [&p.width, &p.precision] {
                match count {
                    Count::Implied | Count::Is(_) => (),
                    // `fmt!` has no such counts.
                    Count::Star(_) => return None,
                    Count::Arg(position) => uses.push((args.find(position).ok()?, None)),
                }
            }
            uses.push((args.find(&p.value).ok()?, Some(p.clone())));
        }

        // Each argument in its place, for its first use; then those that are used in another way.
        let mut firsts: Vec<Option<Entry>> = args.stored.iter().map(|_| None).collect();
        let mut more: Vec<Entry> = Vec::new();
        for (arg, of) in uses {
            let of = of.map(unnamed);
            let is_known = |entry: &Entry| entry.arg == arg && entry.of == of;
            match &mut firsts[arg] {
                Some(first) if is_known(first) => (),
                Some(_) if more.iter().any(is_known) => (),
                Some(_) => more.push(Entry { arg, of }),
                first => *first = Some(Entry { arg, of }),
            }
        }
        // One that is never used is an error of `fmt!`.
        let mut entries = firsts.into_iter().collect::<Option<Vec<_>>>()?;
        if !more.is_empty() {
            entries.extend(more);
            name_by_index(&mut pieces, &mut args, &entries);
        }

        if let Some(Piece::Text(last)) = pieces.last_mut() {
            if last.ends_with('\n') {
                last.pop();
            }
        }
        Some(Self {
            pieces,
            args,
            entries,
            format,
            explicit,
        })
    }

    /// Puts the device's name in front, which is stored last. Returns what the side table calls it.
    fn prepend_device(&mut self) -> String {
        let mut name = String::from("dev");
        while self.args.names.iter().flatten().any(|n| *n == name) {
            name.push('_');
        }
        let front = [
            placeholder(Position::Name(name.clone())),
            Piece::Text(": ".into()),
        ];
        self.pieces.splice(0..0, front);
        name
    }

    /// The place of an argument that a count names.
    fn place(&self, position: &Position) -> usize {
        let named = |name| move |n: &Option<String>| n.as_ref() == Some(name);
        match position {
            Position::Next(i) | Position::Index(i) => *i,
            // It was found before.
            Position::Name(name) => (self.args.names.iter().position(named(name))).unwrap_or(0),
        }
    }
}

/// A placeholder with nothing but a name.
fn placeholder(value: Position) -> Piece {
    Piece::Placeholder(Placeholder {
        value,
        flags: String::new(),
        width: Count::Implied,
        precision: Count::Implied,
        kind: Kind::Display,
    })
}

/// A placeholder, whatever argument it names.
fn unnamed(mut p: Placeholder) -> Placeholder {
    p.value = Position::Index(0);
    p
}

/// Names each argument by the place where it is stored.
fn name_by_index(pieces: &mut [Piece], args: &mut Args, entries: &[Entry]) {
    let mut place = |position: &Position, of: Option<Placeholder>| {
        // All of them were found before.
        let arg = args.find(position).unwrap_or(0);
        let found = entries.iter().position(|e| e.arg == arg && e.of == of);
        Position::Index(found.unwrap_or(0))
    };
    for piece in pieces {
        let Piece::Placeholder(p) = piece else {
            continue;
        };
        p.value = place(&p.value, Some(unnamed(p.clone())));
        for count in [&mut p.width, &mut p.precision] {
            if let Count::Arg(position) = count {
                *position = place(position, None);
            }
        }
    }
}

/// Expands a message.
pub(crate) fn capture(input: CaptureInput) -> TokenStream {
    let parts = Parts::new(input.message.clone());
    parts
        .and_then(|parts| by_argument(&input, parts))
        .unwrap_or_else(|| whole(&input))
}

/// A name that users can't see.
fn hidden(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// The path of something that expansions need.
fn path(name: TokenStream) -> TokenStream {
    quote!(::kernel::blog::capture::#name)
}

/// How one argument is stored: a function that passes it on, and the text that it gets.
struct With {
    function: TokenStream,
    text: TokenStream,
}

impl With {
    fn argument(kind: &str, span: Span, value: &TokenStream, text: TokenStream) -> Self {
        let kind = Ident::new(kind, span);
        let (arg, kind) = (path(quote!(Arg)), path(quote!(kind::#kind)));
        Self {
            function: quote_spanned!(span=> (&#arg::<_, #kind>::new(#value)).with),
            text,
        }
    }

    /// The name of a device, which is stored as a string.
    fn device(device: &TokenStream) -> Self {
        let name = quote!(::kernel::device::Device::name(#device));
        let no_text = quote!(::core::format_args!(""));
        Self::argument("Display", Span::mixed_site(), &name, no_text)
    }

    /// What is stored of an argument for one use.
    fn entry(parts: &Parts, entry: &Entry, values: &Ident) -> Self {
        let arg = syn::Index::from(entry.arg);
        let value = quote!(#values.#arg);
        let span = at(parts.args.stored[entry.arg].value.span());
        let Some(p) = &entry.of else {
            // It is a `usize`, which is stored raw.
            return Self::argument("Count", span, &value, quote!(::core::format_args!("")));
        };
        let kind = match p.kind {
            Kind::Display => "Display",
            Kind::Debug | Kind::DebugLowerHex | Kind::DebugUpperHex => "Debug",
            Kind::LowerHex => "LowerHex",
            Kind::UpperHex => "UpperHex",
            Kind::Octal => "Octal",
            Kind::Binary => "Binary",
            Kind::LowerExp => "LowerExp",
            Kind::UpperExp => "UpperExp",
            Kind::Pointer => "Pointer",
        };
        let mut p = p.clone();
        let mut counts = Vec::new();
        for count in [&mut p.width, &mut p.precision] {
            if let Count::Arg(position) = count {
                let found = syn::Index::from(parts.place(position));
                counts.push(quote!(*#values.#found));
                *position = Position::Index(counts.len());
            }
        }
        let spec = p.to_string();
        let adapter = quote!(::kernel::fmt::Adapter(#value));
        let text = quote!(::core::format_args!(#spec, #adapter #(, #counts)*));
        Self::argument(kind, span, &value, text)
    }
}

/// A message whose arguments are stored each by itself. `None`: there are too many.
fn by_argument(input: &CaptureInput, mut parts: Parts) -> Option<TokenStream> {
    let values = hidden("values");
    let device: Vec<_> = input.print.device().into_iter().collect();
    let device_at = syn::Index::from(parts.args.stored.len());
    let device_value = quote!(#values.#device_at);

    let mut withs: Vec<_> = (parts.entries.iter())
        .map(|entry| With::entry(&parts, entry, &values))
        .collect();
    let mut names: Vec<_> = (parts.entries.iter())
        .map(|entry| parts.args.stored[entry.arg].name.clone())
        .collect();
    if !device.is_empty() {
        withs.push(With::device(&device_value));
        names.push(parts.prepend_device());
    }
    if names.len() > MAX_ARGS {
        return None;
    }
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let site_fn = site_fn(input.print.level(), &parts.pieces, &names).ok()?;

    let evaluated = parts.args.stored.iter().map(|arg| {
        let value = &arg.value;
        quote_spanned!(at(value.span())=> &(#value))
    });
    let evaluate = quote!((#(#evaluated,)* #(#device,)*));
    // Captured names are left to `fmt!`.
    let explicit = parts.explicit.iter().enumerate().map(|(i, name)| {
        let i = syn::Index::from(i);
        let name = name.iter();
        quote!(#(#name =)* *#values.#i)
    });
    let format = &parts.format;
    let text = quote!(::kernel::prelude::fmt!(#format #(, #explicit)*));
    let print = input.print.print(&text, &device_value);
    Some(expand(input, &site_fn, &evaluate, &values, &withs, &print))
}

/// A message that is formatted as a whole.
fn whole(input: &CaptureInput) -> TokenStream {
    let values = hidden("values");
    let message = &input.message;
    let device: Vec<_> = input.print.device().into_iter().collect();
    let mut pieces = vec![placeholder(Position::Index(0))];
    let mut names = vec!["message"];
    let mut withs = vec![With {
        function: path(quote!(with_message)),
        text: quote!(#values.0),
    }];
    if !device.is_empty() {
        let front = [placeholder(Position::Index(1)), Piece::Text(": ".into())];
        pieces.splice(0..0, front);
        names.push("dev");
        withs.push(With::device(&quote!(#values.1)));
    }
    // Nothing is wrong with these.
    let site_fn = site_fn(input.print.level(), &pieces, &names).unwrap_or_default();
    let evaluate = quote!((::kernel::prelude::fmt!(#message), #(#device,)*));
    let print = input.print.print(&quote!(#values.0), &quote!(#values.1));
    expand(input, &site_fn, &evaluate, &values, &withs, &print)
}

/// The expansion: `evaluate` is a tuple that is called `values` in what follows.
fn expand(
    input: &CaptureInput,
    site_fn: &TokenStream,
    evaluate: &TokenStream,
    values: &Ident,
    withs: &[With],
    print: &TokenStream,
) -> TokenStream {
    let [component, raw, site] = ["component", "raw", "site"].map(hidden);
    let probes: Vec<_> = (0..withs.len())
        .map(|i| hidden(&format!("probe{i}")))
        .collect();
    let stored: Vec<_> = (0..withs.len())
        .map(|i| hidden(&format!("stored{i}")))
        .collect();
    let mut record = quote! {
        #(#probes.bind(#stored);)*
        // SAFETY: The component is on, and the site for it.
        unsafe {
            ::kernel::blog::BlogArgs::log(
                (#(::kernel::blog::fmt::value(#stored),)*),
                #raw,
                #site,
            )
        };
    };
    for (with, stored) in withs.iter().zip(&stored).rev() {
        let With { function, text } = with;
        record = quote!(#function(#text, |#stored| { #record }););
    }

    let to = &input.component;
    let reachable = reachable();
    let prints = input.print.prints();
    let level = input.print.level();
    let cold = matches!(level, Level::Err | Level::Warn).then(|| quote!(::kernel::blog::cold();));
    let [store_raw, store_text] = [quote!(StoreRaw), quote!(StoreText)].map(path);

    quote! {{
        #[cfg(#reachable)]
        {
            #site_fn
            match &(#to) {
                #component => {
                    let #raw = ::kernel::blog::Component::raw(#component);
                    #(let #probes = ::kernel::blog::fmt::Probe::new();)*
                    let mut #site = ::core::option::Option::None;
                    if ::kernel::blog::Component::is_on(#component) {
                        let loaded = __blog_site(#(&#probes),*);
                        if loaded.is_on(#raw) {
                            #site = ::core::option::Option::Some(loaded);
                        }
                    }
                    if #prints || #site.is_some() {
                        match #evaluate {
                            #values => {
                                if let ::core::option::Option::Some(#site) = #site {
                                    #[allow(unused_imports)]
                                    use #store_raw as _;
                                    #[allow(unused_imports)]
                                    use #store_text as _;
                                    #cold
                                    #record
                                }
                                if #prints {
                                    #print
                                }
                            }
                        }
                    }
                }
            }
        };
        #[cfg(not(#reachable))]
        if #prints {
            match #evaluate {
                #values => { #print }
            }
        };
    }}
}
