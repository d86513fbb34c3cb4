// SPDX-License-Identifier: GPL-2.0

//! `blog_component!`: declares a static component.

/// Whether a value is allowed.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Is<const ALLOWED: bool>;

/// Says what is wrong with a value that is given to `blog_component!`, as an error at that value.
macro_rules! demands {
    ($($name:ident by $function:ident: $message:literal;)*) => {$(
        #[doc(hidden)]
        #[diagnostic::on_unimplemented(message = $message, label = "not this")]
        pub trait $name<Is> {}
        impl<T> $name<Is<true>> for T {}

        #[doc(hidden)]
        pub const fn $function<I: Copy, T: $name<I> + Copy>(_: I, value: T) -> T {
            value
        }
    )*};
}

demands! {
    Name by name: "a component's name has 1 to 55 letters, digits and `_-.:+#`, does not start \
        with `.` or `#`, and is not that of a file of BLog's own";
    Size by size: "a size must not be 0";
}

/// Declares a component, which [`blog_log!`] logs to.
///
/// All but `name` may be omitted:
///
/// ```ignore
/// blog_component! {
///     /// What the disk does.
///     pub DISK,
///     name: "disk",       // its folder in debugfs
///     size_kb: 1024,      // all its memory in KiB
///     ring_kb: 64,        // limit of one ring
///     level: Info,        // or Err, Warn, Debug, Trace
///     mode: Overwrite,    // or Discard
///     enabled: true,      // from the start
/// }
/// ```
///
/// It becomes a unit struct that stands for a static of its own, so that the branch in front of
/// each call can name that static to the assembler.
///
/// [`blog_log!`]: macro@crate::blog::blog_log
#[macro_export]
macro_rules! blog_component {
    // `module!` declares what messages are recorded to, which C files of the module know.
    (
        $(#[$attr:meta])* $vis:vis $ident:ident,
        captured: $module:literal, name: $name:literal $($settings:tt)*
    ) => {
        $crate::__blog_component! { [$module] $(#[$attr])* $vis $ident, $name $($settings)* }
    };
    ($(#[$attr:meta])* $vis:vis $ident:ident, name: $name:literal $($settings:tt)*) => {
        $crate::__blog_component! { [] $(#[$attr])* $vis $ident, $name $($settings)* }
    };
    ($(#[$attr:meta])* $vis:vis $ident:ident $(,)?) => {
        ::core::compile_error!("a component needs a name: `name: \"…\"`");
    };
}

/// The value of a setting.
#[doc(hidden)]
#[macro_export]
macro_rules! __blog_setting {
    (level $level:ident) => {
        $crate::blog::Level::$level
    };
    (mode $mode:ident) => {
        $crate::blog::Mode::$mode
    };
    (size_kb $kb:literal) => {
        $crate::blog::declare::size($crate::blog::declare::Is::<{ $kb != 0u32 }>, $kb)
    };
    (ring_kb $kb:literal) => {
        $crate::__blog_setting!(size_kb $kb)
    };
    ($key:ident $value:literal) => {
        $value
    };
}

/// Checks names.
#[doc(hidden)]
#[macro_export]
macro_rules! __blog_name {
    ($($name:literal)*) => {$(
        const _: &str = $crate::blog::declare::name(
            $crate::blog::declare::Is::<{ $crate::blog::wire::name::check($name.as_bytes()) }>,
            $name,
        );
    )*};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __blog_component {
    (
        [$($module:literal)?]
        $(#[$attr:meta])* $vis:vis $ident:ident, $name:literal $(, $key:ident: $value:tt)* $(,)?
    ) => {
        $(#[$attr])*
        #[doc = ""]
        #[doc = ::core::concat!("BLog component `", $name, "`.")]
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy)]
        $vis struct $ident;

        const _: () = {
            // A setting that is given twice is an error.
            #[allow(dead_code, unused_variables)]
            const fn given($($key: ()),*) {}

            $crate::__blog_name!($name $($module)?);
            const CONFIG: $crate::blog::Config = $crate::blog::Config::new()
                .name_nul(::core::concat!($name, "\0"))
                $(.$key($crate::__blog_setting!($key $value)))*;

            $(#[export_name = ::core::concat!("blog_captured_", $module)])?
            static COMPONENT: $crate::blog::RawComponent = $crate::blog::RawComponent::new(CONFIG);

            /// The rule of `IS_REACHABLE(CONFIG_BLOG)`, in the crate that is being compiled.
            const LINKED: bool =
                ::core::cfg!(any(CONFIG_BLOG = "y", all(CONFIG_BLOG = "m", MODULE)));

            #[cfg(any(CONFIG_BLOG = "y", all(CONFIG_BLOG = "m", MODULE)))]
            const _: () = {
                #[link_section = ".blog_components"]
                #[used(compiler)]
                static POINTER: $crate::blog::component::Pointer =
                    $crate::blog::component::Pointer::new(&COMPONENT);

                // Assembly of a crate comes before its statics. As for sites (`rust/macros/blog`),
                // symbols around the table; and one of `blog/`, which is loaded before a module
                // that has a component.
                mod bounds {
                    ::core::arch::global_asm!(
                        ".ifndef __blog_components
                        .pushsection .blog_components,\"aw\",@progbits
                        .balign 8
                        .set __blog_components, .
                        .subsection 2
                        .set __blog_components_end, .
                        .popsection
                        .set __blog_abi, {abi}
                        .endif
                        .pushsection .rodata.blog,\"a\",@progbits
                        .balign 8
                        .quad blog_clock_is_counter
                        .popsection",
                        abi = const $crate::blog::ABI,
                    );
                }
            };

            // SAFETY: `blog/` switches `COMPONENT` on when it knows it. All callers are gone before
            // its code goes.
            unsafe impl $crate::blog::Component for $ident {
                #[inline(always)]
                fn is_on(&self) -> bool {
                    #[cfg(all(
                        any(CONFIG_BLOG = "y", all(CONFIG_BLOG = "m", MODULE)),
                        CONFIG_JUMP_LABEL
                    ))]
                    // SAFETY: `COMPONENT` has a `static_key_false` there, for as long as code runs
                    // that can get here.
                    let on = unsafe {
                        $crate::jump_label::arch_static_branch!(
                            COMPONENT,
                            $crate::blog::RawComponent,
                            key,
                            false
                        )
                    };
                    #[cfg(not(all(
                        any(CONFIG_BLOG = "y", all(CONFIG_BLOG = "m", MODULE)),
                        CONFIG_JUMP_LABEL
                    )))]
                    let on = LINKED && $crate::blog::component::is_on(&COMPONENT);
                    on
                }

                #[inline(always)]
                fn raw(&self) -> &'static $crate::blog::RawComponent {
                    &COMPONENT
                }
            }

            #[allow(dead_code)]
            impl $ident {
                /// Makes a component of this name at run time, with the settings of this one.
                $vis fn instance(self, name: &$crate::str::CStr) -> $crate::blog::Instance {
                    $crate::blog::Instance::new::<LINKED>(name, CONFIG)
                }

                /// Makes a component of this name at run time, with other settings.
                $vis fn instance_with(
                    self,
                    name: &$crate::str::CStr,
                    config: $crate::blog::Config,
                ) -> $crate::blog::Instance {
                    $crate::blog::Instance::new::<LINKED>(name, config)
                }
            }
        };
    };
}
