// SPDX-License-Identifier: GPL-2.0

//! Probes: records of functions and tracepoints of the kernel, which nobody has written calls for.
//!
//! A user writes what is to be recorded to a component's file `probes`, as `parse.rs` reads it. A
//! probe has a site, an image of one site, with the side table that came with it: readers get that
//! with the records. At a hit, [`blog_probe_hit`] writes a record to the component, in the context
//! that runs there. Hits that made no call are counted as lost.
//!
//! # Locks
//!
//! One lock protects the list, and is held while the kernel hooks or unhooks code, which may take
//! long. To add a probe takes the component's control, and so does detaching a component. The end
//! of a dynamic component doesn't; but its driver's side is in its state, which a probe keeps.

use core::sync::atomic::AtomicUsize;
use kernel::{
    blog::{
        wire::{
            file::BUILD_ID_MAX,
            pack::Codes,
            record::{
                Lost,
                LEN_BITS,
                SITE_ADDRESS, //
            },
            types::MAX_ARGS, //
        },
        Level,
        RawComponent,
        Site, //
    },
    error::from_err_ptr,
    sync, //
};

mod parse;

kunit! { mod tests; }

use self::parse::{
    Base,
    Definition,
    Fetch,
    HookKind,
    WORDS, //
};
use crate::{
    floor,
    parts::ccall,
    registry::{
        self,
        state::{
            State,
            MISSED, //
        },
    },
    sys::{
        glue,
        prelude::*, //
    },
    tasks, //
};

pub(crate) static PART: floor::Part = floor::Part {
    start,
    event: |event| {
        if let floor::Event::Detaches(state) | floor::Event::Gone(state) = event {
            PROBES.lock().remove(state, |_| true);
        }
    },
    files: &[floor::FileOf {
        name: c"probes",
        show: Some(show),
        write: Some(|state, text| {
            let result = change(state, text);
            floor::event(floor::Event::Images);
            result
        }),
        ..floor::FileOf::NONE
    }],
    ..floor::Part::NONE
};

/// The name of images that probes are.
const IMAGE: &[u8] = b"probe";
/// The most probes of a component.
const MOST: usize = 64;
/// A side table's magic and header, and in that the size of it all and of the build ID, and that.
const TABLE_MAGIC: &[u8] = b"BLOGFMT\0";
const TABLE_HEADER: usize = 80;
const TABLE_SIZE: usize = 16;
const TABLE_ID_LEN: usize = 32;
const TABLE_ID: usize = 36;

unsafe extern "C" {
    // hits.c
    fn blog_hook_start(
        kind: HookKind,
        symbol: *const u8,
        len: usize,
        offset: u32,
        words: u32,
        target: *const c_void,
    ) -> *mut c_void;
    fn blog_hook_missed(hook: NonNull<c_void>) -> u64;
    fn blog_hook_stop(hook: NonNull<c_void>) -> u64;
}

/// What a hit needs.
///
/// # Invariants
///
/// `raw` is the side of a component that is connected, or a dynamic one's own. `codes` are of
/// numbers and strings, as many as there are fetches.
struct Target {
    raw: *const RawComponent,
    /// One.
    site: [Site; 1],
    /// What is added to its id: 1 for a warning or an error.
    warns: u32,
    fetches: [Fetch; MAX_ARGS],
    codes: Codes,
}

/// A probe.
///
/// # Invariants
///
/// `hook` is a running one of `blog_hook_start`, and hits `target`.
struct Probe {
    hook: NonNull<c_void>,
    /// How many of the hook's misses are counted.
    counted: u64,
    target: KBox<Target>,
    state: sync::Arc<State>,
    /// As it was written.
    line: KVec<u8>,
}

// SAFETY: It belongs to no thread: a hit may come anywhere.
unsafe impl Send for Probe {}

impl Probe {
    fn is_of(&self, state: &State) -> bool {
        ptr::eq(&*self.state, state)
    }

    fn site(&self) -> u32 {
        let [site] = &self.target.site;
        site.id()
    }

    /// Hits that made no record.
    fn missed(&self) -> u64 {
        // SAFETY: By the type invariants.
        unsafe { blog_hook_missed(self.hook) }
    }

    /// Counts misses as lost, of which there are `missed` in all, but for those that were counted.
    fn count_missed(&mut self, missed: u64) {
        self.state
            .count_lost(Lost::Nested, missed.saturating_sub(self.counted));
        self.counted = missed;
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        // SAFETY: By the type invariants; nobody uses it again. No hit runs on return.
        let missed = unsafe { blog_hook_stop(self.hook) };
        self.count_missed(missed);
        let site = self.target.site.as_ptr();
        registry::with_images(|images| images.remove(|first| ptr::eq(first, site.cast())));
    }
}

struct Probes(KVec<Probe>);

sync::global_lock! {
    // SAFETY: `start` is called before anything else here.
    unsafe(uninit) static PROBES: Mutex<Probes> = Probes(KVec::new());
}

/// How many there are, for readers, who need not wait where there is none.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Makes the rest ready.
fn start() {
    // SAFETY: Called once, first.
    unsafe { PROBES.init() };
    MISSED.populate(count);
}

impl Probes {
    fn of<'a>(&'a mut self, state: &'a State) -> impl Iterator<Item = &'a mut Probe> {
        self.0.iter_mut().filter(move |probe| probe.is_of(state))
    }

    /// Removes those of a component that are meant; returns how many.
    fn remove(&mut self, state: &State, is_meant: impl Fn(&Probe) -> bool) -> usize {
        let before = self.0.len();
        self.0
            .retain(|probe| !probe.is_of(state) || !is_meant(probe));
        COUNT.store(self.0.len(), Relaxed);
        before - self.0.len()
    }

    fn add(&mut self, state: &sync::Arc<State>, text: &str) -> Result {
        let parsed = Definition::parse(text)?;
        if self.of(state).count() >= MOST {
            return Err(ENOSPC);
        }
        let (table, id) = side_table(parsed.table)?;
        let mut line = KVec::new();
        line.extend_from_slice(text.as_bytes(), GFP_KERNEL)?;
        let raw = state
            .read(|locked| locked.component().map(ptr::from_ref))
            .ok_or(ENODEV)?;
        // INVARIANT: It is connected; `PART` removes the probe first. The codes are those of the
        // fetches. A word of any function may be an address.
        let target = KBox::new(
            Target {
                raw,
                site: [Site::new(parsed.level, SITE_ADDRESS)],
                warns: (parsed.level as u8 <= Level::Warn as u8).into(),
                fetches: parsed.fetches,
                codes: parsed.codes,
            },
            GFP_KERNEL,
        )?;
        let symbol = parsed.symbol;
        // SAFETY: The symbol is valid for its length. The target stays where it is, until the probe
        // has stopped the hook; and it takes no more words than that.
        let hook = unsafe {
            blog_hook_start(
                parsed.kind,
                symbol.as_ptr(),
                symbol.len(),
                parsed.offset,
                parsed.words as u32,
                ptr::from_ref(&*target).cast(),
            )
        };
        // INVARIANT: If it is no error, it runs.
        let new = Probe {
            hook: NonNull::new(from_err_ptr(hook)?).ok_or(ENOMEM)?,
            counted: 0,
            target,
            state: state.clone(),
            line,
        };
        self.0.reserve(1, GFP_KERNEL)?;
        // SAFETY: It stays until the probe has taken it out of the images.
        let site = unsafe { slice::from_raw_parts(new.target.site.as_ptr(), 1) };
        registry::with_images(|images| images.add_with_table(IMAGE, id, table, site))?;
        self.0.push(new, GFP_KERNEL)?;
        COUNT.store(self.0.len(), Relaxed);
        Ok(())
    }
}

unsafe extern "C" {
    // hits.c; any context
    safe fn blog_comm(task: *const c_void) -> *const u8;

    // lib/hexdump.c
    fn hex2bin(to: *mut u8, digits: *const c_char, bytes: usize) -> c_int;
}

/// Reads bytes in hex digits; `EINVAL` if these aren't two for each byte of `to`.
fn unhex(to: &mut [u8], digits: &str) -> Result {
    if digits.len() != 2 * to.len() {
        return Err(EINVAL);
    }
    // SAFETY: Both are valid for their length.
    to_result(unsafe { hex2bin(to.as_mut_ptr(), digits.as_ptr().cast(), to.len()) })
}

/// The bytes of a side table in hex digits, and its build ID.
fn side_table(digits: &str) -> Result<(VVec<u8>, [u8; BUILD_ID_MAX])> {
    let mut table = VVec::from_elem(0, digits.len() / 2, GFP_KERNEL)?;
    unhex(&mut table, digits)?;
    let word = |at: usize| Some(u32::from_le_bytes(*table.get(at..)?.first_chunk()?) as usize);
    let is_table = table.starts_with(TABLE_MAGIC)
        && table.len() >= TABLE_HEADER
        && word(TABLE_SIZE) == Some(table.len());
    let given = word(TABLE_ID_LEN).and_then(|len| table.get(TABLE_ID..)?.get(..len));
    let given = given.unwrap_or_default();
    let mut id = [0; BUILD_ID_MAX];
    glue::copy(&mut id, given);
    // One that is too long has another length here.
    let is_id = registry::images::build_id_len(&id) as usize == given.len() && !given.is_empty();
    match is_table && is_id {
        true => Ok((table, id)),
        false => Err(EINVAL),
    }
}

/// Adds a probe to a component, as it is written; or removes one: `-SITE`.
///
/// `EINVAL` for what isn't understood, `E2BIG` for more arguments or pointers than there may be,
/// `ENOSPC` for more probes; `ENOENT` if there is no such function, tracepoint or probe, `ENODEV`
/// if the component is detached, `EPERM` in a kernel that is locked down. Other errors are those of
/// the kernel for places that it can't probe.
fn change(state: &State, text: &str) -> Result {
    let text = text.trim_ascii();
    if text.contains('\n') {
        return Err(EINVAL);
    }
    let Some(site) = text.strip_prefix('-') else {
        let state = registry::by_id(state.id())?.ok_or(ENODEV)?;
        // Its driver's side stays until this is done.
        let _control = state.control();
        return PROBES.lock().add(&state, text);
    };
    let site = registry::parse::parse_number(site)?;
    let mut probes = PROBES.lock();
    match probes.remove(state, |probe| probe.site() == site) {
        0 => Err(ENOENT),
        _ => Ok(()),
    }
}

/// Lists a component's probes: the site of each, how often it missed a hit, and what was written.
fn show(state: &State, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for probe in PROBES.lock().of(state) {
        let (site, missed) = (probe.site(), probe.missed());
        let line = BStr::from_bytes(&probe.line);
        f.write_fmt(fmt!("{site} {missed} {line}\n"))?;
    }
    Ok(())
}

/// Counts as lost what a component's probes have missed since the last time.
fn count(state: &State) {
    if COUNT.load(Relaxed) == 0 {
        return;
    }
    for probe in PROBES.lock().of(state) {
        let missed = probe.missed();
        probe.count_missed(missed);
    }
}

/// Writes a record, if the probe is on. From `hits.c`, in any context.
///
/// # Safety
///
/// `target` is a [`Target`] that isn't dropped meanwhile, and `words` as many as it takes.
#[no_mangle]
unsafe extern "C" fn blog_probe_hit(target: *const c_void, words: *const u64) {
    // SAFETY: By this function's requirement.
    let target = unsafe { &*target.cast::<Target>() };
    let [site] = &target.site;
    // SAFETY: By the type invariants: the probe's state keeps it, or its removal waits for this.
    let component = unsafe { &*target.raw };
    let (gate, id) = (site.gate(), site.id());
    if gate > component.threshold() || id == 0 {
        return;
    }
    let fetch = |fetch: &Fetch| {
        let word = match fetch.base {
            // SAFETY: By this function's requirement.
            Base::Word(n) => unsafe { words.add(n.min(WORDS - 1)).read() },
            Base::Comm => blog_comm(tasks::current().cast()) as u64,
        };
        fetch.follow(word, ccall::pack::load)
    };
    let args = || target.fetches.each_ref().map(fetch);
    // SAFETY: It is on and has this id. Of these codes, numbers are 9 bytes at most, and strings
    // share what is left.
    unsafe { ccall::write(component, id << LEN_BITS | target.warns, target.codes, args) };
}
