// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The fields of a record by name, for conditions ([`expr`](crate::expr)) and for templates
//! ([`output::template`](crate::output::template)).

use std::{borrow::Cow, fmt};

use crate::{
    blogfmt::bytes::until_nul,
    calendar::push_local,
    decode::Entry,
    digits,
    error::Error,
    format::{
        errno,
        print::{Printer, Spec},
        types::{Kind, Type},
        value::{private, Value, View},
    },
    merge::EventKind,
    sidetable::Site,
    wire::record::Level,
};

/// A field that entries have: a column of tables.
pub struct Column {
    /// What it is called.
    pub name: &'static str,
    /// Where it is known.
    pub scope: Scope,
    /// What its values are.
    pub unit: Quantity,
    /// What it says, for the manual.
    pub doc: &'static str,
    /// Its value, if the entry has one.
    get: for<'e> fn(&'e Entry<'_>) -> Option<Val<'e>>,
}

/// Where a column is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In outputs, and not in conditions.
    Output,
    /// Everywhere.
    Entry,
    /// The same, but it takes a side table to know it.
    Site,
}

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Text.
    Text,
    /// A number.
    Number,
    /// ns.
    Ns,
    /// Ticks of the ring's clock.
    Ticks,
    /// Seconds, with nine digits after the point.
    Seconds,
    /// A date, in the user's time zone.
    Date,
}

macro_rules! columns {
    ($(
        $(#[doc = $doc:literal])+
        $field:ident = $name:literal, $scope:ident $unit:ident, $get:expr;
    )+) => {
        /// A column, by its place in [`COLUMNS`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Field {
            $($(#[doc = $doc])+ $field,)+
        }

        const FIELDS: &[Field] = &[$(Field::$field),+];

        /// All columns. Of two with the same name, outputs have the first.
        pub const COLUMNS: &[Column] = &[$(Column {
            name: $name,
            scope: Scope::$scope,
            unit: Quantity::$unit,
            doc: concat!($($doc),+),
            get: $get,
        },)+];
    };
}

columns! {
    /// time since boot, or by the wall clock if there are several boots
    Time = "time", Output Seconds, |e| match e.boot.is_one_of_several {
        true => date(e).or_else(|| boot(e)),
        false => boot(e),
    };
    /// time since boot
    Boot = "boot", Output Seconds, boot;
    /// time since boot, without the time in suspend
    Mono = "mono", Output Seconds, |e| Some(Val::Seconds(e.boot.calibration.mono(e.clock())));
    /// time by the wall clock
    Wall = "wall", Output Date, date;
    /// time by the ring's clock
    Clock = "clock", Output Ticks, |e| number(e.clock());
    /// all arguments as ``name=value``
    Args = "args", Output Text, |e| Some(Val::Text(Cow::Owned(arguments(e))));
    /// time since boot
    BootNs = "boot_ns", Output Ns, |e| Some(Val::Number(e.boot.calibration.boot(e.clock())));
    /// time since 1970, UTC
    WallNs = "wall_ns", Output Ns, |e| {
        e.boot.calibration.is_known().then(|| Val::Number(e.real()))
    };
    /// ``record``, ``lost``, or ``dmesg`` or ``ftrace`` for a line of those
    Kind = "kind", Output Text, |e| Some(text(match e.event.kind {
        EventKind::Record { .. } => "record",
        EventKind::Loss { .. } => "lost",
        EventKind::Line { .. } => &e.stream.component,
    }));
    /// ``blog``, or ``dmesg`` or ``ftrace`` for a line of those
    Source = "source", Output Text, |e| {
        Some(text(if e.is_line() { &e.stream.component } else { "blog" }))
    };
    /// component of a record or a loss
    Driver = "driver", Output Text, |e| (!e.is_line()).then(|| text(&e.stream.component));
    /// number of the ring in its component
    Ring = "ring", Output Number, |e| (!e.is_line()).then(|| Val::Number(e.stream.id.into()));
    /// number of a record in its ring
    Ordinal = "ordinal", Output Number, |e| match e.event.kind {
        EventKind::Record { ordinal, .. } => number(ordinal),
        _ => None,
    };
    /// of a loss: how many records are missing
    Count = "count", Output Number, |e| match e.event.kind {
        EventKind::Loss { count, .. } => number(count),
        _ => None,
    };
    /// of a loss: why
    Cause = "cause", Output Text, |e| match e.event.kind {
        EventKind::Loss { cause, .. } => Some(text(cause.name())),
        _ => None,
    };
    /// release of the kernel
    Release = "release", Output Text, |e| some_text(&e.boot.release);
    /// build ID of the call site's image
    BuildId = "build_id", Output Text, |e| some_text(&e.found?.image.build_id);
    /// level; ``lost`` of a loss
    ShownLevel = "level", Output Text, |e| match e.is_loss() {
        true => Some(text("lost")),
        false => level(e),
    };
    /// site id
    ShownSite = "site", Output Number, |e| e.is_record().then(|| Val::Number(e.id().into()));
    /// name of the machine
    Host = "host", Entry Text, |e| Some(text(&e.boot.host));
    /// boot id
    BootId = "boot_id", Entry Text, |e| Some(text(e.boot.id.as_deref()?));
    /// component; ``dmesg`` or ``ftrace`` of a line of those
    Component = "component", Entry Text, |e| Some(text(&e.stream.component));
    /// level
    Level = "level", Site Text, level;
    /// ``task``, ``softirq``, ``hardirq`` or ``nmi``
    Context = "context", Entry Text, |e| Some(text(e.writer().context?.name()));
    /// CPU, of an interrupt or in a shared ring
    Cpu = "cpu", Entry Number, |e| number(e.writer().cpu?);
    /// thread id
    Pid = "pid", Entry Number, |e| Some(Val::Number(e.task()?.pid.into()));
    /// process id
    Tgid = "tgid", Entry Number, |e| Some(Val::Number(e.task()?.tgid.into()));
    /// name of the task
    Comm = "comm", Entry Text, |e| Some(Val::Text(Cow::Borrowed(until_nul(&e.task()?.comm))));
    /// site id
    Site = "site", Entry Number, |e| number(e.id());
    /// name of the call site's image
    Image = "image", Entry Text, |e| Some(text(&e.found?.image.name));
    /// module of the call site
    Module = "module", Site Text, |e| Some(text(&e.site()?.module));
    /// function of the call site
    Function = "function", Site Text, |e| Some(text(&e.site()?.function));
    /// what its subsystem calls such a message
    Class = "class", Site Text, |e| Some(text(&e.site()?.class));
    /// source file of the call site
    File = "file", Site Text, |e| Some(text(&e.site()?.file));
    /// line of the call site
    Line = "line", Site Number, |e| number(e.site()?.line);
    /// format string
    Format = "format", Site Text, |e| Some(text(&e.site()?.format));
    /// message; of a loss, how many records are missing and why
    Message = "message", Site Text, |e| Some(Val::Text(Cow::Borrowed(&e.message)));
}

fn number(n: impl Into<i128>) -> Option<Val<'static>> {
    Some(Val::Number(n.into()))
}

fn some_text(s: &str) -> Option<Val<'_>> {
    (!s.is_empty()).then(|| text(s))
}

fn level<'e>(e: &'e Entry<'_>) -> Option<Val<'e>> {
    Some(Val::Level(e.level()?))
}

fn boot<'e>(e: &'e Entry<'_>) -> Option<Val<'e>> {
    Some(Val::Seconds(e.boot.calibration.boot(e.clock())))
}

fn date<'e>(e: &'e Entry<'_>) -> Option<Val<'e>> {
    e.boot.calibration.is_known().then(|| Val::Date(e.real()))
}

fn arguments(entry: &Entry<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    for (i, (name, value, _)) in entry.arguments().enumerate() {
        out.extend_from_slice(if i == 0 { b"" } else { b" " });
        out.extend_from_slice(name.as_bytes());
        out.push(b'=');
        value.print(&Spec::DISPLAY, &mut Printer::new(&mut out));
    }
    out
}

impl Field {
    /// What is known of it.
    pub fn column(self) -> &'static Column {
        &COLUMNS[self as usize]
    }

    /// Its value, if an entry has one.
    #[inline]
    pub fn value<'e>(self, entry: &'e Entry<'_>) -> Option<Val<'e>> {
        (self.column().get)(entry)
    }

    /// Whether all entries of a kind have the same, if they are of one ring, level and writer.
    pub(crate) fn is_of_ring(self) -> bool {
        use Field::*;
        matches!(
            self,
            Host | BootId
                | Release
                | Kind
                | Source
                | ShownLevel
                | Level
                | Component
                | Driver
                | Ring
                | Context
                | Cpu
                | Pid
                | Tgid
                | Comm
        )
    }

    /// Whether its values are integers.
    pub fn is_number(self) -> bool {
        matches!(self.column().unit, Quantity::Number | Quantity::Ns | Quantity::Ticks)
    }
}

/// Which field: `component`, …, `arg.NAME`, `arg.0`, `arg.NAME.FIELD`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// What each record has.
    Field(Field),
    /// An argument, and the steps into it.
    Argument(Vec<String>),
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(path) => write!(f, "arg.{}", path.join(".")),
            Self::Field(field) => f.write_str(field.column().name),
        }
    }
}

/// A value of a record, or of the condition.
#[allow(missing_docs)]
pub enum Val<'a> {
    Number(i128),
    /// Larger than that.
    Big(u128),
    Text(Cow<'a, [u8]>),
    Bool(bool),
    Errno(i32),
    Level(u8),
    /// In ns.
    Seconds(i128),
    /// In ns since 1970.
    Date(i128),
}

impl Val<'_> {
    /// Appends it as text.
    pub fn print(&self, out: &mut Vec<u8>) {
        match self {
            Self::Number(n) => digits::push_signed(out, *n),
            Self::Big(n) => digits::push_wide(out, *n),
            Self::Text(t) => out.extend_from_slice(t),
            Self::Bool(b) => out.extend_from_slice(if *b { b"true" } else { b"false" }),
            Self::Errno(n) => match errno::name(n.unsigned_abs()) {
                Some(name) => out.extend_from_slice(name.as_bytes()),
                None => digits::push_signed(out, (*n).into()),
            },
            Self::Level(n) => {
                let name = Level::from_u8(*n).map_or("?", Level::name);
                out.extend_from_slice(name.as_bytes());
            }
            Self::Seconds(ns) => {
                out.extend_from_slice(if *ns < 0 { b"-" } else { b"" });
                let ns = ns.unsigned_abs();
                digits::push_wide(out, ns / 1_000_000_000);
                out.push(b'.');
                digits::push_padded(out, (ns % 1_000_000_000) as u64, 9, b'0');
            }
            Self::Date(ns) => push_local(out, *ns, false),
        }
    }
}

fn text(s: &str) -> Val<'_> {
    Val::Text(Cow::Borrowed(s.as_bytes()))
}

impl Selector {
    /// Whether it takes a side table to know it.
    pub(crate) fn needs_table(&self) -> bool {
        match self {
            Self::Field(field) => field.column().scope == Scope::Site,
            Self::Argument(_) => true,
        }
    }

    /// The field of this name in conditions; `None` if there is none, an error if it can't be one.
    pub fn parse(word: &str) -> Result<Option<Self>, Error> {
        Self::named(word, |scope| scope != Scope::Output)
    }

    /// The field of this name in outputs.
    pub(crate) fn of_output(word: &str) -> Result<Self, Error> {
        Self::named(word, |_| true)?.ok_or_else(|| {
            let outputs = COLUMNS.iter().filter(|c| c.scope == Scope::Output).map(|c| c.name);
            let names: Vec<&str> = outputs.chain(["arg.NAME"]).chain(Self::names()).collect();
            let is_new = |(i, name): &(usize, &&str)| !names[..*i].contains(name);
            let names: Vec<&str> =
                names.iter().enumerate().filter(is_new).map(|(_, name)| *name).collect();
            Error::Syntax(format!("no field {word:?}; there are: {}", names.join(" ")))
        })
    }

    fn named(word: &str, is_in: impl Fn(Scope) -> bool) -> Result<Option<Self>, Error> {
        if let Some(path) = word.strip_prefix("arg.") {
            let path: Vec<String> = path.split('.').map(str::to_owned).collect();
            if path.iter().any(String::is_empty) {
                return Err(Error::Syntax("the name of an argument is expected".into()));
            }
            return Ok(Some(Self::Argument(path)));
        }
        let found = FIELDS.iter().find(|field| {
            let column = field.column();
            column.name == word && is_in(column.scope)
        });
        Ok(found.map(|field| Self::Field(*field)))
    }

    /// All names in conditions but those of arguments.
    pub fn names() -> impl Iterator<Item = &'static str> {
        COLUMNS.iter().filter(|column| column.scope != Scope::Output).map(|column| column.name)
    }

    /// Whether [`Entry::message`] is looked at.
    pub(crate) fn needs_message(&self) -> bool {
        *self == Self::Field(Field::Message)
    }

    /// The field's value, if the entry has it.
    pub fn value<'a>(&self, e: &'a Entry<'_>) -> Option<Val<'a>> {
        match self {
            Self::Argument(path) => {
                let (value, path) = argument(path, e)?;
                inner(value, path)
            }
            Self::Field(field) => field.value(e),
        }
    }

    /// Appends the field as text; an argument as `{}`, or else `{:?}`, prints it. `false`: the
    /// record doesn't have it.
    pub fn print(&self, e: &Entry<'_>, out: &mut Vec<u8>) -> bool {
        if let Self::Argument(path) = self {
            if let Some((value, [])) = argument(path, e) {
                value.print(&Spec::DISPLAY, &mut Printer::new(out));
                return true;
            }
        }
        match self.value(e) {
            Some(v) => v.print(out),
            None => return false,
        }
        true
    }
}

/// An argument, and what is left of the path to a part of it.
fn argument<'a, 'p>(path: &'p [String], e: &'a Entry<'_>) -> Option<(Value<'a>, &'p [String])> {
    let (place, rest) = place(path, e.template()?.names())?;
    Some((e.arguments().nth(place)?.1, rest))
}

/// Which argument a path names, and what is left of it. A source text may have dots: `req.tag`.
fn place<'p>(path: &'p [String], names: &[String]) -> Option<(usize, &'p [String])> {
    if let Ok(place) = path.first()?.parse() {
        return Some((place, &path[1..]));
    }
    let is_it = |name: &str, path: &[String]| {
        let mut steps = path.iter();
        name.split('.').all(|part| steps.next().is_some_and(|step| step == part))
            && steps.next().is_none()
    };
    (1..=path.len()).rev().find_map(|n| {
        // Named arguments come after positional ones, which are known by their source text.
        let place = names.iter().rposition(|name| is_it(name, &path[..n]))?;
        Some((place, &path[n..]))
    })
}

/// What a value is to a condition, after as many steps into it as `path` has.
fn inner<'a>(value: Value<'a>, path: &[String]) -> Option<Val<'a>> {
    let view = value.view();
    match view {
        View::Option(v) => return inner(v?, path),
        View::Result(Ok(v)) => return inner(v, path),
        View::Derived(_, variant, mut fields) => {
            return match path.split_first() {
                None => Some(text(&variant.name)),
                Some((step, rest)) => {
                    let field = match step.parse::<usize>() {
                        Ok(i) => fields.nth(i)?,
                        Err(_) => fields.find(|(name, _)| name == step)?,
                    };
                    inner(field.1, rest)
                }
            }
        }
        _ if !path.is_empty() => return None,
        _ => {}
    }
    let owned = |s: String| Val::Text(Cow::Owned(s.into_bytes()));
    Some(match view {
        View::Uint(n) => i128::try_from(n).map_or(Val::Big(n), Val::Number),
        View::Int(n) => Val::Number(n),
        View::Bool(b) => Val::Bool(b),
        View::Char(Ok(c)) => owned(c.to_string()),
        View::Char(Err(n)) => Val::Number(n.into()),
        View::Str(b) | View::CStr(b) | View::Bytes(b) => Val::Text(Cow::Borrowed(b)),
        View::Pointer(p) => Val::Number(p.into()),
        View::Error(n) | View::Result(Err(n)) => Val::Errno(n),
        View::Ipv4(a) => owned(a.to_string()),
        View::Ipv6(a) => owned(a.to_string()),
        View::Mac(m) => owned(m.map(|b| format!("{b:02x}")).join(":")),
        View::Private(hash) => owned(private(hash)),
        View::BadTag(_, tag) => Val::Number(tag.into()),
        View::Unit | View::Option(_) | View::Result(_) | View::Derived(..) => return None,
    })
}

/// What a value of an argument may be to a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Class<'a> {
    Number,
    Text,
    Bool,
    Errno,
    Variant(&'a str),
}

/// What an argument of a call site, or a part of it, may be; nothing if the site doesn't have it.
pub fn classes<'a>(path: &[String], site: &'a Site) -> Vec<Class<'a>> {
    let mut all = Vec::new();
    if let Some((ty, rest)) = argument_type(path, site) {
        classes_of(ty, rest, &mut all);
    }
    all
}

/// The same type as that of the value that [`argument`] finds.
fn argument_type<'a, 'p>(path: &'p [String], site: &'a Site) -> Option<(&'a Type, &'p [String])> {
    let template = site.template.as_ref().ok()?;
    let (place, rest) = place(path, template.names())?;
    Some((template.types().get(place)?, rest))
}

/// Whether a call site has an argument, and the part of it.
pub fn has_argument(path: &[String], site: &Site) -> bool {
    let found = argument_type(path, site);
    found.is_some_and(|(_, rest)| rest.is_empty() || !classes(path, site).is_empty())
}

fn classes_of<'a>(ty: &'a Type, path: &[String], all: &mut Vec<Class<'a>>) {
    match &ty.kind {
        Kind::Option(inner) => return classes_of(inner, path, all),
        Kind::Private(inner) => {
            classes_of(inner, path, all);
            if path.is_empty() {
                all.push(Class::Text);
            }
            return;
        }
        Kind::Result(inner) => {
            classes_of(inner, path, all);
            if path.is_empty() {
                all.push(Class::Errno);
            }
            return;
        }
        Kind::Derived(derived) => {
            for variant in &derived.variants {
                match path.split_first() {
                    None => all.push(Class::Variant(&variant.name)),
                    Some((step, rest)) => {
                        let place = step.parse().ok();
                        let named = || variant.fields.iter().position(|(name, _)| name == step);
                        let field = place.or_else(named).and_then(|i| variant.fields.get(i));
                        if let Some((_, ty)) = field {
                            classes_of(ty, rest, all);
                        }
                    }
                }
            }
            return;
        }
        _ if !path.is_empty() => return,
        _ => {}
    }
    all.extend(match ty.kind {
        Kind::Uint | Kind::Int | Kind::Pointer => Some(Class::Number),
        Kind::Bool => Some(Class::Bool),
        Kind::Error => Some(Class::Errno),
        Kind::Unit => None,
        _ => Some(Class::Text),
    });
}

/// Whether an argument is, at each call site that has it, an integer of at most 64 bits, which
/// prints as such.
pub fn is_integer(path: &[String], sites: &[&Site]) -> bool {
    let mut types = sites.iter().filter_map(|site| argument_type(path, site)).peekable();
    let is_plain = |ty: &Type| matches!(ty.kind, Kind::Uint | Kind::Int) && ty.fixed <= 8;
    types.peek().is_some() && types.all(|(ty, rest)| rest.is_empty() && is_plain(ty))
}
