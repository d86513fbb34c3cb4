// SPDX-License-Identifier: GPL-2.0

//! What the C files of this folder offer, and what bindings have without an abstraction, as safe
//! functions.
//!
//! Used by all other files of this folder. Nothing here decides anything; a function says whether
//! it may be called from a log call (any context, NMI included) or only in process context.

use core::{
    mem,
    ptr::NonNull, //
};
use kernel::{
    bindings,
    blog::{
        wire::file::BUILD_ID_MAX,
        RawComponent,
        Site, //
    },
    error::to_result,
    fs::File,
    page::PAGE_SIZE,
    prelude::*,
    sync::poll::PollTable,
    time::msecs_to_jiffies, //
};

unsafe extern "C" {
    // call.c
    fn blog_string_length(s: *const u8, max: usize) -> c_long;
    fn blog_copy_nofault(dst: *mut u8, src: *const u8, size: usize) -> bool;
    fn blog_text(kind: u32, object: *const c_void, dst: *mut u8, size: usize) -> c_long;

    // hook.c
    fn blog_may_open(file: *const c_void) -> c_int;
    fn blog_start_hooks(f: unsafe extern "C" fn(*mut bindings::task_struct)) -> c_int;
    fn blog_stop_hooks();

    // machine.c
    fn blog_uts(release: *mut u8, machine: *mut u8, host: *mut u8, size: usize);
    fn blog_file_name(file: *const c_void) -> *const c_char;

    // modules.c
    fn blog_start_modules() -> c_int;
    fn blog_stop_modules();

    // pages.c
    safe fn blog_pages_alloc(count: u32) -> *mut c_void;
    fn blog_pages_free(pages: *mut c_void);

    // params.c
    safe fn blog_param_max_kb() -> u32;
    fn blog_param_clock() -> *const c_char;

    // quiesce.c
    safe fn blog_quiesce();

    // waiters.c
    safe fn blog_waiter_new() -> *mut c_void;
    fn blog_waiter_free(waiter: *mut c_void);
    fn blog_waiter_poll(waiter: *mut c_void, file: *mut c_void, table: *mut c_void) -> bool;
    fn blog_waiter_wake_in(waiter: *mut c_void, ms: u32);
    safe fn blog_sleep(ms: u32) -> bool;

    // work.c
    safe fn blog_start_worker();
    safe fn blog_stop_worker();
    safe fn blog_queue_reap();
    safe fn blog_flush_reap();
    safe fn blog_stop_reap();

    // lib/crc/
    fn crc32_le(crc: u32, p: *const c_void, len: usize) -> u32;
}

/// Jiffies in a second. (`bindings::HZ` is what user space is told.)
pub(crate) fn hz() -> u32 {
    msecs_to_jiffies(1000) as u32
}

/// Switches a static key. Process context.
///
/// # Safety
///
/// `key` must be valid.
#[cfg(CONFIG_JUMP_LABEL)]
pub(crate) unsafe fn set_key(key: *mut bindings::static_key, on: bool) {
    // SAFETY: By this function's requirement.
    unsafe {
        match on {
            true => bindings::static_key_enable(key),
            false => bindings::static_key_disable(key),
        }
    }
}

/// Waits until all log calls that run now have ended. Process context.
pub(crate) fn quiesce() {
    blog_quiesce();
}

/// Goes on with a CRC-32 as in zlib (start with 0).
pub(crate) fn crc32(crc: u32, bytes: &[u8]) -> u32 {
    // SAFETY: The slice is valid for its length.
    !unsafe { crc32_le(!crc, bytes.as_ptr().cast(), bytes.len()) }
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

/// The last part of an open file's path, of a file in debugfs. Process context.
pub(crate) fn file_name(file: &File) -> &CStr {
    // SAFETY: The file is valid; it keeps its name, which nobody changes.
    unsafe { CStr::from_char_ptr(blog_file_name(file.as_ptr().cast())) }
}

/// 16 random bytes.
pub(crate) fn random() -> [u8; 16] {
    let mut buf = [0; 16];
    // SAFETY: `buf` is valid for its length.
    unsafe { bindings::get_random_bytes(buf.as_mut_ptr().cast(), buf.len()) };
    buf
}

/// The machine's memory, in KiB.
pub(crate) fn ram_kb() -> usize {
    // SAFETY: It is there, and one word.
    let pages = unsafe { (&raw const bindings::_totalram_pages.counter).read_volatile() };
    pages as usize * (PAGE_SIZE / 1024)
}

/// The highest limit where none is set, in KiB.
const MOST_KB: u32 = 1 << 20;

/// The limit for all that BLog takes, in KiB.
pub(crate) fn max_kb() -> u32 {
    match blog_param_max_kb() {
        0 => u32::try_from(ram_kb() / 8).map_or(MOST_KB, |kb| kb.min(MOST_KB)),
        kb => kb,
    }
}

/// The value of the parameter `clock`.
pub(crate) fn param_clock() -> &'static CStr {
    // SAFETY: The parameter is a C string that doesn't change once BLog starts.
    unsafe { CStr::from_char_ptr(blog_param_clock()) }
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

/// What is built in. Empty where BLog is a module: what is built in can't call it.
pub(crate) fn vmlinux() -> Vmlinux {
    #[cfg(MODULE)]
    return Vmlinux {
        build_id: [0; BUILD_ID_MAX],
        sites: core::ptr::null(),
        sites_len: 0,
        components: core::ptr::null(),
        components_len: 0,
    };
    #[cfg(not(MODULE))]
    {
        // From the linker script.
        unsafe extern "C" {
            static __start_blog_sites: Site;
            static __stop_blog_sites: Site;
            static __start_blog_components: *const RawComponent;
            static __stop_blog_components: *const RawComponent;
        }
        fn len<T>(start: *const T, stop: *const T) -> u32 {
            ((stop.addr() - start.addr()) / size_of::<T>()) as u32
        }
        let (sites, components) = (
            &raw const __start_blog_sites,
            &raw const __start_blog_components,
        );
        Vmlinux {
            // SAFETY: It is there, and doesn't change.
            build_id: unsafe { (&raw const bindings::vmlinux_build_id).read() },
            sites,
            sites_len: len(sites, &raw const __stop_blog_sites),
            components,
            components_len: len(components, &raw const __stop_blog_components),
        }
    }
}

/// Whether something is in the memory of a module.
///
/// # Safety
///
/// The module is there.
pub(crate) unsafe fn is_within(module: *const bindings::module, p: *const c_void) -> bool {
    // SAFETY: By this function's requirement.
    unsafe { bindings::blog_within_module(p as c_ulong, module) }
}

/// Starts to tell [`crate::registry`] about modules.
pub(crate) fn start_modules() -> Result {
    // SAFETY: What the notifier calls is ready.
    to_result(unsafe { blog_start_modules() })
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
    to_result(may)?;
    Ok(may != 0)
}

/// Has `blog_work` called about once a second. Process context.
pub(crate) fn start_worker() {
    blog_start_worker();
}

/// Ends that; no call runs any more on return. Process context.
pub(crate) fn stop_worker() {
    blog_stop_worker();
}

/// Starts what the core kernel calls: `f` for each task that is freed and has a table, and the
/// freeze at a crash.
///
/// # Safety
///
/// `f` must be callable until [`stop_hooks`] returns.
pub(crate) unsafe fn start_hooks(f: unsafe extern "C" fn(*mut bindings::task_struct)) -> Result {
    // SAFETY: By this function's requirement.
    to_result(unsafe { blog_start_hooks(f) })
}

/// Ends that; no call runs any more on return.
pub(crate) fn stop_hooks() {
    // SAFETY: Was registered.
    unsafe { blog_stop_hooks() };
}

/// Who waits in `poll` for what an open file will have.
///
/// # Invariants
///
/// It is what `blog_waiter_new` has made, which is this one's alone.
pub(crate) struct Waiter(NonNull<c_void>);

// SAFETY: It may be freed by any task, in process context.
unsafe impl Send for Waiter {}
// SAFETY: All that is done by a reference takes the locks of a wait queue and a work.
unsafe impl Sync for Waiter {}

impl Waiter {
    /// Of a file that is being opened.
    pub(crate) fn new() -> Result<Self> {
        // INVARIANT: It was just made.
        NonNull::new(blog_waiter_new()).map(Self).ok_or(ENOMEM)
    }

    /// Puts whoever polls `file` in the wait queue; returns whether anybody is going to wait.
    /// `file` must be the one that this is of.
    pub(crate) fn poll(&self, file: &File, table: PollTable<'_>) -> bool {
        // SAFETY: It is nothing but the pointer.
        let table = unsafe { mem::transmute::<PollTable<'_>, *mut c_void>(table) };
        // SAFETY: By the type invariants; both others are valid, or the table is null.
        unsafe { blog_waiter_poll(self.0.as_ptr(), file.as_ptr().cast(), table) }
    }

    /// Lets whoever is in the wait queue look again after that time.
    pub(crate) fn wake_in(&self, ms: u32) {
        // SAFETY: By the type invariants.
        unsafe { blog_waiter_wake_in(self.0.as_ptr(), ms) };
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        // SAFETY: By the type invariants, and the file is closed, so nobody waits any more.
        unsafe { blog_waiter_free(self.0.as_ptr()) };
    }
}

/// Sleeps so long; an error, where a signal comes first. Process context.
pub(crate) fn sleep(ms: u32) -> Result {
    match blog_sleep(ms) {
        true => Ok(()),
        false => Err(ERESTARTSYS),
    }
}

/// Has `blog_reap` called soon. Any context that may take an ordinary lock.
pub(crate) fn queue_reap() {
    blog_queue_reap();
}

/// Waits until it was called, if that is due. Process context.
pub(crate) fn flush_reap() {
    blog_flush_reap();
}

/// Ends that: no call runs any more on return, when nothing is left that it could free. Process
/// context.
pub(crate) fn stop_reap() {
    blog_stop_reap();
}

/// Pages of zeroes whose addresses follow each other; null where there are none. Process context.
pub(crate) fn alloc_pages(count: u32) -> *mut c_void {
    blog_pages_alloc(count)
}

/// Frees them.
///
/// # Safety
///
/// They are of [`alloc_pages`], and nobody uses them any more.
pub(crate) unsafe fn free_pages(pages: *mut u8) {
    // SAFETY: By this function's requirement.
    unsafe { blog_pages_free(pages.cast()) };
}

/// Length of the string at `address`, of which `max` bytes at most are looked at. `None`: it can't
/// be read. For log calls.
pub(crate) fn string_length(address: u64, max: usize) -> Option<usize> {
    // SAFETY: It reads what there is, whatever the address.
    let len = unsafe { blog_string_length(address as *const u8, max) };
    usize::try_from(len).ok()
}

/// What an object is called, of a kind of `wire/pack.rs`: stores at most `size` bytes, and returns
/// how many there are. `None`: it can't be read. For log calls.
///
/// # Safety
///
/// `dst` is valid for writes of `size` bytes.
pub(crate) unsafe fn text(kind: u8, address: u64, dst: *mut u8, size: usize) -> Option<usize> {
    // SAFETY: By this function's requirement; and it reads what there is, whatever the address.
    let len = unsafe { blog_text(kind.into(), address as *const c_void, dst, size) };
    usize::try_from(len).ok()
}

/// Copies memory; false where it can't be read. For log calls.
///
/// # Safety
///
/// `dst` is valid for writes of `size` bytes.
pub(crate) unsafe fn copy_nofault(address: u64, dst: *mut u8, size: usize) -> bool {
    // SAFETY: By this function's requirement; and it reads what there is, whatever the address.
    unsafe { blog_copy_nofault(dst, address as *const u8, size) }
}
