// SPDX-License-Identifier: GPL-2.0

//! Settings for components that may still be to come: the parameter `component`, on the command
//! line, in modprobe's configuration, or written at run time.
//!
//! A component gets the settings for its name before it logs anything. Settings that are written at
//! run time also apply to existing components. Later settings come after earlier ones.

use core::str;
use kernel::error::from_result;

kunit! { mod tests; }

use crate::{
    floor,
    registry::{
        components,
        parse::names, //
        settings::{
            Key,
            COUNT, //
        },
        state::State,
    },
    sys::{
        glue::shown,
        hook,
        params,
        prelude::*, //
    }, //
};

pub(crate) static PART: floor::Part = floor::Part {
    start,
    event: |event| {
        if let floor::Event::New(state) = event {
            SETTINGS.lock().apply_all(state);
        }
    },
    ..floor::Part::NONE
};

unsafe extern "C" {
    // settings.c
    safe fn blog_take_early() -> *const c_char;
}

/// More would not fit where sysfs shows them.
const BYTES_MAX: usize = 3840;

/// Settings of all components with certain names.
struct BootSetting {
    /// As it was written; names come first, see [`names::names`].
    text: KVec<u8>,
    names_len: usize,
    /// Values by key, as far as they are given.
    values: [Option<u32>; COUNT],
}

impl BootSetting {
    /// `NAMES:KEY=VALUE,KEY=VALUE…`: each key is the name of a file of the component, and each
    /// value what may be written into that.
    fn parse(text: &str) -> Result<Self> {
        // Names may have colons.
        let (names, pairs) = text.rsplit_once(':').ok_or(EINVAL)?;
        let mut new = Self {
            text: KVec::new(),
            names_len: names::names(names)?.len(),
            values: [None; COUNT],
        };
        for pair in pairs.split(',') {
            let (name, value) = pair.split_once('=').ok_or(EINVAL)?;
            let key = Key::all().find(|key| key.name().to_bytes() == name.as_bytes());
            let key = key.ok_or(EINVAL)?;
            let old = new.values[key as usize].replace(key.parse(value)?);
            old.map_or(Ok(()), |_| Err(EINVAL))?;
        }
        new.text.extend_from_slice(text.as_bytes(), GFP_KERNEL)?;
        Ok(new)
    }

    fn names(&self) -> &[u8] {
        &self.text[..self.names_len]
    }

    fn is_for(&self, name: &[u8]) -> bool {
        names::fits(self.names(), name)
    }

    /// Whether it gives all that `other` gives.
    fn covers(&self, other: &Self) -> bool {
        let mut both = self.values.iter().zip(&other.values);
        self.names() == other.names() && both.all(|(this, other)| this.is_some() >= other.is_some())
    }

    /// Sets all that is given, up to what fails, if it is for this component.
    fn apply_to(&self, state: &State) -> Result {
        if !self.is_for(state.name().to_bytes()) {
            return Ok(());
        }
        // Memory that it gets is as large as it is to be.
        if self.values[Key::Enable as usize] == Some(0) {
            state.set(Key::Enable, 0)?;
        }
        let mut given = Key::all().zip(self.values);
        given.try_for_each(|(key, value)| value.map_or(Ok(()), |value| state.set(key, value)))
    }
}

struct BootSettings(KVec<Arc<BootSetting>>);

global_lock! {
    // SAFETY: `start` is called before anything else here.
    unsafe(uninit) static SETTINGS: Mutex<BootSettings> = BootSettings(KVec::new());
}

impl BootSettings {
    fn add(&mut self, new: Arc<BootSetting>) -> Result {
        // What the new one says of all its names again is gone.
        self.0.retain(|old| !new.covers(old));
        if self.0.iter().map(|old| old.text.len() + 1).sum::<usize>() + new.text.len() >= BYTES_MAX
        {
            return Err(ENOSPC);
        }
        Ok(self.0.push(new, GFP_KERNEL)?)
    }

    /// Gives a new component, which nobody logs to, what is set for it.
    fn apply_all(&self, state: &State) {
        for setting in &self.0 {
            if let Err(e) = setting.apply_to(state) {
                pr_warn!(
                    "{}: can't have all settings that component= wishes: {e:?}\n",
                    shown(state.name())
                );
            }
        }
    }
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', '\t', '\n', ';'])
        .filter(|word| !word.is_empty())
}

/// Takes up what was set before BLog started.
fn start() {
    // SAFETY: Called once, first.
    unsafe { SETTINGS.init() };
    let add = |text: &str| {
        let new = BootSetting::parse(text).and_then(|new| Ok(Arc::new(new, GFP_KERNEL)?));
        let result = new.and_then(|new| SETTINGS.lock().add(new));
        if let Err(e) = result {
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

/// Takes up settings, and applies them to the components that are there. From `settings.c`, in
/// process context, one at a time.
///
/// `EINVAL` if one isn't understood: then nothing is done. Another error is that of a component
/// that can't have what is set for it; the others have it.
///
/// # Safety
///
/// `text` is a C string.
#[no_mangle]
unsafe extern "C" fn blog_set_components(text: *const c_char) -> c_int {
    // SAFETY: By this function's requirement.
    let text = unsafe { CStr::from_char_ptr(text) };
    from_result(|| {
        let text = str::from_utf8(text.to_bytes()).map_err(|_| EINVAL)?;
        let mut all = KVec::new();
        for text in split(text) {
            all.push(Arc::new(BootSetting::parse(text)?, GFP_KERNEL)?, GFP_KERNEL)?;
        }
        let mut result = Ok(0);
        for new in &all {
            SETTINGS.lock().add(new.clone())?;
            // Without the lock, for which new components wait: this may take a grace period each.
            for state in components() {
                result = result.and(new.apply_to(&state).map(|()| 0));
            }
        }
        result
    })
}

/// Says what is set. From `settings.c`. Returns how many bytes that are.
///
/// # Safety
///
/// `to` is valid for writes of `size` bytes.
#[no_mangle]
unsafe extern "C" fn blog_show_components(to: *mut u8, size: usize) -> usize {
    // SAFETY: By this function's requirement.
    let to = unsafe { slice::from_raw_parts_mut(to, size) };
    let mut end = 0;
    for part in (SETTINGS.lock().0.iter()).flat_map(|setting| [&*setting.text, b"\n"]) {
        // There is room for all, see `BYTES_MAX`.
        if let Some(to) = to.get_mut(end..end + part.len()) {
            to.copy_from_slice(part);
            end += part.len();
        }
    }
    end
}
