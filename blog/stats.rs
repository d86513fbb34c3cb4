// SPDX-License-Identifier: GPL-2.0

//! What the text files say: lines of a key and a value, for people and for scripts.
//!
//! Called by `files.rs` in process context. The numbers are read while writers go on, so those of
//! one file need not fit each other to the last record. Keys are an interface: new ones may come,
//! those that are there keep their meaning.

use kernel::{
    blog::{
        record::{
            Lost,
            LOST_CAUSES, //
        },
        ring::{
            Info,
            State as RingState, //
        }, //
    },
    fmt,
    str::BStr, //
};

use crate::{
    component::{
        Inner,
        State, //
    },
    control::{
        level_name,
        mode_name, //
    },
    glue,
    memory::{
        pages_to_kb,
        used_kb,
        SIZES, //
    },
    pool::{
        Levels,
        Store, //
    },
    registry,
    task, //
};

/// `write!` for types that only the kernel's `fmt` can print.
macro_rules! put {
    ($f:expr, $text:tt $(, $arg:expr)* $(,)?) => {
        $f.write_fmt(kernel::prelude::fmt!($text $(, $arg)*))
    };
}
pub(crate) use put;

/// Calls `f` with each component.
fn for_each_component(mut f: impl FnMut(&State) -> fmt::Result) -> fmt::Result {
    let mut slot = 0;
    while let Some(state) = registry::component_from(slot) {
        f(&state)?;
        slot = usize::from(state.slot()) + 1;
    }
    Ok(())
}

/// The file `components`: one line for each.
pub(crate) fn show_components(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for_each_component(|state| {
        let mode = mode_name(state.mode());
        state.with(|inner| {
            put!(
                f,
                "{} attached {} dynamic {} enabled {} level {} mode {mode} size_kb {} ring_kb {}\n",
                state.name(),
                u8::from(inner.attached()),
                u8::from(state.dynamic()),
                u8::from(inner.enabled),
                level_name(inner.level),
                inner.size_kb,
                inner.ring_kb,
            )
        })
    })
}

/// The file `stats`.
pub(crate) fn show_global(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut components = 0;
    for_each_component(|_| {
        components += 1;
        Ok(())
    })?;
    let (tables, free_tables) = task::tables();
    let (images, ids) = registry::with_images(|images| {
        let last = images.list().last().map_or(0, |image| image.last());
        (images.list().len(), last)
    });
    put!(f, "components {components}\n")?;
    put!(f, "used_kb {}\n", used_kb())?;
    put!(f, "max_kb {}\n", glue::max_kb())?;
    put!(f, "task_tables {tables}\n")?;
    put!(f, "task_tables_free {free_tables}\n")?;
    put!(f, "task_table_bytes {}\n", task::table_bytes())?;
    put!(f, "images {images}\n")?;
    put!(f, "site_ids {ids}\n")
}

/// Hex digits of bytes.
struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| put!(f, "{b:02x}"))
    }
}

/// The file `control`: one line for each image.
pub(crate) fn show_images(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    registry::with_images(|images| {
        images.list().iter().try_for_each(|image| {
            let switched = image.switched();
            put!(
                f,
                "module {} site {}-{} loaded {} on {} off {} build_id {}\n",
                BStr::from_bytes(image.name()),
                image.first(),
                image.last(),
                u8::from(image.loaded()),
                switched.on,
                switched.off,
                Hex(image.build_id().as_bytes()),
            )
        })
    })
}

/// Calls `f` with each ring of a component that is not free, and its id.
fn for_each_ring(inner: &Inner, mut f: impl FnMut(u32, Info) -> fmt::Result) -> fmt::Result {
    let Some((memory, owned)) = inner.memory() else {
        return Ok(());
    };
    for id in 0..owned.rings() {
        if let Some(info) = memory.store.ring(id).and_then(|ring| ring.info()) {
            f(id, info)?;
        }
    }
    Ok(())
}

/// The file `stats` of a component.
pub(crate) fn show_component(state: &State, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    state.with(|inner| {
        let loose = state.loose(inner);
        let mut records = loose.records;
        let mut lost: [u64; LOST_CAUSES] = loose.lost;
        let (mut live, mut held) = (0, 0u64);
        for_each_ring(inner, |id, info| {
            let mark = inner.mark(id, &info);
            let hidden = mark.map_or(0, |mark| mark.records);
            records = records.wrapping_add(info.records.saturating_sub(hidden));
            for (i, lost) in lost.iter_mut().enumerate() {
                let told = mark.map_or(0, |mark| mark.told[i]);
                *lost = lost.wrapping_add(info.lost[i].saturating_sub(told));
            }
            match info.state {
                RingState::Retired => held += u64::from(info.held),
                _ => live += 1,
            }
            Ok(())
        })?;
        let memory = inner.memory();
        let levels = memory.map_or(Levels::default(), |(memory, _)| memory.levels());
        let (pages, rings) = memory.map_or((0, 0), |(_, owned)| (owned.pages(), owned.rings()));
        let rings_free = memory.map_or(0, |(memory, _)| memory.pool.rings_free());
        let retired = memory.map_or(0, |(memory, _)| memory.pool.retired());

        put!(f, "attached {}\n", u8::from(inner.attached()))?;
        put!(f, "enabled {}\n", u8::from(inner.enabled))?;
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
        put!(f, "pages {pages}\n")?;
        put!(
            f,
            "pages_free {}\n",
            levels.pages_depot + levels.pages_magazines
        )?;
        put!(f, "pages_magazines {}\n", levels.pages_magazines)?;
        put!(f, "pages_split {}\n", levels.pages_split)?;
        put!(f, "chunks_free {}\n", levels.chunks_free)?;
        put!(f, "pages_retired {}\n", held.div_ceil(SIZES.page.into()))?;
        put!(f, "bytes {}\n", pages_to_kb(pages) * 1024)?;
        put!(f, "rings {rings}\n")?;
        put!(f, "rings_live {live}\n")?;
        put!(f, "rings_retired {retired}\n")?;
        put!(f, "rings_free {rings_free}\n")?;
        put!(
            f,
            "table_bytes {}\n",
            memory.map_or(0, |(memory, owned)| memory.table_bytes(owned))
        )?;
        put!(
            f,
            "fair_share {}\n",
            memory.map_or(0, |(memory, _)| memory.pool.fair())
        )?;
        put!(f, "from_chunks {}\n", levels.chunk_hits)?;
        put!(f, "from_magazine {}\n", levels.magazine_hits)?;
        put!(f, "from_depot {}\n", levels.depot_hits)?;
        put!(f, "from_other_cpus {}\n", levels.other_hits)?;
        put!(f, "from_retired {}\n", levels.retired_hits)?;
        put!(f, "from_live {}\n", levels.stolen)?;
        put!(f, "from_nowhere {}\n", levels.dry)?;
        put!(
            f,
            "grown {}\n",
            memory.map_or(0, |(_, owned)| owned.grown())
        )?;
        put!(
            f,
            "grow_failed {}\n",
            memory.map_or(0, |(_, owned)| owned.grow_failed())
        )
    })
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
