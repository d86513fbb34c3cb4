// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The fields of a record by name, for conditions ([`expr`](crate::expr)) and for templates
//! ([`output::template`](crate::output::template)).

use std::{borrow::Cow, fmt};

use crate::{
    blogfmt::bytes::until_nul,
    boot::Boot,
    digits,
    error::Error,
    format::{
        errno,
        print::{Printer, Spec},
        template::Slot,
        types::{Kind, Type},
        value::{private, Value, View},
    },
    merge::Stream,
    record::Writer,
    sidetable::{Found, Site},
    wire::record::Level,
};

/// A record of which fields are asked for.
pub struct Subject<'a> {
    /// The ring.
    pub stream: &'a Stream,
    /// The boot that it is of.
    pub boot: &'a Boot,
    /// The writer.
    pub writer: &'a Writer,
    /// Level of what has no site.
    pub level: Option<u8>,
    /// Site id; 0: of what is no record.
    pub id: u32,
    /// Image and site.
    pub found: Option<&'a Found<'a>>,
    /// The bytes of its arguments.
    pub payload: &'a [u8],
    /// Where they are.
    pub slots: &'a [Slot],
    /// The message, if [`Selector::needs_message`].
    pub message: &'a [u8],
}

impl Subject<'_> {
    fn site(&self) -> Option<&Site> {
        self.found?.site
    }
}

/// A field that each record has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Field {
    Host,
    BootId,
    Component,
    Level,
    Context,
    Cpu,
    Pid,
    Tgid,
    Comm,
    Site,
    Image,
    Module,
    Function,
    Class,
    File,
    Line,
    Format,
    Message,
}

impl Field {
    /// Whether a call site has it, so that it takes a side table to know it.
    fn is_of_site(self) -> bool {
        matches!(
            self,
            Self::Level
                | Self::Module
                | Self::Function
                | Self::Class
                | Self::File
                | Self::Line
                | Self::Format
                | Self::Message
        )
    }

    /// Whether its values are integers.
    pub fn is_number(self) -> bool {
        matches!(self, Self::Cpu | Self::Pid | Self::Tgid | Self::Site | Self::Line)
    }
}

const FIELDS: [(&str, Field); 18] = [
    ("host", Field::Host),
    ("boot_id", Field::BootId),
    ("component", Field::Component),
    ("level", Field::Level),
    ("context", Field::Context),
    ("cpu", Field::Cpu),
    ("pid", Field::Pid),
    ("tgid", Field::Tgid),
    ("comm", Field::Comm),
    ("site", Field::Site),
    ("image", Field::Image),
    ("module", Field::Module),
    ("function", Field::Function),
    ("class", Field::Class),
    ("file", Field::File),
    ("line", Field::Line),
    ("format", Field::Format),
    ("message", Field::Message),
];

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
            Self::Field(field) => {
                let found = FIELDS.iter().find(|(_, known)| known == field);
                f.write_str(found.map_or("", |(name, _)| name))
            }
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
        }
    }
}

fn text(s: &str) -> Val<'_> {
    Val::Text(Cow::Borrowed(s.as_bytes()))
}

impl Selector {
    /// Whether it takes a side table to know it.
    pub fn needs_table(&self) -> bool {
        match self {
            Self::Field(field) => field.is_of_site(),
            Self::Argument(_) => true,
        }
    }

    /// The field of this name; `None` if there is none, an error if it can't be one.
    pub fn parse(word: &str) -> Result<Option<Self>, Error> {
        if let Some(path) = word.strip_prefix("arg.") {
            let path: Vec<String> = path.split('.').map(str::to_owned).collect();
            if path.iter().any(String::is_empty) {
                return Err(Error::Syntax("the name of an argument is expected".into()));
            }
            return Ok(Some(Self::Argument(path)));
        }
        let found = FIELDS.iter().find(|(name, _)| *name == word);
        Ok(found.map(|(_, field)| Self::Field(*field)))
    }

    /// All names but those of arguments.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FIELDS.iter().map(|(name, _)| *name)
    }

    /// Whether [`Subject::message`] is looked at.
    pub fn needs_message(&self) -> bool {
        *self == Self::Field(Field::Message)
    }

    /// The field's value, if the record has it.
    pub fn value<'a>(&self, s: &'a Subject<'a>) -> Option<Val<'a>> {
        let field = match self {
            Self::Argument(path) => {
                let (value, path) = argument(path, s)?;
                return inner(value, path);
            }
            Self::Field(field) => field,
        };
        Some(match field {
            Field::Component => text(&s.stream.component),
            Field::Host => text(&s.boot.host),
            Field::BootId => text(s.boot.id.as_deref()?),
            Field::Level => Val::Level(s.site().map(|s| s.level).or(s.level)?),
            Field::Context => text(s.writer.context?.name()),
            Field::Cpu => Val::Number(s.writer.cpu?.into()),
            Field::Pid => Val::Number(s.writer.task?.pid.into()),
            Field::Tgid => Val::Number(s.writer.task?.tgid.into()),
            Field::Comm => Val::Text(Cow::Borrowed(until_nul(&s.writer.task.as_ref()?.comm))),
            Field::Site => Val::Number(s.id.into()),
            Field::Image => text(&s.found?.image.name),
            Field::Module => text(&s.site()?.module),
            Field::Function => text(&s.site()?.function),
            Field::Class => text(&s.site()?.class),
            Field::File => text(&s.site()?.file),
            Field::Line => Val::Number(s.site()?.line.into()),
            Field::Format => text(&s.site()?.format),
            Field::Message => Val::Text(Cow::Borrowed(s.message)),
        })
    }

    /// Appends the field as text; an argument as `{}`, or else `{:?}`, prints it. `false`: the
    /// record doesn't have it.
    pub fn print(&self, s: &Subject<'_>, out: &mut Vec<u8>) -> bool {
        if let Self::Argument(path) = self {
            if let Some((value, [])) = argument(path, s) {
                value.print(&Spec::DISPLAY, &mut Printer::new(out));
                return true;
            }
        }
        match self.value(s) {
            Some(v) => v.print(out),
            None => return false,
        }
        true
    }
}

/// An argument, and what is left of the path to a part of it.
fn argument<'a, 'p>(path: &'p [String], s: &'a Subject<'a>) -> Option<(Value<'a>, &'p [String])> {
    let template = s.site()?.template.as_ref().ok()?;
    let (place, rest) = place(path, template.names())?;
    let mut arguments = template.arguments(s.payload, s.slots);
    Some((arguments.nth(place)?.1, rest))
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
