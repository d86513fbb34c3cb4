// SPDX-License-Identifier: GPL-2.0

//! The cases of BLog itself: calls as any driver has them, in loops; and clocks alone.

// What stands in comments of the assembler may be the register in any size.
#![allow(asm_sub_register)]

use core::arch::asm;
use kernel::{
    blog::{
        blog_component,
        blog_debug,
        blog_log,
        Config, //
    },
    prelude::*,
    str::CString, //
};

mod case;
use case::Case;

blog_component! { ON, name: "bench", size_kb: 4096, ring_kb: 256, level: Info }
blog_component! { OFF, name: "bench_off", size_kb: 1024, ring_kb: 64, enabled: false }
blog_component! { NEW, name: "bench_new", size_kb: 4096, ring_kb: 64, level: Info }

/// Arguments by the number of the round, as in bench.h: the compiler knows nothing of them.
trait Vary {
    fn by(i: u32) -> Self;
}

impl Vary for u32 {
    #[inline(always)]
    fn by(i: u32) -> Self {
        let mut value = i;
        // SAFETY: No instruction at all.
        unsafe { asm!("/* {0} */", inout(reg) value, options(nostack, preserves_flags, nomem)) };
        value
    }
}

impl Vary for u64 {
    #[inline(always)]
    fn by(i: u32) -> Self {
        let mut value = u64::from(i) << 9;
        // SAFETY: No instruction at all.
        unsafe { asm!("/* {0} */", inout(reg) value, options(nostack, preserves_flags, nomem)) };
        value
    }
}

/// A text of which neither place nor length is known.
#[inline(always)]
fn text(known: &'static str) -> &'static str {
    let (mut at, mut len) = (known.as_ptr(), known.len());
    // SAFETY: No instruction at all, so these are the parts of `known`.
    unsafe {
        asm!(
            "/* {0} {1} */",
            inout(reg) at,
            inout(reg) len,
            options(nostack, preserves_flags, nomem)
        );
        core::str::from_utf8_unchecked(core::slice::from_raw_parts(at, len))
    }
}

const TEXT_11: &str = "hello, disk";
const TEXT_64: &str = "/dev/disk/by-id/nvme-an-imaginary-disk-with-a-long-name-part0001";

/// Has a value in a register, and does nothing with it.
trait Use {
    fn used(self);
}

macro_rules! used {
    ($($ty:ty),*) => {$(
        impl Use for $ty {
            #[inline(always)]
            fn used(self) {
                // SAFETY: No instruction at all.
                unsafe {
                    asm!("/* {0} */", in(reg) self, options(nostack, preserves_flags, nomem))
                };
            }
        }
    )*};
}
used!(u32, u64);

impl Use for &str {
    #[inline(always)]
    fn used(self) {
        (self.as_ptr() as u64).used();
        (self.len() as u64).used();
    }
}

#[inline(always)]
fn counter() -> u64 {
    // SAFETY: Every x86-64 processor has this instruction, and it touches no memory.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: The kernel may always read this register; that touches no memory.
        unsafe {
            asm!("mrs {0}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags));
        }
        ticks
    }
}

unsafe extern "C" {
    fn ktime_get_mono_fast_ns() -> u64;
}

#[inline(always)]
fn mono() -> u64 {
    // SAFETY: Any context may.
    unsafe { ktime_get_mono_fast_ns() }
}

/// A loop over the rounds.
macro_rules! rounds {
    ($name:ident, $i:ident, $body:block) => {
        extern "C" fn $name(n: u32) {
            for $i in 0..n $body
        }
    };
}

/// The same with arguments.
macro_rules! shape_rounds {
    ($name:ident ($($arg:ident: $ty:ty = $value:expr),*) $body:block) => {
        rounds!($name, i, {
            let at = i;
            $(let $arg: $ty = $value(at);)*
            at.used();
            $body
        });
    };
}

/// Cases for each list of arguments.
const PER_SHAPE: usize = 4;

/// All cases with one list of arguments.
macro_rules! cases {
    ($($shape:ident $label:literal ($($arg:ident: $ty:ty = $value:expr),*) $fmt:literal;)*) => {
        $(mod $shape {
            use super::*;

            shape_rounds!(empty ($($arg: $ty = $value),*) { $($arg.used();)* });
            shape_rounds!(on ($($arg: $ty = $value),*) { blog_log!(ON, $fmt, $($arg),*); });
            shape_rounds!(site_off ($($arg: $ty = $value),*) {
                blog_debug!(ON, $fmt, $($arg),*);
            });
            shape_rounds!(component_off ($($arg: $ty = $value),*) {
                blog_log!(OFF, $fmt, $($arg),*);
            });

            pub(super) const CASES: [Case; PER_SHAPE] = [
                Case::new(concat!("empty.", $label, "\0"), empty),
                Case::new(concat!("blog_on.", $label, "\0"), on),
                Case::new(concat!("blog_site_off.", $label, "\0"), site_off),
                Case::new(concat!("blog_component_off.", $label, "\0"), component_off),
            ];
        })*

        const SHAPES: &[[Case; PER_SHAPE]] = &[$($shape::CASES),*];
    };
}

cases! {
    s0 "0" () "nothing";
    s2 "2" (a: u32 = u32::by, b: u64 = u64::by) "{} {}";
    s4 "4" (a: u32 = u32::by, b: u64 = u64::by, c: u32 = u32::by, d: u64 = u64::by) "{} {} {} {}";
    s8 "8" (a: u32 = u32::by, b: u64 = u64::by, c: u32 = u32::by, d: u64 = u64::by,
            e: u32 = u32::by, f: u64 = u64::by, g: u32 = u32::by, h: u64 = u64::by)
        "{} {} {} {} {} {} {} {}";
    str11 "str11" (a: &'static str = |_| text(TEXT_11)) "{}";
    str64 "str64" (a: &'static str = |_| text(TEXT_64)) "{}";
}

rounds!(clock_counter, i, {
    i.used();
    counter().used();
});
rounds!(clock_mono, i, {
    i.used();
    mono().used();
});

const COUNT: usize = SHAPES.len() * PER_SHAPE + 3;

/// All cases, as C has them.
#[no_mangle]
static bench_blog_cases: [Case; COUNT] = {
    let mut all = [Case::END; COUNT];
    all[0] = Case::new("clock_counter.0\0", clock_counter);
    all[1] = Case::new("clock_mono.0\0", clock_mono);
    let mut i = 0;
    while i < COUNT - 3 {
        all[i + 2] = SHAPES[i / PER_SHAPE][i % PER_SHAPE];
        i += 1;
    }
    all
};

/// Logs `n` records of two scalars, and says what each of them took.
///
/// # Safety
///
/// `ticks` is valid for writes of `n` numbers.
#[no_mangle]
unsafe extern "C" fn bench_blog_each(ticks: *mut u32, n: u32) {
    for i in 0..n {
        let (a, b) = (u32::by(i), u64::by(i));
        let start = counter();
        blog_log!(ON, "{} {}", a, b);
        let end = counter();
        // SAFETY: By this function's requirements.
        unsafe { *ticks.add(i as usize) = end.wrapping_sub(start) as u32 };
    }
}

/// Logs by turns to so many components, each of the smallest size: returns what the last one of a
/// few rounds took.
fn many(count: u32) -> Result<u64> {
    let mut all = KVVec::with_capacity(count as usize, GFP_KERNEL)?;
    for i in 0..count {
        let name = CString::try_from_fmt(fmt!("bench_many-{i}"))?;
        let one = NEW.instance_with(&name, Config::new().size_kb(64).ring_kb(16));
        all.push(one, GFP_KERNEL)?;
    }
    let mut ticks = 0;
    for _ in 0..4 {
        let start = counter();
        for (one, i) in all.iter().zip(0..) {
            blog_log!(one, "{} {}", u32::by(i), u64::by(i));
        }
        ticks = counter().wrapping_sub(start);
    }
    Ok(ticks)
}

/// The same; 0 without memory for it.
#[no_mangle]
extern "C" fn bench_blog_many(count: u32) -> u64 {
    many(count).unwrap_or(0)
}

/// Logs one record to a component that nobody else logs to.
#[no_mangle]
extern "C" fn bench_blog_once(i: u32) {
    blog_log!(NEW, "{} {}", u32::by(i), u64::by(i));
}
