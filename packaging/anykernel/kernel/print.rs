// SPDX-License-Identifier: GPL-2.0

//! Lines of the kernel's log: `kernel::print`; and panics.

use core::fmt::{self, Write};

unsafe extern "C" {
    fn blog_k_print(level: u32, text: *const u8, len: usize);
}

/// A line, as much of it as there is room for.
struct Line {
    text: [u8; 240],
    len: usize,
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for (to, byte) in self.text[self.len..].iter_mut().zip(text.bytes()) {
            *to = byte;
            self.len += 1;
        }
        Ok(())
    }
}

/// Prints a line, at a level as `KERN_` numbers them. For the macros.
#[doc(hidden)]
#[inline(never)]
pub fn print(level: u32, args: fmt::Arguments<'_>) {
    let mut line = Line { text: [0; 240], len: 0 };
    // It never fails.
    let _ = line.write_fmt(args);
    // SAFETY: These are as many bytes.
    unsafe { blog_k_print(level, line.text.as_ptr(), line.len) };
}

#[macro_export]
macro_rules! pr_warn {
    ($($args:tt)*) => {
        $crate::print::print(4, format_args!($($args)*))
    };
}

#[macro_export]
macro_rules! pr_info {
    ($($args:tt)*) => {
        $crate::print::print(6, format_args!($($args)*))
    };
}

#[macro_export]
macro_rules! pr_warn_once {
    ($($args:tt)*) => {{
        static SAID: core::sync::atomic::AtomicBool = core::sync::atomic::AtomicBool::new(false);
        if !SAID.swap(true, core::sync::atomic::Ordering::Relaxed) {
            $crate::pr_warn!($($args)*);
        }
    }};
}

/// The kernel takes the instruction at the end for a bug, and knows that nothing follows it.
#[cfg(BLOG_ANYKERNEL)]
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    print(0, format_args!("{info}\n"));
    // SAFETY: It doesn't go on.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!("ud2", options(noreturn, nostack))
    }
    // SAFETY: As above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!("brk #0x800", options(noreturn, nostack))
    }
}
