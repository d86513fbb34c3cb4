// SPDX-License-Identifier: GPL-2.0

//! What the text files say: lines of a key and a value, for people and for scripts.
//!
//! Called by `mod.rs` in process context. The numbers are read while writers go on, so those of
//! one file need not fit each other to the last record. Keys are an interface: new ones may come,
//! those that are there keep their meaning.

use kernel::{
    blog::{
        ring::RingState,
        wire::record::Lost, //
    },
    fmt,
    str::BStr, //
};

use crate::{
    clock,
    memory::{
        budget::used_kb,
        pool::{
            Levels,
            Store, //
        },
        Memory,
        SIZES, //
    },
    read,
    registry::{
        self,
        inert,
        names::name_bytes,
        state::{
            Loose,
            State, //
        }, //
    },
    sys::{
        params,
        text::put, //
    },
    write::{
        tables,
        worker, //
    }, //
};

/// The file `stats`.
pub(super) fn show_global(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let refused = registry::with_images(|images| images.refused());
    put!(f, "clock {}\n", clock::name())?;
    put!(f, "components {}\n", registry::components().count())?;
    let (inert, lost) = inert::counts();
    put!(f, "inert {inert}\n")?;
    put!(f, "inert_lost {lost}\n")?;
    put!(f, "used_kb {}\n", used_kb())?;
    put!(f, "max_kb {}\n", params::max_kb())?;
    put!(f, "task_table_bytes {}\n", tables::table_bytes())?;
    put!(f, "sites_without_id {refused}\n")?;
    put!(f, "wakeups {}\n", worker::looks() + read::looks())
}

/// Bytes as hex digits.
struct Digits<'a>(&'a [u8]);

impl fmt::Display for Digits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| put!(f, "{b:02x}"))
    }
}

/// The file `control`: one line for each image.
pub(super) fn show_images(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for at in 0.. {
        // What is printed may have to be allocated: not under the lock.
        let image = registry::with_images(|images| {
            let image = images.list().get(at)?;
            Some((image.entry(), image.switched()))
        });
        let Some((image, switched)) = image else {
            break;
        };
        put!(
            f,
            "module {} site {}-{} loaded {} on {} off {} build_id {}\n",
            BStr::from_bytes(name_bytes(&image.name)),
            image.first,
            image.first + image.count - 1,
            image.loaded,
            switched.on,
            switched.off,
            Digits(
                image
                    .build_id
                    .get(..image.build_id_len as usize)
                    .unwrap_or(&[])
            ),
        )?;
    }
    Ok(())
}

/// Where rings got their memory: [`Levels::hits`].
const FROM: [&str; 6] = [
    "chunks",
    "own_cpu",
    "other_cpus",
    "retired",
    "live",
    "nowhere",
];

/// What there is of memory.
#[derive(Default)]
struct MemoryCounts {
    levels: Levels,
    mended: u64,
    pages: u32,
    rings: u32,
    rings_free: u32,
    retired: u32,
    bytes: usize,
    table_bytes: usize,
    fair: u32,
}

impl MemoryCounts {
    fn new(memory: &Memory) -> Self {
        Self {
            levels: memory.pool.levels(),
            mended: memory.mended(),
            pages: memory.data_pages(),
            rings: memory.pool.store.rings(),
            rings_free: memory.pool.rings_free(),
            retired: memory.pool.retired(),
            bytes: memory.bytes(),
            table_bytes: memory.table_bytes(),
            fair: memory.pool.fair(),
        }
    }
}

/// The file `stats` of a component.
pub(super) fn show_component(state: &State, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (mut live, mut bytes_retired) = (0, 0u64);
    let (attached, total, missing_kb, memory) = state.look(|inner| {
        let mut total = state.loose(inner);
        for (_, info) in inner.rings() {
            total.add(info.records, &info.lost);
            match info.state {
                RingState::Retired => bytes_retired += u64::from(info.held),
                _ => live += 1,
            }
        }
        let missing_kb = inner.memory().map_or(0, |memory| inner.missing_kb(memory));
        let memory = inner
            .memory()
            .map_or(MemoryCounts::default(), MemoryCounts::new);
        (inner.attached(), total, missing_kb, memory)
    });
    // What is printed may have to be allocated: not under the lock.
    let Loose { records, lost } = total;
    let levels = memory.levels;
    put!(f, "attached {}\n", u8::from(attached))?;
    put!(f, "records {records}\n")?;
    put!(
        f,
        "lost {}\n",
        lost.iter().fold(0u64, |sum, n| sum.wrapping_add(*n))
    )?;
    for cause in Lost::ALL {
        put!(f, "lost_{} {}\n", Key(cause.name()), lost[cause as usize])?;
    }
    put!(f, "records_shared {}\n", state.shared())?;
    put!(f, "pages {}\n", memory.pages)?;
    put!(f, "pages_free {}\n", levels.pages_free)?;
    put!(f, "pages_split {}\n", levels.pages_split)?;
    put!(f, "chunks_free {}\n", levels.chunks_free)?;
    put!(
        f,
        "pages_retired {}\n",
        bytes_retired.div_ceil(SIZES.page.into())
    )?;
    put!(f, "bytes {}\n", memory.bytes)?;
    put!(f, "table_bytes {}\n", memory.table_bytes)?;
    put!(f, "missing_kb {missing_kb}\n")?;
    put!(f, "rings {}\n", memory.rings)?;
    put!(f, "rings_live {live}\n")?;
    put!(f, "rings_retired {}\n", memory.retired)?;
    put!(f, "rings_free {}\n", memory.rings_free)?;
    put!(f, "fair_share {}\n", memory.fair)?;
    for (key, n) in FROM.iter().zip(levels.hits) {
        put!(f, "from_{key} {n}\n")?;
    }
    put!(f, "mended {}\n", memory.mended)
}

/// A name as part of a key: with underscores.
struct Key<'a>(&'a str);

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, part) in self.0.split('-').enumerate() {
            if i > 0 {
                f.write_str("_")?;
            }
            f.write_str(part)?;
        }
        Ok(())
    }
}
