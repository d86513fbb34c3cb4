// SPDX-License-Identifier: GPL-2.0

//! Rust binary logging sample: what a driver author needs of [`kernel::blog`] first.
//!
//! The module plays a driver of imaginary disks. Load it and read what it logged:
//!
//! ```sh
//! modprobe rust_blog
//! cat /sys/kernel/tracing/blog/snapshot > snapshot
//! blog-decode snapshot
//! ```
//!
//! Each part below can be read alone: 1. a static component, 2. own types, 3. calls and
//! levels, 4. the format language, 5. components made at run time, 6. contexts.

use kernel::{
    blog::{
        blog_component,
        blog_debug,
        blog_err,
        blog_info,
        blog_log,
        blog_trace,
        blog_warn,
        BlogArg,
        Config,
        Hex,
        Instance,
        Level,
        Mac,
        Mode, //
    },
    prelude::*,
    time::{
        Delta,
        Instant,
        Monotonic, //
    }, //
};

module! {
    type: RustBlog,
    name: "rust_blog",
    description: "Rust binary logging sample",
    license: "GPL",
}

// 1. A static component. That is all: nothing to initialise, nothing to free. Its folder is
// /sys/kernel/tracing/blog/rust_blog, and what is said here can be changed there.
blog_component! {
    /// What all disks have in common.
    SAMPLE, name: "rust_blog", size_kb: 1024, ring_kb: 64, level: Trace, mode: Overwrite
}

// 2. Structs and enums of one's own are logged whole, and print as `#[derive(Debug)]` prints them.
// Their fields must have a fixed size. The names are in the side table, not in the kernel.

/// What a request does.
#[derive(Clone, Copy, Debug, BlogArg)]
enum Op {
    Read,
    Write { fua: bool },
    Discard(u32),
}

/// A request.
#[derive(Clone, Copy, Debug, BlogArg)]
struct Request {
    sector: u64,
    bytes: u32,
    op: Op,
    result: Option<i32>,
}

// 3. Calls. A call names a component, a format and arguments. It may be in any context but
// `noinstr` code. Arguments are evaluated once, and only if the call logs.

/// Checks a request, as a driver's `queue_rq` would.
fn check(request: &Request) -> Result<u32> {
    let Request {
        sector, bytes, op, ..
    } = *request;

    // `blog_log!` is for what happens in normal work. Names in the format are captured.
    blog_log!(SAMPLE, "{op:?} of {bytes} bytes at sector {sector}");

    // The others set a level: err, warn, info, debug, trace. The component's `level` file says
    // which of them are logged; `control` switches single calls.
    if bytes == 0 {
        blog_warn!(SAMPLE, "empty request {:?}", request);
    }
    if bytes % 512 != 0 {
        blog_err!(SAMPLE, "{bytes} bytes are not whole sectors: {:?}", EINVAL);
        return Err(EINVAL);
    }
    blog_debug!(SAMPLE, "{} sectors", bytes / 512);

    // `?`, `return` and `break` work in an argument. If the call does not log, it does nothing.
    blog_trace!(SAMPLE, "ends before sector {}", end(request)?);
    Ok(bytes / 512)
}

fn end(request: &Request) -> Result<u64> {
    let sectors = u64::from(request.bytes / 512);
    request.sector.checked_add(sectors).ok_or(EOVERFLOW)
}

/// Two scalars, the most common call. BLog's tests count its instructions, and the stack that it
/// takes, as both are needed again. Returns where the next request begins.
#[inline(never)]
fn two_scalars(bytes: u32, sector: u64) -> u64 {
    blog_log!(SAMPLE, "{bytes} {sector}");
    (sector + u64::from(bytes / 512)).next_multiple_of(8)
}

// 4. The format language is that of `format!`. A mistake in it is a compile error.

/// Logs one of each.
fn tour(name: &str, label: &CStr, bytes: &[u8]) {
    let (width, pointer) = (8_usize, bytes.as_ptr());

    // Integers of all sizes, up to 128 bits, in all bases.
    blog_log!(
        SAMPLE,
        "{} {:+} {:#x} {:#010b} {:o} {:e}",
        1_u8,
        -2_i64,
        255,
        5_u16,
        8,
        1500
    );
    blog_log!(SAMPLE, "{0} {0:x} {1:>2$} {1:<width$}|", u128::MAX, 7, 4);

    // Strings are cut where a record (1023 bytes) ends; the cut is visible.
    blog_log!(
        SAMPLE,
        "{name} {name:?} {label} {:.*} {:^10}",
        3,
        "truncate",
        'c'
    );

    // Bytes: as Rust prints a slice, or as a dump.
    blog_log!(SAMPLE, "{:02x?} {}", bytes, Hex(bytes));

    // Addresses of anything.
    blog_log!(SAMPLE, "{pointer:p} {:p}", name.as_ptr());

    // Errors by name, `Option` and `Result` of anything that can be logged.
    let result: Result<u32> = Err(ENOSPC);
    blog_log!(SAMPLE, "{:?} {:?} {:?}", ENOMEM, result, Some("text"));

    // Addresses of networks; points and spans of time, in nanoseconds.
    let host = core::net::Ipv4Addr::new(192, 0, 2, 1);
    let mac = Mac([0x02, 0, 0x5e, 0x10, 0, 0xff]);
    blog_log!(SAMPLE, "{host} {mac}");
    let now = Instant::<Monotonic>::now();
    blog_log!(SAMPLE, "{} {}", now, Delta::from_millis(5));

    // Types of one's own; `{{` and `}}` are braces.
    blog_log!(
        SAMPLE,
        "{{{:?}}} {:#?}",
        Op::Discard(8),
        Op::Write { fua: true }
    );
}

// 5. A component for each device: with rings, files and settings of its own, which go when it is
// dropped.

/// An imaginary disk.
struct Disk {
    log: Instance,
    reads: u64,
}

impl Disk {
    fn new(name: &CStr, config: Config) -> Self {
        let log = SAMPLE.instance_with(name, config);
        blog_info!(log, "{name} is there");
        Self { log, reads: 0 }
    }

    fn submit(&mut self, request: &Request) -> Result {
        let sectors = check(request)?;
        if matches!(request.op, Op::Read) {
            self.reads += 1;
        }
        blog_log!(self.log, "{sectors} sectors, {} reads so far", self.reads);
        Ok(())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        blog_info!(self.log, "gone after {reads} reads", reads = self.reads);
    }
}

// 6. Contexts. What is logged here goes to the ring of the task that loads the module. In a
// softirq, a hard interrupt or an NMI the same calls go to a ring of the CPU.

struct RustBlog {
    _disks: [Disk; 2],
}

impl kernel::Module for RustBlog {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        blog_info!(SAMPLE, "built in: {}", !cfg!(MODULE));
        tour("näme\n", c"label", b"\x00BLog\xff");
        let mut sector = 0;
        while sector < 64 {
            sector = two_scalars(if sector == 0 { 512 } else { 4096 }, sector);
        }

        let flight_recorder = Config::new().size_kb(256).level(Level::Debug);
        let first_things = Config::new().size_kb(64).ring_kb(16).mode(Mode::Discard);
        let mut disks = [
            Disk::new(c"rust_blog_disk0", flight_recorder),
            Disk::new(c"rust_blog_disk1", first_things),
        ];
        for (i, disk) in (0_u64..).zip(&mut disks) {
            for op in [Op::Read, Op::Write { fua: i == 1 }, Op::Discard(64)] {
                let request = Request {
                    sector: 8 * i,
                    bytes: 4096,
                    op,
                    result: None,
                };
                disk.submit(&request)?;
            }
        }
        let odd = Request {
            sector: 0,
            bytes: 100,
            op: Op::Read,
            result: Some(0),
        };
        if let Err(e) = disks[0].submit(&odd) {
            blog_info!(SAMPLE, "refused, as it must be: {e:?}");
        }
        Ok(Self { _disks: disks })
    }
}

impl Drop for RustBlog {
    fn drop(&mut self) {
        blog_info!(SAMPLE, "bye");
    }
}
