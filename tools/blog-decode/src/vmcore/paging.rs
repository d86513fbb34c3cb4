// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Virtual memory out of physical memory: x86's page tables, of 4 or 5 levels.
//!
//! VMCOREINFO has the address of the kernel's top table, and where the kernel was loaded. That is
//! enough, wherever KASLR has put things, to read any address of the kernel: its image, the direct
//! map, vmalloc, modules. Tables come from the dump like everything else, and are trusted as
//! little: a walk has as many steps as there are levels.

use std::{cell::RefCell, collections::HashMap};

use super::{
    memory::{Fault, Memory, Physical},
    vmcoreinfo::VmcoreInfo,
};

use crate::error::Error;

const PAGE: u64 = 4096;
/// Where the kernel's image is mapped, minus KASLR's offset: `__START_KERNEL_map`.
const KERNEL_MAP: u64 = 0xffff_ffff_8000_0000;
/// Bits of an entry that are an address.
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;
const PRESENT: u64 = 1;
/// The entry maps memory itself.
const LARGE: u64 = 1 << 7;
/// As many translations are remembered.
const REMEMBERED: usize = 1 << 16;

/// Virtual memory of an x86 kernel.
pub struct Paging<P> {
    physical: P,
    /// Physical address of the top table.
    top: u64,
    levels: u32,
    /// The bit that says that memory is encrypted, where there is one.
    encryption: u64,
    /// Physical addresses of pages, by number of the virtual one.
    seen: RefCell<HashMap<u64, u64>>,
}

impl<P: Physical> Paging<P> {
    /// Takes what VMCOREINFO says.
    pub fn new(physical: P, info: &VmcoreInfo) -> Result<Self, Error> {
        let top = info
            .symbol("swapper_pg_dir")
            .or_else(|| info.symbol("init_top_pgt"));
        let (Some(top), Some(base)) = (top, info.number("phys_base")) else {
            return Err(Error::File(format!(
                "VMCOREINFO of kernel {} has no swapper_pg_dir or no phys_base: \
                 only dumps of x86_64 kernels can be read",
                info.release()
            )));
        };
        Ok(Self {
            physical,
            top: top.wrapping_sub(KERNEL_MAP).wrapping_add(base as u64),
            levels: match info.number("pgtable_l5_enabled") {
                Some(1) => 5,
                _ => 4,
            },
            encryption: info.number("sme_mask").unwrap_or(0) as u64,
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
        let bits = 12 + 9 * self.levels;
        let sign = (addr as i64) >> (bits - 1);
        if sign != 0 && sign != -1 {
            return Err(Fault::Unmapped);
        }
        let mut table = self.top;
        for level in (0..self.levels).rev() {
            let shift = 12 + 9 * level;
            let mut raw = [0; 8];
            self.physical
                .read(table.wrapping_add(((addr >> shift) & 511) * 8), &mut raw)?;
            let entry = u64::from_le_bytes(raw) & !self.encryption;
            if entry & PRESENT == 0 {
                return Err(Fault::Unmapped);
            }
            if level == 0 || entry & LARGE != 0 && level <= 2 {
                let within = (1 << shift) - 1;
                return Ok((entry & ADDRESS & !within) | (addr & within & !(PAGE - 1)));
            }
            table = entry & ADDRESS;
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
            let bytes = from
                .checked_add(buf.len())
                .and_then(|to| self.0.get(from..to));
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
            assert_eq!(
                memory.read(addr + 2 * PAGE - 4, &mut buf),
                Err(Fault::Unmapped)
            );
        }
    }

    #[test]
    fn large_pages_are_found_within() {
        let addr = 0xffff_8880_4000_0000;
        for level in 1..=2u32 {
            let mut ram = ram(4, addr);
            let (table, shift) = ((4 - u64::from(level)) * PAGE, 12 + 9 * level);
            // A large page at 0; bit 12 of its entry is no address.
            entry(
                &mut ram,
                table,
                (addr >> shift) & 511,
                PRESENT | LARGE | 1 << 12,
            );
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
}
