// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The task that crashed, if nobody has noted it: a fatal oops starts a crash kernel without
//! calling anything that a module can register. But the kernel itself notes the CPU, and each CPU's
//! task.

use crate::{
    kallsyms,
    memory::{word, Memory},
    vmcoreinfo::VmcoreInfo,
    wire::dump::SYMBOL,
};

/// The task that was running on the CPU that crashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crashed {
    /// The CPU.
    pub cpu: u32,
    /// Address of the task's task_struct.
    pub task: u64,
}

/// `None`: nothing crashed, the kernel notes it for BLog, or doesn't tell.
pub fn find(memory: &impl Memory, info: &VmcoreInfo) -> Option<Crashed> {
    // A kernel with BLog's patches.
    if info.symbol(SYMBOL).is_some() {
        return None;
    }
    let symbol = |name| kallsyms::address(memory, info, name).ok().flatten();
    let mut cpu = [0; 4];
    memory.read(symbol("panic_cpu")?, &mut cpu).ok()?;
    // -1: none.
    let cpu = u32::try_from(i32::from_le_bytes(cpu)).ok()?;
    let offset = symbol("__per_cpu_offset")?.wrapping_add(u64::from(cpu) * 8);
    let offset = word(memory, offset).ok()?;
    let task = word(memory, symbol("current_task")?.wrapping_add(offset)).ok()?;
    Some(Crashed { cpu, task })
}
