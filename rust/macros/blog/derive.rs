// SPDX-License-Identifier: GPL-2.0

//! `#[derive(BlogArg)]`: structs and enums with fields of fixed size.
//!
//! The type's and its fields' names go into a descriptor in `.debug.blog`, which the trait's hidden
//! `describe()` emits beside each call site that logs the type; so the type may be anywhere, in
//! a function too, and each image describes what it logs. An object file has one descriptor of a
//! type, an image may have several, which are equal.

use proc_macro2::TokenStream;
use quote::{
    format_ident,
    quote,
    quote_spanned, //
};
use syn::{
    ext::IdentExt,
    spanned::Spanned,
    Data,
    DeriveInput,
    Error,
    Fields,
    Ident,
    Result,
    Type,
    Variant, //
};

use super::{
    asm::Template,
    log::at, //
};

/// The magic number of a type's descriptor: `BLFT`.
const TYPE_MAGIC: u32 = 0x5446_4c42;
/// The most variants that a `u8` can number.
const MAX_VARIANTS: usize = 256;

/// A struct, or a variant of an enum.
struct Shape<'a> {
    name: String,
    path: TokenStream,
    fields: &'a Fields,
}

impl Shape<'_> {
    fn types(&self) -> impl Iterator<Item = &Type> {
        self.fields.iter().map(|field| &field.ty)
    }

    /// Number of the shape in the descriptor.
    fn number(&self) -> u8 {
        match self.fields {
            Fields::Unit => 0,
            Fields::Unnamed(_) => 1,
            Fields::Named(_) => 2,
        }
    }

    /// The sum of the sizes of the fields.
    fn size(&self) -> TokenStream {
        let types = self.types().map(arg);
        quote!(0 #(+ #types::FIXED)*)
    }

    /// The match arm that stores the fields, from `__at` on.
    fn store_arm(&self) -> TokenStream {
        let path = &self.path;
        let members = self.fields.members();
        let bindings: Vec<_> = (0..self.fields.len())
            .map(|i| format_ident!("__f{i}"))
            .collect();
        let types: Vec<_> = self.types().map(arg).collect();
        quote! {
            #path { #(#members: #bindings,)* } => {
                #(
                    #types::store(#bindings, __at);
                    __at = __at.add(#types::FIXED);
                )*
            }
        }
    }
}

/// A field's type as one that can be stored. What is wrong with it is reported there.
fn arg(ty: &Type) -> TokenStream {
    quote_spanned!(at(ty.span())=> <#ty as ::kernel::blog::BlogArg>)
}

/// Expands the derive.
pub(crate) fn derive(input: DeriveInput) -> Result<TokenStream> {
    let ident = &input.ident;
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &input.generics,
            "`#[derive(BlogArg)]` does not support generic types: a descriptor has fixed fields",
        ));
    }

    let name = ident.unraw().to_string();
    let (is_enum, shapes) = match &input.data {
        Data::Struct(data) => {
            let shape = Shape {
                name: name.clone(),
                path: quote!(Self),
                fields: &data.fields,
            };
            (false, vec![shape])
        }
        Data::Enum(data) => {
            let variants = data.variants.iter();
            let shapes = variants.map(|Variant { ident, fields, .. }| Shape {
                name: ident.unraw().to_string(),
                path: quote!(Self::#ident),
                fields,
            });
            (true, shapes.collect())
        }
        Data::Union(data) => {
            return Err(Error::new(
                data.union_token.span(),
                "`#[derive(BlogArg)]` does not support unions: nothing says which field is valid",
            ));
        }
    };
    if shapes.len() > MAX_VARIANTS {
        return Err(Error::new_spanned(
            ident,
            format!("`#[derive(BlogArg)]` supports at most {MAX_VARIANTS} variants"),
        ));
    }
    if shapes.is_empty() {
        return Err(Error::new_spanned(
            ident,
            "`#[derive(BlogArg)]` does not support enums without variants: they have no values",
        ));
    }
    for shape in &shapes {
        if shape.fields.len() > usize::from(u16::MAX) {
            return Err(Error::new_spanned(ident, "too many fields"));
        }
    }

    let sizes: Vec<_> = shapes.iter().map(Shape::size).collect();
    let fixed = if is_enum {
        quote!({
            let mut max = 0;
            #(
                let size = #sizes;
                if size > max {
                    max = size;
                }
            )*
            1 + max
        })
    } else {
        quote!(#(#sizes)*)
    };
    // One store for all variants: the number is the discriminant or nearly so, and where no
    // variant has fields, nothing else is left of the match below.
    let tag = is_enum.then(|| {
        // The number of variants was checked.
        let numbers = 0..=u8::MAX;
        let paths = shapes.iter().map(|shape| &shape.path);
        quote!(__dst.write(match self { #(#paths { .. } => #numbers,)* });)
    });
    let start = usize::from(is_enum);
    let arms = shapes.iter().map(Shape::store_arm);
    // A variant that is shorter than the longest leaves zeros.
    let clear = is_enum.then(|| quote!(::core::ptr::write_bytes(__dst, 0, Self::FIXED);));
    let (passed, pass) = match integer(is_enum, &shapes) {
        Some(integer) => {
            let pass = quote! {
                let mut bytes = [0; Self::FIXED];
                // SAFETY: It has as many bytes.
                unsafe { Self::store(self, bytes.as_mut_ptr()) };
                #integer::from_ne_bytes(bytes)
            };
            (quote!(#integer), pass)
        }
        None => (quote!(&'a Self), quote!(self)),
    };
    let checks = shapes.iter().flat_map(Shape::types).map(|ty| {
        let arg = arg(ty);
        quote_spanned!(at(ty.span())=> const _: () = ::kernel::blog::fmt::field(#arg::CODE);)
    });
    let types: Vec<_> = shapes.iter().flat_map(Shape::types).map(arg).collect();
    let describe = describe(&name, is_enum, &shapes, &types);

    Ok(quote! {
        #[automatically_derived]
        const _: () = {
            #(#checks)*

            // SAFETY: `store` writes each field in its place, and zeros for what a variant lacks.
            unsafe impl ::kernel::blog::BlogArg for #ident {
                type Shown = ::kernel::blog::OnlyDebug<Self>;
                type Passed<'a> = #passed;

                const CODE: ::kernel::blog::types::TypeCode =
                    ::kernel::blog::types::TypeCode::derived(
                        ::kernel::blog::derived_hash(
                            ::core::module_path!(),
                            #name,
                            ::core::line!(),
                            ::core::column!(),
                        ),
                    );
                const FIXED: usize = #fixed;
                const ADDRESS: bool = false #(|| #types::ADDRESS)*;

                #[inline(always)]
                fn pass(&self) -> Self::Passed<'_> {
                    #pass
                }

                #[inline(always)]
                #[allow(unused_assignments, unused_mut, unused_variables)]
                unsafe fn store(&self, __dst: *mut u8) {
                    // SAFETY: The caller gives us `FIXED` bytes, which is what is stored.
                    unsafe {
                        #clear
                        #tag
                        let mut __at = __dst.add(#start);
                        match self {
                            #(#arms)*
                        }
                    }
                }

                #describe
            }
        };
    })
}

/// The integer with the size of the stored bytes, as far as the names of types show it: if one of
/// them is an alias of a type of another size, `from_ne_bytes` doesn't compile.
fn integer(is_enum: bool, shapes: &[Shape<'_>]) -> Option<TokenStream> {
    let size = |ty: &Type| match quote!(#ty).to_string().as_str() {
        "u8" | "i8" | "bool" => Some(1),
        "u16" | "i16" => Some(2),
        "u32" | "i32" | "char" => Some(4),
        "u64" | "i64" | "usize" | "isize" => Some(8),
        _ => None,
    };
    let sizes = shapes.iter().map(|shape| shape.types().map(size).sum());
    let sizes = sizes.collect::<Option<Vec<usize>>>()?;
    match usize::from(is_enum) + sizes.into_iter().max()? {
        1 => Some(quote!(::core::primitive::u8)),
        2 => Some(quote!(::core::primitive::u16)),
        4 => Some(quote!(::core::primitive::u32)),
        8 => Some(quote!(::core::primitive::u64)),
        _ => None,
    }
}

/// The method that emits the descriptor.
fn describe(name: &str, is_enum: bool, shapes: &[Shape<'_>], types: &[TokenStream]) -> TokenStream {
    let codes: Vec<Ident> = (0..types.len()).map(|i| format_ident!("f{i}")).collect();
    let mut codes_left = codes.iter();

    let mut t = Template::default();
    t.lines(".ifndef .Lblog_type_{code}\n.set .Lblog_type_{code}, 1");
    t.open_fmt();
    t.lines(format!(
        "
        772: .long {TYPE_MAGIC:#x}, 779f - 772b
        .quad {{code}}
        .long {}, {}
        .short {}, 0, 0, 0",
        if is_enum { 2 } else { 1 },
        shapes.len(),
        name.len()
    ));
    t.text(name);
    for shape in shapes {
        t.lines(format!(
            ".balign 8\n.short {}, {}\n.byte {}, 0, 0, 0",
            shape.name.len(),
            shape.fields.len(),
            shape.number()
        ));
        t.text(&shape.name);
        for (field, code) in shape.fields.iter().zip(&mut codes_left) {
            let name = field.ident.as_ref().map(|n| n.unraw().to_string());
            let name = name.unwrap_or_default();
            t.lines(format!(
                ".balign 8\n.quad {{{code}}}\n.short {}, 0, 0, 0",
                name.len()
            ));
            t.text(&name);
        }
    }
    t.lines(".balign 8\n779:\n.popsection\n.endif");

    quote! {
        #[inline(always)]
        fn describe() {
            #(#types::describe();)*
            // SAFETY: Emits no code, and data into a section that is not loaded.
            unsafe {
                ::kernel::asm!(
                    #t;
                    code = const Self::CODE.0,
                    #(#codes = const #types::CODE.0,)*
                    options(nomem, nostack, preserves_flags),
                );
            }
        }
    }
}
