// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Tables of answers: lines for people, or objects for programs.

use std::{borrow::Cow, io::Write};

use blog_decode_core::{
    boot::{self, Boot},
    output::json::{self, Object},
};

type Text<'a, R> = Box<dyn Fn(&R) -> String + 'a>;
type Json<'a, R> = Box<dyn Fn(&R, &mut Object<'_>) + 'a>;

/// What a row has: in lines, in objects, or in both.
enum Column<'a, R> {
    /// Its head, how wide it is, to the left if that is negative, and its text.
    Text(Cow<'a, str>, isize, Text<'a, R>),
    Json(Json<'a, R>),
}

/// Columns of rows `R`.
pub struct Table<'a, R> {
    /// The objects' type.
    kind: &'static str,
    columns: Vec<Column<'a, R>>,
}

impl<'a, R> Table<'a, R> {
    /// One without columns, of which objects have this `type`.
    pub fn new(kind: &'static str) -> Self {
        Self { kind, columns: Vec::new() }
    }

    /// Adds a column that lines have. It is to the left if `width` is negative.
    pub fn column(
        mut self,
        head: impl Into<Cow<'a, str>>,
        width: isize,
        text: impl Fn(&R) -> String + 'a,
    ) -> Self {
        self.columns.push(Column::Text(head.into(), width, Box::new(text)));
        self
    }

    /// Adds what objects have.
    pub fn json(mut self, json: impl Fn(&R, &mut Object<'_>) + 'a) -> Self {
        self.columns.push(Column::Json(Box::new(json)));
        self
    }

    /// Adds a number, which both have under this name.
    pub fn number(self, name: &'static str, width: isize, get: impl Fn(&R) -> u64 + 'a) -> Self {
        let get = std::rc::Rc::new(get);
        let of_lines = get.clone();
        self.column(name, width, move |row| of_lines(row).to_string())
            .json(move |row, o| o.number(name, get(row)))
    }

    /// Adds to lines the name of the boot that a row is of, if there are several.
    pub fn host(self, boots: &[Boot], get: impl Fn(&R) -> &Boot + 'a) -> Self {
        const HEAD: &str = "host";
        match boot::width(boots) {
            Some(width) => self.column(HEAD, -(width.max(HEAD.len()) as isize), move |row| {
                get(row).name.escape_default().to_string()
            }),
            None => self,
        }
    }

    /// Prints rows, with heads if they are lines.
    pub fn print(&self, rows: impl IntoIterator<Item = R>, as_json: bool, out: &mut Vec<u8>) {
        if !as_json {
            self.head(out);
        }
        rows.into_iter().for_each(|row| self.row(&row, as_json, out));
    }

    /// Prints the heads of lines.
    pub fn head(&self, out: &mut Vec<u8>) {
        self.line(|head, _| Cow::Borrowed(head), out);
    }

    /// Prints a row.
    pub fn row(&self, row: &R, as_json: bool, out: &mut Vec<u8>) {
        if !as_json {
            return self.line(|_, text| text(row).into(), out);
        }
        json::line(out, self.kind, |o| {
            for column in &self.columns {
                if let Column::Json(json) = column {
                    json(row, o);
                }
            }
        });
    }

    fn line<'s>(
        &'s self,
        cell: impl Fn(&'s str, &'s Text<'a, R>) -> Cow<'s, str>,
        out: &mut Vec<u8>,
    ) {
        let mut blank = "";
        for column in &self.columns {
            let Column::Text(head, width, text) = column else { continue };
            let (cell, wide) = (cell(head, text), width.unsigned_abs());
            // Writing to a Vec doesn't fail.
            let _ = match width {
                ..0 => write!(out, "{blank}{cell:<wide$}"),
                _ => write!(out, "{blank}{cell:>wide$}"),
            };
            blank = " ";
        }
        out.push(b'\n');
    }
}
