// SPDX-License-Identifier: GPL-2.0

//! The arguments of a C call, packed into a record by the [codes](Codes) of its format.
//!
//! `ccall.c` reads the memory at pointers, so a bad pointer does no harm. The rest needs no kernel
//! and compiles on the host unchanged. Nothing here allocates.

use core::{
    ptr,
    slice::Iter, //
};
use kernel::blog::wire::{
    pack::{
        Codes,
        BITS,
        BYTES,
        BYTES_MAX,
        MEM,
        PRECISION_MAX,
        PRIVATE,
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
        Privacy,
        LONG,
        LONG_SIZE,
        MAX_ARGS,
        MAX_PAYLOAD,
        MAX_TAIL,
        PRIVATE_HASH, //
    }, //
};

unsafe extern "C" {
    /// Length of the string at `s`, of which `max` bytes at most are looked at; less than 0: it
    /// can't be read.
    safe fn blog_string_length(s: u64, max: usize) -> isize;

    /// Copies memory. False: it can't be read, and `dst` may have anything.
    ///
    /// # Safety
    ///
    /// `dst` is valid for writes of `size` bytes.
    fn blog_copy_nofault(dst: *mut u8, src: u64, size: usize) -> bool;

    /// Makes the hash of `len` bytes. False: they can't be read.
    safe fn blog_hash(bytes: u64, len: usize, hash: &mut u64) -> bool;

    /// Stores at most `size` bytes of what the object of this kind (see [`TEXT`]) is called, and
    /// returns how many there are; less than 0: it can't be read.
    ///
    /// # Safety
    ///
    /// `dst` is valid for writes of `size` bytes.
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

/// Whether `len` bytes can be read. They are at most a record's worth, so no page is between the
/// first and the last one.
fn readable(address: u64, len: usize) -> bool {
    let mut byte = 0;
    // SAFETY: This is a byte.
    let mut has = |at| unsafe { blog_copy_nofault(&raw mut byte, at, 1) };
    len == 0 || has(address) && address.checked_add(len as u64 - 1).is_some_and(has)
}

/// A tail, as it was when it was measured.
#[derive(Clone, Copy)]
struct Tail {
    len: u16,
    bad: Option<Bad>,
}

/// A code, with what belongs to it.
struct CodeStep {
    code: u8,
    /// How many bytes are stored, or may be; of a [`TEXT`], its kind.
    says: usize,
    /// The argument before, where that says so.
    before: u32,
    /// The number or pointer.
    value: u64,
    /// What is done with it, if it is private.
    privacy: Option<Privacy>,
}

/// Goes through the codes.
struct Steps<'a> {
    codes: u64,
    args: Iter<'a, u64>,
    privacy: Privacy,
}

impl<'a> Steps<'a> {
    fn new(codes: Codes, args: &'a [u64; MAX_ARGS], privacy: Privacy) -> Self {
        let (codes, args) = (codes.0 >> 4, args.iter());
        Self {
            codes,
            args,
            privacy,
        }
    }

    #[inline(always)]
    fn code(&mut self) -> usize {
        let code = self.codes & 15;
        self.codes >>= 4;
        code as usize
    }
}

impl Iterator for Steps<'_> {
    type Item = CodeStep;

    /// A word that no format was compiled to may want more arguments than there are: it ends there.
    #[inline(always)]
    fn next(&mut self) -> Option<CodeStep> {
        let mut code = self.code() as u8;
        let is_private = code == PRIVATE;
        if is_private {
            code = self.code() as u8;
        }
        let before = match code {
            STR_ARG | BYTES | BITS | RAW => *self.args.next()? as u32,
            _ => 0,
        };
        let width = (before as i32).unsigned_abs().min(WIDTH_MAX);
        let says = match code {
            W1..=W8 => 1 << (code - W1),
            STR => MAX_TAIL,
            STR_ARG => (before as i32).clamp(0, PRECISION_MAX as i32) as usize,
            STR_MAX => self.code() | self.code() << 4 | self.code() << 8,
            TEXT => self.code(),
            MEM => self.code() | self.code() << 4,
            SOCKADDR => SOCKADDR_SIZE,
            BYTES => width.min(BYTES_MAX) as usize,
            BITS => 8 * width.div_ceil(64) as usize,
            RAW => width as usize,
            _ => return None,
        };
        Some(CodeStep {
            code,
            says,
            before,
            value: *self.args.next()?,
            privacy: is_private.then_some(self.privacy),
        })
    }
}

impl CodeStep {
    /// Whether bytes are stored of which an argument says how many.
    fn is_sized(&self) -> bool {
        matches!(self.code, BYTES | BITS | RAW)
    }

    /// How many bytes are always stored.
    #[inline(always)]
    fn fixed(&self) -> usize {
        let inner = match self.code {
            W1..=W8 => self.says,
            MEM | SOCKADDR => 1 + self.says.max(4),
            BYTES | BITS | RAW => 4 + 1 + 4,
            _ => 1,
        };
        match self.privacy {
            None => inner,
            Some(_) => 1 + inner.max(PRIVATE_HASH),
        }
    }

    /// Whether its value is not to be in the record.
    fn is_hidden(&self) -> bool {
        !matches!(self.privacy, None | Some(Privacy::Keep))
    }

    /// The hash of a number, or of as much of a string as a record could have.
    fn hash(&self) -> u64 {
        let (mut hash, value) = (0, self.value);
        let mut is_done = |at, len| blog_hash(at, len, &mut hash);
        if let W1..=W8 = self.code {
            is_done((&raw const value).addr() as u64, self.says);
            return hash;
        }
        let done = check(value).and_then(|()| {
            let len = blog_string_length(value, self.says.min(MAX_PAYLOAD));
            let is_done = usize::try_from(len).is_ok_and(|len| is_done(value, len));
            is_done.then_some(()).ok_or(Bad::Fault)
        });
        if let Err(bad) = done {
            let text = bad.text();
            is_done(text.as_ptr().addr() as u64, text.len());
        }
        hash
    }

    /// What is stored besides, where there are `before` bytes of tails already.
    #[inline(always)]
    fn tail(&self, before: usize) -> Option<Tail> {
        let (value, says) = (self.value, self.says);
        let found = match self.code {
            _ if self.is_hidden() => return None,
            STR | STR_ARG | STR_MAX => check(value).and_then(|()| {
                // No further than to see that not all of it fits: then its length is unknown.
                let limit = says.min(MAX_PAYLOAD + 1 - before.min(MAX_PAYLOAD));
                match usize::try_from(blog_string_length(value, limit)) {
                    Ok(len) if len < limit || limit == says => Ok(len),
                    Ok(_) => Ok(MAX_TAIL),
                    Err(_) => Err(Bad::Fault),
                }
            }),
            TEXT => {
                // SAFETY: Nothing is stored.
                let find = |()| unsafe { blog_text(says as u32, value, ptr::null_mut(), 0) };
                match says < SYMBOL.into() {
                    true => check(value).map(find),
                    // Any address will do.
                    false => Ok(find(()).max(0)),
                }
                .and_then(|len| usize::try_from(len).map_err(|_| Bad::Fault))
            }
            // Where no bytes are wanted, none are looked for.
            BYTES | RAW if says == 0 => Ok(0),
            BYTES | BITS | RAW => check(value).and_then(|()| {
                let is_there = readable(value, says.min(MAX_PAYLOAD));
                is_there.then_some(says).ok_or(Bad::Fault)
            }),
            _ => return None,
        };
        let (len, bad) = match found {
            Ok(len) => (len.min(MAX_TAIL), None),
            Err(bad) if self.is_sized() => (0, Some(bad)),
            Err(bad) if self.code == TEXT => (bad.text().len(), Some(bad)),
            Err(bad) => (bad.text().len().min(says), Some(bad)),
        };
        Some(Tail {
            len: len as u16,
            bad,
        })
    }

    /// Stores a number.
    ///
    /// # Safety
    ///
    /// `dst` is valid for writes of its bytes.
    unsafe fn store_word(&self, dst: *mut u8) {
        let value = self.value;
        // SAFETY: By this function's requirement.
        unsafe {
            match self.says {
                1 => dst.write(value as u8),
                2 => dst.cast::<u16>().write_unaligned(value as u16),
                4 => dst.cast::<u32>().write_unaligned(value as u32),
                _ => dst.cast::<u64>().write_unaligned(value),
            }
        }
    }

    /// Stores a result of bytes of which the format says how many.
    ///
    /// # Safety
    ///
    /// `dst` is valid for writes of [`Self::fixed`] bytes.
    unsafe fn store_mem(&self, dst: *mut u8) {
        let mut len = self.says;
        // SAFETY: There are two bytes, and by this function's requirement `len` and 4 more in
        // `dst`.
        unsafe {
            if self.code == SOCKADDR {
                // Of another family, or of none that can be read, nothing more is stored.
                let mut family = [0; 2];
                blog_copy_nofault(family.as_mut_ptr(), self.value, 2);
                len = match u16::from_ne_bytes(family) {
                    AF_INET => 16,
                    AF_INET6 => SOCKADDR_SIZE,
                    _ => 2,
                };
            }
            let body = dst.add(1);
            let copied = check(self.value).and_then(|()| {
                let is_there = blog_copy_nofault(body, self.value, len);
                is_there.then_some(len).ok_or(Bad::Fault)
            });
            dst.write(copied.is_err().into());
            let used = copied.unwrap_or_else(|bad| {
                body.cast::<i32>().write_unaligned(bad.errno());
                4
            });
            ptr::write_bytes(body.add(used), 0, self.says.max(4) - used);
        }
    }

    /// Stores a tail at `dst`, and the first byte of its length at `length`; returns where it ends.
    ///
    /// # Safety
    ///
    /// `length` is valid for writes of a byte, and `dst` of what else the length takes, and of what
    /// the tail takes out of the budget.
    unsafe fn store_tail(
        &self,
        tail: Tail,
        length: *mut u8,
        mut dst: *mut u8,
        budget: &mut usize,
    ) -> *mut u8 {
        let len = usize::from(tail.len);
        let n = take_tail(budget, len);
        // SAFETY: By this function's requirement.
        unsafe {
            length.write(len.min(LONG) as u8);
            if long_size(len) != 0 {
                dst.cast::<u16>().write_unaligned(tail.len);
                dst = dst.add(LONG_SIZE);
            }
            let has = match tail.bad {
                Some(bad) => {
                    ptr::copy_nonoverlapping(bad.text().as_ptr(), dst, n);
                    n
                }
                None if n == 0 => 0,
                None if self.code == TEXT => {
                    let len = blog_text(self.says as u32, self.value, dst, n);
                    usize::try_from(len).unwrap_or(0).min(n)
                }
                None if blog_copy_nofault(dst, self.value, n) => n,
                None => 0,
            };
            // It was there a moment ago, and may have been longer.
            ptr::write_bytes(dst.add(has), 0, n - has);
            dst.add(n)
        }
    }
}

/// Arguments that are numbers, as those of most calls.
///
/// # Invariants
///
/// `sizes` are at most 15.
pub(crate) struct Numbers<'a, const N: usize> {
    sizes: [u32; N],
    args: &'a [u64; N],
}

impl<'a, const N: usize> Numbers<'a, N> {
    /// `None`: some are no numbers, or not among these.
    #[inline(always)]
    pub(crate) fn new(codes: Codes, args: &'a [u64; N]) -> Option<Self> {
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

    /// How many bytes they take.
    #[inline(always)]
    pub(crate) fn size(&self) -> usize {
        self.sizes.iter().sum::<u32>() as usize
    }

    /// Stores them.
    ///
    /// # Safety
    ///
    /// `dst` is valid for writes of [`Self::size`] bytes, and so are the [`HEADER_SIZE`] bytes
    /// before it, of which nothing is left.
    #[inline(always)]
    pub(crate) unsafe fn store(&self, dst: *mut u8) {
        // Without a branch: from the last one to the first one, eight bytes each, which end where
        // the argument ends. What is before that is stored next, the header as the last.
        //
        // SAFETY: By this function's requirement, the bytes are there.
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

/// Arguments that are more than numbers, ready to be stored.
///
/// # Invariants
///
/// `size` is at most [`MAX_PAYLOAD`], and is how many bytes [`Self::store`] stores.
pub(crate) struct Packed<'a> {
    codes: Codes,
    args: &'a [u64; MAX_ARGS],
    privacy: Privacy,
    /// In the order of the codes that have one.
    tails: [Tail; MAX_ARGS],
    budget: usize,
    pub(crate) size: usize,
}

impl<'a> Packed<'a> {
    /// Finds out how long what the call has passed is. `None`: this isn't compiled, or is for
    /// [`Numbers`], or would be larger than a record, which the compiler of formats refuses.
    #[inline(always)]
    pub(crate) fn new(codes: Codes, args: &'a [u64; MAX_ARGS], privacy: Privacy) -> Option<Self> {
        if codes.are_numbers(usize::MAX) {
            return None;
        }
        codes.count()?;
        let mut tails = [Tail { len: 0, bad: None }; MAX_ARGS];
        let mut places = tails.iter_mut();
        // Bytes of tails, what their lengths take beyond the fixed bytes, and what those can take.
        let (mut fixed, mut sum, mut lengths, mut most) = (0, 0, 0, 0);
        for step in Steps::new(codes, args, privacy) {
            fixed += step.fixed();
            if let Some(tail) = step.tail(sum) {
                *places.next()? = tail;
                sum += usize::from(tail.len);
                lengths += long_size(tail.len.into());
                most += LONG_SIZE;
            }
        }
        let budget = MAX_PAYLOAD.checked_sub(fixed + most)?;
        // INVARIANT: This is what `store` goes through again; the lengths of tails are in `tails`.
        Some(Self {
            codes,
            args,
            privacy,
            tails,
            budget,
            size: fixed + lengths + sum.min(budget),
        })
    }

    /// Stores them.
    ///
    /// # Safety
    ///
    /// `dst` is valid for writes of `size` bytes.
    #[inline(always)]
    pub(crate) unsafe fn store(&self, mut dst: *mut u8) {
        let (mut budget, mut tails) = (self.budget, self.tails.iter());
        for step in Steps::new(self.codes, self.args, self.privacy) {
            // SAFETY: By the type invariants, all that is stored is within `size` bytes.
            unsafe {
                let mut end = dst.add(step.fixed());
                if let Some(privacy) = step.privacy {
                    ptr::write_bytes(dst, 0, step.fixed());
                    dst.write(privacy as u8);
                    dst = dst.add(1);
                    if step.is_hidden() {
                        if privacy == Privacy::Hash {
                            dst.cast::<u64>().write_unaligned(step.hash());
                        }
                        dst = end;
                        continue;
                    }
                }
                match step.code {
                    W1..=W8 => step.store_word(dst),
                    MEM | SOCKADDR => step.store_mem(dst),
                    _ => {
                        let Some(&tail) = tails.next() else {
                            return;
                        };
                        let mut length = dst;
                        if step.is_sized() {
                            dst.cast::<u32>().write_unaligned(step.before);
                            dst.add(4).write(tail.bad.is_some().into());
                            length = dst.add(5);
                            let errno = tail.bad.map_or(0, Bad::errno);
                            length.cast::<i32>().write_unaligned(errno);
                        }
                        if tail.bad.is_none() || !step.is_sized() {
                            end = step.store_tail(tail, length, end, &mut budget);
                        }
                    }
                }
                dst = end;
            }
        }
    }
}
