// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Commands that switch components and call sites of a live system.
//!
//! The words are those of dynamic debug. The kernel has no file names, lines and formats, so it can
//! only match modules, ids and levels. This looks up everything else in the side tables, and turns
//! it into ids.
//!
//! Nothing here touches the system: `cli::control` does.

use regex::Regex;

use blog_decode_core::{
    filter::{matches_glob, parse_range},
    format::types::{Kind, Type},
    sidetable::{Site, SiteMap},
};
use blog_file::{error::Error, record::Version};
use blog_wire::{
    file::{Image, BUILD_ID_MAX, NAME_MAX},
    record::Level,
};

/// The kernel takes as much in one write.
pub const WRITE_MAX: usize = 4096;

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Settings of the components with this name, in which `*` stands for anything: file and value.
    Component(String, Vec<(&'static str, String)>),
    /// `blog.max_kb`.
    MaxKb(String),
    /// Call sites.
    Sites(Query),
    /// What freezes a component, or all: its name, and on what.
    Trigger(String, Trigger),
}

/// What freezes a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Nothing any more.
    Off,
    /// A task that hangs. Whether it freezes all components.
    Hang(bool),
    /// A record.
    Record {
        /// Whether it freezes all components.
        all: bool,
        /// Of which site: it must be a single one.
        query: Box<Query>,
        /// What an argument must be.
        test: Option<Test>,
        /// How many records of the component are still logged after that one.
        after: u32,
    },
}

/// A condition on an argument of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// Its name, or its place from 0 on.
    pub argument: String,
    /// The kernel's word for the comparison.
    pub compare: &'static str,
    /// What it is compared with.
    pub value: i128,
}

/// Which sites, and what becomes of them. What isn't given holds for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Name of the image.
    pub module: Option<String>,
    /// First and last id.
    pub ids: Option<(u32, u32)>,
    /// Level.
    pub level: Option<u8>,
    /// The file's path, or the end of it, or a pattern with `*`.
    pub file: Option<String>,
    /// First and last line.
    pub lines: Option<(u32, u32)>,
    /// Part of the format string.
    pub format: Option<String>,
    /// The function, or a pattern with `*`.
    pub function: Option<String>,
    /// What the subsystem calls this kind of message, or a pattern with `*`.
    pub class: Option<String>,
    /// `+p`, `-p`, `=p`, `=_`.
    pub flags: String,
}

/// Files of a component that can be set.
const SETTINGS: [&str; 7] =
    ["enable", "level", "mode", "private", "size_kb", "ring_kb", "warn_share"];

/// Splits into words at blanks, and into commands at `;` and ends of lines; quotes keep what is in
/// them together. Comments begin with `#`.
fn commands(text: &str) -> Result<Vec<Vec<String>>, Error> {
    let (mut all, mut words) = (Vec::new(), Vec::<String>::new());
    let (mut word, mut quote): (Option<String>, Option<char>) = (None, None);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some(_), '\\') => {
                let c = chars.next().ok_or_else(|| Error::Syntax("a \"\\\" at the end".into()))?;
                word.get_or_insert_with(String::new).push(c);
            }
            (Some(_), c) => word.get_or_insert_with(String::new).push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_with(String::new);
            }
            (None, '#') if word.is_none() && words.is_empty() => {
                // Up to the end of the line.
                chars.by_ref().find(|c| *c == '\n');
            }
            (None, ';' | '\n') => {
                words.extend(word.take());
                all.extend((!words.is_empty()).then(|| std::mem::take(&mut words)));
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_with(String::new).push(c),
        }
    }
    if quote.is_some() {
        return Err(Error::Syntax("a quote is not closed".into()));
    }
    words.extend(word);
    all.extend((!words.is_empty()).then_some(words));
    Ok(all)
}

fn level(word: &str) -> Result<u8, Error> {
    let named = Level::ALL.into_iter().find(|l| l.name() == word);
    let level = named.or_else(|| word.parse().ok().and_then(Level::from_u8));
    level.map(|l| l as u8).ok_or_else(|| {
        Error::Syntax(format!("{word:?} is no level: err, warn, info, debug, trace, or 1 to 5"))
    })
}

/// Reads commands.
pub fn parse(text: &str) -> Result<Vec<Command>, Error> {
    commands(text)?.iter().map(|words| command(words)).collect()
}

fn command(words: &[String]) -> Result<Command, Error> {
    match words {
        [one] if one.starts_with("max_kb=") => {
            let value = &one["max_kb=".len()..];
            is_number("max_kb", value)?;
            Ok(Command::MaxKb(value.to_owned()))
        }
        [first, name, settings @ ..] if first == "component" => component(name, settings),
        [first, name, words @ ..] if first == "trigger" => {
            let trigger = trigger(words)?;
            Ok(Command::Trigger(name.to_owned(), trigger))
        }
        words => query(words).map(Command::Sites),
    }
}

fn is_number(key: &str, value: &str) -> Result<(), Error> {
    match value.parse::<u32>() {
        Ok(_) if value.bytes().all(|b| b.is_ascii_digit()) => Ok(()),
        _ => Err(Error::Syntax(format!("{key}: {value:?} is no number of KiB"))),
    }
}

fn component(name: &str, words: &[String]) -> Result<Command, Error> {
    let mut settings = Vec::new();
    for word in words {
        settings.push(match word.as_str() {
            "on" => ("enable", "1".to_owned()),
            "off" => ("enable", "0".to_owned()),
            "clear" => ("clear", "1".to_owned()),
            "+p" | "-p" | "=p" | "=_" => {
                return Err(Error::Syntax(
                    "which call sites log to a component is not known before they do: name them \
                     by module or file"
                        .into(),
                ))
            }
            word => {
                let pair = word.split_once('=');
                let found = pair.and_then(|(key, value)| {
                    let key = SETTINGS.iter().find(|s| **s == key)?;
                    Some((*key, value.to_owned()))
                });
                let (key, value) = found.ok_or_else(|| {
                    Error::Syntax(format!(
                        "component {name}: {word:?} is none of on, off, clear, {}=VALUE",
                        SETTINGS.join("=VALUE, ")
                    ))
                })?;
                match key {
                    "size_kb" | "ring_kb" | "warn_share" => is_number(key, &value)?,
                    "level" if value != "off" && value != "0" => drop(level(&value)?),
                    _ => {}
                }
                (key, value)
            }
        });
    }
    match settings.is_empty() {
        true => Err(Error::Syntax(format!(
            "component {name}: missing action (on, off, clear, or KEY=VALUE)"
        ))),
        false => Ok(Command::Component(name.to_owned(), settings)),
    }
}

/// A name that an image can have: it is written to the kernel as it is.
fn image_name(word: &str) -> Result<String, Error> {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "\"'#;\\".contains(c);
    match word.contains(is_odd) {
        true => Err(Error::Syntax(format!("{word:?} is no name of a module"))),
        false => Ok(word.to_owned()),
    }
}

fn query(words: &[String]) -> Result<Query, Error> {
    let mut q = Query::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if let "+p" | "-p" | "=p" | "=_" = word.as_str() {
            return match words.next() {
                None => {
                    q.flags.clone_from(word);
                    Ok(q)
                }
                Some(more) => Err(Error::Syntax(format!("{more:?} after the flags"))),
            };
        }
        if !q.add(word, &mut words)? {
            let rest = words.as_slice();
            let is_setting = |w: &String| matches!(&**w, "on" | "off" | "clear") || w.contains('=');
            if !rest.is_empty() && rest.iter().all(is_setting) {
                return Err(Error::Syntax(format!(
                    "{word:?} is none of {CONDITIONS}: did you mean \"component {word} {}\"?",
                    rest.join(" ")
                )));
            }
            return Err(Error::Syntax(format!(
                "{word:?} is none of {CONDITIONS}, component, trigger; nor one of the flags +p, \
                 -p, =p, =_"
            )));
        }
    }
    Err(Error::Syntax("no flags: +p (on), -p (off), =_ (by the component's level)".into()))
}

/// The words of [`Query::add`].
const CONDITIONS: &str = "module, site, level, file, line, func, class, format";

/// The word after another one.
fn value<'a>(word: &str, words: &mut std::slice::Iter<'a, String>) -> Result<&'a String, Error> {
    let value = words.next().filter(|v| !v.is_empty());
    value.ok_or_else(|| Error::Syntax(format!("{word}: its value is missing")))
}

fn trigger(words: &[String]) -> Result<Trigger, Error> {
    let (mut off, mut hang, mut all, mut test, mut after) = (false, false, false, None, None);
    let mut query = Query::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let is_new = match word.as_str() {
            "off" => !std::mem::replace(&mut off, true),
            "hang" => !std::mem::replace(&mut hang, true),
            "all" => !std::mem::replace(&mut all, true),
            "after" => {
                let n = value(word, &mut words)?.parse();
                let n = n.map_err(|_| Error::Syntax("after: a number of records".into()))?;
                after.replace(n).is_none()
            }
            "if" => test.replace(comparison(&mut words)?).is_none(),
            _ if query.add(word, &mut words)? => true,
            _ => {
                return Err(Error::Syntax(format!(
                    "{word:?} is none of off, hang, all, after, if, {CONDITIONS}"
                )))
            }
        };
        if !is_new {
            return Err(Error::Syntax(format!("{word} twice")));
        }
    }
    let (has_site, plain) = (query != Query::default(), (test.is_none(), after.is_none()));
    match (off, hang, has_site) {
        (true, false, false) if !all && plain == (true, true) => Ok(Trigger::Off),
        (false, true, false) if plain == (true, true) => Ok(Trigger::Hang(all)),
        (false, false, true) => {
            Ok(Trigger::Record { all, query: Box::new(query), test, after: after.unwrap_or(0) })
        }
        _ => Err(Error::Syntax(
            "a trigger is off, or hang, or a call site and then if or after".into(),
        )),
    }
}

fn comparison(words: &mut std::slice::Iter<'_, String>) -> Result<Test, Error> {
    let argument = value("if", words)?.clone();
    let compare = match value("if", words)?.as_str() {
        "==" => "eq",
        "!=" => "ne",
        "<" => "lt",
        ">" => "gt",
        word => return Err(Error::Syntax(format!("{word:?} is none of ==, !=, <, >"))),
    };
    let word = value("if", words)?;
    let (sign, digits) = match word.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, word.as_str()),
    };
    let number = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    let number = number.map_err(|_| Error::Syntax(format!("{word:?} is no number")))?;
    Ok(Test { argument, compare, value: sign * i128::from(number) })
}

impl Test {
    /// As the kernel takes it, which knows places of bytes only.
    pub fn text(&self, site: &Site) -> Result<String, String> {
        let template = site.template.as_ref().map_err(ToString::to_string)?;
        let by_name = template.names().iter().position(|n| *n == self.argument);
        let index = by_name.or_else(|| self.argument.parse().ok());
        let types = template.types();
        let found = index.and_then(|i| Some((i, types.get(i)?)));
        let (index, ty) =
            found.ok_or_else(|| format!("the call has no argument {}", self.argument))?;
        let before = &types[..index];
        if let Some(text) = before.iter().position(Type::has_tail) {
            let text = &template.names()[text];
            return Err(format!(
                "{} comes after the text {text}, so that its place isn't known",
                self.argument
            ));
        }
        let sign = match ty.kind {
            Kind::Uint | Kind::Bool | Kind::Char | Kind::Pointer => 'u',
            Kind::Int | Kind::Error => 'i',
            _ => return Err(format!("{} is no integer", self.argument)),
        };
        let size = |ty: &Type| ty.fixed_by(Version::Two);
        let (at, bits) = (before.iter().map(size).sum::<usize>(), 8 * size(ty) as u32);
        let range = match sign {
            'u' => 0..=(1 << bits.min(64)) - 1,
            _ => -(1i128 << (bits.min(64) - 1))..=(1 << (bits.min(64) - 1)) - 1,
        };
        if !matches!(bits, 8 | 16 | 32 | 64) || !range.contains(&self.value) {
            return Err(format!("{} has {bits} bits, and is never {}", self.argument, self.value));
        }
        let (size, compare) = (bits / 8, self.compare);
        Ok(format!("{at}:{sign}{size}:{compare}:{}", self.value))
    }
}

impl Query {
    /// Takes in a condition. `false`: the word is none.
    fn add(&mut self, word: &str, words: &mut std::slice::Iter<'_, String>) -> Result<bool, Error> {
        let mut value = || value(word, words);
        let is_new = match word {
            "module" => self.module.replace(image_name(value()?)?).is_none(),
            "site" => self.ids.replace(parse_range(value()?)?).is_none(),
            "level" => self.level.replace(level(value()?)?).is_none(),
            "line" => self.lines.replace(parse_range(value()?)?).is_none(),
            "format" => self.format.replace(value()?.clone()).is_none(),
            "func" => self.function.replace(value()?.clone()).is_none(),
            "class" => self.class.replace(value()?.clone()).is_none(),
            "file" => {
                let file = value()?;
                // "file x.rs:10-20", as dynamic debug has it.
                let lines = file.rsplit_once(':');
                let lines = lines.and_then(|(f, l)| Some((f, parse_range(l).ok()?)));
                let (file, was_set) = match lines {
                    Some((file, lines)) => (file, self.lines.replace(lines).is_some()),
                    None => (file.as_str(), false),
                };
                self.file.replace(file.to_owned()).is_none() && !was_set
            }
            _ => return Ok(false),
        };
        match is_new {
            true => Ok(true),
            false => Err(Error::Syntax(format!("{word} twice"))),
        }
    }

    /// Whether the kernel can match it without side tables.
    pub fn is_the_kernels(&self) -> bool {
        let texts = [&self.file, &self.format, &self.function, &self.class];
        self.lines.is_none() && texts.iter().all(|text| text.is_none())
    }

    /// What to write for the kernel to do it itself.
    pub fn text(&self) -> String {
        let mut words = Vec::new();
        words.extend(self.module.as_ref().map(|m| format!("module {m}")));
        words.extend(self.ids.map(|(a, b)| format!("site {a}-{b}")));
        let level = self.level.and_then(Level::from_u8);
        words.extend(level.map(|l| format!("level {}", l.name())));
        words.push(self.flags.clone());
        words.join(" ")
    }

    fn wants_image(&self, name: &str) -> bool {
        self.module.as_ref().is_none_or(|m| m == name)
    }

    fn wants(&self, id: u32, site: &Site) -> bool {
        self.ids.is_none_or(|(a, b)| (a..=b).contains(&id))
            && self.level.is_none_or(|level| site.level == level)
            && self.lines.is_none_or(|(a, b)| (a..=b).contains(&site.line))
            && self.format.as_ref().is_none_or(|f| site.format.contains(f))
            && self.file.as_ref().is_none_or(|f| is_file(&site.file, f))
            && is_like(&site.function, self.function.as_ref())
            && is_like(&site.class, self.class.as_ref())
    }

    /// The sites that it means, and the images in which they can't be looked for, as they have no
    /// side table.
    pub fn resolve(&self, images: &[Image], map: &SiteMap) -> (Vec<u32>, Vec<String>) {
        let (mut ids, mut unknown) = (Vec::new(), Vec::new());
        for (image, known) in images.iter().zip(&map.images) {
            if image.loaded == 0 || !self.wants_image(&known.name) {
                continue;
            }
            let Some(sites) = &known.sites else {
                unknown.push(format!("{} (build ID {})", known.name, known.build_id));
                continue;
            };
            let sites = (image.first..).zip(&sites.sites);
            ids.extend(sites.filter(|(id, s)| self.wants(*id, s)).map(|(id, _)| id));
        }
        ids.sort_unstable();
        (ids, unknown)
    }
}

/// Whether a text is the one that is named, by a pattern or not.
fn is_like(text: &str, named: Option<&String>) -> bool {
    named.is_none_or(|named| matches_glob(text.as_bytes(), named))
}

/// Whether a path is the one that is named: all of it, its end after a `/`, or by a pattern.
fn is_file(path: &str, named: &str) -> bool {
    if named.contains('*') {
        let base = path.rsplit('/').next().unwrap_or(path);
        return matches_glob(path.as_bytes(), named) || matches_glob(base.as_bytes(), named);
    }
    let before = path.strip_suffix(named.trim_start_matches("./"));
    before.is_some_and(|b| b.is_empty() || b.ends_with('/'))
}

/// Commands for the kernel that set `flags` for these ids, which are in order.
pub fn for_ids(ids: &[u32], flags: &str) -> Vec<String> {
    let runs = ids.chunk_by(|a, b| a + 1 == *b);
    runs.map(|run| match run {
        [one] => format!("site {one} {flags}"),
        run => format!("site {}-{} {flags}", run[0], run[run.len() - 1]),
    })
    .collect()
}

/// Joins commands to as few writes as possible.
pub fn writes(commands: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for command in commands {
        match all.last_mut() {
            Some(last) if last.len() + 1 + command.len() < WRITE_MAX => {
                last.push('\n');
                last.push_str(command);
            }
            _ => all.push(command.clone()),
        }
    }
    all
}

/// The bytes that hex digits are.
pub(crate) fn unhex(digits: &str) -> Option<Vec<u8>> {
    let digit = |b: u8| char::from(b).to_digit(16).map(|n| n as u8);
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?);
    pairs.map(byte).collect()
}

/// An image as the kernel's file `control` lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switched {
    /// Its name.
    pub name: String,
    /// Sites that are switched on, and off.
    pub on: u64,
    /// See `on`.
    pub off: u64,
}

/// Reads the file `control`.
pub fn images(text: &str) -> Result<Vec<(Image, Switched)>, Error> {
    let line = Regex::new(
        r"^module (\S+) site (\d+)-(\d+) loaded ([01]) on (\d+) off (\d+)(?:.*) build_id ([0-9a-f]*)",
    )?;
    let mut all = Vec::new();
    for text in text.lines() {
        let bad = || Error::File(format!("a line that is not understood: {text:?}"));
        let c = line.captures(text).ok_or_else(bad)?;
        let number = |i: usize| c[i].parse::<u32>().map_err(|_| bad());
        let id = unhex(&c[7]).filter(|id| id.len() <= BUILD_ID_MAX).ok_or_else(bad)?;
        let (first, last) = (number(2)?, number(3)?);
        let mut image = Image {
            first,
            count: last.checked_sub(first).ok_or_else(bad)?.saturating_add(1),
            loaded: number(4)?,
            build_id_len: id.len() as u32,
            build_id: [0; BUILD_ID_MAX],
            reserved: 0,
            name: [0; NAME_MAX],
        };
        image.build_id[..id.len()].copy_from_slice(&id);
        for (to, from) in image.name.iter_mut().zip(c[1].bytes()) {
            *to = from;
        }
        let switched =
            Switched { name: c[1].to_owned(), on: number(5)?.into(), off: number(6)?.into() };
        all.push((image, switched));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sites(text: &str) -> Query {
        match parse(text).unwrap().as_slice() {
            [Command::Sites(q)] => q.clone(),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn commands_are_read_in_the_words_of_dynamic_debug() {
        let q =
            sites("file drivers/block/rnull.rs line 10-20 format \"read \\\"x\" level debug +p");
        assert_eq!(q.file.as_deref(), Some("drivers/block/rnull.rs"));
        assert_eq!((q.lines, q.level), (Some((10, 20)), Some(4)));
        assert_eq!(q.format.as_deref(), Some("read \"x"));
        assert_eq!(q.flags, "+p");
        // Nothing else gets into what is written.
        for name in ["a b", "a;", "a\n+p", "#"] {
            assert!(parse(&format!("module '{name}' +p")).is_err(), "{name:?}");
        }
        let q = sites("func 'read_*' class DRM_UT_KMS +p");
        assert_eq!(q.function.as_deref(), Some("read_*"));
        assert_eq!(q.class.as_deref(), Some("DRM_UT_KMS"));
        assert!(!q.is_the_kernels());
        assert_eq!(sites("file a.rs:7 -p").lines, Some((7, 7)));
        assert_eq!(sites("=_"), Query { flags: "=_".into(), ..Query::default() });
        let many = "module a +p; # no\n# no +p\ncomponent 'x y' off level=debug\nmax_kb=64";
        let many = parse(many).unwrap();
        let disk = ("enable", "0".to_owned());
        let level = ("level", "debug".to_owned());
        assert_eq!(many.len(), 3);
        assert_eq!(many[1], Command::Component("x y".into(), vec![disk, level]));
        assert_eq!(many[2], Command::MaxKb("64".into()));
    }

    #[test]
    fn ids_become_few_commands_and_few_writes() {
        assert_eq!(
            for_ids(&[1, 2, 3, 7, 9, 10], "+p"),
            ["site 1-3 +p", "site 7 +p", "site 9-10 +p"]
        );
        let every_other: Vec<u32> = (0..2000).map(|i| 100_000 + 2 * i).collect();
        let commands = for_ids(&every_other, "=_");
        let writes = writes(&commands);
        assert!(writes.iter().all(|w| w.len() <= WRITE_MAX));
        assert!(writes.len() < 10);
        assert_eq!(writes.join("\n"), commands.join("\n"));
    }

    #[test]
    fn the_kernels_list_of_images_is_read() {
        let line = "module rnull_mod site 1-9 loaded 1 on 0 off 2 new 5 build_id 71242aa7";
        let (image, switched) = images(line).unwrap().remove(0);
        assert_eq!((image.first, image.count, image.loaded), (1, 9, 1));
        assert_eq!(image.build_id[..4], [0x71, 0x24, 0x2a, 0xa7]);
        assert_eq!((switched.on, switched.off), (0, 2));
        assert!(images("module x site 9-1 loaded 1 on 0 off 0 build_id 00").is_err());
        assert!(images("what is this").is_err());
    }

    #[test]
    fn what_the_kernel_can_do_it_is_told_as_it_is() {
        let q = sites("module a site 3 level 2 -p");
        assert!(q.is_the_kernels());
        assert_eq!(q.text(), "module a site 3-3 level warn -p");
        assert!(!sites("line 3 +p").is_the_kernels());
    }
}
