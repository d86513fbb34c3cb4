// SPDX-License-Identifier: GPL-2.0

//! What users write into the file `trigger`.

use core::mem;
use kernel::{
    blog::wire::record::SITE_MAX,
    prelude::*, //
};

use super::{
    Condition,
    TriggerSpec,
    COMPARE, //
};
use crate::registry::parse;

/// `off`, or `site=ID` or `hang`, and then `if=TEST`, `after=N`, `all`. `None`: off.
pub(super) fn parse_trigger(text: &str) -> Result<Option<TriggerSpec>> {
    let mut words = text.split_ascii_whitespace();
    let mut wanted = TriggerSpec::default();
    match words.next().ok_or(EINVAL)? {
        "off" => return words.next().map_or(Ok(None), |_| Err(EINVAL)),
        "hang" => {}
        first => {
            let id = parse::parse_number(first.strip_prefix("site=").ok_or(EINVAL)?)?;
            wanted.site = Some(id).filter(|id| (1..=SITE_MAX).contains(id));
            wanted.site.ok_or(EINVAL)?;
        }
    }
    let mut after = None;
    for word in words {
        let is_new = match word.split_once('=') {
            Some(("if", value)) if wanted.site.is_some() => {
                wanted.test.replace(parse_test(value)?).is_none()
            }
            Some(("after", value)) if wanted.site.is_some() => {
                after.replace(parse::parse_number(value)?).is_none()
            }
            None if word == "all" => !mem::replace(&mut wanted.all, true),
            _ => false,
        };
        is_new.then_some(()).ok_or(EINVAL)?;
    }
    wanted.after = after.unwrap_or(0);
    Ok(Some(wanted))
}

/// `AT:TYPE:COMPARE:VALUE`, for instance `4:u4:eq:77`: of the arguments, the four bytes from byte 4
/// on are an unsigned 77.
pub(super) fn parse_test(text: &str) -> Result<Condition> {
    let mut parts = text.split(':');
    let mut part = || parts.next().ok_or(EINVAL);
    let (at, ty, compare, value) = (part()?, part()?, part()?, part()?);
    if part().is_ok() {
        return Err(EINVAL);
    }
    let signed = ty.starts_with('i');
    let size = match ty.strip_prefix(['i', 'u']) {
        Some("1") => 1,
        Some("2") => 2,
        Some("4") => 4,
        Some("8") => 8,
        _ => return Err(EINVAL),
    };
    let value = match signed {
        true if !value.starts_with('+') => value.parse::<i64>().map(i128::from),
        _ if parse::is_decimal(value) => value.parse::<u64>().map(i128::from),
        _ => return Err(EINVAL),
    };
    let mut known = COMPARE.iter();
    Ok(Condition {
        at: parse::parse_number(at)?.try_into().map_err(|_| EINVAL)?,
        size,
        signed,
        compare: known.find(|(name, _)| *name == compare).ok_or(EINVAL)?,
        value: value.map_err(|_| EINVAL)?,
    })
}
