// SPDX-License-Identifier: GPL-2.0

//! What glue.c offers, as safe functions.
//!
//! Used by all other files of this folder. Nothing here decides anything; a function says whether
//! it may be called from a log call (any context, NMI included) or only in process context.

use core::{
    mem,
    sync::atomic::{
        AtomicU64,
        AtomicU8,
        Ordering::Relaxed, //
    }, //
};
use kernel::{
    bindings,
    blog::{
        wire::{
            file::{
                ClockPair,
                BUILD_ID_MAX, //
            },
            record::Context, //
        },
        RawComponent,
        Site, //
    },
    fs::File,
    page::Page,
    prelude::*,
    sync::poll::PollTable, //
};

/// What stands behind `blog_clock_pair()` in glue.c.
#[repr(C)]
struct RawPair {
    clock: u64,
    mono: u64,
    boot: u64,
    real: u64,
}

unsafe extern "C" {
    safe static blog_clock_is_tsc: AtomicU8;
    safe fn blog_where() -> u32;
    safe fn blog_current() -> *mut c_void;
    safe fn blog_tls_lock() -> c_ulong;
    fn blog_tls_unlock(flags: c_ulong);
    #[cfg(CONFIG_JUMP_LABEL)]
    fn blog_key_set(key: *mut bindings::static_key, on: bool);
    safe fn blog_quiesce();
    fn blog_page_address(page: *mut c_void) -> *mut c_void;
    fn blog_crc32(crc: u32, p: *const u8, len: usize) -> u32;
    fn blog_uts(release: *mut u8, machine: *mut u8, host: *mut u8, size: usize);
    fn blog_random(buf: *mut u8, len: usize);
    safe fn blog_ram_kb() -> c_ulong;
    safe fn blog_param_max_kb() -> u32;
    fn blog_param_clock() -> *const c_char;
    safe fn blog_param_stalled_secs() -> u32;
    safe fn blog_param_stuck_hint() -> bool;
    fn blog_tsc_quality(khz: *mut u32) -> u32;
    safe fn blog_hz() -> u32;
    safe fn blog_clock_mono() -> u64;
    safe fn blog_clock_tsc() -> u64;
    fn blog_clock_pair(pair: *mut RawPair, tsc: bool);
    safe fn blog_tsc_unstable() -> bool;
    fn blog_start_sleep() -> c_int;
    fn blog_stop_sleep();
    safe fn blog_settle();
    fn blog_vmlinux(
        build_id: *mut *const u8,
        sites: *mut *const Site,
        components: *mut *const *const RawComponent,
        components_len: *mut u32,
    ) -> u32;
    fn blog_is_within(module: *const bindings::module, p: *const c_void) -> bool;
    fn blog_start_modules() -> c_int;
    fn blog_stop_modules();
    fn blog_may_open(file: *const c_void) -> c_int;
    safe fn blog_queue_worker();
    safe fn blog_cpu_online() -> bool;
    fn blog_start_detectors();
    fn blog_stop_detectors();
    fn blog_stop_worker();
    fn blog_stream_wait(count: *const u64, old: u64) -> c_int;
    fn blog_stream_poll_wait(
        file: *mut bindings::file,
        table: *mut bindings::poll_table_struct,
    ) -> bool;
    fn blog_queue_reap();
    safe fn blog_flush_reap();
    safe fn blog_wake_streams();
    fn blog_stop_streams();
}

// From the task_struct patch's hook.c.
unsafe extern "C" {
    fn blog_register_task_hook(f: unsafe extern "C" fn(*mut bindings::task_struct)) -> c_int;
    fn blog_unregister_task_hook();
}

/// Whether log calls may read the rings' clock themselves: as the TSC. Any context.
pub(crate) fn clock_is_tsc() -> bool {
    blog_clock_is_tsc.load(Relaxed) != 0
}

/// Says whether they may: see [`crate::sys::clock`].
pub(crate) fn set_clock_is_tsc(tsc: bool) {
    blog_clock_is_tsc.store(u8::from(tsc), Relaxed);
}

/// Reads the TSC, or the monotonic clock. Any context.
pub(crate) fn raw_clock(tsc: bool) -> u64 {
    if tsc {
        blog_clock_tsc()
    } else {
        blog_clock_mono()
    }
}

/// All clocks at this instant; as `clock`, the TSC or the monotonic one as it is. Any context but
/// an NMI.
pub(crate) fn raw_pair(tsc: bool) -> ClockPair {
    let mut raw = RawPair {
        clock: 0,
        mono: 0,
        boot: 0,
        real: 0,
    };
    // SAFETY: The place is as large as the C side's.
    unsafe { blog_clock_pair(&mut raw, tsc) };
    ClockPair {
        clock: raw.clock,
        mono: raw.mono,
        boot: raw.boot,
        real: raw.real,
    }
}

/// Whether the kernel has found out that the TSC can't be trusted. Any context.
pub(crate) fn tsc_is_unstable() -> bool {
    blog_tsc_unstable()
}

/// Has the clock told when the machine sleeps. Process context.
pub(crate) fn start_sleep() -> Result {
    // SAFETY: No requirements.
    kernel::error::to_result(unsafe { blog_start_sleep() })
}

/// Undoes [`start_sleep`]. Process context.
pub(crate) fn stop_sleep() {
    // SAFETY: No requirements.
    unsafe { blog_stop_sleep() };
}

/// Has [`crate::sys::clock`] told when all log calls that are running now are over. Any context
/// that may queue work.
pub(crate) fn settle() {
    blog_settle();
}

/// What the TSC is worth, and its rate in kHz: see [`crate::clock`]. Process context.
pub(crate) fn tsc_quality() -> (u32, u32) {
    let mut khz = 0;
    // SAFETY: `khz` is valid for a write.
    let quality = unsafe { blog_tsc_quality(&mut khz) };
    (quality, khz)
}

/// Jiffies in a second. (`bindings::HZ` is what user space is told.)
pub(crate) fn hz() -> u32 {
    blog_hz()
}

/// Where the caller runs, and on which CPU (which in a task may be another one already). Any
/// context.
pub(crate) fn here() -> (Context, u32) {
    let here = blog_where();
    let context = Context::from_u8(here as u8).unwrap_or(Context::Nmi);
    (context, here >> 8)
}

/// The current task. Any context.
pub(crate) fn current() -> *mut bindings::task_struct {
    blog_current().cast()
}

/// Holds the lock of the task tables: interrupts are off until it is dropped.
pub(crate) struct TlsGuard {
    flags: c_ulong,
    _not_send: kernel::types::NotThreadSafe,
}

/// Takes the lock of the task tables. Any context but NMI, and not from a log call.
pub(crate) fn lock_tls() -> TlsGuard {
    TlsGuard {
        flags: blog_tls_lock(),
        _not_send: kernel::types::NotThreadSafe,
    }
}

impl Drop for TlsGuard {
    fn drop(&mut self) {
        // SAFETY: The guard is there, so the lock is held, with these flags.
        unsafe { blog_tls_unlock(self.flags) };
    }
}

/// Switches a static key. Process context.
///
/// # Safety
///
/// `key` must be valid.
#[cfg(CONFIG_JUMP_LABEL)]
pub(crate) unsafe fn set_key(key: *mut bindings::static_key, on: bool) {
    // SAFETY: By this function's requirement.
    unsafe { blog_key_set(key, on) };
}

/// Waits until all log calls that run now have ended. Process context.
pub(crate) fn quiesce() {
    blog_quiesce();
}

/// The address of a page's memory. Any context.
pub(crate) fn page_address(page: &Page) -> *mut c_void {
    // SAFETY: `page` is valid; there is no high memory on 64-bit machines.
    unsafe { blog_page_address(page.as_ptr().cast()) }
}

/// Goes on with a CRC-32 (start with 0).
pub(crate) fn crc32(crc: u32, bytes: &[u8]) -> u32 {
    // SAFETY: The slice is valid for its length.
    unsafe { blog_crc32(crc, bytes.as_ptr(), bytes.len()) }
}

/// `uname -r`, `-m` and `-n`, NUL padded.
pub(crate) fn uts() -> [[u8; 64]; 3] {
    let mut names = [[0; 64]; 3];
    let [release, machine, host] = &mut names;
    // SAFETY: All three are valid for 64 bytes.
    unsafe {
        blog_uts(
            release.as_mut_ptr(),
            machine.as_mut_ptr(),
            host.as_mut_ptr(),
            64,
        )
    };
    names
}

/// A random number.
pub(crate) fn random() -> [u8; 16] {
    let mut buf = [0; 16];
    // SAFETY: `buf` is valid for its length.
    unsafe { blog_random(buf.as_mut_ptr(), buf.len()) };
    buf
}

/// The machine's memory, in KiB.
pub(crate) fn ram_kb() -> usize {
    blog_ram_kb()
}

/// The limit for all that BLog takes, in KiB.
pub(crate) fn max_kb() -> u32 {
    match blog_param_max_kb() {
        0 => u32::try_from(ram_kb() / 8).unwrap_or(u32::MAX),
        kb => kb,
    }
}

/// The value of the parameter `clock`.
pub(crate) fn param_clock() -> &'static CStr {
    // SAFETY: The parameter is a C string that doesn't change once BLog starts.
    unsafe { CStr::from_char_ptr(blog_param_clock()) }
}

/// The value of the parameter `stalled_secs`.
pub(crate) fn param_stalled_secs() -> u32 {
    blog_param_stalled_secs()
}

/// The value of the parameter `stuck_hint`. Any context.
pub(crate) fn param_stuck_hint() -> bool {
    blog_param_stuck_hint()
}

/// What is built in.
pub(crate) struct Vmlinux {
    /// Build ID, where vmlinux has sites or components.
    pub(crate) build_id: [u8; BUILD_ID_MAX],
    /// Its sites.
    pub(crate) sites: *const Site,
    /// Their number.
    pub(crate) sites_len: u32,
    /// Its components.
    pub(crate) components: *const *const RawComponent,
    /// Their number.
    pub(crate) components_len: u32,
}

/// What is built in; empty where BLog is a module.
pub(crate) fn vmlinux() -> Vmlinux {
    let mut vmlinux = Vmlinux {
        build_id: [0; BUILD_ID_MAX],
        sites: core::ptr::null(),
        sites_len: 0,
        components: core::ptr::null(),
        components_len: 0,
    };
    let mut build_id = core::ptr::null();
    // SAFETY: All are valid for a write.
    vmlinux.sites_len = unsafe {
        blog_vmlinux(
            &mut build_id,
            &mut vmlinux.sites,
            &mut vmlinux.components,
            &mut vmlinux.components_len,
        )
    };
    if !build_id.is_null() {
        // SAFETY: The kernel's own build ID has this size.
        vmlinux.build_id = unsafe { build_id.cast::<[u8; BUILD_ID_MAX]>().read() };
    }
    vmlinux
}

/// Whether something is in the memory of a module.
///
/// # Safety
///
/// The module is there.
pub(crate) unsafe fn is_within(module: *const bindings::module, p: *const c_void) -> bool {
    // SAFETY: By this function's requirement.
    unsafe { blog_is_within(module, p) }
}

/// Starts to tell [`crate::registry`] about modules.
pub(crate) fn start_modules() -> Result {
    // SAFETY: What the notifier calls is ready.
    kernel::error::to_result(unsafe { blog_start_modules() })
}

/// Ends that; no call runs any more on return.
pub(crate) fn stop_modules() {
    // SAFETY: Was started.
    unsafe { blog_stop_modules() };
}

/// Whether who opens a file may see kernel addresses, too. `EPERM`: he may not open it. Process
/// context.
pub(crate) fn may_open(file: &File) -> Result<bool> {
    // SAFETY: The file is valid.
    let may = unsafe { blog_may_open(file.as_ptr().cast()) };
    kernel::error::to_result(may)?;
    Ok(may != 0)
}

/// Starts to call `blog_task_stuck` for tasks that the kernel reports.
pub(crate) fn start_detectors() {
    // SAFETY: What they call is ready.
    unsafe { blog_start_detectors() };
}

/// Ends that; no call runs any more on return.
pub(crate) fn stop_detectors() {
    // SAFETY: Were started.
    unsafe { blog_stop_detectors() };
}

/// Has `blog_work` called soon, and then when it says. Any context.
pub(crate) fn queue_worker() {
    blog_queue_worker();
}

/// Ends that; no call runs any more on return. Process context.
pub(crate) fn stop_worker() {
    // SAFETY: No requirements but the context.
    unsafe { blog_stop_worker() };
}

/// Whether the CPU that the caller is on takes interrupts. Any context.
pub(crate) fn cpu_online() -> bool {
    blog_cpu_online()
}

/// Has `f` called for each task that is freed and has a table.
///
/// # Safety
///
/// `f` must be callable until [`unregister_task_hook`] returns.
pub(crate) unsafe fn register_task_hook(
    f: unsafe extern "C" fn(*mut bindings::task_struct),
) -> Result {
    // SAFETY: By this function's requirement.
    kernel::error::to_result(unsafe { blog_register_task_hook(f) })
}

/// Ends that; no call runs any more on return.
pub(crate) fn unregister_task_hook() {
    // SAFETY: Was registered.
    unsafe { blog_unregister_task_hook() };
}

/// Waits until `count` isn't `old`, or a signal comes. Process context.
pub(crate) fn wait_for_stream(count: &AtomicU64, old: u64) -> Result {
    // SAFETY: The count is there during the call, and only read as a whole.
    kernel::error::to_result(unsafe { blog_stream_wait(count.as_ptr(), old) })
}

/// Has whoever polls `file` looked for when there is news; returns whether rings were not looked at
/// lately.
pub(crate) fn poll_stream(file: &File, table: PollTable<'_>) -> bool {
    // SAFETY: It is nothing but the pointer.
    let table = unsafe { mem::transmute::<PollTable<'_>, *mut bindings::poll_table_struct>(table) };
    // SAFETY: Both are valid, or the table is null; the wait queue is static, and files that are
    // open keep the module.
    unsafe { blog_stream_poll_wait(file.as_ptr(), table) }
}

/// Lets who waits for a stream look again. Process context.
pub(crate) fn wake_streams() {
    blog_wake_streams();
}

/// Has `blog_reap` called soon. Any context that may take an ordinary lock.
pub(crate) fn queue_reap() {
    // SAFETY: What it calls is ready.
    unsafe { blog_queue_reap() };
}

/// Waits until it was called, if that is due. Process context.
pub(crate) fn flush_reap() {
    blog_flush_reap();
}

/// Ends the calls of `blog_stream_tick`; none runs any more on return. No stream is open.
pub(crate) fn stop_streams() {
    // SAFETY: No requirements but the context.
    unsafe { blog_stop_streams() };
}
