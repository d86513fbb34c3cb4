// SPDX-License-Identifier: GPL-2.0

//! The same calls, compiled as with `CONFIG_BLOG=n`: see Kbuild.

// A comment of the assembler may name the register in any size.
#![allow(asm_sub_register)]

use kernel::blog::{
    blog_component,
    blog_log, //
};

mod case;
use case::Case;

blog_component! { NONE, name: "bench_none", size_kb: 64, ring_kb: 64 }

fn by(i: u32) -> u32 {
    let mut value = i;
    // SAFETY: No instruction at all.
    unsafe {
        core::arch::asm!("/* {0} */", inout(reg) value, options(nostack, preserves_flags, nomem))
    };
    value
}

/// What the loop costs.
extern "C" fn empty(n: u32) {
    for i in 0..n {
        let (a, b) = (by(i), u64::from(by(i)));
        let _ = (a, b);
    }
}

/// The loop with a call.
extern "C" fn none(n: u32) {
    for i in 0..n {
        let (a, b) = (by(i), u64::from(by(i)));
        blog_log!(NONE, "{} {}", a, b);
    }
}

#[no_mangle]
static bench_none_cases: [Case; 3] = [
    Case::new("none_empty.2\0", empty),
    Case::new("none.2\0", none),
    Case::END,
];
