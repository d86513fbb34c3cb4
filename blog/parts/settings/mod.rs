// SPDX-License-Identifier: GPL-2.0

//! Settings for components that may still be to come: the parameter `component`, on the command
//! line, in modprobe's configuration, or written at run time.
//!
//! A component gets the settings for its name before it logs anything. Settings that are written at
//! run time also apply to existing components. Later settings come after earlier ones.

use core::{
    slice,
    str, //
};
use kernel::{
    error::from_result,
    prelude::*,
    sync::global_lock, //
};

mod parse;

kunit! { mod tests; }

use crate::{
    floor,
    registry::{
        components,
        state::State, //
    },
    sys::{
        glue::shown,
        hook,
        params, //
    }, //
};

pub(crate) static PART: floor::Part = floor::Part {
    start,
    event,
    ..floor::Part::NONE
};

unsafe extern "C" {
    // settings.c
    safe fn blog_take_early() -> *const c_char;
}

/// More would not fit where sysfs shows them.
const BYTES_MAX: usize = 3840;

/// Their texts, as they were written.
struct Wishes(KVec<KVec<u8>>);

global_lock! {
    // SAFETY: `init` is called before anything else here.
    unsafe(uninit) static WISHES: Mutex<Wishes> = Wishes(KVec::new());
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', '\t', '\n', ';'])
        .filter(|word| !word.is_empty())
}

impl Wishes {
    fn texts(&self) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .map(|text| str::from_utf8(text).unwrap_or_default())
    }

    fn add(&mut self, text: &str) -> Result {
        let new = parse::parse(text)?;
        // What the new one says of all its names again is gone.
        self.0.retain(|old| {
            let old = str::from_utf8(old)
                .ok()
                .and_then(|old| parse::parse(old).ok());
            old.is_some_and(|old| !new.covers(&old))
        });
        if self.0.iter().map(|old| old.len() + 1).sum::<usize>() + text.len() >= BYTES_MAX {
            return Err(ENOSPC);
        }
        let mut bytes = KVec::new();
        bytes.extend_from_slice(text.as_bytes(), GFP_KERNEL)?;
        Ok(self.0.push(bytes, GFP_KERNEL)?)
    }
}

/// Takes up what was wished for before BLog started.
fn start() {
    // SAFETY: Called once, first.
    unsafe { WISHES.init() };
    let add = |text: &str| {
        if let Err(e) = WISHES.lock().add(text) {
            pr_warn!("component={text}: {e:?}, left out\n");
        }
    };
    if hook::boots_off() || params::is_quiet() {
        add("*:enable=0");
    }
    // SAFETY: It is a C string, which nobody changes from now on.
    let early = unsafe { CStr::from_char_ptr(blog_take_early()) };
    if params::is_quiet() {
        return;
    }
    match str::from_utf8(early.to_bytes()) {
        Ok(early) => split(early).for_each(add),
        Err(_) => pr_warn!("component= is not UTF-8, left out\n"),
    }
}

/// Gives a new component, which nobody logs to, what is wished for it.
fn fulfil(state: &State) {
    let name = state.name();
    let wishes = WISHES.lock();
    for wish in wishes.texts().filter_map(|text| parse::parse(text).ok()) {
        if !wish.is_for(name.to_bytes()) {
            continue;
        }
        if let Err(e) = wish.apply(state) {
            pr_warn!(
                "{}: can't have all settings that component= wishes: {e:?}\n",
                shown(name)
            );
        }
    }
}

fn event(event: floor::Event<'_>) {
    if let floor::Event::New(state) = event {
        fulfil(state);
    }
}

/// Takes up wishes, and does them for the components that are there. From `settings.c`, in
/// process context, one at a time.
///
/// `EINVAL` if one isn't understood: then nothing is done. Another error is that of a component
/// that can't have what is wished for it; the others have it.
///
/// # Safety
///
/// `text` is a C string.
#[no_mangle]
unsafe extern "C" fn blog_wish(text: *const c_char) -> c_int {
    // SAFETY: By this function's requirement.
    let text = unsafe { CStr::from_char_ptr(text) };
    from_result(|| {
        let text = str::from_utf8(text.to_bytes()).map_err(|_| EINVAL)?;
        for text in split(text) {
            parse::parse(text)?;
        }
        let mut result = Ok(0);
        for text in split(text) {
            WISHES.lock().add(text)?;
            let wish = parse::parse(text)?;
            for state in components().filter(|state| wish.is_for(state.name().to_bytes())) {
                result = result.and(wish.apply(&state).map(|()| 0));
            }
        }
        result
    })
}

/// Says what is wished for. From `settings.c`. Returns how many bytes that are.
///
/// # Safety
///
/// `to` is valid for writes of `size` bytes.
#[no_mangle]
unsafe extern "C" fn blog_wishes(to: *mut u8, size: usize) -> usize {
    // SAFETY: By this function's requirement.
    let to = unsafe { slice::from_raw_parts_mut(to, size) };
    let mut end = 0;
    for text in WISHES.lock().texts() {
        for part in [text, "\n"] {
            // There is room for all, see `BYTES_MAX`.
            if let Some(to) = to.get_mut(end..end + part.len()) {
                to.copy_from_slice(part.as_bytes());
                end += part.len();
            }
        }
    }
    end
}
