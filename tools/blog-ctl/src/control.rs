// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Switches components and call sites of this system.
//!
//! It parses all commands and finds all sites before it writes anything. Then it reads the changed
//! settings back and shows them.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    iter,
    path::{Path, PathBuf},
};

use blog_decode::cli::{
    local_system::explain_missing,
    poll::{self, PollSource, Signals},
    report::{complain, print_all, Failure, Status},
};
use blog_decode_core::{
    filter::matches_glob,
    output::level_name,
    sidetable::{SiteMap, Tables},
};
use blog_wire::file::Image;

use crate::{
    args::Control,
    commands::{for_ids, images, parse, writes, Command, Query, Switched, Trigger},
};

/// Switches.
pub fn control(args: &Control) -> Result<Status, Failure> {
    args.tables.check()?;
    let commands = parse(&args.commands.join("\n"))?;
    let mut system = System::open(args)?;
    if commands.is_empty() {
        return match args.wait {
            true => system.wait(Vec::new()),
            false => system.show(),
        };
    }
    let mut plan = Plan::default();
    for command in &commands {
        system.plan(command, &mut plan)?;
    }
    print_all(|out| {
        out.extend_from_slice(plan.text.as_bytes());
        Ok(())
    })?;
    if !args.dry_run {
        system.run(&plan)?;
        if args.wait {
            return system.wait(plan.triggers);
        }
    }
    Ok(plan.status)
}

/// What is to be done.
#[derive(Default)]
struct Plan {
    /// File and content, in order.
    writes: Vec<(PathBuf, String)>,
    /// What to report about it.
    text: String,
    /// Files of triggers among these.
    triggers: Vec<PathBuf>,
    status: Status,
}

struct System<'a> {
    args: &'a Control,
    images: Vec<Image>,
    switched: Vec<Switched>,
    /// Made when it is needed.
    map: Option<SiteMap>,
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| explain_missing(path, &e))
}

/// The names of all components: each has a directory.
pub(crate) fn components(blog: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(blog).map_err(|e| explain_missing(blog, &e))?.flatten();
    let mut names: Vec<_> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    Ok(names)
}

impl<'a> System<'a> {
    fn open(args: &'a Control) -> Result<Self, String> {
        let (images, switched) = known(&args.blog)?;
        Ok(Self { args, images, switched, map: None })
    }

    /// The state of components, and of images with sites.
    fn show(&self) -> Result<Status, Failure> {
        let names = components(&self.args.blog)?;
        print_all(|out| {
            writeln!(
                out,
                "{:<16} {:<3} {:<6} {:<10} {:>9} {:>8}",
                "component", "on", "level", "mode", "size_kb", "ring_kb"
            )?;
            for name in &names {
                // One that goes meanwhile has no files any more.
                let value = |key: &str| {
                    let text = fs::read_to_string(self.args.blog.join(name).join(key));
                    text.map_or("?".into(), |text| text.trim_end().to_owned())
                };
                writeln!(
                    out,
                    "{:<16} {:<3} {:<6} {:<10} {:>9} {:>8}",
                    name.escape_default().to_string(),
                    if value("enable") == "1" { "yes" } else { "no" },
                    value("level"),
                    value("mode"),
                    value("size_kb"),
                    value("ring_kb")
                )?;
            }
            let head = ("sites of", "ids", "on", "off");
            writeln!(out, "\n{:<24} {:>15} {:>7} {:>7}", head.0, head.1, head.2, head.3)?;
            for (image, s) in self.images.iter().zip(&self.switched) {
                let last = image.first.saturating_add(image.count.saturating_sub(1));
                let ids = format!("{}-{last}", image.first);
                writeln!(out, "{:<24} {ids:>15} {:>7} {:>7}", s.name, s.on, s.off)?;
            }
            Ok(())
        })
    }

    fn plan(&mut self, command: &Command, plan: &mut Plan) -> Result<(), String> {
        match command {
            Command::Component(pattern, settings) => self.component(pattern, settings, plan),
            Command::MaxKb(value) => setting(&self.args.parameters, "max_kb", "blog", value, plan),
            Command::Sites(query) => self.sites(query, plan),
            Command::Trigger(name, trigger) => self.trigger(name, trigger, plan),
        }
    }

    fn trigger(&mut self, name: &str, trigger: &Trigger, plan: &mut Plan) -> Result<(), String> {
        let path = self.args.blog.join(name).join("trigger");
        if name.contains(['/', '*']) || !path.exists() {
            return Err(format!("there is no component {name}, or it has no trigger"));
        }
        let freezes = |all: &bool| if *all { " all" } else { "" };
        let text = match trigger {
            Trigger::Off => "off".into(),
            Trigger::Hang(all) => format!("hang{}", freezes(all)),
            Trigger::Record { all, query, test, after } => {
                self.load();
                let Some(map) = &self.map else { return Ok(()) };
                let (ids, _) = query.resolve(&self.images, map);
                let [id] = ids[..] else {
                    return Err(format!("{} call sites are like that, not one", ids.len()));
                };
                let site = map.find(id).and_then(|f| f.site);
                let test = match (test, site) {
                    (Some(test), Some(site)) => format!(" if={}", test.text(site)?),
                    _ => String::new(),
                };
                format!("site={id}{test} after={after}{}", freezes(all))
            }
        };
        plan.text.push_str(&format!("{name}: trigger {text}\n"));
        plan.triggers.push(path.clone());
        plan.writes.push((path, text));
        Ok(())
    }

    /// Waits until one of these triggers has frozen something, and prints which; of none, of any
    /// component.
    fn wait(&self, mut triggers: Vec<PathBuf>) -> Result<Status, Failure> {
        if triggers.is_empty() {
            let names = components(&self.args.blog)?;
            triggers.extend(names.iter().map(|n| self.args.blog.join(n).join("trigger")));
        }
        let signals = Signals::new()?;
        let inputs: Result<Vec<_>, _> =
            triggers.iter().map(|path| PollSource::open(path)).collect();
        let inputs = inputs?;
        while !signals.asked() {
            let ready = poll::wait(&inputs, &signals, None)?;
            if let Some(&i) = ready.first() {
                let text = read(&triggers[i])?;
                let name = triggers[i].parent().and_then(Path::file_name);
                let name = name.unwrap_or_default().to_string_lossy();
                print_all(|out| write!(out, "{name}: {text}"))?;
                return Ok(Status::Whole);
            }
        }
        Ok(Status::Partial)
    }

    fn component(
        &self,
        pattern: &str,
        settings: &[(&str, String)],
        plan: &mut Plan,
    ) -> Result<(), String> {
        let mut names = components(&self.args.blog)?;
        names.retain(|n| matches_glob(n.as_bytes(), pattern));
        if names.is_empty() {
            return Err(format!("there is no component {pattern}"));
        }
        for name in &names {
            for (key, value) in settings {
                setting(&self.args.blog.join(name), key, name, value, plan)?;
            }
        }
        Ok(())
    }

    fn sites(&mut self, query: &Query, plan: &mut Plan) -> Result<(), String> {
        self.load();
        let Some(map) = &self.map else { return Ok(()) };
        let (ids, unknown) = query.resolve(&self.images, map);
        let path = self.args.blog.join("control");
        let what = match query.flags.as_str() {
            "-p" => "off",
            "=_" => "by level",
            _ => "on",
        };
        for id in &ids {
            if let Some(site) = map.find(*id).and_then(|f| f.site) {
                plan.text.push_str(&format!(
                    "{what:<8} {id:>7} {:<5} {}:{} {:?}\n",
                    level_name(site.level),
                    site.file.escape_default(),
                    site.line,
                    site.format
                ));
            }
        }
        let commands = match query.is_the_kernels() {
            true => {
                for image in &unknown {
                    plan.text.push_str(&format!("{what:<8} sites in {image} that match\n"));
                }
                vec![query.text()]
            }
            false => {
                for image in &unknown {
                    complain(&format!("no side table of {image}: its sites are not known"));
                    plan.status = Status::Partial;
                }
                if ids.is_empty() {
                    let hint = match query.function {
                        Some(_) => ": the function may be inlined into another; name file and line",
                        None => "",
                    };
                    return Err(format!("no call site is like that{hint}"));
                }
                for_ids(&ids, &query.flags)
            }
        };
        for text in writes(&commands) {
            plan.writes.push((path.clone(), text));
        }
        Ok(())
    }

    /// Looks for the side tables.
    fn load(&mut self) {
        if self.map.is_none() {
            let paths = &self.args.tables;
            let tables = Tables::load(
                self.images.iter(),
                iter::empty(),
                &paths.sidetable,
                &[],
                Some(&paths.modules),
            );
            for problem in &tables.problems {
                complain(&problem.text);
            }
            self.map = Some(SiteMap::new(&self.images, &tables));
        }
    }

    /// Does it, and shows what became of it.
    fn run(&self, plan: &Plan) -> Result<(), Failure> {
        for (done, (path, text)) in plan.writes.iter().enumerate() {
            write(path, text).map_err(|e| {
                let rest = match done {
                    0 => "; nothing was changed".to_owned(),
                    n => format!("; what came before ({n} of {}) was done", plan.writes.len()),
                };
                format!("{}: {e}{rest}", path.display())
            })?;
        }
        let now = known(&self.args.blog)?.1;
        print_all(|out| {
            for (old, new) in self.switched.iter().zip(&now) {
                if old != new && old.name == new.name {
                    let (name, on, off) = (&new.name, new.on, new.off);
                    let was = (old.on, old.off);
                    writeln!(out, "{name}: {} -> {on} sites on, {} -> {off} off", was.0, was.1)?;
                }
            }
            Ok(())
        })?;
        Ok(())
    }
}

fn known(blog: &Path) -> Result<(Vec<Image>, Vec<Switched>), String> {
    let path = blog.join("control");
    let all = images(&read(&path)?).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(all.into_iter().unzip())
}

/// Plans a write to a file that holds one value.
fn setting(dir: &Path, key: &str, of: &str, value: &str, plan: &mut Plan) -> Result<(), String> {
    let path = dir.join(key);
    if key == "clear" {
        plan.text.push_str(&format!("{of}: clear\n"));
    } else {
        let old = read(&path)?;
        let old = old.trim();
        plan.text.push_str(&format!("{of}: {key} {old} -> {value}\n"));
    }
    plan.writes.push((path, value.to_owned()));
    Ok(())
}

/// One write: the kernel does all of it, or nothing.
fn write(path: &Path, text: &str) -> Result<(), String> {
    let written =
        OpenOptions::new().write(true).open(path).and_then(|mut file| file.write(text.as_bytes()));
    match written {
        Ok(n) if n == text.len() => Ok(()),
        Ok(n) => Err(format!("only {n} of {} bytes were taken", text.len())),
        Err(e) => Err(match e.raw_os_error() {
            Some(2) => format!("{e}: no loaded call site matches a command"),
            Some(16) => format!("{e}: rings write to more memory than that"),
            Some(22) => format!("{e}: not understood, or out of range"),
            Some(28) => format!("{e}: more than blog.max_kb allows"),
            _ => e.to_string(),
        }),
    }
}
