// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! VMCOREINFO: the text that a kernel leaves for crash tools, `NAME=VALUE` in rows.

use std::collections::HashMap;

/// The rows.
pub struct VmcoreInfo {
    rows: HashMap<String, String>,
}

impl VmcoreInfo {
    /// Takes the text apart. What is no row is passed over.
    pub fn parse(text: &str) -> Self {
        let rows = text.lines().filter_map(|line| line.split_once('='));
        Self {
            rows: rows
                .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
                .collect(),
        }
    }

    /// The kernel's release, as `uname -r`.
    pub fn release(&self) -> &str {
        self.rows.get("OSRELEASE").map_or("unknown", String::as_str)
    }

    /// `PAGESIZE`, in bytes.
    pub fn page_size(&self) -> Option<u64> {
        self.rows.get("PAGESIZE")?.parse().ok()
    }

    /// `SYMBOL(name)`: an address.
    pub fn symbol(&self, name: &str) -> Option<u64> {
        let value = self.rows.get(&format!("SYMBOL({name})"))?;
        u64::from_str_radix(value, 16).ok()
    }

    /// `NUMBER(name)`.
    pub fn number(&self, name: &str) -> Option<i64> {
        let value = self.rows.get(&format!("NUMBER({name})"))?;
        // Most are signed, some are printed unsigned.
        match value.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok().map(|n| n as i64),
            None => value.parse().ok().or_else(|| value.parse::<u64>().ok().map(|n| n as i64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_name() {
        let info = VmcoreInfo::parse(
            "OSRELEASE=7.3.4\nSYMBOL(blog_root)=ffffffff82000000\nNUMBER(phys_base)=-4096\n\
             NUMBER(pgtable_l5_enabled)=1\nnothing\nNUMBER(sme_mask)=18446744073709551615\n",
        );
        assert_eq!(info.release(), "7.3.4");
        assert_eq!(info.symbol("blog_root"), Some(0xffff_ffff_8200_0000));
        assert_eq!(info.symbol("blog"), None);
        assert_eq!(info.number("phys_base"), Some(-4096));
        assert_eq!(info.number("pgtable_l5_enabled"), Some(1));
        assert_eq!(info.number("sme_mask"), Some(-1));
    }
}
