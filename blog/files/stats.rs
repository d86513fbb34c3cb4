// SPDX-License-Identifier: GPL-2.0

//! The content of the text files: lines of a key and a value, for people and for scripts.
//!
//! Called by `mod.rs` in process context. It reads the numbers while writers go on, so those of one
//! file need not fit each other to the last record. Keys are an interface: new ones may come,
//! existing ones keep their meaning.

use kernel::blog::{
    ring::RingState,
    wire::record::Lost, //
};

use crate::{
    clock,
    floor,
    memory::{
        budget::{
            used_kb,
            FIXED,
            PAGE_KB, //
        },
        pool::{
            Levels,
            Store,
            WARN_RINGS, //
        },
        Memory, //
    },
    registry::{
        self,
        state::{
            self,
            Loose,
            State, //
        }, //
    },
    sys::{
        params,
        prelude::*, //
    },
    write::{
        tables,
        worker, //
    }, //
};

pub(super) fn show_global(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let refused = registry::with_images(|images| images.refused);
    writeln!(f, "clock {}", clock::name())?;
    #[cfg(CONFIG_BLOG_PARTS)]
    {
        let lacks = BStr::from_bytes(params::lacks().to_bytes());
        f.write_fmt(fmt!("lacks {lacks}\n"))?;
    }
    writeln!(f, "components {}", registry::components().count())?;
    writeln!(f, "inert {}", registry::INERT_INSTANCES.load(Relaxed))?;
    writeln!(f, "used_kb {}", used_kb())?;
    writeln!(f, "max_kb {}", params::max_kb())?;
    let fixed = tables::pages().saturating_add(FIXED.load(Relaxed));
    writeln!(f, "fixed_kb {}", fixed.saturating_mul(PAGE_KB))?;
    let bytes = tables::pages() as usize * PAGE_SIZE;
    writeln!(f, "task_table_bytes {bytes}")?;
    writeln!(f, "sites_without_id {refused}")?;
    writeln!(f, "wakeups {}", worker::LOOKS.load(Relaxed))
}

pub(super) fn show_component(state: &State, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    state::count(state);
    // What is printed may have to be allocated: not under the lock.
    let (attached, total, counts) = state.read(|locked| {
        let mut total = state.loose(locked);
        let (mut live, mut retired, mut warn) = (0, 0u64, 0u64);
        for (id, info) in locked.rings() {
            if id < WARN_RINGS {
                warn += u64::from(info.pages);
            }
            total.add(info.records, &info.lost);
            match info.state {
                RingState::Retired => retired += u64::from(info.pages),
                _ => live += 1,
            }
        }
        let memory = locked.memory();
        let levels = memory.map_or(Levels::default(), |memory| memory.pool.levels());
        let [own_cpu, other_cpus, ended, stolen, nowhere] = levels.hits;
        let of = |count: fn(&Memory) -> usize| memory.map_or(0, count) as u64;
        let pages = of(|memory| memory.pool.store.data_pages() as usize);
        let counts = [
            ("pages", pages),
            ("pages_free", levels.pages_free.into()),
            ("pages_retired", retired),
            ("bytes", of(Memory::bytes)),
            ("bytes_warn", warn * PAGE_SIZE as u64),
            ("missing_kb", state.missing_kb(locked).into()),
            ("rings", of(|memory| memory.pool.store.rings() as usize)),
            ("rings_live", live),
            ("from_own_cpu", own_cpu),
            ("from_other_cpus", other_cpus),
            ("from_retired", ended),
            ("from_live", stolen),
            ("from_nowhere", nowhere),
            #[cfg(CONFIG_BLOG_PARTS)]
            ("mended", memory.map_or(0, Memory::mended)),
        ];
        (locked.attached(), total, counts)
    });
    let Loose { records, lost } = total;
    let sum = lost.iter().fold(0u64, |sum, n| sum.wrapping_add(*n));
    writeln!(f, "attached {}", u8::from(attached))?;
    writeln!(f, "records {records}")?;
    writeln!(f, "lost {sum}")?;
    for cause in Lost::ALL {
        f.write_str("lost")?;
        (cause.name().split('-')).try_for_each(|part| write!(f, "_{part}"))?;
        writeln!(f, " {}", lost[cause as usize])?;
    }
    counts
        .iter()
        .try_for_each(|(key, n)| writeln!(f, "{key} {n}"))?;
    floor::parts().try_for_each(|part| (part.stats)(state, f))
}
