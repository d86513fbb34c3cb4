// SPDX-License-Identifier: GPL-2.0

//! What glue.c offers, as safe functions.
//!
//! Used by all other files of this folder. Nothing here decides anything; a function says whether
//! it may be called from a log call (any context, NMI included) or only in process context.

use core::sync::atomic::{
    AtomicU8,
    Ordering::Relaxed, //
};
use kernel::{
    bindings,
    blog::{
        record::Context,
        snapshot::{
            ClockPair,
            BUILD_ID_MAX, //
        },
        RawComponent,
        Site, //
    },
    page::Page,
    prelude::*, //
};

/// What stands behind `blog_clock_pair()` in glue.c.
#[repr(C)]
struct RawPair {
    clock: u64,
    mono: u64,
    boot: u64,
    real: u64,
}

extern "C" {
    static blog_clock_is_tsc: AtomicU8;
    fn blog_where() -> u32;
    fn blog_current() -> *mut c_void;
    fn blog_tls_lock() -> c_ulong;
    fn blog_tls_unlock(flags: c_ulong);
    #[cfg(CONFIG_JUMP_LABEL)]
    fn blog_key_set(key: *mut bindings::static_key, on: bool);
    fn blog_quiesce();
    fn blog_page_address(page: *mut c_void) -> *mut c_void;
    fn blog_crc32(crc: u32, p: *const u8, len: usize) -> u32;
    fn blog_uts(release: *mut u8, machine: *mut u8, host: *mut u8, size: usize);
    fn blog_random(buf: *mut u8, len: usize);
    fn blog_ram_kb() -> c_ulong;
    fn blog_param_max_kb() -> u32;
    fn blog_param_clock() -> *const c_char;
    fn blog_param_stalled_secs() -> u32;
    fn blog_param_stuck_hint() -> bool;
    fn blog_tsc_quality(khz: *mut u32) -> u32;
    fn blog_hz() -> u32;
    fn blog_clock_mono() -> u64;
    fn blog_clock_tsc() -> u64;
    fn blog_clock_pair(pair: *mut RawPair);
    fn blog_vmlinux(
        build_id: *mut *const u8,
        sites: *mut *const Site,
        components: *mut *const *const RawComponent,
        components_len: *mut u32,
    ) -> u32;
    fn blog_start_modules() -> c_int;
    fn blog_stop_modules();
    fn blog_start_worker();
    fn blog_stop_worker();
    fn blog_create_text(
        name: *const c_char,
        mode: u16,
        dir: *mut c_void,
        data: *mut c_void,
        kind: u32,
    );
    fn blog_create_snapshot(name: *const c_char, dir: *mut c_void, data: *mut c_void);
    fn blog_create_stream(name: *const c_char, dir: *mut c_void, data: *mut c_void);
    fn blog_signal_pending() -> bool;
    fn blog_wake_streams();
    fn blog_stop_streams();
}

// From the task_struct patch's hook.c.
extern "C" {
    fn blog_register_task_hook(f: unsafe extern "C" fn(*mut bindings::task_struct)) -> c_int;
    fn blog_unregister_task_hook();
    fn blog_set_stuck_hook(f: Option<unsafe extern "C" fn(*mut bindings::task_struct)>);
}

/// Whether the rings' clock is the TSC. Any context.
pub(crate) fn clock_is_tsc() -> bool {
    // SAFETY: A static of glue.c, only accessed atomically from Rust.
    unsafe { blog_clock_is_tsc.load(Relaxed) != 0 }
}

/// Chooses the rings' clock. Only before anything can log.
pub(crate) fn set_clock_is_tsc(tsc: bool) {
    // SAFETY: As above.
    unsafe { blog_clock_is_tsc.store(u8::from(tsc), Relaxed) };
}

/// Reads the rings' clock. Any context.
pub(crate) fn clock() -> u64 {
    if clock_is_tsc() {
        // SAFETY: No requirements.
        unsafe { blog_clock_tsc() }
    } else {
        // SAFETY: No requirements.
        unsafe { blog_clock_mono() }
    }
}

/// All clocks at this instant. Process context.
pub(crate) fn clock_pair() -> ClockPair {
    let mut raw = RawPair {
        clock: 0,
        mono: 0,
        boot: 0,
        real: 0,
    };
    // SAFETY: `raw` has the layout that the function stores.
    unsafe { blog_clock_pair(&mut raw) };
    ClockPair {
        clock: raw.clock,
        mono: raw.mono,
        boot: raw.boot,
        real: raw.real,
    }
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
    // SAFETY: No requirements.
    unsafe { blog_hz() }
}

/// Where the caller runs, and on which CPU (which in a task may be another one already). Any
/// context.
pub(crate) fn here() -> (Context, u32) {
    // SAFETY: No requirements.
    let here = unsafe { blog_where() };
    let context = Context::from_u8(here as u8).unwrap_or(Context::Nmi);
    (context, here >> 8)
}

/// The current task. Any context.
pub(crate) fn current() -> *mut bindings::task_struct {
    // SAFETY: No requirements.
    unsafe { blog_current() }.cast()
}

/// Holds the lock of the task tables: interrupts are off until it is dropped.
pub(crate) struct TlsGuard {
    flags: c_ulong,
    _not_send: kernel::types::NotThreadSafe,
}

/// Takes the lock of the task tables. Any context but NMI, and not from a log call.
pub(crate) fn lock_tls() -> TlsGuard {
    TlsGuard {
        // SAFETY: The lock is a leaf: nothing under it takes it again.
        flags: unsafe { blog_tls_lock() },
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
    // SAFETY: No requirements but the context.
    unsafe { blog_quiesce() };
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

/// The limit for all components' pages, in KiB.
pub(crate) fn max_kb() -> u32 {
    // SAFETY: No requirements.
    match unsafe { blog_param_max_kb() } {
        // SAFETY: No requirements.
        0 => u32::try_from(unsafe { blog_ram_kb() } / 8).unwrap_or(u32::MAX),
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
    // SAFETY: No requirements.
    unsafe { blog_param_stalled_secs() }
}

/// The value of the parameter `stuck_hint`. Any context.
pub(crate) fn param_stuck_hint() -> bool {
    // SAFETY: No requirements.
    unsafe { blog_param_stuck_hint() }
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

/// Starts to call `blog_work` now and then.
pub(crate) fn start_worker() {
    // SAFETY: What it calls is ready.
    unsafe { blog_start_worker() };
}

/// Ends that; no call runs any more on return.
pub(crate) fn stop_worker() {
    // SAFETY: No requirements but the context.
    unsafe { blog_stop_worker() };
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

/// Has `f` called for each task that a detector has reported as stuck, or with `None` ends that: no
/// call runs any more on return.
///
/// # Safety
///
/// `f` must be callable until then.
pub(crate) unsafe fn set_stuck_hook(f: Option<unsafe extern "C" fn(*mut bindings::task_struct)>) {
    // SAFETY: By this function's requirement.
    unsafe { blog_set_stuck_hook(f) };
}

/// Makes a text file: `kind` and `data` go to `blog_text_show` and `blog_text_write`.
///
/// # Safety
///
/// `dir` must be a debugfs directory (or an error pointer), and `data` be what these functions
/// expect for `kind`, until the file is removed.
pub(crate) unsafe fn create_text(
    name: &CStr,
    mode: u16,
    dir: *mut bindings::dentry,
    data: *mut c_void,
    kind: u32,
) {
    // SAFETY: By this function's requirements.
    unsafe { blog_create_text(name.as_char_ptr(), mode, dir.cast(), data, kind) };
}

/// Makes a snapshot file: `data` goes to `blog_snapshot_open`.
///
/// # Safety
///
/// As for [`create_text`].
pub(crate) unsafe fn create_snapshot(name: &CStr, dir: *mut bindings::dentry, data: *mut c_void) {
    // SAFETY: By this function's requirements.
    unsafe { blog_create_snapshot(name.as_char_ptr(), dir.cast(), data) };
}

/// Makes a stream file: `data` goes to `blog_stream_open`.
///
/// # Safety
///
/// As for [`create_text`].
pub(crate) unsafe fn create_stream(name: &CStr, dir: *mut bindings::dentry, data: *mut c_void) {
    // SAFETY: By this function's requirements.
    unsafe { blog_create_stream(name.as_char_ptr(), dir.cast(), data) };
}

/// Whether the current task should return to user mode soon. Process context.
pub(crate) fn signal_pending() -> bool {
    // SAFETY: No requirements.
    unsafe { blog_signal_pending() }
}

/// Lets who waits for a stream look again. Process context.
pub(crate) fn wake_streams() {
    // SAFETY: No requirements.
    unsafe { blog_wake_streams() };
}

/// Ends the calls of `blog_stream_tick`; none runs any more on return. No stream is open.
pub(crate) fn stop_streams() {
    // SAFETY: No requirements but the context.
    unsafe { blog_stop_streams() };
}
