// SPDX-License-Identifier: GPL-2.0

//! What must compile, without a warning.

#![deny(warnings)]

use kernel::prelude::*;

use kernel::blog::{blog_component, blog_debug, blog_err, blog_info, blog_log, blog_trace, blog_warn, BlogArg, Component, Config, Hex, Instance, Level, Mac, Mode};

blog_component! {
    /// With everything.
    pub ALL,
    name: "all", size_kb: 64, ring_kb: 8, level: Trace, mode: Discard, enabled: false,
}
blog_component! { C, name: "c" }
blog_component! {
    #[doc(hidden)]
    pub(crate) __BLOG_CAPTURE, captured: "pass_all", name: "pass-all", level: Debug,
}

#[derive(Clone, Copy, BlogArg)]
struct Unit;

#[derive(Clone, Copy, BlogArg)]
struct Tuple(u8, [u8; 4], Option<Unit>);

#[derive(Clone, Copy, BlogArg)]
enum Enum {
    A,
    B(Tuple, i128),
    C { r#type: bool, p: *const u8, e: Result<u16> },
}

struct Driver {
    log: Instance,
    shared: kernel::sync::Arc<Instance>,
}

impl Driver {
    fn log(&self) {
        blog_info!(self.log, "{}", self.log.is_on());
        blog_info!(&self.shared, "an Arc");
        blog_info!(*self.shared, "a place");
    }
}

pub fn levels() -> Result {
    blog_log!(C, "nothing at all");
    blog_err!(C, "");
    blog_warn!(C, "{{}}");
    blog_info!(ALL, "trailing comma {}", 1,);
    blog_debug!(C, r"raw \{{", );
    blog_trace!(C, "{}\n\t\"\\ é ${{x}} %d {{0}}", '"');
    let driver = Driver {
        log: C.instance(c"one"),
        shared: kernel::sync::Arc::new(
            C.instance_with(c"two", Config::new().level(Level::Err).mode(Mode::Discard)),
            GFP_KERNEL,
        )?,
    };
    driver.log();
    Ok(())
}

pub fn formats<T: BlogArgLike>(w: usize, s: &str, generic: T) {
    #[derive(BlogArg)]
    enum Local {
        V,
    }
    let r#type = 5;
    blog_log!(C, "{type} {x} {r}", x = 1, r = r#type);
    blog_log!(C, "{0} {0:?} {1:#?} {}", s, Enum::A);
    blog_log!(C, "{:>w$} {:^+#010.3} {:*<1$} {:.*} {:.w$}", 1, 2_usize, s, 4, s, s);
    blog_log!(C, "{:?} {:?} {:x?} {:#X?}", Local::V, Unit, Tuple(1, [2; 4], None), s.as_bytes());
    blog_log!(C, "{:?}", Enum::B(Tuple(0, [0; 4], Some(Unit)), -1));
    blog_log!(C, "{:?}", Enum::C { r#type: true, p: s.as_ptr(), e: Err(EINVAL) });
    blog_log!(C, "{:p} {:p} {:?}", s.as_ptr(), &generic, core::ptr::null::<u8>());
    blog_log!(C, "{:?} {:?} {:?}", Some(s), Some(Some(1)), Ok::<_, Error>(c"x"));
    blog_log!(C, "{} {} {}", Hex(s.as_bytes()), Mac([1; 6]), core::net::Ipv6Addr::LOCALHOST);
    blog_log!(C, "{}{}{}{}{}{}{}{}{}{}{}{}", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    blog_log!(C, "{}", generic.id());
    blog_log!(C, "{:?} {:?}", (), [0_u8; 3]);
    blog_log!(C, "{:e} {:E} {:o} {:b} {:x} {:X}", 1, 2_u128, 3_i8, 4_usize, -5_isize, 6_u16);
    blog_log!(C, "{} {a}", s == "x", a = if w > 1 { 1 } else { 2 });
}

pub fn any_type<T: BlogArg<Shown: core::fmt::Debug> + ?Sized>(value: &T) {
    blog_log!(C, "{:?}", value);
}

pub trait BlogArgLike {
    fn id(&self) -> u64;
}

/// The value of a call is `()`, so that it can be an arm or a tail.
pub fn places(n: u32) -> Result<u32> {
    match n {
        0 => blog_log!(C, "zero"),
        1 => blog_log!(C, "{}", if n > 2 { return Err(EINVAL) } else { n }),
        _ => (),
    }
    for i in 0.. {
        blog_log!(C, "{}", if i > n { break } else { i });
        blog_log!(C, "{}", places(i)?);
    }
    let mut counter = 0;
    let mut next = || {
        counter += 1;
        counter
    };
    blog_log!(C, "{} {}", next(), next());
    let log = || blog_log!(C, "in a closure {n}");
    log();
    Ok(counter)
}
