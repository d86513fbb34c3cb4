// SPDX-License-Identifier: GPL-2.0

//! `blog_component!`: a static component.
//!
//! It becomes a unit struct that stands for a static of its own, so that the branch in front of
//! each call can name that static to the assembler.

use proc_macro2::{
    Span,
    TokenStream, //
};
use quote::quote;
use syn::{
    ext::IdentExt,
    parse::{
        Parse,
        ParseStream, //
    },
    Attribute,
    Error,
    Ident,
    LitBool,
    LitCStr,
    LitInt,
    LitStr,
    Result,
    Token,
    Visibility, //
};

use super::{
    asm::Template,
    reachable,
    wire::name::{
        self,
        BadName,
        NAME_MAX, //
    }, //
};

/// What a user may write between the braces.
pub(crate) struct ComponentInput {
    attrs: Vec<Attribute>,
    vis: Visibility,
    ident: Ident,
    name: LitCStr,
    settings: Vec<TokenStream>,
    /// The symbol of its static, where it has one by which others know it.
    symbol: Option<LitStr>,
}

impl Parse for ComponentInput {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let ident: Ident = input.parse()?;

        let (mut name, mut symbol) = (None, None);
        let mut settings = Vec::new();
        let mut seen: Vec<Ident> = Vec::new();
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            let key = input.call(Ident::parse_any)?;
            if seen.contains(&key) {
                return Err(Error::new(key.span(), format!("`{key}` is given twice")));
            }
            input.parse::<Token![:]>()?;
            match key.to_string().as_str() {
                "name" => name = Some(parse_name(input)?),
                "symbol" => symbol = Some(parse_symbol(input)?),
                "size_kb" | "ring_kb" => {
                    let value: LitInt = input.parse()?;
                    let n: u32 = value.base10_parse()?;
                    if n == 0 {
                        return Err(Error::new(value.span(), format!("`{key}` must not be 0")));
                    }
                    settings.push(quote!(.#key(#n)));
                }
                "level" => {
                    let levels = ["Err", "Warn", "Info", "Debug", "Trace"];
                    let value = parse_choice(input, &levels)?;
                    settings.push(quote!(.#key(::kernel::blog::Level::#value)));
                }
                "mode" => {
                    let value = parse_choice(input, &["Overwrite", "Discard"])?;
                    settings.push(quote!(.#key(::kernel::blog::Mode::#value)));
                }
                "enabled" => {
                    let value: LitBool = input.parse()?;
                    settings.push(quote!(.#key(#value)));
                }
                _ => {
                    let message = format!(
                        "unknown setting `{key}`; known are `name`, `size_kb`, `ring_kb`, \
                         `level`, `mode` and `enabled`"
                    );
                    return Err(Error::new(key.span(), message));
                }
            }
            seen.push(key);
        }
        let Some(name) = name else {
            return Err(Error::new(
                ident.span(),
                "a component needs a name: `name: \"…\"`",
            ));
        };
        Ok(Self {
            attrs,
            vis,
            ident,
            name,
            settings,
            symbol,
        })
    }
}

/// Parses a name that can be that of a folder.
fn parse_name(input: ParseStream<'_>) -> Result<LitCStr> {
    let literal: LitStr = input.parse()?;
    let name = literal.value();
    let error = |message: String| Err(Error::new(literal.span(), message));
    match name::check(name.as_bytes()) {
        Ok(()) => (),
        Err(BadName::Length) => {
            return error(format!("a name has 1 to {} characters", NAME_MAX - 1));
        }
        Err(BadName::Characters) => {
            return error(
                "a name has letters, digits and `_-.:+#` only, and does not start with `.` or `#`"
                    .into(),
            );
        }
        Err(BadName::Reserved) => {
            return error(format!("`{name}` is the name of a file of BLog's own"));
        }
    }
    // No NUL is among the characters that were let through.
    let name = std::ffi::CString::new(name).unwrap_or_default();
    Ok(LitCStr::new(&name, literal.span()))
}

/// Parses the symbol that `module!` gives to what messages are recorded to, and C files of the
/// module know. Any other would let safe code define what it likes, as `strlen`.
fn parse_symbol(input: ParseStream<'_>) -> Result<LitStr> {
    let symbol: LitStr = input.parse()?;
    let value = symbol.value();
    let module = value.strip_prefix("blog_captured_").unwrap_or_default();
    if module.is_empty()
        || !module
            .bytes()
            .all(|b| b == b'_' || b.is_ascii_alphanumeric())
    {
        let message = "`symbol` is for `module!`: `blog_captured_` and the module's name";
        return Err(Error::new(symbol.span(), message));
    }
    Ok(symbol)
}

fn parse_choice(input: ParseStream<'_>, choices: &[&str]) -> Result<Ident> {
    let value: Ident = input.parse()?;
    if choices.iter().any(|choice| value == choice) {
        return Ok(value);
    }
    Err(Error::new(
        value.span(),
        format!("expected one of `{}`", choices.join("`, `")),
    ))
}

/// Expands the declaration.
pub(crate) fn component(input: ComponentInput) -> Result<TokenStream> {
    let ComponentInput {
        attrs,
        vis,
        ident,
        name,
        settings,
        symbol,
    } = input;
    let symbol = symbol.iter();
    let reachable = reachable();
    let has_doc = attrs.iter().any(|attr| attr.path().is_ident("doc"));
    let doc = (!has_doc).then(|| {
        let text = format!("BLog component `{}`.", name.value().to_string_lossy());
        quote!(#[doc = #text])
    });
    let mut bounds = Template::default();
    bounds.bounds(".blog_components", "__blog_components");
    // Refers to a symbol of `blog/`, which is loaded before a module that has a component.
    bounds.lines(
        "
        .pushsection .rodata.blog,\"a\",@progbits
        .balign 8
        .quad blog_clock_is_counter
        .popsection",
    );
    // Unused private methods of a generated type are nobody's fault.
    let allow = Ident::new("dead_code", Span::mixed_site());

    Ok(quote! {
        #doc
        #(#attrs)*
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy)]
        #vis struct #ident;

        const _: () = {
            const CONFIG: ::kernel::blog::Config = ::kernel::blog::Config::new()
                .name(#name)
                #(#settings)*;

            #(#[export_name = #symbol])*
            static COMPONENT: ::kernel::blog::RawComponent =
                ::kernel::blog::RawComponent::new(CONFIG);

            #[cfg(#reachable)]
            #[link_section = ".blog_components"]
            #[used(compiler)]
            static POINTER: ::kernel::blog::component::Pointer =
                ::kernel::blog::component::Pointer::new(&COMPONENT);

            // Assembly of a crate comes before its statics.
            #[cfg(#reachable)]
            mod bounds {
                ::core::arch::global_asm!(#bounds, abi = const ::kernel::blog::ABI);
            }

            const LINKED: bool = ::core::cfg!(#reachable);

            // SAFETY: `blog/` switches `COMPONENT` on when it knows it. All callers are gone before
            // its code goes.
            unsafe impl ::kernel::blog::Component for #ident {
                #[inline(always)]
                fn is_on(&self) -> bool {
                    #[cfg(all(#reachable, CONFIG_JUMP_LABEL))]
                    // SAFETY: `COMPONENT` has a `static_key_false` there, for as long as code runs
                    // that can get here.
                    let on = unsafe {
                        ::kernel::jump_label::arch_static_branch!(
                            COMPONENT,
                            ::kernel::blog::RawComponent,
                            key,
                            false
                        )
                    };
                    #[cfg(all(#reachable, not(CONFIG_JUMP_LABEL)))]
                    let on = ::kernel::blog::component::is_on(&COMPONENT);
                    #[cfg(not(#reachable))]
                    let on = false;
                    on
                }

                #[inline(always)]
                fn raw(&self) -> &'static ::kernel::blog::RawComponent {
                    &COMPONENT
                }
            }

            #[allow(#allow)]
            impl #ident {
                /// Makes a component of this name at run time, with the settings of this one.
                #vis fn instance(
                    self,
                    name: &::kernel::str::CStr,
                ) -> ::kernel::blog::Instance {
                    ::kernel::blog::Instance::new::<LINKED>(name, CONFIG)
                }

                /// Makes a component of this name at run time, with other settings.
                #vis fn instance_with(
                    self,
                    name: &::kernel::str::CStr,
                    config: ::kernel::blog::Config,
                ) -> ::kernel::blog::Instance {
                    ::kernel::blog::Instance::new::<LINKED>(name, config)
                }
            }
        };
    })
}
