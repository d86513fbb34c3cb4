// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Finds a symbol of the kernel by the tables that `scripts/kallsyms.c` makes of all names. The
//! kernel has them for itself (`kernel/kallsyms.c`); VMCOREINFO has their addresses, since 6.0.
//!
//! ```text
//! kallsyms_num_syms      u32: how many symbols there are
//! kallsyms_names         of each, how many tokens (a byte, or two from 128 on), then these, a byte
//!                        each: they make its type, which is one character, and its name
//! kallsyms_token_table   what the 256 tokens stand for, in order, each with a 0 at its end
//! kallsyms_offsets       of each symbol, an i32: its address minus that of the i32
//! ```
//!
//! Kernels that have `kallsyms_relative_base` count from what is there. By hand: no crate reads them
//! out of memory.

use crate::{
    memory::{word, Fault, Memory},
    table::at_addr,
    vmcoreinfo::VmcoreInfo,
};

/// The row of all names.
pub(super) const NAMES: &str = "kallsyms_names";
/// Bytes that names may take: more than ten times what large kernels have.
const MAX_NAMES: u64 = 32 << 20;
/// Bytes that tokens may take: the kernel has a `u16` for each offset.
const MAX_TOKENS: u64 = 1 << 16;
const PAGE: usize = 4096;

/// Memory from an address on, read page by page.
struct Bytes<'a, M> {
    memory: &'a M,
    /// Address of the next byte.
    at: u64,
    /// So many more may be taken.
    left: u64,
    /// Address of what is in `page`, if it is one of a page.
    start: u64,
    page: [u8; PAGE],
}

impl<'a, M: Memory> Bytes<'a, M> {
    fn new(memory: &'a M, at: u64, left: u64) -> Self {
        Self { memory, at, left, start: 1, page: [0; PAGE] }
    }

    fn skip(&mut self, len: u64) -> Result<(), Fault> {
        let left = self.left.checked_sub(len);
        self.left = left.ok_or_else(|| Fault::Damaged("they have no end".into()))?;
        self.at = self.at.wrapping_add(len);
        Ok(())
    }

    fn next(&mut self) -> Result<u8, Fault> {
        let within = self.at as usize % PAGE;
        let start = self.at - within as u64;
        if self.start != start {
            self.memory.read(start, &mut self.page)?;
            self.start = start;
        }
        self.skip(1)?;
        Ok(self.page[within])
    }
}

/// The address of a symbol; `None`: there is none of this name. The error says what is wrong with
/// the tables.
pub(super) fn address(
    memory: &impl Memory,
    info: &VmcoreInfo,
    name: &str,
) -> Result<Option<u64>, String> {
    let row = |name: &str| {
        let row = info.symbol(name);
        row.ok_or_else(|| format!("also SYMBOL({name})"))
    };
    let damage = |row: &str, addr, e| format!("its {row} can't be read {}", at_addr(addr, &e));

    let tokens = row("kallsyms_token_table")?;
    let mut bytes = Bytes::new(memory, tokens, MAX_TOKENS);
    let tokens: Result<Vec<_>, _> = (0..256).map(|_| token(&mut bytes)).collect();
    let tokens = tokens.map_err(|e| damage("kallsyms_token_table", bytes.at, e))?;

    let count = row("kallsyms_num_syms")?;
    let mut raw = [0; 4];
    let read = memory.read(count, &mut raw);
    read.map_err(|e| damage("kallsyms_num_syms", count, e))?;
    let count = u32::from_le_bytes(raw);

    let mut bytes = Bytes::new(memory, row(NAMES)?, MAX_NAMES);
    let mut found = None;
    for n in 0..count {
        let is_it = is_next(&mut bytes, &tokens, name.as_bytes());
        if is_it.map_err(|e| damage(NAMES, bytes.at, e))? {
            found = Some(n);
            break;
        }
    }
    let Some(n) = found else {
        return Ok(None);
    };

    let at = row("kallsyms_offsets")?.wrapping_add(u64::from(n) * 4);
    let read = memory.read(at, &mut raw);
    read.map_err(|e| damage("kallsyms_offsets", at, e))?;
    let offset = i64::from(i32::from_le_bytes(raw)) as u64;
    let Some(base) = info.symbol("kallsyms_relative_base") else {
        return Ok(Some(at.wrapping_add(offset)));
    };
    let base = word(memory, base).map_err(|e| damage("kallsyms_relative_base", base, e))?;
    // There, if the addresses of variables of each CPU aren't relative, all others are negative.
    Ok(Some(if (offset as i64) < 0 {
        base.wrapping_add(!offset)
    } else {
        base.wrapping_add(offset)
    }))
}

/// What the next token stands for.
fn token(bytes: &mut Bytes<'_, impl Memory>) -> Result<Vec<u8>, Fault> {
    let mut token = Vec::new();
    loop {
        match bytes.next()? {
            0 => return Ok(token),
            byte => token.push(byte),
        }
    }
}

/// Passes over the next symbol; whether it has this name.
fn is_next(
    bytes: &mut Bytes<'_, impl Memory>,
    tokens: &[Vec<u8>],
    name: &[u8],
) -> Result<bool, Fault> {
    let mut len = u64::from(bytes.next()?);
    if len >= 0x80 {
        len = (len & 0x7f) | (u64::from(bytes.next()?) << 7);
    }
    if len == 0 {
        return Err(Fault::Damaged("a name has no length".into()));
    }
    // What must come yet; `None`: it is another one. The first character is the type.
    let (mut rest, mut from) = (Some(name), 1);
    while let (Some(want), 1..) = (rest, len) {
        let token = &tokens[usize::from(bytes.next()?)];
        rest = token.get(from..).and_then(|t| want.strip_prefix(t));
        (from, len) = (0, len - 1);
    }
    bytes.skip(len)?;
    Ok(rest.is_some_and(<[u8]>::is_empty))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made;

    const BASE: u64 = 0xffff_ffff_8210_0ff0;

    /// Memory from the start of the page that `BASE` is in.
    struct Ram(Vec<u8>);

    impl Memory for Ram {
        fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), Fault> {
            let from = addr.wrapping_sub(BASE & !(PAGE as u64 - 1)) as usize;
            let bytes = from.checked_add(buf.len()).and_then(|to| self.0.get(from..to));
            buf.copy_from_slice(bytes.ok_or(Fault::Missing)?);
            Ok(())
        }
    }

    impl Ram {
        /// The `n`th byte of the table of this row.
        fn byte(&mut self, rows: &VmcoreInfo, row: &str, n: usize) -> &mut u8 {
            let at = rows.symbol(row).expect("a row") - (BASE & !(PAGE as u64 - 1));
            &mut self.0[at as usize + n]
        }
    }

    fn made(symbols: &[(&str, u64)], more: &str) -> (Ram, VmcoreInfo) {
        let (bytes, rows) = made::tables(BASE, symbols);
        let mut ram = vec![0xaa; BASE as usize % PAGE];
        ram.extend(bytes);
        ram.resize(ram.len().next_multiple_of(PAGE), 0);
        (Ram(ram), VmcoreInfo::parse(&(rows + more)))
    }

    /// Names that tokens shorten little, of 1 to 500 characters, and what they are of; then some
    /// that resemble each other.
    fn symbols() -> Vec<(String, u64)> {
        let mut n = 1u64;
        let mut next = || {
            n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            b'!' + (n >> 33) as u8 % 90
        };
        let names = (1..500).map(|len| (0..len + 1).map(|_| char::from(next())).collect());
        let like = ["Dlist", "dlist_", "Dlist_head", "T_list", "tlis", "Bpanic_list"];
        let names = names.chain(like.map(String::from));
        names.zip((0..).map(|n| BASE - 0x123_4567 + 0x1_0008 * n)).collect()
    }

    fn borrowed(all: &[(String, u64)]) -> Vec<(&str, u64)> {
        all.iter().map(|(name, addr)| (name.as_str(), *addr)).collect()
    }

    #[test]
    fn each_symbol_is_found_by_its_whole_name() {
        let all = symbols();
        let (mut ram, rows) = made(&borrowed(&all), "");
        for (name, addr) in &all {
            assert_eq!(address(&ram, &rows, &name[1..]), Ok(Some(*addr)), "{name}");
        }
        for name in ["", "li", "list_hea", "list_head_", "_lis", "panic"] {
            assert_eq!(address(&ram, &rows, name), Ok(None), "{name}");
        }
        // Of many, the length takes two bytes.
        let names = rows.symbol(NAMES).expect("a row");
        let mut bytes = Bytes::new(&ram, names, MAX_NAMES);
        let mut long = 0;
        for _ in &all {
            let len = bytes.next().expect("a length");
            let more = if len < 0x80 { 0 } else { bytes.next().expect("its rest") };
            long += u32::from(more != 0);
            let rest = u64::from(len & 0x7f) + u64::from(more) * 0x80;
            bytes.skip(rest).expect("a name");
        }
        assert!(long > 100, "{long}");
        // What comes later isn't needed.
        *ram.byte(&rows, "kallsyms_num_syms", 0) = 1;
        *ram.byte(&rows, "kallsyms_num_syms", 1) = 0;
        assert_eq!(address(&ram, &rows, "list"), Ok(None));
    }

    #[test]
    fn older_kernels_count_from_a_base() {
        let start = BASE & !(PAGE as u64 - 1);
        let more = format!("SYMBOL(kallsyms_relative_base)={start:x}\n");
        let (mut ram, rows) = made(&[("Dlist", BASE)], &more);
        ram.0[..8].copy_from_slice(&BASE.to_le_bytes());
        for (offset, addr) in [(0x123, 0x123), (-1, 0), (-0x1001, 0x1000)] {
            for (n, byte) in i32::to_le_bytes(offset).into_iter().enumerate() {
                *ram.byte(&rows, "kallsyms_offsets", n) = byte;
            }
            assert_eq!(address(&ram, &rows, "list"), Ok(Some(BASE + addr)));
        }
    }

    #[test]
    fn damage_is_told_of() {
        let all = symbols();
        let (mut ram, rows) = made(&borrowed(&all), "");
        let (name, addr) = all.last().expect("a symbol");
        let find = |ram: &Ram| address(ram, &rows, &name[1..]);
        // Cut anywhere, as its offset comes last.
        let whole = ram.0.clone();
        for pages in 0..whole.len() / PAGE {
            ram.0.truncate(pages * PAGE);
            let why = find(&ram).expect_err("it isn't there");
            assert!(why.contains("its kallsyms_") && why.contains(" at 0x"), "{why}");
            ram.0.clone_from(&whole);
        }
        assert_eq!(find(&ram), Ok(Some(*addr)));
        // Without a name that it looks for, what is after the names isn't taken for more of them.
        for n in 0..4 {
            *ram.byte(&rows, "kallsyms_num_syms", n) = 0xff;
        }
        let why = address(&ram, &rows, "none").expect_err("it isn't there");
        assert!(why.contains("no length"), "{why}");
        // Any byte may be another.
        for n in (0..whole.len()).step_by(7) {
            ram.0.clone_from(&whole);
            ram.0[n] ^= 0x81;
            let _ = find(&ram);
        }
    }

    #[test]
    fn a_row_that_is_missing_is_named() {
        let (bytes, text) = made::tables(BASE, &[("Dlist", BASE)]);
        let ram = Ram([vec![0; BASE as usize % PAGE], bytes, vec![0; PAGE]].concat());
        // In no need of the index.
        for row in ["num_syms", "names", "token_table", "offsets"] {
            let rows = VmcoreInfo::parse(&text.replace(&format!("_{row})"), ")"));
            let why = address(&ram, &rows, "list").expect_err("a row is missing");
            assert!(why.contains(row), "{why}");
        }
    }

    /// Memory that is the same everywhere.
    struct All(u8);

    impl Memory for All {
        fn read(&self, _: u64, buf: &mut [u8]) -> Result<(), Fault> {
            buf.fill(self.0);
            Ok(())
        }
    }

    #[test]
    fn what_has_no_end_is_given_up() {
        let (_, rows) = made(&[("Dlist", BASE)], "");
        for (byte, table) in [(0, None), (1, Some("token_table")), (0xff, Some("token_table"))] {
            let found = address(&All(byte), &rows, "list");
            match table {
                None => assert_eq!(found, Ok(None)),
                Some(table) => assert!(found.is_err_and(|e| e.contains(table))),
            }
        }
        // Four billion names, of tokens that stand for nothing, or of one of any length.
        for byte in [1, 0xff] {
            let memory = All(byte);
            let mut bytes = Bytes::new(&memory, 0, MAX_NAMES);
            let tokens = vec![Vec::new(); 256];
            let end = (0..u32::MAX).find_map(|_| is_next(&mut bytes, &tokens, b"list").err());
            assert_eq!(end, Some(Fault::Damaged("they have no end".into())));
        }
    }
}
