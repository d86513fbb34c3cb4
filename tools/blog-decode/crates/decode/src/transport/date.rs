// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Dates in front of lines, in the forms that loggers write.

use crate::calendar::{civil, days};

/// A date and a time of day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Date {
    /// `None`: syslog's old form has none.
    year: Option<i64>,
    month: i64,
    day: i64,
    /// Of the day.
    second: i64,
    /// Seconds ahead of UTC; `None`: of a time zone that is not named.
    pub offset: Option<i64>,
}

/// A clock that shows an earlier year was never set.
const FIRST_YEAR: i64 = 2000;
const DAY: i64 = 86_400;

impl Date {
    /// That of a time in seconds since 1970.
    pub fn from_seconds(seconds: i64) -> Self {
        let (year, month, day) = civil(seconds.div_euclid(DAY));
        Self { year: Some(year), month, day, second: seconds.rem_euclid(DAY), offset: Some(0) }
    }

    /// Seconds since 1970, in UTC if the zone is not named, and in the year that is nearest to that
    /// of `near` if the date has none. `None`: it is the date of a clock that was never set.
    pub fn seconds(&self, near: i64) -> Option<i64> {
        let at =
            |year| days(year, self.month, self.day) * DAY + self.second - self.offset.unwrap_or(0);
        match self.year {
            Some(year) => (year >= FIRST_YEAR).then(|| at(year)),
            None => {
                let year = 1970 + near.div_euclid(31_556_952);
                let years = [year - 1, year, year + 1].map(at);
                years.into_iter().min_by_key(|at| at.abs_diff(near))
            }
        }
    }
}

/// Whether a clock that shows this many seconds since 1970 was ever set.
pub fn is_set(seconds: i64) -> bool {
    seconds >= days(FIRST_YEAR, 1, 1) * DAY
}

/// Whether a text begins with a date, as syslog, journalctl and `dmesg -T` have it.
pub fn has_date(text: &[u8]) -> bool {
    dated(text).is_some_and(|(_, date, _)| date.is_some())
}

/// Forms of dates: `Y` year, `N` name of a month, `m` its number, `d` day, `H` hour, `I` minute,
/// `S` second, `w` weekday, `E` seconds since 1970: none since boot are as many.
const FORMS: [&[u8]; 9] = [
    b"www NNN dd HH:II:SS YYYY",
    b"www NNN dd HH:II:SS",
    b"www YYYY-mm-dd HH:II:SS",
    b"NNN dd HH:II:SS",
    b"YYYY-mm-ddTHH:II:SS",
    b"YYYY-mm-dd HH:II:SS",
    b"YYYY/mm/dd HH:II:SS",
    b"HH:II:SS",
    b"EEEEEEEEEE",
];
const MONTHS: &[u8] = b"JanFebMarAprMayJunJulAugSepOctNovDec";

/// How long the date at the start of a line is, with blanks after it; the date, unless it is only a
/// time of day; and whether it is without brackets.
pub fn dated(text: &[u8]) -> Option<(usize, Option<Date>, bool)> {
    let bare = text.strip_prefix(b"[");
    let rest = bare.unwrap_or(text);
    FORMS.iter().find_map(|form| {
        let mut date = by_form(form, rest)?;
        let mut after = &rest[form.len()..];
        if let [b'.' | b',', fraction @ ..] = after {
            after = &fraction[fraction.iter().take_while(|b| b.is_ascii_digit()).count()..];
        }
        after = zone(after, &mut date);
        let end = match bare {
            Some(_) => after.strip_prefix(b"]")?,
            None => match after {
                [b':', end @ ..] => end,
                [b' ' | b'\t', ..] | [] => after,
                _ => return None,
            },
        };
        let end = end.trim_ascii_start();
        let has_day = form.contains(&b'd') || form.contains(&b'E');
        Some((text.len() - end.len(), has_day.then_some(date), bare.is_none()))
    })
}

fn by_form(form: &[u8], text: &[u8]) -> Option<Date> {
    let text = text.get(..form.len())?;
    let mut numbers = [0i64; 128];
    for (&letter, &byte) in form.iter().zip(text) {
        let number = &mut numbers[usize::from(letter & 127)];
        match letter {
            b'Y' | b'm' | b'H' | b'I' | b'S' | b'E' if byte.is_ascii_digit() => {
                *number = *number * 10 + i64::from(byte - b'0');
            }
            b'd' if byte.is_ascii_digit() || byte == b' ' => {
                *number = *number * 10 + i64::from(byte.saturating_sub(b'0'));
            }
            b'w' | b'N' if byte.is_ascii_alphabetic() => {}
            _ if letter == byte && !byte.is_ascii_alphanumeric()
                || letter == b'T' && byte == b'T' => {}
            _ => return None,
        }
    }
    let of = |letter: u8| numbers[usize::from(letter)];
    if form.contains(&b'E') {
        return Some(of(b'E')).filter(|at| is_set(*at)).map(Date::from_seconds);
    }
    let month = match form.iter().position(|b| *b == b'N') {
        Some(at) => {
            let found = MONTHS.chunks(3).position(|name| name == &text[at..at + 3])?;
            found as i64 + 1
        }
        None => of(b'm'),
    };
    let is_time = of(b'H') < 24 && of(b'I') < 60 && of(b'S') <= 60;
    let is_day = !form.contains(&b'd') || (1..=12).contains(&month) && (1..=31).contains(&of(b'd'));
    (is_time && is_day).then(|| Date {
        year: form.contains(&b'Y').then_some(of(b'Y')),
        month,
        day: of(b'd'),
        second: of(b'H') * 3600 + of(b'I') * 60 + of(b'S'),
        offset: None,
    })
}

/// What comes after the zone, if there is one.
fn zone<'a>(text: &'a [u8], date: &mut Date) -> &'a [u8] {
    let utc: [&[u8]; 3] = [b"Z", b" UTC", b" GMT"];
    if let Some(rest) = utc.iter().find_map(|name| text.strip_prefix(*name)) {
        date.offset = Some(0);
        return rest;
    }
    let [sign @ (b'+' | b'-'), rest @ ..] = text else {
        return text;
    };
    let number = |digits: &[u8]| {
        let is_number = digits.iter().all(u8::is_ascii_digit);
        std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse::<i64>().ok()
    };
    let (minutes, rest) = match rest {
        [a, b, b':', c, d, rest @ ..] | [a, b, c, d, rest @ ..] => {
            (number(&[*a, *b]).zip(number(&[*c, *d])), rest)
        }
        _ => return text,
    };
    let Some((hours, minutes)) = minutes else {
        return text;
    };
    let ahead = hours * 3600 + minutes * 60;
    date.offset = Some(if *sign == b'-' { -ahead } else { ahead });
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_of_their_zones_and_of_the_nearest_year() {
        let near = days(2026, 1, 2) * DAY;
        let seconds = |text: &str| {
            let (len, date, _) = dated(text.as_bytes()).unwrap();
            assert_eq!(&text[len..], "x");
            date.and_then(|date| date.seconds(near))
        };
        let noon = |year| Some(days(year, 11, 26) * DAY + 12 * 3600);
        for (text, year) in [
            ("[Wed Nov 26 12:00:00 2025]x", 2025),
            ("Nov 26 12:00:00 x", 2025),
            ("2025-11-26T13:00:00.5+01:00 x", 2025),
            ("2025-11-26T07:30:00,123456-0430 x", 2025),
            ("Wed 2025-11-26 12:00:00 UTC x", 2025),
            ("[2024-11-26 12:00:00.123] x", 2024),
            ("2024/11/26 12:00:00: x", 2024),
            ("1764158400 x", 2025),
            ("[1764158400.123456] x", 2025),
        ] {
            assert_eq!(seconds(text), noon(year), "{text}");
        }
        assert_eq!(seconds("[1970-11-26 12:00:00] x"), None);
        assert_eq!(seconds("[12:00:00] x"), None);
    }
}
