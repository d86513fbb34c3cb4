// SPDX-License-Identifier: GPL-2.0

//! What drivers print by, and what makes them modules: the kernel's macros, which record messages
//! of a driver that is captured, as `patches/rust-blog-capture.patch` has them do.
//!
//! Where the driver isn't captured, they are the kernel's.

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

#[macro_export]
macro_rules! pr_emerg {
    ($($arg:tt)*) => {
        $crate::print_macro!($crate::print::format_strings::EMERG, false, $($arg)*)
    };
}

#[macro_export]
macro_rules! pr_alert {
    ($($arg:tt)*) => {
        $crate::print_macro!($crate::print::format_strings::ALERT, false, $($arg)*)
    };
}

#[macro_export]
macro_rules! pr_crit {
    ($($arg:tt)*) => {
        $crate::print_macro!($crate::print::format_strings::CRIT, false, $($arg)*)
    };
}

#[macro_export]
macro_rules! pr_err {
    ($($arg:tt)*) => {
        $crate::print_macro!($crate::print::format_strings::ERR, false, $($arg)*)
    };
}

#[macro_export]
macro_rules! pr_warn {
    ($($arg:tt)*) => {
        $crate::print_macro!($crate::print::format_strings::WARNING, false, $($arg)*)
    };
}

#[macro_export]
macro_rules! pr_notice {
    ($($arg:tt)*) => {
        $crate::print_macro!($crate::print::format_strings::NOTICE, false, $($arg)*)
    };
}

#[macro_export]
macro_rules! pr_info {
    ($($arg:tt)*) => {
        $crate::print_macro!($crate::print::format_strings::INFO, false, $($arg)*)
    };
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
macro_rules! pr_emerg_once {
    ($($arg:tt)*) => { $crate::do_once_lite! { $crate::pr_emerg!($($arg)*) } };
}

#[macro_export]
macro_rules! pr_alert_once {
    ($($arg:tt)*) => { $crate::do_once_lite! { $crate::pr_alert!($($arg)*) } };
}

#[macro_export]
macro_rules! pr_crit_once {
    ($($arg:tt)*) => { $crate::do_once_lite! { $crate::pr_crit!($($arg)*) } };
}

#[macro_export]
macro_rules! pr_err_once {
    ($($arg:tt)*) => { $crate::do_once_lite! { $crate::pr_err!($($arg)*) } };
}

#[macro_export]
macro_rules! pr_warn_once {
    ($($arg:tt)*) => { $crate::do_once_lite! { $crate::pr_warn!($($arg)*) } };
}

#[macro_export]
macro_rules! pr_notice_once {
    ($($arg:tt)*) => { $crate::do_once_lite! { $crate::pr_notice!($($arg)*) } };
}

#[macro_export]
macro_rules! pr_info_once {
    ($($arg:tt)*) => { $crate::do_once_lite! { $crate::pr_info!($($arg)*) } };
}

#[macro_export]
macro_rules! dev_emerg {
    ($($f:tt)*) => { $crate::dev_printk!(pr_emerg, $($f)*) };
}

#[macro_export]
macro_rules! dev_alert {
    ($($f:tt)*) => { $crate::dev_printk!(pr_alert, $($f)*) };
}

#[macro_export]
macro_rules! dev_crit {
    ($($f:tt)*) => { $crate::dev_printk!(pr_crit, $($f)*) };
}

#[macro_export]
macro_rules! dev_err {
    ($($f:tt)*) => { $crate::dev_printk!(pr_err, $($f)*) };
}

#[macro_export]
macro_rules! dev_warn {
    ($($f:tt)*) => { $crate::dev_printk!(pr_warn, $($f)*) };
}

#[macro_export]
macro_rules! dev_notice {
    ($($f:tt)*) => { $crate::dev_printk!(pr_notice, $($f)*) };
}

#[macro_export]
macro_rules! dev_info {
    ($($f:tt)*) => { $crate::dev_printk!(pr_info, $($f)*) };
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

#[macro_export]
macro_rules! module_auxiliary_driver {
    ($($f:tt)*) => { $crate::blog_module! { @module_auxiliary_driver, $($f)* } };
}

#[macro_export]
macro_rules! module_driver {
    ($($f:tt)*) => { $crate::blog_module! { @module_driver, $($f)* } };
}

#[macro_export]
macro_rules! module_i2c_driver {
    ($($f:tt)*) => { $crate::blog_module! { @module_i2c_driver, $($f)* } };
}

#[macro_export]
macro_rules! module_pci_driver {
    ($($f:tt)*) => { $crate::blog_module! { @module_pci_driver, $($f)* } };
}

#[macro_export]
macro_rules! module_phy_driver {
    ($($f:tt)*) => { $crate::blog_module! { @module_phy_driver, $($f)* } };
}

#[macro_export]
macro_rules! module_platform_driver {
    ($($f:tt)*) => { $crate::blog_module! { @module_platform_driver, $($f)* } };
}

#[macro_export]
macro_rules! module_pwm_platform_driver {
    ($($f:tt)*) => { $crate::blog_module! { @module_pwm_platform_driver, $($f)* } };
}

#[macro_export]
macro_rules! module_serdev_device_driver {
    ($($f:tt)*) => { $crate::blog_module! { @module_serdev_device_driver, $($f)* } };
}

#[macro_export]
macro_rules! module_usb_driver {
    ($($f:tt)*) => { $crate::blog_module! { @module_usb_driver, $($f)* } };
}
