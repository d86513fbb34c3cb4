// SPDX-License-Identifier: GPL-2.0

//! Loads a call site: the instructions that no architecture can do without, as nothing else takes
//! the address of what an `asm!` emits, which is one more for each instance of a generic function.
//!
//! `__blog_load!` is given the lines that emit a site, at the label 771, and its description, with
//! their operands. It returns the site's id and its gate. The gate is loaded first, or both at
//! once: `blog/` stores the id first, so where the gate says on, the id is there. Label 770 is
//! where the call is, for the description.

/// x86 keeps loads in their order.
#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __blog_load {
    ($lines:expr; $($operand:tt)*) => {{
        let (id, gate): (u32, u8);
        ::core::arch::asm!(
            $lines,
            "770: movb 771b+5(%rip), {gate}",
            "movl 771b(%rip), {id:e}",
            id = out(reg) id,
            gate = out(reg_byte) gate,
            $($operand)*
            // Not pure: the entry changes while a loop runs that logs.
            options(readonly, nostack, preserves_flags, att_syntax),
        );
        (id, gate)
    }};
}

/// By one load of all 8 bytes, little endian, which is a single access where it is aligned.
#[cfg(not(target_arch = "x86_64"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __blog_load {
    ($lines:expr; $($operand:tt)*) => {{
        let site: u64;
        ::core::arch::asm!(
            $lines,
            $crate::__blog_load_site!(),
            site = out(reg) site,
            $($operand)*
            options(readonly, nostack, preserves_flags),
        );
        (site as u32, (site >> 40) as u8)
    }};
}

#[cfg(target_arch = "aarch64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __blog_load_site {
    () => {
        "770: adrp {site}, 771b\nldr {site}, [{site}, :lo12:771b]"
    };
}

#[cfg(target_arch = "riscv64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __blog_load_site {
    () => {
        "770: ld {site}, 771b"
    };
}

#[cfg(not(any(
    target_arch = "aarch64",
    target_arch = "riscv64",
    target_arch = "x86_64"
)))]
compile_error!("BLog needs the instruction that loads 8 bytes at a label: see this file");
