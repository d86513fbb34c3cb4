// SPDX-License-Identifier: GPL-2.0

//! The arguments of a C call, packed into a record by the [codes](Codes) of its format.
//!
//! `blog/` calls it for all C calls. It needs no kernel and compiles on the host unchanged; what
//! pointers lead to is read through [`Pointees`]. It never allocates, and a pointer to nothing does
//! no harm.

use core::ptr;

use super::super::wire::{
    pack::{
        Codes,
        BITS,
        BYTES,
        BYTES_MAX,
        MEM,
        PRECISION_MAX,
        RAW,
        SOCKADDR,
        SOCKADDR_SIZE,
        STR,
        STR_ARG,
        STR_MAX,
        SYMBOL,
        TEXT,
        W1,
        W8,
        WIDTH_MAX, //
    },
    record::HEADER_SIZE,
    types::{
        long_size,
        take_tail,
        LONG,
        LONG_SIZE,
        MAX_ARGS,
        MAX_PAYLOAD,
        MAX_TAIL, //
    }, //
};

/// The error that stands for a pointer that can't be followed.
const EFAULT: i32 = 14;
/// Below this are no addresses.
const PAGE: u64 = 4096;
/// The last addresses, which are errors.
const ERRORS: u64 = 4095;

/// Families of socket addresses that are stored.
const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;

/// Memory that arguments point to.
pub trait Pointees {
    /// How long the string at `address` is without its NUL, looking at `max` bytes at most. `None`:
    /// it can't be read.
    fn string(&self, address: u64, max: usize) -> Option<usize>;

    /// Whether `len` bytes at `address` can be read; at most a record's worth.
    fn readable(&self, address: u64, len: usize) -> bool;

    /// Copies `len` bytes from `address`; false where they can't be read, and then `dst` may have
    /// anything.
    ///
    /// # Safety
    ///
    /// `dst` is valid for writes of `len` bytes.
    unsafe fn copy(&self, address: u64, dst: *mut u8, len: usize) -> bool;

    /// What the object of this [kind](super::super::wire::pack::TEXT) at `address` is called:
    /// stores at most `len` bytes, and returns how many there are. `None`: it can't be read.
    ///
    /// # Safety
    ///
    /// `dst` is valid for writes of `len` bytes.
    unsafe fn text(&self, kind: u8, address: u64, dst: *mut u8, len: usize) -> Option<usize>;
}

/// What is wrong with a pointer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bad {
    Null,
    Fault,
}

impl Bad {
    /// What is wrong with one that isn't even looked at, as printk has it.
    fn check(address: u64) -> Option<Self> {
        if address == 0 {
            Some(Self::Null)
        } else if !(PAGE..=u64::MAX - ERRORS).contains(&address) {
            Some(Self::Fault)
        } else {
            None
        }
    }

    fn text(self) -> &'static [u8] {
        match self {
            Self::Null => b"(null)",
            Self::Fault => b"(efault)",
        }
    }

    fn errno(self) -> i32 {
        match self {
            Self::Null => 0,
            Self::Fault => -EFAULT,
        }
    }
}

/// A tail, as it was when it was measured.
#[derive(Clone, Copy)]
struct Tail {
    len: u16,
    bad: Option<Bad>,
}

/// What one code, with those that belong to it, stores.
enum CodeStep {
    Word {
        arg: usize,
        size: usize,
    },
    Str {
        arg: usize,
        max: usize,
    },
    Text {
        arg: usize,
        kind: u8,
    },
    Mem {
        arg: usize,
        size: usize,
        is_sockaddr: bool,
    },
    /// Bytes of a length that is an argument.
    Sized {
        width: usize,
        arg: usize,
        code: u8,
    },
}

/// Goes through the codes.
struct CodeWalk<'a> {
    left: u64,
    arg: usize,
    args: &'a [u64; MAX_ARGS],
}

impl CodeWalk<'_> {
    #[inline(always)]
    fn code(&mut self) -> usize {
        let code = self.left & 15;
        self.left >>= 4;
        code as usize
    }

    /// Takes an argument. A word that no format was compiled to may want more than there are.
    #[inline(always)]
    fn take(&mut self) -> Option<usize> {
        let arg = self.arg;
        self.arg += 1;
        (arg < MAX_ARGS).then_some(arg)
    }

    #[inline(always)]
    fn next(&mut self) -> Option<CodeStep> {
        Some(match self.code() as u8 {
            code @ W1..=W8 => CodeStep::Word {
                size: 1 << (code - W1),
                arg: self.take()?,
            },
            STR => CodeStep::Str {
                max: MAX_TAIL,
                arg: self.take()?,
            },
            STR_ARG => {
                let max = self.take()?;
                CodeStep::Str {
                    max: (self.args[max] as i32).clamp(0, PRECISION_MAX as i32) as usize,
                    arg: self.take()?,
                }
            }
            STR_MAX => CodeStep::Str {
                max: self.code() | self.code() << 4 | self.code() << 8,
                arg: self.take()?,
            },
            TEXT => CodeStep::Text {
                kind: self.code() as u8,
                arg: self.take()?,
            },
            MEM => CodeStep::Mem {
                size: self.code() | self.code() << 4,
                arg: self.take()?,
                is_sockaddr: false,
            },
            SOCKADDR => CodeStep::Mem {
                size: SOCKADDR_SIZE,
                arg: self.take()?,
                is_sockaddr: true,
            },
            code @ (BYTES | BITS | RAW) => CodeStep::Sized {
                width: self.take()?,
                arg: self.take()?,
                code,
            },
            _ => return None,
        })
    }
}

/// Arguments of a C call that can be stored.
///
/// # Safety
///
/// [`Self::store`] stores as many bytes as [`Self::size`] says, which are at most [`MAX_PAYLOAD`].
pub unsafe trait Payload {
    /// How many bytes it stores.
    fn size(&self) -> usize;

    /// Stores the payload.
    ///
    /// # Safety
    ///
    /// `dst` is valid for writes of [`Self::size`] bytes, and so are the [`HEADER_SIZE`] bytes
    /// before it, of which nothing is left.
    unsafe fn store(&self, dst: *mut u8);
}

/// Arguments that are numbers, as those of most calls.
///
/// # Invariants
///
/// `sizes` are at most 15.
pub struct Numbers<'a, const N: usize> {
    sizes: [u32; N],
    args: &'a [u64; N],
}

impl<'a, const N: usize> Numbers<'a, N> {
    /// `None`: some are no numbers, or not among these.
    #[inline(always)]
    pub fn new(codes: Codes, args: &'a [u64; N]) -> Option<Self> {
        const { assert!(N <= MAX_ARGS && HEADER_SIZE == 8) };
        if !codes.are_numbers(N) {
            return None;
        }
        let mut sizes = [0; N];
        for (i, size) in sizes.iter_mut().enumerate() {
            // INVARIANT: By `size`.
            *size = codes.size(i);
        }
        Some(Self { sizes, args })
    }
}

// SAFETY: Both are by `sizes`.
unsafe impl<const N: usize> Payload for Numbers<'_, N> {
    #[inline(always)]
    fn size(&self) -> usize {
        self.sizes.iter().sum::<u32>() as usize
    }

    #[inline(always)]
    unsafe fn store(&self, dst: *mut u8) {
        // Without a branch: from the last one to the first one, eight bytes each, which end where
        // the argument ends. What is before that is stored next, the header as the last.
        //
        // SAFETY: By the caller's promise, the bytes are there.
        unsafe {
            let mut end = dst.add(self.size());
            for (value, size) in self.args.iter().zip(&self.sizes).rev() {
                let at = end.sub(HEADER_SIZE).cast::<u64>();
                at.write_unaligned(value.wrapping_shl(64_u32.wrapping_sub(8 * size)));
                end = end.sub(*size as usize);
            }
        }
    }
}

/// Arguments of a C call, ready to be stored.
///
/// # Invariants
///
/// `size` is at most [`MAX_PAYLOAD`], and is how many bytes [`Payload::store`] stores.
pub struct Packed<'a, M> {
    codes: Codes,
    args: &'a [u64; MAX_ARGS],
    memory: &'a M,
    /// By the argument that leads to it.
    tails: [Tail; MAX_ARGS],
    budget: usize,
    size: usize,
}

impl<'a, M: Pointees> Packed<'a, M> {
    /// Finds out how long what the call has passed is. `None`: this isn't compiled, or is for
    /// [`Numbers`], or would be larger than a record, which the compiler of formats refuses.
    #[inline(always)]
    pub fn new(codes: Codes, args: &'a [u64; MAX_ARGS], memory: &'a M) -> Option<Self> {
        if codes.are_numbers(usize::MAX) {
            return None;
        }
        codes.count()?;
        let mut tails = [Tail { len: 0, bad: None }; MAX_ARGS];
        // Bytes of tails, what their lengths take beyond the fixed bytes, and what those can take.
        let (mut sum, mut lengths, mut most) = (0, 0, 0);
        let (mut fixed, mut walk) = (0, Self::walk(codes, args));
        while let Some(step) = walk.next() {
            let (arg, tail) = match step {
                CodeStep::Word { size, .. } => {
                    fixed += size;
                    continue;
                }
                CodeStep::Mem { size, .. } => {
                    fixed += 1 + size.max(4);
                    continue;
                }
                CodeStep::Str { arg, max } => {
                    fixed += 1;
                    // No further than to see that not all of it fits: then its length is unknown.
                    let limit = max.min(MAX_PAYLOAD + 1 - sum.min(MAX_PAYLOAD));
                    let find = |address| {
                        let len = memory.string(address, limit)?;
                        Some(if len < limit || limit == max {
                            len
                        } else {
                            MAX_TAIL
                        })
                    };
                    (arg, Self::string(args[arg], max, find))
                }
                CodeStep::Text { arg, kind } => {
                    fixed += 1;
                    // SAFETY: Nothing is stored.
                    let find = |at| unsafe {
                        let len = memory.text(kind, at, ptr::null_mut(), 0)?;
                        Some(len.min(MAX_TAIL))
                    };
                    let tail = match kind < SYMBOL {
                        true => Self::string(args[arg], MAX_TAIL, find),
                        // Any address will do.
                        false => Tail {
                            len: find(args[arg]).unwrap_or(0) as u16,
                            bad: None,
                        },
                    };
                    (arg, tail)
                }
                CodeStep::Sized { width, arg, code } => {
                    fixed += 9;
                    let width = (args[width] as i32).unsigned_abs().min(WIDTH_MAX);
                    let (len, unseen) = match code {
                        BITS => (8 * width.div_ceil(64), false),
                        BYTES => (width.min(BYTES_MAX), width == 0),
                        _ => (width, width == 0),
                    };
                    (arg, Self::bytes(memory, args[arg], len as usize, unseen))
                }
            };
            let len = usize::from(tail.len);
            tails[arg] = tail;
            sum += len;
            lengths += long_size(len);
            most += LONG_SIZE;
        }
        let budget = MAX_PAYLOAD.checked_sub(fixed + most)?;
        // INVARIANT: This is what `store` goes through again; the lengths of tails are in `tails`.
        Some(Self {
            codes,
            args,
            memory,
            tails,
            budget,
            size: fixed + lengths + sum.min(budget),
        })
    }

    #[inline(always)]
    fn walk(codes: Codes, args: &'a [u64; MAX_ARGS]) -> CodeWalk<'a> {
        CodeWalk {
            left: codes.0 >> 4,
            arg: 0,
            args,
        }
    }

    /// A string whose length, at most [`MAX_TAIL`], `find` finds; `max` is for what stands for one.
    fn string(address: u64, max: usize, find: impl Fn(u64) -> Option<usize>) -> Tail {
        let found = match Bad::check(address) {
            None => find(address).ok_or(Bad::Fault),
            Some(bad) => Err(bad),
        };
        match found {
            Ok(len) => Tail {
                len: len as u16,
                bad: None,
            },
            Err(bad) => Tail {
                len: bad.text().len().min(max) as u16,
                bad: Some(bad),
            },
        }
    }

    fn bytes(memory: &M, address: u64, len: usize, unseen: bool) -> Tail {
        let bad = match Bad::check(address) {
            _ if unseen => None,
            None if !memory.readable(address, len.min(MAX_PAYLOAD)) => Some(Bad::Fault),
            bad => bad,
        };
        Tail {
            len: if bad.is_some() {
                0
            } else {
                len.min(MAX_TAIL) as u16
            },
            bad,
        }
    }

    /// Stores bytes of a size that the format has; returns where the next argument goes.
    ///
    /// # Safety
    ///
    /// `dst` is valid for writes of one byte and `size` or 4 more.
    unsafe fn store_mem(
        &self,
        address: u64,
        size: usize,
        is_sockaddr: bool,
        dst: *mut u8,
    ) -> *mut u8 {
        // SAFETY: By this function's requirement.
        unsafe {
            let body = dst.add(1);
            let mut len = size;
            if is_sockaddr {
                // Of another family, or of none that can be read, nothing more is stored.
                let mut family = [0; 2];
                self.memory.copy(address, family.as_mut_ptr(), 2);
                len = match u16::from_ne_bytes(family) {
                    AF_INET => 16,
                    AF_INET6 => SOCKADDR_SIZE,
                    _ => 2,
                };
            }
            let bad = match Bad::check(address) {
                None if !self.memory.copy(address, body, len) => Some(Bad::Fault),
                bad => bad,
            };
            dst.write(bad.is_some().into());
            let used = match bad {
                None => len,
                Some(bad) => {
                    body.cast::<i32>().write_unaligned(bad.errno());
                    4
                }
            };
            let all = size.max(4);
            ptr::write_bytes(body.add(used), 0, all - used);
            body.add(all)
        }
    }

    /// Stores a result whose tail [`Self::store_tail`] stores.
    ///
    /// # Safety
    ///
    /// As there, for a length of 5 bytes.
    unsafe fn store_result(&self, arg: usize, dst: *mut u8, budget: &mut usize) -> *mut u8 {
        let bad = self.tails[arg].bad;
        // SAFETY: By this function's requirement.
        unsafe {
            dst.write(bad.is_some().into());
            let errno = bad.map_or(0, Bad::errno);
            dst.add(1).cast::<i32>().write_unaligned(errno);
            match bad {
                None => self.store_tail(arg, None, dst.add(1), 4, budget),
                Some(_) => dst.add(5),
            }
        }
    }

    /// Stores a tail whose length takes `fixed` bytes, of which only the first one is written. It
    /// is what the argument points to, or what an object of this kind is called.
    ///
    /// # Safety
    ///
    /// `dst` is valid for writes of these, of what else its length takes, and of what it takes out
    /// of the budget.
    unsafe fn store_tail(
        &self,
        arg: usize,
        kind: Option<u8>,
        dst: *mut u8,
        fixed: usize,
        budget: &mut usize,
    ) -> *mut u8 {
        let Tail { len, bad } = self.tails[arg];
        let len = usize::from(len);
        let n = take_tail(budget, len);
        // SAFETY: By this function's requirement.
        unsafe {
            dst.write(len.min(LONG) as u8);
            let mut dst = dst.add(fixed);
            if long_size(len) != 0 {
                dst.cast::<u16>().write_unaligned(len as u16);
                dst = dst.add(LONG_SIZE);
            }
            match bad {
                Some(bad) => ptr::copy_nonoverlapping(bad.text().as_ptr(), dst, n),
                None if n == 0 => {}
                // It was there a moment ago, and may have been longer.
                None => {
                    let has = match kind {
                        None if self.memory.copy(self.args[arg], dst, n) => n,
                        None => 0,
                        Some(kind) => {
                            let has = self.memory.text(kind, self.args[arg], dst, n);
                            has.unwrap_or(0).min(n)
                        }
                    };
                    ptr::write_bytes(dst.add(has), 0, n - has);
                }
            }
            dst.add(n)
        }
    }
}

// SAFETY: By the type's invariants.
unsafe impl<M: Pointees> Payload for Packed<'_, M> {
    #[inline(always)]
    fn size(&self) -> usize {
        self.size
    }

    #[inline(always)]
    unsafe fn store(&self, mut dst: *mut u8) {
        let (mut budget, mut walk) = (self.budget, Self::walk(self.codes, self.args));
        // SAFETY: By the type invariants, all that is stored is within `size` bytes.
        unsafe {
            while let Some(step) = walk.next() {
                match step {
                    CodeStep::Word { arg, size } => {
                        let value = self.args[arg];
                        match size {
                            1 => dst.write(value as u8),
                            2 => dst.cast::<u16>().write_unaligned(value as u16),
                            4 => dst.cast::<u32>().write_unaligned(value as u32),
                            _ => dst.cast::<u64>().write_unaligned(value),
                        }
                        dst = dst.add(size);
                    }
                    CodeStep::Mem {
                        arg,
                        size,
                        is_sockaddr,
                    } => dst = self.store_mem(self.args[arg], size, is_sockaddr, dst),
                    CodeStep::Str { arg, .. } => {
                        dst = self.store_tail(arg, None, dst, 1, &mut budget)
                    }
                    CodeStep::Text { arg, kind } => {
                        dst = self.store_tail(arg, Some(kind), dst, 1, &mut budget);
                    }
                    CodeStep::Sized { width, arg, .. } => {
                        dst.cast::<u32>().write_unaligned(self.args[width] as u32);
                        dst = self.store_result(arg, dst.add(4), &mut budget);
                    }
                }
            }
        }
    }
}
