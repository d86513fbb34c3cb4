// SPDX-License-Identifier: GPL-2.0

//! The kernel's crate, with the additions of BLog's patches.
//!
//! Drivers that are built for a kernel without these patches see this crate as `kernel`.

#![allow(missing_docs)]

// What macros expand to names it so.
extern crate self as kernel;

// What macros call the kernel's.
#[doc(hidden)]
pub use ::stock;
pub use stock::*;

// Names that are here, and not the kernel's.
pub use self::print::{
    dev_alert,
    dev_crit,
    dev_emerg,
    dev_err,
    dev_info,
    dev_notice,
    dev_warn,
    module_auxiliary_driver,
    module_driver,
    module_i2c_driver,
    module_pci_driver,
    module_phy_driver,
    module_platform_driver,
    module_pwm_platform_driver,
    module_serdev_device_driver,
    module_usb_driver,
    pr_alert,
    pr_alert_once,
    pr_crit,
    pr_crit_once,
    pr_emerg,
    pr_emerg_once,
    pr_err,
    pr_err_once,
    pr_info,
    pr_info_once,
    pr_notice,
    pr_notice_once,
    pr_warn,
    pr_warn_once, //
};

pub mod blog;
pub mod print;

pub mod block;

/// The kernel's, and what they lack of `linux/preempt.h`: `preempt.c` compares.
pub mod bindings {
    pub use stock::bindings::*;

    pub const BLOG_SOFTIRQ_OFFSET: u32 = 1 << 8;
    pub const BLOG_HARDIRQ_MASK: u32 = 0xf << 24;
    pub const BLOG_NMI_MASK: u32 = match cfg!(CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS) {
        true => 0xf << 28,
        false => 1 << 28,
    };
}

/// The kernel's, what lets drivers see their requests, and what records their messages.
pub mod prelude {
    pub use crate::{
        block::mq::LookAtRequest as _,
        blog_module as module,
        dev_alert,
        dev_crit,
        dev_dbg,
        dev_emerg,
        dev_err,
        dev_info,
        dev_notice,
        dev_warn,
        pr_alert,
        pr_crit,
        pr_debug,
        pr_emerg,
        pr_err,
        pr_info,
        pr_notice,
        pr_warn, //
    };
    pub use stock::prelude::*;
}
