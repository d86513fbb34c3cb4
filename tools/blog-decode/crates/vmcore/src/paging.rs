// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Virtual memory out of physical memory: the page tables of x86_64 and of arm64.
//!
//! VMCOREINFO has the address of the kernel's top table, and where the kernel was loaded. That is
//! enough, wherever KASLR has put things, to read any address of the kernel: its image, the direct
//! map, vmalloc, modules. Tables come from the dump like everything else, and are trusted as
//! little: a walk has as many steps as there are levels. By hand, as hostile dumps
//! keep libaddrxlat busy for days, and as it finds memory at null pointers.

use std::{cell::RefCell, collections::HashMap};

use crate::{
    error::Error,
    memory::{Fault, Memory, Physical},
    vmcoreinfo::VmcoreInfo,
};

/// What is read at once; no architecture has smaller pages.
const PAGE: u64 = 4096;
/// Bits of an entry that are an address, up to 48 and up to 52.
const ADDRESS: u64 = 0x0000_ffff_ffff_f000;
const ADDRESS_52: u64 = 0x000f_ffff_ffff_f000;
/// The entry is one.
const PRESENT: u64 = 1;
/// As many translations are remembered.
const REMEMBERED: usize = 1 << 16;

/// What entries look like.
enum Entries {
    /// x86, with the bit that says that memory is encrypted, where there is one.
    X86 {
        encryption: u64,
    },
    /// arm64, with addresses of 48 bits, or of 52 in one of two ways.
    Arm64,
    Arm64Lpa64k,
    Arm64Lpa2,
}

impl Entries {
    /// Where an entry leads to, and whether it maps memory itself; `None`: nowhere.
    fn leads(&self, entry: u64, level: u32) -> Option<(u64, bool)> {
        if entry & PRESENT == 0 {
            return None;
        }
        if let Self::X86 { encryption } = self {
            let large = entry & 1 << 7 != 0 && level <= 2;
            return Some((entry & !encryption & ADDRESS_52, level == 0 || large));
        }
        // A page, or a table; else a block, which the lowest level doesn't have.
        let page = entry & 1 << 1 != 0;
        let address = match self {
            Self::Arm64Lpa64k => entry & ADDRESS & !0xf000 | (entry >> 12 & 0xf) << 48,
            Self::Arm64Lpa2 => entry & 0x0003_ffff_ffff_f000 | (entry >> 8 & 3) << 50,
            _ => entry & ADDRESS,
        };
        (page || level > 0).then_some((address, level == 0 || !page))
    }
}

/// Virtual memory of a kernel.
pub struct Paging<P> {
    physical: P,
    /// Physical address of the top table.
    top: u64,
    levels: u32,
    /// Bits of an address that are the place in a page, and in the top table.
    page_bits: u32,
    top_bits: u32,
    /// All bits of an address from this one on are the same.
    sign_bit: u32,
    /// These bits of an address are ignored, as they may be a tag.
    tag: u64,
    entries: Entries,
    /// Physical addresses of pages, by number of the virtual one.
    seen: RefCell<HashMap<u64, u64>>,
}

impl<P: Physical> Paging<P> {
    /// Takes what VMCOREINFO says.
    pub fn new(physical: P, info: &VmcoreInfo) -> Result<Self, Error> {
        let top = info.symbol("swapper_pg_dir").or_else(|| info.symbol("init_top_pgt"));
        let x86 = info.number("phys_base");
        let arm64 = info.number("kimage_voffset");
        let made = match (top, x86, arm64) {
            (Some(top), Some(base), _) => Some(Self::x86(physical, info, top, base as u64)),
            (Some(top), None, Some(offset)) => Self::arm64(physical, info, top, offset as u64),
            _ => None,
        };
        made.ok_or_else(|| {
            Error::File(format!(
                "VMCOREINFO of kernel {} doesn't say where its page tables are (swapper_pg_dir, and \
                 phys_base or kimage_voffset): only dumps of x86_64 and arm64 kernels can be read",
                info.release()
            ))
        })
    }

    fn x86(physical: P, info: &VmcoreInfo, top: u64, base: u64) -> Self {
        // Where the kernel's image is mapped, minus KASLR's offset: `__START_KERNEL_map`.
        const KERNEL_MAP: u64 = 0xffff_ffff_8000_0000;
        let levels = match info.number("pgtable_l5_enabled") {
            Some(1) => 5,
            _ => 4,
        };
        Self {
            physical,
            top: top.wrapping_sub(KERNEL_MAP).wrapping_add(base),
            levels,
            page_bits: 12,
            top_bits: 9,
            sign_bit: if levels == 5 { 56 } else { 47 },
            tag: 0,
            entries: Entries::X86 { encryption: info.number("sme_mask").unwrap_or(0) as u64 },
            seen: RefCell::new(HashMap::new()),
        }
    }

    /// `None`: there are no such tables.
    fn arm64(physical: P, info: &VmcoreInfo, top: u64, offset: u64) -> Option<Self> {
        let page_bits = match info.page_size().unwrap_or(PAGE) {
            0x1000 => 12,
            0x4000 => 14,
            0x1_0000 => 16,
            _ => return None,
        };
        let most = u32::try_from(info.number("VA_BITS").unwrap_or(48)).ok()?;
        // Of what the kernel was built for, a processor may have less.
        let bits = match info.number("TCR_EL1_T1SZ") {
            Some(unused) => 64_u32.checked_sub(u32::try_from(unused).ok()?)?,
            None => most,
        };
        if !(36..=52).contains(&bits) || !(bits..=52).contains(&most) {
            return None;
        }
        let levels = (bits - page_bits).div_ceil(page_bits - 3);
        // With large pages, the top table is one for all bits, of which the last part is used.
        let top_bits = if page_bits == 16 { most } else { bits }
            .checked_sub(page_bits + (page_bits - 3) * (levels - 1))
            .filter(|bits| *bits <= 13)?;
        Some(Self {
            physical,
            top: top.wrapping_sub(offset),
            levels,
            page_bits,
            top_bits,
            // The kernel's half has as many addresses as the users'.
            sign_bit: bits,
            tag: 0xff << 56,
            entries: match (page_bits, bits) {
                (16, _) => Entries::Arm64Lpa64k,
                (_, 52) => Entries::Arm64Lpa2,
                _ => Entries::Arm64,
            },
            seen: RefCell::new(HashMap::new()),
        })
    }

    /// The physical address of `addr`.
    fn translate(&self, addr: u64) -> Result<u64, Fault> {
        let number = addr / PAGE;
        if let Some(page) = self.seen.borrow().get(&number) {
            return Ok(page | (addr % PAGE));
        }
        let page = self.walk(addr)?;
        let mut seen = self.seen.borrow_mut();
        if seen.len() >= REMEMBERED {
            seen.clear();
        }
        seen.insert(number, page);
        Ok(page | (addr % PAGE))
    }

    /// The physical address of the page that `addr` is in.
    fn walk(&self, addr: u64) -> Result<u64, Fault> {
        let index_bits = self.page_bits - 3;
        // A tag is in place of what bit 55 says.
        let addr = match addr >> 55 & 1 {
            1 => addr | self.tag,
            _ => addr & !self.tag,
        };
        let sign = (addr as i64) >> self.sign_bit;
        // On arm64, these tables are of the kernel's half only.
        let is_kernel = sign == -1;
        if !is_kernel && (sign != 0 || self.tag != 0) {
            return Err(Fault::Unmapped);
        }
        let mut table = self.top;
        for level in (0..self.levels).rev() {
            let shift = self.page_bits + index_bits * level;
            let bits = if level + 1 == self.levels { self.top_bits } else { index_bits };
            let index = addr >> shift & ((1 << bits) - 1);
            let mut raw = [0; 8];
            self.physical.read(table.wrapping_add(index * 8), &mut raw)?;
            let (to, ends) =
                self.entries.leads(u64::from_le_bytes(raw), level).ok_or(Fault::Unmapped)?;
            if ends {
                let within = (1 << shift) - 1;
                return Ok((to & !within) | (addr & within & !(PAGE - 1)));
            }
            table = to;
        }
        Err(Fault::Unmapped)
    }
}

impl<P: Physical> Memory for Paging<P> {
    fn read(&self, mut addr: u64, mut buf: &mut [u8]) -> Result<(), Fault> {
        while !buf.is_empty() {
            let len = (PAGE - addr % PAGE).min(buf.len() as u64);
            let (head, rest) = buf.split_at_mut(len as usize);
            self.physical.read(self.translate(addr)?, head)?;
            addr = addr.checked_add(len).ok_or(Fault::Unmapped)?;
            buf = rest;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Physical memory from 0 on.
    struct Ram(Vec<u8>);

    impl Physical for Ram {
        fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), Fault> {
            let from = usize::try_from(addr).map_err(|_| Fault::Missing)?;
            let bytes = from.checked_add(buf.len()).and_then(|to| self.0.get(from..to));
            buf.copy_from_slice(bytes.ok_or(Fault::Missing)?);
            Ok(())
        }
    }

    fn entry(ram: &mut Ram, table: u64, index: u64, value: u64) {
        let at = (table + index * 8) as usize;
        ram.0[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    fn info(levels: u32) -> VmcoreInfo {
        // The image is 0x1000 above where it was linked for.
        VmcoreInfo::parse(&format!(
            "SYMBOL(swapper_pg_dir)=ffffffff80002000\nNUMBER(phys_base)=-4096\n\
             NUMBER(pgtable_l5_enabled)={}\nNUMBER(sme_mask)=140737488355328\n",
            u32::from(levels == 5)
        ))
    }

    const SME: u64 = 1 << 47;

    /// `levels` tables from 0x1000 on, the lowest of which maps two pages at `addr`.
    fn ram(levels: u32, addr: u64) -> Ram {
        let mut ram = Ram((0..16 * PAGE).map(|n| (n / PAGE) as u8).collect());
        for n in 0..levels {
            let table = (1 + u64::from(n)) * PAGE;
            ram.0[table as usize..][..PAGE as usize].fill(0);
            let shift = 12 + 9 * (levels - 1 - n);
            let index = (addr >> shift) & 511;
            if n + 1 == levels {
                entry(&mut ram, table, index, (9 * PAGE) | PRESENT | SME);
                entry(&mut ram, table, index + 1, (7 * PAGE) | PRESENT);
            } else {
                entry(&mut ram, table, index, (table + PAGE) | PRESENT);
            }
        }
        ram
    }

    #[test]
    fn pages_are_found_through_four_and_five_levels() {
        for (levels, addr) in [(4, 0xffff_8880_0010_0000), (5, 0xff11_0000_0010_0000)] {
            let memory = Paging::new(ram(levels, addr), &info(levels)).expect("rows");
            let mut buf = [0; 8];
            memory.read(addr + PAGE - 4, &mut buf).expect("mapped");
            assert_eq!(buf, [9, 9, 9, 9, 7, 7, 7, 7]);
            assert_eq!(memory.read(addr + 2 * PAGE - 4, &mut buf), Err(Fault::Unmapped));
        }
    }

    #[test]
    fn large_pages_are_found_within() {
        let addr = 0xffff_8880_4000_0000;
        for level in 1..=2u32 {
            let mut ram = ram(4, addr);
            let (table, shift) = ((4 - u64::from(level)) * PAGE, 12 + 9 * level);
            // A large page at 0; bit 12 of its entry is no address.
            entry(&mut ram, table, (addr >> shift) & 511, PRESENT | 1 << 7 | 1 << 12);
            let memory = Paging::new(ram, &info(4)).expect("rows");
            let mut buf = [0; 2];
            memory.read(addr + 11 * PAGE + 5, &mut buf).expect("mapped");
            assert_eq!(buf, [11, 11]);
            // After the end of physical memory.
            let far = addr + 64 * PAGE;
            assert_eq!(memory.read(far, &mut buf), Err(Fault::Missing));
        }
    }

    #[test]
    fn what_is_no_address_is_not_mapped() {
        let memory = Paging::new(ram(4, 0xffff_8880_0010_0000), &info(4)).expect("rows");
        for addr in [0, 0x8000_0000_0000, 0xff11_0000_0010_0000, u64::MAX - 3] {
            assert_eq!(memory.read(addr, &mut [0; 8]), Err(Fault::Unmapped));
        }
    }

    #[test]
    fn a_kernel_of_another_machine_is_refused() {
        let info = VmcoreInfo::parse("OSRELEASE=7.3\nSYMBOL(swapper_pg_dir)=ffffffc010000000\n");
        let error = Paging::new(Ram(Vec::new()), &info).err();
        let error = error.map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains("7.3") && error.contains("x86_64"));
    }

    /// Tables of arm64 from 0x10000 on, of pages of so many bits; the lowest maps a page at `addr`,
    /// the one above a block after it.
    fn arm64(page_bits: u32, t1sz: u32, most: u32, addr: u64) -> (Ram, VmcoreInfo) {
        let (page, index_bits) = (1 << page_bits, page_bits - 3);
        let mut ram = Ram((0..16 << page_bits).map(|n| (n >> page_bits) as u8).collect());
        let levels = (64 - t1sz - page_bits).div_ceil(index_bits);
        for n in 0..levels {
            let table = (1 + u64::from(n)) * page;
            ram.0[table as usize..][..page as usize].fill(0);
            let shift = page_bits + index_bits * (levels - 1 - n);
            let bits = match n {
                0 if page_bits == 16 => most - shift,
                0 => 64 - t1sz - shift,
                _ => index_bits,
            };
            let index = addr >> shift & ((1 << bits) - 1);
            let to = if n + 1 == levels { 9 * page } else { table + page };
            entry(&mut ram, table, index, to | 3);
            if n + 2 == levels {
                entry(&mut ram, table, index + 1, 1);
            }
        }
        let info = VmcoreInfo::parse(&format!(
            "PAGESIZE={page}\nSYMBOL(swapper_pg_dir)=ffffa00080001000\nNUMBER(VA_BITS)={most}\n\
             NUMBER(kimage_voffset)=0x{:x}\nNUMBER(TCR_EL1_T1SZ)=0x{t1sz:x}\n",
            0xffff_a000_8000_1000_u64 - page
        ));
        (ram, info)
    }

    #[test]
    fn tables_of_arm64_are_read_whatever_their_pages() {
        for (page_bits, t1sz, most) in [
            (12, 16, 48),
            (12, 25, 39),
            (12, 12, 52),
            (12, 16, 52),
            (14, 17, 47),
            (14, 16, 48),
            (16, 16, 48),
            (16, 22, 42),
            (16, 16, 52),
            (16, 12, 52),
        ] {
            // Where the direct map begins
            let addr = (u64::MAX << (64 - t1sz)) + (3 << 30);
            let (ram, info) = arm64(page_bits, t1sz, most, addr);
            let memory = Paging::new(ram, &info).expect("rows");
            let mut buf = [0; 2];
            for tagged in [addr, addr & !(0xf << 56)] {
                memory.read(tagged + 5, &mut buf).expect("mapped");
                assert_eq!(buf, [9, 9], "{page_bits} {t1sz} {most}");
            }
            let next = addr + (1 << (2 * page_bits - 3));
            memory.read(next + 5, &mut buf).expect("a block");
            assert_eq!(buf, [0, 0]);
            // The same place of the users' half, too
            let below = addr & !(u64::MAX << (64 - t1sz));
            for wrong in [addr + (1 << page_bits), addr & ((1 << 55) - 1), below, 5] {
                assert_eq!(memory.read(wrong, &mut buf), Err(Fault::Unmapped));
            }
        }
    }

    #[test]
    fn absurd_facts_of_arm64_are_refused() {
        for (page, most, t1sz) in [
            (12345, 48, 16),
            (4096, 48, 64),
            (4096, 48, 2),
            (4096, 60, 12),
            (4096, 40, 16),
            (65536, 52, 30),
        ] {
            let info = VmcoreInfo::parse(&format!(
                "PAGESIZE={page}\nSYMBOL(swapper_pg_dir)=ffffa00080001000\nNUMBER(VA_BITS)={most}\n\
                 NUMBER(kimage_voffset)=0xffff\nNUMBER(TCR_EL1_T1SZ)={t1sz}\n"
            ));
            assert!(Paging::new(Ram(Vec::new()), &info).is_err(), "{page} {most} {t1sz}");
        }
    }
}
