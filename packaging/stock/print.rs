// SPDX-License-Identifier: GPL-2.0

//! The macros for printing and for modules: those of the kernel, which also record the messages of
//! a captured driver, as with `patches/rust-blog-capture.patch`.
//!
//! If the driver isn't captured, they are the kernel's own.

#![allow(clippy::crate_in_macro_def)]

pub use stock::print::*;

#[doc(hidden)]
#[macro_export]
macro_rules! print_macro {
    ($format_string:path, false, $($arg:tt)+) => {{
        #[cfg(not(BLOG_CAPTURE))]
        $crate::stock::print_macro!($format_string, false, $($arg)+);
        #[cfg(BLOG_CAPTURE)]
        match $crate::prelude::fmt!($($arg)+) {
            args => {
                $crate::blog::blog_capture!(crate::__BLOG_CAPTURE, args, $format_string);
                $crate::stock::print_macro!($format_string, false, "{}", args);
            }
        }
    }};
    ($format_string:path, true, $($arg:tt)+) => {
        match $crate::prelude::fmt!($($arg)+) {
            args => {
                #[cfg(BLOG_CAPTURE)]
                $crate::blog::blog_capture!(crate::__BLOG_CAPTURE, args, $format_string);
                $crate::print::call_printk_cont(args);
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! dev_printk {
    ($method:ident, $dev:expr, $($f:tt)*) => {{
        #[cfg(not(BLOG_CAPTURE))]
        $crate::stock::dev_printk!($method, $dev, $($f)*);
        #[cfg(BLOG_CAPTURE)]
        match ($dev.as_ref(), $crate::prelude::fmt!($($f)*)) {
            (dev, args) => {
                $crate::blog::blog_capture!(crate::__BLOG_CAPTURE, dev: args, $method);
                $crate::device::Device::$method(dev, args);
            }
        }
    }};
}

/// Makes what prints at a level. A macro that a macro makes can't hide one of the kernel's by its
/// name: so it has another one, and is exported by that.
macro_rules! printers {
    ($d:tt $($level:ident: $pr:ident = $new_pr:ident, $once:ident = $new_once:ident,
        $dev:ident = $new_dev:ident;)*) => {$(
        #[doc(hidden)]
        #[macro_export]
        macro_rules! $new_pr {
            ($d($d arg:tt)*) => {
                $crate::print_macro!($crate::print::format_strings::$level, false, $d($d arg)*)
            };
        }
        #[doc(hidden)]
        #[macro_export]
        macro_rules! $new_once {
            ($d($d arg:tt)*) => { $crate::do_once_lite! { $crate::$pr!($d($d arg)*) } };
        }
        #[doc(hidden)]
        #[macro_export]
        macro_rules! $new_dev {
            ($d($d arg:tt)*) => { $crate::dev_printk!($pr, $d($d arg)*) };
        }
        pub use {$new_pr as $pr, $new_once as $once, $new_dev as $dev};
    )*};
}

printers! { $
    EMERG: pr_emerg = __pr_emerg, pr_emerg_once = __pr_emerg_once, dev_emerg = __dev_emerg;
    ALERT: pr_alert = __pr_alert, pr_alert_once = __pr_alert_once, dev_alert = __dev_alert;
    CRIT: pr_crit = __pr_crit, pr_crit_once = __pr_crit_once, dev_crit = __dev_crit;
    ERR: pr_err = __pr_err, pr_err_once = __pr_err_once, dev_err = __dev_err;
    WARNING: pr_warn = __pr_warn, pr_warn_once = __pr_warn_once, dev_warn = __dev_warn;
    NOTICE: pr_notice = __pr_notice, pr_notice_once = __pr_notice_once, dev_notice = __dev_notice;
    INFO: pr_info = __pr_info, pr_info_once = __pr_info_once, dev_info = __dev_info;
}

#[macro_export]
macro_rules! pr_debug {
    ($($arg:tt)*) => {{
        #[cfg(any(debug_assertions, not(BLOG_CAPTURE)))]
        if cfg!(debug_assertions) {
            $crate::print_macro!($crate::print::format_strings::DEBUG, false, $($arg)*)
        }
        #[cfg(all(BLOG_CAPTURE, not(debug_assertions)))]
        $crate::blog::blog_capture!(
            crate::__BLOG_CAPTURE, $crate::prelude::fmt!($($arg)*), DEBUG
        );
    }};
}

#[macro_export]
macro_rules! pr_cont {
    ($($arg:tt)*) => {
        $crate::print_macro!($crate::print::format_strings::CONT, true, $($arg)*)
    };
}

#[macro_export]
macro_rules! dev_dbg {
    ($($f:tt)*) => { $crate::dev_printk!(pr_dbg, $($f)*) };
}

#[doc(hidden)]
pub use macros::blog_captured;

/// What makes a module, and what its messages are recorded to. `module!` itself in the prelude: it
/// can't be named like the module `module`.
#[doc(hidden)]
#[macro_export]
macro_rules! blog_module {
    (@$($macro:ident)::+, $($f:tt)*) => {
        $crate::stock::$($macro)::+! { $($f)* }
        $crate::print::blog_captured! { $($f)* }
    };
    ($($f:tt)*) => { $crate::blog_module! { @prelude::module, $($f)* } };
}

/// As [`printers`]: what makes modules that are drivers.
macro_rules! drivers {
    ($d:tt $($name:ident = $new:ident)*) => {$(
        #[doc(hidden)]
        #[macro_export]
        macro_rules! $new {
            ($d($d f:tt)*) => { $crate::blog_module! { @$name, $d($d f)* } };
        }
        pub use $new as $name;
    )*};
}

drivers! { $
    module_auxiliary_driver = __module_auxiliary_driver
    module_driver = __module_driver
    module_i2c_driver = __module_i2c_driver
    module_pci_driver = __module_pci_driver
    module_phy_driver = __module_phy_driver
    module_platform_driver = __module_platform_driver
    module_pwm_platform_driver = __module_pwm_platform_driver
    module_serdev_device_driver = __module_serdev_device_driver
    module_usb_driver = __module_usb_driver
}
