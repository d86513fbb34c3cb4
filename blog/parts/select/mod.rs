// SPDX-License-Identifier: GPL-2.0

//! What a reader chooses: words that are written to an open file `snapshot` or `stream`, before it
//! is read.

use kernel::{
    blog::{
        ring::Owner,
        wire::record, //
    },
    prelude::*, //
};

use crate::{
    floor::Part,
    read::choice::{
        Choice,
        CHOOSE, //
    },
    registry::{
        images::query::parse_level,
        parse::{
            names,
            parse_number, //
        },
    }, //
};

kunit! { mod tests; }

pub(crate) static PART: Part = Part {
    start: || {
        CHOOSE.populate(choose);
    },
    ..Part::NONE
};

/// See [`Chosen::parse`].
fn choose(text: &str) -> Result<KBox<dyn Choice>> {
    Ok(KBox::new(Chosen::parse(text)?, GFP_KERNEL)?)
}

/// What was chosen, by the words that were written to the file. Of each kind that is given, one
/// must fit.
#[derive(Default)]
struct Chosen {
    /// As they were written; see [`parse::fits`].
    components: KVec<KVec<u8>>,
    /// Ids of threads or processes.
    tasks: KVec<i32>,
    /// This level, and more important ones.
    level: Option<record::Level>,
    sites: KVec<(u32, u32)>,
}

impl Chosen {
    /// `KEY=VALUE,VALUE… KEY=VALUE…`, with the keys `component`, `task`, `level` and `site`.
    fn parse(text: &str) -> Result<Self> {
        let mut new = Self::default();
        for word in text.split_ascii_whitespace() {
            let (key, values) = word.split_once('=').ok_or(EINVAL)?;
            for value in values.split(',') {
                match key {
                    "component" => {
                        let mut name = KVec::new();
                        name.extend_from_slice(names::names(value)?.as_bytes(), GFP_KERNEL)?;
                        new.components.push(name, GFP_KERNEL)?;
                    }
                    "task" => {
                        let id = i32::try_from(parse_number(value)?).map_err(|_| EINVAL)?;
                        new.tasks.push(id, GFP_KERNEL)?;
                    }
                    "level" if new.level.is_none() => {
                        new.level = Some(parse_level(value)?);
                    }
                    "site" => new.sites.push(names::ids(value)?, GFP_KERNEL)?,
                    _ => return Err(EINVAL),
                }
            }
        }
        match text.trim_ascii().is_empty() {
            true => Err(EINVAL),
            false => Ok(new),
        }
    }
}

impl Choice for Chosen {
    fn has_all_components(&self) -> bool {
        self.components.is_empty()
    }

    fn has_component(&self, name: &CStr) -> bool {
        let name = name.to_bytes();
        self.has_all_components() || self.components.iter().any(|names| names::fits(names, name))
    }

    fn has_task(&self, pid: i32, tgid: i32) -> bool {
        self.tasks.is_empty() || self.tasks.contains(&pid) || self.tasks.contains(&tgid)
    }

    /// Whether the task was chosen. Nobody knows for whom an interrupt came.
    fn has_owner(&self, owner: &Owner) -> bool {
        let is_task = owner.context == record::Context::Task;
        self.tasks.is_empty() || is_task && self.has_task(owner.pid, owner.tgid)
    }

    fn is_by_site(&self) -> bool {
        self.level.is_some() || !self.sites.is_empty()
    }

    fn has_site(&self, id: u32, level: Option<record::Level>) -> bool {
        let within = |(first, last): &(u32, u32)| (*first..=*last).contains(&id);
        self.level
            .is_none_or(|most| level.is_some_and(|level| level <= most))
            && (self.sites.is_empty() || self.sites.iter().any(within))
    }
}
