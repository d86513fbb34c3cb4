// SPDX-License-Identifier: GPL-2.0

//! The arguments of a C call, packed into a record by the [codes](Codes) of its format.
//!
//! Functions in C read the memory at pointers, so a bad pointer does no harm, and text that changes
//! meanwhile is some text that fits. The rest needs no kernel and compiles on the host unchanged.
//! Nothing here allocates.

use super::{
    copy_nofault,
    hash, //
};
use core::ptr;
use kernel::blog::{
    unaligned::store_unaligned,
    wire::{
        pack,
        types::{
            self,
            Privacy,
            LONG_SIZE,
            MAX_PAYLOAD,
            MAX_TAIL, //
        }, //
    }, //
};

/// Bytes after the payload that may be stored to, too: any number is stored as 8 bytes, and what
/// comes next overwrites those that are not its own.
pub(crate) const SLACK: usize = 8;

unsafe extern "C" {
    /// Copies the string at `s`, at most `max` bytes, and returns its length; less than 0: it can't
    /// be read. It stores whole words, up to 7 bytes more.
    ///
    /// # Safety
    ///
    /// `dst` is valid for writes of `max` bytes and 7 more, or `max` is 0.
    fn blog_copy_string(s: u64, dst: *mut u8, max: usize) -> isize;

    /// Length of the string at `s`, of which `max` bytes at most are looked at; less than 0: it
    /// can't be read.
    safe fn blog_string_length(s: u64, max: usize) -> isize;

    /// Stores at most `size` bytes, and 7 more, of what the object of this kind, as
    /// [`pack::TEXT`] has it, is called, and returns how many there are; less than 0: it can't be
    /// read.
    ///
    /// # Safety
    ///
    /// `dst` is valid for writes of `size` bytes and 7 more.
    fn blog_text(kind: u32, object: u64, dst: *mut u8, size: usize) -> isize;
}

/// Families of socket addresses that are stored.
const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;

/// What is wrong with a pointer.
#[derive(Clone, Copy)]
enum Bad {
    Null,
    Fault,
}

impl Bad {
    fn text(self) -> &'static [u8] {
        match self {
            Self::Null => b"(null)",
            Self::Fault => b"(efault)",
        }
    }

    fn errno(self) -> i32 {
        match self {
            Self::Null => 0,
            // -EFAULT
            Self::Fault => -14,
        }
    }

    /// Stores at most `size` bytes of the text, and returns its length, at most `max`.
    ///
    /// # Safety
    ///
    /// `dst` is valid for writes of `size` bytes.
    unsafe fn store(self, dst: *mut u8, size: usize, max: usize) -> usize {
        let text = self.text();
        let len = text.len().min(max);
        // SAFETY: By this function's requirement.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr(), dst, len.min(size)) };
        len
    }
}

/// Finds a pointer that isn't even looked at, as printk() does: the first page has no addresses,
/// and the last 4095 addresses are errors.
fn check(address: u64) -> Result<(), Bad> {
    match address {
        0 => Err(Bad::Null),
        ..4096 | 0xffff_ffff_ffff_f001.. => Err(Bad::Fault),
        _ => Ok(()),
    }
}

/// Packs the arguments of a call that passes short strings and numbers, in one pass, and returns
/// the size of the payload. `None`: it isn't as simple, see [`pack`].
///
/// # Safety
///
/// `dst` is valid for writes up to `end`, if that is after it.
#[inline(always)]
pub(crate) unsafe fn pack_simple(
    word: u64,
    args: &[u64],
    dst: *mut u8,
    end: *mut u8,
) -> Option<usize> {
    // Where there is room for a number, or for the length and a byte of a string.
    let end = end.wrapping_sub(SLACK);
    let (mut codes, mut to) = (word, dst);
    for &arg in args {
        if to >= end {
            return None;
        }
        codes >>= 4;
        let code = codes as u8 & 15;
        let size = if code == pack::STR {
            let most = types::LONG.min(end.addr().wrapping_sub(to.addr()));
            // SAFETY: There are as many bytes after the length, and 7 more.
            let len = unsafe { blog_copy_string(arg, to.wrapping_add(1), most) } as usize;
            if len >= most {
                // It goes on, or can't be read.
                return None;
            }
            // SAFETY: There is a byte.
            unsafe { to.write(len as u8) };
            len + 1
        } else if (pack::W1..=pack::W8).contains(&code) {
            // SAFETY: There are 8 bytes.
            unsafe { store_unaligned(to, arg) };
            1 << (code - pack::W1)
        } else {
            return None;
        };
        to = to.wrapping_add(size);
    }
    let size = to.addr().wrapping_sub(dst.addr());
    // It doesn't matter how long all are together; and there are no codes for more.
    let is_short = |size| size <= MAX_PAYLOAD - pack::CALL_ARGS * LONG_SIZE;
    let is_simple = (is_short(types::LONG * args.len()) || is_short(size)) && codes < 16;
    (to <= end && is_simple).then_some(size)
}

/// Packs the arguments of a call into `room` bytes at `dst`; those that weren't passed are 0.
///
/// Returns the size of the payload. It has been stored if `room` has [`SLACK`] bytes more; else
/// that is how much it takes, if nothing changes meanwhile. It is at most [`MAX_PAYLOAD`], but for
/// codes that the compiler of formats refuses.
///
/// # Safety
///
/// `dst` is valid for writes of `room` bytes.
pub(crate) unsafe fn pack(
    codes: pack::Codes,
    args: &[u64],
    privacy: Privacy,
    dst: *mut u8,
    room: usize,
) -> usize {
    // INVARIANT: By this function's requirement.
    let new = |budget| Packer {
        privacy,
        dst,
        room,
        len: 0,
        budget,
        looked: 0,
        tails: 0,
    };
    let mut packer = new(MAX_PAYLOAD);
    if let Some(count) = codes.numbers() {
        packer.numbers(codes, args, count);
        return packer.len;
    }
    packer.walk(codes, args);
    // If not all tails fit, they share what the rest leaves, with room for the longest lengths.
    if packer.len > MAX_PAYLOAD - pack::CALL_ARGS * LONG_SIZE {
        let rest = packer.len.wrapping_sub(packer.tails);
        packer = new(MAX_PAYLOAD.saturating_sub(rest));
        packer.walk(codes, args);
    }
    packer.len
}

/// The pointer at an address; `None`: it can't be read.
pub(crate) fn load(address: u64) -> Option<u64> {
    check(address).ok()?;
    let mut word = [0; 8];
    // SAFETY: There is room for 8 bytes.
    unsafe { copy_nofault(word.as_mut_ptr(), address, 8) }.then_some(u64::from_ne_bytes(word))
}

/// A payload that is put together.
///
/// # Invariants
///
/// `dst` is valid for writes of `room` bytes.
struct Packer {
    /// What is done with private arguments.
    privacy: Privacy,
    dst: *mut u8,
    room: usize,
    /// How many bytes there are, though not all of them may have been stored.
    len: usize,
    /// How many more bytes of tails there can be.
    budget: usize,
    /// How long all tails are.
    looked: usize,
    /// What tails and their long lengths take beyond [`LONG_SIZE`] for each; wraps around.
    tails: usize,
}

impl Packer {
    /// Adds `size` bytes. `None`: there is no room for them and for [`SLACK`] more.
    fn add(&mut self, size: usize) -> Option<*mut u8> {
        let at = self.dst.wrapping_add(self.len);
        self.len += size;
        (self.len + SLACK <= self.room).then_some(at)
    }

    /// Adds the first `size` bytes of a number.
    fn number(&mut self, value: u64, size: usize) {
        if let Some(at) = self.add(size) {
            // SAFETY: There are 8 bytes, by the type invariant.
            unsafe { store_unaligned(at, value) };
        }
    }

    /// Adds numbers that have a place each.
    fn numbers(&mut self, codes: pack::Codes, args: &[u64], count: usize) {
        let size = codes.size();
        let Some(at) = self.add(size) else {
            return;
        };
        for i in 0..count {
            let value = args.get(i).copied().unwrap_or(0);
            // SAFETY: There are 8 bytes after any place, by the type invariant.
            unsafe {
                store_unaligned(at.add(codes.place(i).min(size)), value);
            }
        }
    }

    /// Adds all that the codes say.
    #[inline(never)]
    fn walk(&mut self, codes: pack::Codes, args: &[u64]) {
        let (mut codes, mut args) = (codes.0 >> 4, args.iter());
        let mut next = || {
            let code = codes as u8 & 15;
            codes >>= 4;
            code
        };
        let mut arg = || args.next().copied().unwrap_or(0);
        loop {
            let mut code = next();
            let is_private = code == pack::PRIVATE;
            if is_private {
                code = next();
            }
            match code {
                pack::W1..=pack::W8 => {
                    let (value, size) = (arg(), 1 << (code - pack::W1));
                    match is_private {
                        true => self.private_number(value, size),
                        false => self.number(value, size),
                    }
                }
                pack::STR | pack::STR_ARG | pack::STR_MAX => {
                    let most = match code {
                        pack::STR => MAX_TAIL,
                        pack::STR_ARG => {
                            (arg() as i32).clamp(0, pack::PRECISION_MAX as i32) as usize
                        }
                        _ => {
                            let most = [next(), next(), next()].map(usize::from);
                            most[0] | most[1] << 4 | most[2] << 8
                        }
                    };
                    match is_private {
                        true => self.private_string(most, arg()),
                        false => self.string(1, most, arg()),
                    }
                }
                pack::TEXT => self.name(next(), arg()),
                pack::MEM => {
                    let size = [next(), next()].map(usize::from);
                    let (size, at) = (size[0] | size[1] << 4, arg());
                    // SAFETY: As `memory` says.
                    self.memory(size, at, |dst| unsafe { copy_nofault(dst, at, size) });
                }
                pack::SOCKADDR => {
                    let (prints, at) = (next(), arg());
                    // SAFETY: As `memory` says.
                    let copy = |dst| unsafe { copy_socket(dst, at, prints) };
                    self.memory(pack::SOCKADDR_SIZE, at, copy);
                }
                pack::PART => {
                    let (size, pairs) = match next() {
                        pack::RESOURCE => (32, 0xf0ff),
                        pack::DATE => (24, 0x0fc0),
                        pack::TIME => (24, 0x003f),
                        pack::BITMAP => {
                            let bits = [next(), next(), next()].map(usize::from);
                            let bits = bits[0] | bits[1] << 4 | bits[2] << 8;
                            let (size, at) = (8 * bits.div_ceil(64), arg());
                            // SAFETY: As `memory` says.
                            self.memory(size, at, |dst| unsafe { copy_bits(dst, at, size, bits) });
                            continue;
                        }
                        _ => return,
                    };
                    let at = arg();
                    // SAFETY: As `memory` says.
                    self.memory(size, at, |dst| unsafe { copy_pairs(dst, at, size, pairs) });
                }
                pack::BYTES | pack::BITS | pack::RAW => {
                    let before = arg() as u32;
                    let width = (before as i32).unsigned_abs().min(pack::WIDTH_MAX) as usize;
                    let (size, bits) = match code {
                        pack::BYTES => (width.min(pack::BYTES_MAX as usize), usize::MAX),
                        pack::BITS => (8 * width.div_ceil(64), width),
                        _ => (width, usize::MAX),
                    };
                    self.bytes(before, size, bits, arg());
                }
                // The end, or what no format is compiled to.
                _ => return,
            }
        }
    }

    /// Adds a tail, and before it `before` bytes, the first one of which has its length.
    ///
    /// `find` returns how long the tail is, and has stored it where it gets: as many bytes as it
    /// gets there, and up to 7 more, are valid for writes.
    fn tail(&mut self, before: usize, find: impl FnOnce(*mut u8, usize) -> usize) {
        let at = self.len + before;
        let size = self.room.saturating_sub(at + SLACK);
        let body = self.dst.wrapping_add(at);
        let len = find(body, size).min(MAX_TAIL);
        let n = types::take_tail(&mut self.budget, len);
        self.looked += len;
        self.tails = self
            .tails
            .wrapping_add(types::long_size(len) + n)
            .wrapping_sub(LONG_SIZE);
        if let Some(length) = self.add(before + types::long_size(len) + n) {
            // SAFETY: By the type invariant, there is room up to the tail's end: after the length,
            // too, if that is long.
            unsafe {
                if types::long_size(len) != 0 {
                    ptr::copy(body, body.add(LONG_SIZE), n);
                    store_unaligned(body, len as u16);
                }
                length.write(len.min(types::LONG) as u8);
                ptr::write_bytes(length.add(1), 0, before - 1);
            }
        }
    }

    /// Adds a private number, as the setting says.
    fn private_number(&mut self, value: u64, size: usize) {
        let mut kept = [0; 8];
        kept[..size].copy_from_slice(&value.to_ne_bytes()[..size]);
        self.number(self.privacy as u64, 1);
        self.number(
            match self.privacy {
                Privacy::Hash => hash(kept.as_ptr().addr() as u64, size).unwrap_or(0),
                Privacy::Omit => 0,
                Privacy::Keep => u64::from_ne_bytes(kept),
            },
            types::PRIVATE_HASH,
        );
    }

    /// Likewise, of a string: of as much of it as a record could have.
    fn private_string(&mut self, most: usize, address: u64) {
        self.number(self.privacy as u64, 1);
        let found = match self.privacy {
            Privacy::Keep => return self.string(types::PRIVATE_HASH, most, address),
            Privacy::Omit => Ok(0),
            Privacy::Hash => check(address).and_then(|()| {
                let len = blog_string_length(address, most.min(MAX_PAYLOAD));
                let len = usize::try_from(len).map_err(|_| Bad::Fault)?;
                hash(address, len).ok_or(Bad::Fault)
            }),
        };
        let of_text = |text: &[u8]| hash(text.as_ptr().addr() as u64, text.len());
        let hash = found.unwrap_or_else(|bad| of_text(bad.text()).unwrap_or(0));
        self.number(hash, types::PRIVATE_HASH);
    }

    /// Adds a string, of at most `most` bytes, after `before` bytes with its length.
    fn string(&mut self, before: usize, most: usize, address: u64) {
        // No further than to see that not all of it fits: then its length is unknown.
        let limit = most.min(MAX_PAYLOAD + 1 - self.looked.min(MAX_PAYLOAD));
        self.tail(before, |dst, size| {
            let found = check(address).and_then(|()| {
                // SAFETY: As `tail` says.
                let mut len = unsafe { blog_copy_string(address, dst, size.min(limit)) };
                if len == size as isize && size < limit {
                    len = blog_string_length(address, limit);
                }
                usize::try_from(len).map_err(|_| Bad::Fault)
            });
            match found {
                Ok(len) if len < limit || limit == most => len,
                Ok(_) => MAX_TAIL,
                // SAFETY: As `tail` says.
                Err(bad) => unsafe { bad.store(dst, size, most) },
            }
        });
    }

    /// Adds what an object of this kind is called.
    fn name(&mut self, kind: u8, object: u64) {
        self.tail(1, |dst, size| {
            // SAFETY: As `tail` says.
            let find = |()| unsafe { blog_text(kind.into(), object, dst, size) };
            let found = match kind < pack::SYMBOL {
                true => check(object).map(find),
                // Any address will do.
                false => Ok(find(()).max(0)),
            };
            match found.and_then(|len| usize::try_from(len).map_err(|_| Bad::Fault)) {
                Ok(len) => len,
                // SAFETY: As `tail` says.
                Err(bad) => unsafe { bad.store(dst, size, MAX_TAIL) },
            }
        });
    }

    /// Adds a number, and the result of so many bytes as that says, and of so many bits of these.
    fn bytes(&mut self, before: u32, size: usize, bits: usize, address: u64) {
        const BEFORE: usize = 4 + 1;
        // After the length. Where there is no room, they are taken to be there.
        let (at, n) = (self.len + BEFORE + 4, size.min(self.budget));
        let dst = self.dst.wrapping_add(at);
        let is_there = || {
            // SAFETY: By the type invariant, if there is room.
            at + n + SLACK > self.room || unsafe { copy_bits(dst, address, n, bits) }
        };
        // Where no bytes are wanted, none are looked for.
        let found = match size {
            0 => Ok(()),
            _ => check(address).and_then(|()| is_there().then_some(()).ok_or(Bad::Fault)),
        };
        self.number(u64::from(before) | u64::from(found.is_err()) << 32, BEFORE);
        match found {
            Ok(()) => self.tail(4, |_, _| size),
            Err(bad) => {
                self.number(bad.errno() as u64, 4);
                self.tails = self.tails.wrapping_sub(LONG_SIZE);
            }
        }
    }

    /// Adds a result of `size` bytes, for which `copy` gets room; it says if they can be read.
    fn memory(&mut self, size: usize, address: u64, copy: impl FnOnce(*mut u8) -> bool) {
        let whole = size.max(4);
        let Some(at) = self.add(1 + whole) else {
            return;
        };
        let body = at.wrapping_add(1);
        let copied = check(address).and_then(|()| copy(body).then_some(size).ok_or(Bad::Fault));
        // SAFETY: By the type invariant, there are `1 + whole` bytes at `at`.
        unsafe {
            at.write(copied.is_err().into());
            let used = copied.unwrap_or_else(|bad| {
                store_unaligned(body, bad.errno());
                4
            });
            ptr::write_bytes(body.add(used), 0, whole - used);
        }
    }
}

// What a format doesn't print of the memory at a pointer is not stored: nobody has chosen to log
// it, and it may be an address, or older content of the stack.

/// Reads `bits` bits, and stores `size` bytes; the other bits are 0. False: memory can't be read.
///
/// # Safety
///
/// `dst` is valid for writes of `size` bytes.
unsafe fn copy_bits(dst: *mut u8, address: u64, size: usize, bits: usize) -> bool {
    let used = size.min(bits.div_ceil(8));
    // SAFETY: By this function's requirement.
    unsafe {
        if !copy_nofault(dst, address, used) {
            return false;
        }
        ptr::write_bytes(dst.add(used), 0, size - used);
        if bits / 8 < used {
            *dst.add(bits / 8) &= !(0xff << (bits % 8));
        }
    }
    true
}

/// Likewise, but stores only the pairs of bytes that have a bit in `pairs`.
///
/// # Safety
///
/// As for [`copy_bits`].
unsafe fn copy_pairs(dst: *mut u8, address: u64, size: usize, pairs: u16) -> bool {
    // SAFETY: By this function's requirement.
    unsafe {
        if !copy_nofault(dst, address, size) {
            return false;
        }
        let others = (0..size / 2).filter(|n| pairs >> n & 1 == 0);
        others.for_each(|n| ptr::write_bytes(dst.add(2 * n), 0, 2));
    }
    true
}

/// Copies what is printed of a socket's address, as [`pack::SOCKADDR`] says.
///
/// # Safety
///
/// `dst` is valid for writes of [`pack::SOCKADDR_SIZE`] bytes.
unsafe fn copy_socket(dst: *mut u8, address: u64, prints: u8) -> bool {
    let has = |bit, pairs| if prints & bit != 0 { pairs } else { 0 };
    let mut family = [0; 2];
    // SAFETY: There are two bytes in `family`; and by this function's requirement.
    unsafe {
        ptr::write_bytes(dst, 0, pack::SOCKADDR_SIZE);
        if !copy_nofault(family.as_mut_ptr(), address, 2) {
            return false;
        }
        match u16::from_ne_bytes(family) {
            AF_INET => copy_pairs(dst, address, 16, 0x000d | has(pack::PORT, 2)),
            AF_INET6 => {
                let more = has(pack::PORT, 2) | has(pack::FLOW, 0xc) | has(pack::SCOPE, 0x3000);
                copy_pairs(dst, address, pack::SOCKADDR_SIZE, 0x0ff1 | more)
            }
            // All that is printed is that it is none of these.
            _ => true,
        }
    }
}
