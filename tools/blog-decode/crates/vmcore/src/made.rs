// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! A kernel's tables of its symbols, as `scripts/kallsyms.c` makes them.

use std::collections::BTreeMap;

/// The tables of these symbols, which have their type before their name, at `base`; and what
/// VMCOREINFO says of them.
pub fn tables(base: u64, symbols: &[(&str, u64)]) -> (Vec<u8>, String) {
    let mut names: Vec<Vec<u8>> = symbols.iter().map(|(name, _)| (*name).into()).collect();
    let tokens = compress(&mut names);
    let (mut out, mut rows) = (Vec::new(), String::new());
    let mut label = |out: &mut Vec<u8>, name: &str| {
        out.resize(out.len().next_multiple_of(4), 0);
        let at = base + out.len() as u64;
        rows += &format!("SYMBOL(kallsyms_{name})={at:x}\n");
    };
    label(&mut out, "num_syms");
    out.extend((symbols.len() as u32).to_le_bytes());
    label(&mut out, "names");
    for name in &names {
        match name.len() {
            len @ ..0x80 => out.push(len as u8),
            len => out.extend([len as u8 | 0x80, (len >> 7) as u8]),
        }
        out.extend(name);
    }
    // The first of the markers, which lead to each 256th name.
    out.resize(out.len().next_multiple_of(4) + 4, 0);
    label(&mut out, "token_table");
    let mut index = Vec::new();
    let start = out.len();
    for token in &tokens {
        index.extend(((out.len() - start) as u16).to_le_bytes());
        out.extend(token);
        out.push(0);
    }
    label(&mut out, "token_index");
    out.extend(index);
    label(&mut out, "offsets");
    for (_, addr) in symbols {
        let offset = addr.wrapping_sub(base + out.len() as u64) as i64;
        out.extend(i32::try_from(offset).unwrap().to_le_bytes());
    }
    (out, rows)
}

/// Puts tokens in place of the most frequent pairs of others; returns what tokens stand for.
fn compress(names: &mut [Vec<u8>]) -> Vec<Vec<u8>> {
    let mut tokens = vec![Vec::new(); 256];
    for c in names.iter().flatten() {
        tokens[usize::from(*c)] = vec![*c];
    }
    for code in (0..=255u8).rev() {
        if !tokens[usize::from(code)].is_empty() {
            continue;
        }
        let mut pairs = BTreeMap::new();
        for pair in names.iter().flat_map(|name| name.windows(2)) {
            *pairs.entry([pair[0], pair[1]]).or_insert(0) += 1;
        }
        let Some((pair, 2..)) = pairs.into_iter().max_by_key(|(_, count)| *count) else {
            break;
        };
        tokens[usize::from(code)] = pair.map(|c| tokens[usize::from(c)].clone()).concat();
        for name in &mut *names {
            while let Some(at) = name.windows(2).position(|p| p == pair) {
                name.splice(at..at + 2, [code]);
            }
        }
    }
    tokens
}
