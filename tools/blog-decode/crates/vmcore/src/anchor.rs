// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Finds the root. VMCOREINFO has its address, except in a kernel without BLog's patches. There,
//! BLog is a module, and has an [`Anchor`] among the kernel's panic notifiers.

use std::mem::offset_of;

use crate::{
    error::Error,
    kallsyms,
    memory::{word, Memory},
    table::at_addr,
    vmcoreinfo::VmcoreInfo,
    wire::dump::{Anchor, ANCHORED, ANCHOR_MAGIC, SYMBOL},
};

/// The pointer to the list's first block stands after a lock: of 4 bytes, or of up to this many
/// where locks are checked or can sleep.
const MAX_LOCK: u64 = 256;
/// Panic notifiers that a kernel may have.
const MAX_BLOCKS: usize = 1024;

/// The address of the root. The error says why there is none.
pub fn root(memory: &impl Memory, info: &VmcoreInfo) -> Result<u64, Error> {
    if let Some(root) = info.symbol(SYMBOL) {
        return Ok(root);
    }
    let why = |verdict: &str, why: String| {
        Error::File(format!(
            "the kernel, {}, {verdict}: its VMCOREINFO lacks SYMBOL({SYMBOL}), and {why}",
            info.release()
        ))
    };
    let none = |text: &str| why("has no BLog", text.into());
    let unknown = |text: String| why("has no BLog that can be found", text);
    if info.symbol(kallsyms::NAMES).is_none() {
        let text = format!("also SYMBOL({}), without which no module is found", kallsyms::NAMES);
        return Err(none(&text));
    }
    let list = kallsyms::address(memory, info, ANCHORED).map_err(unknown)?;
    let list = list.ok_or_else(|| {
        let text = format!("its kallsyms lack {ANCHORED}: CONFIG_KALLSYMS_ALL is not set");
        unknown(text)
    })?;
    // Other words there may look like an address, too. The first one is most likely the right one.
    let mut first = None;
    for at in (8..=MAX_LOCK).step_by(8) {
        let Ok(head) = word(memory, list.wrapping_add(at)) else {
            break;
        };
        if head % 8 != 0 || head >> 63 == 0 {
            continue;
        }
        match anchored(memory, head) {
            Ok(Some(root)) => return Ok(root),
            other => first = first.or(Some(other)),
        }
    }
    Err(match first {
        Some(Ok(_)) => none(&format!(
            "nothing in {ANCHORED} is BLog's: it was not loaded when the machine stopped"
        )),
        Some(Err(e)) => unknown(format!("{ANCHORED} can't be followed: {e}")),
        None => unknown(format!("{ANCHORED} at {list:#x} is empty or damaged")),
    })
}

/// The root of the first anchor from `block` on; `None`: the list has none.
fn anchored(memory: &impl Memory, mut block: u64) -> Result<Option<u64>, String> {
    for _ in 0..MAX_BLOCKS {
        if block == 0 {
            return Ok(None);
        }
        let field = |at: usize| word(memory, block.wrapping_add(at as u64));
        let damage = |e| at_addr(block, &e);
        // After a block of another's there may be nothing.
        if field(offset_of!(Anchor, magic)) == Ok(ANCHOR_MAGIC) {
            return field(offset_of!(Anchor, root)).map(Some).map_err(damage);
        }
        block = field(offset_of!(Anchor, next)).map_err(damage)?;
    }
    Err("it has no end".into())
}
