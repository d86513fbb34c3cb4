// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Types of the running kernel, as BTF describes them: as much of it as [`compile`](crate::compile)
//! asks.
//!
//! The kernel has one file of them, which describes vmlinux, and one for each module, which goes on
//! after that. `Documentation/bpf/btf.rst` of the kernel is the format. Any bytes are read: what makes
//! no sense is an error, or isn't there.
//!
//! By hand, as the crate `btf` reads each file alone: it can't go on after vmlinux, as modules do. Nor
//! does Debian have it.

use std::collections::HashMap;

use blog_table::bytes::{array, slice_at, u16_at, u32_at, until_nul};

const MAGIC: u16 = 0xeb9f;
const VERSION: u8 = 1;
/// Bytes of a type without what is special to its kind.
const COMMON: usize = 12;
/// What stands before a tracepoint's name in that of the function that calls its probes, and in that of
/// the type of these.
const ITERATOR: &str = "__traceiter_";
const TRACEPOINT: &str = "btf_trace_";
/// Types that a name is followed through, at most: types can be in a circle.
const DEPTH: usize = 32;

const INT: u8 = 1;
const PTR: u8 = 2;
const ARRAY: u8 = 3;
const STRUCT: u8 = 4;
const UNION: u8 = 5;
const ENUM: u8 = 6;
const TYPEDEF: u8 = 8;
const VOLATILE: u8 = 9;
const CONST: u8 = 10;
const RESTRICT: u8 = 11;
const FUNC: u8 = 12;
const FUNC_PROTO: u8 = 13;
const VAR: u8 = 14;
const DATASEC: u8 = 15;
const DECL_TAG: u8 = 17;
const TYPE_TAG: u8 = 18;
const ENUM64: u8 = 19;

/// The id of a type; 0 is `void`.
pub type Id = u32;

/// What a type is, without its qualifiers and other names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A number of so many bytes.
    Number(usize),
    /// A pointer.
    Pointer(Id),
    /// So many of another type.
    Array(Id, u32),
    /// A struct or union, of so many bytes.
    Struct(usize),
    /// Anything else.
    Other,
}

/// A member of a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its type.
    pub ty: Id,
    /// Where it is, in bits.
    pub bits: u32,
    /// Whether it has only some bits of its type.
    pub is_bitfield: bool,
}

/// A function: what it returns, and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// What it returns.
    pub returns: Id,
    /// Names, and types.
    pub arguments: Vec<(String, Id)>,
}

#[derive(Clone, Copy)]
struct Raw {
    name: u32,
    info: u32,
    /// Its size, or another type.
    size: u32,
    /// Where what is special to its kind is in the bytes.
    rest: usize,
}

impl Raw {
    fn kind(self) -> u8 {
        (self.info >> 24) as u8 & 31
    }

    /// Members, or arguments.
    fn len(self) -> usize {
        self.info as usize & 0xffff
    }
}

/// The types of vmlinux, or those and a module's.
#[derive(Default)]
pub struct Btf {
    bytes: Vec<u8>,
    strings: Vec<u8>,
    /// By id, from 1 on.
    types: Vec<Raw>,
    functions: HashMap<String, Id>,
    typedefs: HashMap<String, Id>,
}

impl Btf {
    /// Goes on with the types of a file.
    pub fn add(&mut self, file: &[u8]) -> Result<(), String> {
        const CUT: &str = "BTF is cut off";
        let field = |at| u32_at(file, at).ok_or(CUT);
        if u16_at(file, 0) != Some(MAGIC) || file.get(2) != Some(&VERSION) {
            return Err("unsupported BTF version or byte order".into());
        }
        let header = field(4)? as usize;
        let part = |at: u32, len: u32| {
            let start = header.checked_add(at as usize).ok_or(CUT)?;
            slice_at(file, start, len as usize).ok_or(CUT)
        };
        let (types, strings) = (part(field(8)?, field(12)?)?, part(field(16)?, field(20)?)?);
        let (base, first) = (self.bytes.len(), self.types.len());
        self.bytes.extend_from_slice(types);
        self.strings.extend_from_slice(strings);
        let mut at = 0;
        while at < types.len() {
            let word = |i: usize| u32_at(types, at + 4 * i).ok_or(CUT);
            let raw =
                Raw { name: word(0)?, info: word(1)?, size: word(2)?, rest: base + at + COMMON };
            let rest = match raw.kind() {
                INT | VAR | DECL_TAG => 4,
                ARRAY => 12,
                STRUCT | UNION | DATASEC | ENUM64 => 12 * raw.len(),
                ENUM | FUNC_PROTO => 8 * raw.len(),
                0 | 20.. => return Err(format!("BTF has an unknown kind of type, {}", raw.kind())),
                _ => 0,
            };
            at += COMMON + rest;
            if at > types.len() {
                return Err(CUT.into());
            }
            self.types.push(raw);
        }
        for (i, raw) in self.types.iter().enumerate().skip(first) {
            let of = match raw.kind() {
                FUNC => &mut self.functions,
                TYPEDEF => &mut self.typedefs,
                _ => continue,
            };
            let name = self.strings.get(raw.name as usize..).unwrap_or_default();
            let name = String::from_utf8_lossy(until_nul(name)).into_owned();
            of.entry(name).or_insert(i as Id + 1);
        }
        Ok(())
    }

    /// How much there is.
    pub fn mark(&self) -> [usize; 3] {
        [self.bytes.len(), self.strings.len(), self.types.len()]
    }

    /// Forgets what has come after a mark, functions and other names of it included.
    pub fn forget(&mut self, [bytes, strings, types]: [usize; 3]) {
        self.bytes.truncate(bytes);
        self.strings.truncate(strings);
        self.types.truncate(types);
        self.functions.retain(|_, id| *id as usize <= types);
        self.typedefs.retain(|_, id| *id as usize <= types);
    }

    fn raw(&self, id: Id) -> Option<Raw> {
        self.types.get((id as usize).checked_sub(1)?).copied()
    }

    fn name(&self, at: u32) -> String {
        let name = self.strings.get(at as usize..).unwrap_or_default();
        String::from_utf8_lossy(until_nul(name)).into_owned()
    }

    /// The words of a type's entry with this number, of `size` bytes each.
    fn entry<const N: usize>(&self, raw: Raw, i: usize) -> Option<[u32; N]> {
        let at = raw.rest + 4 * N * i;
        let mut words = [0; N];
        for (n, word) in words.iter_mut().enumerate() {
            *word = u32::from_le_bytes(array::<4>(&self.bytes, at + 4 * n)?);
        }
        Some(words)
    }

    /// A type without qualifiers and other names, and its id.
    fn bare(&self, mut id: Id) -> Option<(Id, Raw)> {
        for _ in 0..DEPTH {
            let raw = self.raw(id)?;
            match raw.kind() {
                TYPEDEF | VOLATILE | CONST | RESTRICT | TYPE_TAG => id = raw.size,
                _ => return Some((id, raw)),
            }
        }
        None
    }

    /// What a type is.
    pub fn ty(&self, id: Id) -> Type {
        let Some((_, raw)) = self.bare(id) else {
            return Type::Other;
        };
        match raw.kind() {
            INT | ENUM | ENUM64 if raw.size <= 8 => Type::Number(raw.size as usize),
            PTR => Type::Pointer(raw.size),
            STRUCT | UNION => Type::Struct(raw.size as usize),
            ARRAY => {
                self.entry::<3>(raw, 0).map_or(Type::Other, |[ty, _, len]| Type::Array(ty, len))
            }
            _ => Type::Other,
        }
    }

    /// Bytes of a type, where it is known.
    pub fn size(&self, id: Id) -> Option<usize> {
        self.size_within(id, DEPTH)
    }

    fn size_within(&self, id: Id, depth: usize) -> Option<usize> {
        match self.ty(id) {
            Type::Number(size) | Type::Struct(size) => Some(size),
            Type::Pointer(_) => Some(8),
            Type::Array(of, len) => {
                let size = self.size_within(of, depth.checked_sub(1)?)?;
                size.checked_mul(len as usize)
            }
            Type::Other => None,
        }
    }

    /// A member of a struct or union, also of one without a name in it.
    pub fn member(&self, of: Id, name: &str) -> Option<Member> {
        self.member_within(of, name, DEPTH)
    }

    fn member_within(&self, of: Id, name: &str, depth: usize) -> Option<Member> {
        let (_, raw) = self.bare(of)?;
        if !matches!(raw.kind(), STRUCT | UNION) {
            return None;
        }
        for i in 0..raw.len() {
            let [named, ty, place] = self.entry::<3>(raw, i)?;
            // With the flag, the size of a bitfield is in there, too.
            let (bits, size) = match raw.info >> 31 {
                0 => (place, 0),
                _ => (place & 0xff_ffff, place >> 24),
            };
            let own = self.name(named);
            if own == name {
                return Some(Member { ty, bits, is_bitfield: size != 0 || bits % 8 != 0 });
            }
            let inner = match own.is_empty() && depth > 0 {
                true => self.member_within(ty, name, depth - 1),
                false => None,
            };
            if let Some(mut inner) = inner {
                inner.bits = inner.bits.checked_add(bits)?;
                return Some(inner);
            }
        }
        None
    }

    fn prototype(&self, id: Id) -> Option<Function> {
        let raw = self.raw(id).filter(|raw| raw.kind() == FUNC_PROTO)?;
        let argument = |i| {
            let [name, ty] = self.entry::<2>(raw, i)?;
            Some((self.name(name), ty))
        };
        Some(Function {
            returns: raw.size,
            arguments: (0..raw.len()).map(argument).collect::<Option<_>>()?,
        })
    }

    /// A function by its name.
    pub fn function(&self, name: &str) -> Option<Function> {
        let function = self.raw(*self.functions.get(name)?)?;
        self.prototype(function.size)
    }

    /// What a tracepoint passes, by the function that calls its probes, or else by what these are. Its
    /// own data comes before that.
    pub fn tracepoint(&self, name: &str) -> Option<Function> {
        let iterator = self.function(&format!("{ITERATOR}{name}"));
        let mut function = iterator.or_else(|| {
            let typedef = *self.typedefs.get(&format!("{TRACEPOINT}{name}"))?;
            let (_, pointer) = self.bare(typedef)?;
            self.prototype(pointer.size)
        })?;
        if !function.arguments.is_empty() {
            function.arguments.remove(0);
        }
        Some(function)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A file under construction.
    #[derive(Default)]
    struct File {
        types: Vec<u8>,
        strings: Vec<u8>,
        /// How many types and bytes of strings were before.
        base: [u32; 2],
        count: u32,
    }

    impl File {
        fn name(&mut self, name: &str) -> u32 {
            let at = self.base[1] + self.strings.len() as u32;
            self.strings.extend_from_slice(name.as_bytes());
            self.strings.push(0);
            at
        }

        /// Adds a type; returns its id.
        fn ty(&mut self, name: &str, kind: u8, len: u32, size: u32, rest: &[u32]) -> Id {
            let words = [self.name(name), u32::from(kind) << 24 | len, size];
            for word in words.iter().chain(rest) {
                self.types.extend_from_slice(&word.to_le_bytes());
            }
            self.count += 1;
            self.base[0] + self.count
        }

        fn function(&mut self, name: &str, returns: Id, arguments: &[(&str, Id)]) -> Id {
            let rest: Vec<u32> =
                arguments.iter().flat_map(|(name, ty)| [self.name(name), *ty]).collect();
            let proto = self.ty("", FUNC_PROTO, arguments.len() as u32, returns, &rest);
            match name.is_empty() {
                true => proto,
                false => self.ty(name, FUNC, 0, proto, &[]),
            }
        }

        fn bytes(self) -> Vec<u8> {
            let mut file = Vec::from([0x9f, 0xeb, 1, 0]);
            let [types, strings] = [&self.types, &self.strings].map(|part| part.len() as u32);
            for word in [24, 0, types, types, strings] {
                file.extend_from_slice(&u32::to_le_bytes(word));
            }
            [file, self.types, self.strings].concat()
        }
    }

    /// Of a kernel with a function, a tracepoint, and another in the old way.
    pub(crate) fn kernel() -> Vec<u8> {
        let mut f = File { strings: vec![0], ..File::default() };
        let int = f.ty("int", INT, 0, 4, &[32]);
        let byte = f.ty("char", INT, 0, 1, &[8]);
        let text = f.ty("", CONST, 0, byte, &[]);
        let text = f.ty("", PTR, 0, text, &[]);
        let long = f.ty("u64", INT, 0, 8, &[64]);
        let name = f.ty("", ARRAY, 0, 0, &[byte, int, 16]);
        let members = [f.name("bytes"), long, 0];
        let hidden = f.ty("", UNION, 1, 8, &members);
        // struct inode { int i_ino; char name[16]; union { u64 bytes; }; char *label; int few:3; }
        let members =
            [("i_ino", int, 0), ("name", name, 32), ("", hidden, 192), ("label", text, 256)];
        let mut rest: Vec<u32> =
            members.iter().flat_map(|(name, ty, bits)| [f.name(name), *ty, *bits]).collect();
        rest.extend([f.name("few"), int, 3 << 24 | 320]);
        let inode = f.ty("inode", STRUCT, 1 << 31 | 5, 48, &rest);
        let inode = f.ty("", PTR, 0, inode, &[]);
        // struct file { u64 pos; struct inode *inode; struct { … } pair of 16 bytes; }
        let members = [f.name("pos"), long, 0, f.name("inode"), inode, 64];
        let file = f.ty("file", STRUCT, 2, 16, &members);
        let pointer = f.ty("", PTR, 0, file, &[]);
        let pointer = f.ty("file_t", TYPEDEF, 0, pointer, &[]);
        let void = f.ty("", PTR, 0, 0, &[]);
        f.function(
            "do_read",
            long,
            &[("file", pointer), ("op", int), ("label", text), ("at", void)],
        );
        f.function("by_value", 0, &[("op", int), ("file", file), ("n", int)]);
        f.function("__traceiter_read", int, &[("__data", void), ("op", int), ("ino", inode)]);
        let old = f.function("", 0, &[("", void), ("", inode)]);
        let old = f.ty("", PTR, 0, old, &[]);
        f.ty("btf_trace_old", TYPEDEF, 0, old, &[]);
        f.bytes()
    }

    #[test]
    fn a_module_goes_on_after_the_kernel() {
        let mut btf = Btf::default();
        btf.add(&kernel()).unwrap();
        let mark = btf.mark();
        let mut module = File { base: [mark[2] as u32, mark[1] as u32], ..File::default() };
        // Its argument is of a type of the kernel.
        let pointer = btf.function("do_read").unwrap().arguments[0].1;
        module.function("mod_read", 0, &[("file", pointer)]);
        let module = module.bytes();
        btf.add(&module).unwrap();
        let found = btf.function("mod_read").unwrap();
        assert_eq!(found.arguments, [("file".to_owned(), pointer)]);
        btf.forget(mark);
        assert_eq!(btf.function("mod_read"), None);
        assert!(btf.function("do_read").is_some());
    }

    #[test]
    fn types_have_sizes_and_members() {
        let mut btf = Btf::default();
        btf.add(&kernel()).unwrap();
        let function = btf.function("do_read").unwrap();
        assert_eq!(btf.ty(function.returns), Type::Number(8));
        let Type::Pointer(file) = btf.ty(function.arguments[0].1) else {
            panic!("no pointer");
        };
        assert_eq!(btf.size(file), Some(16));
        let Type::Pointer(inode) = btf.ty(btf.member(file, "inode").unwrap().ty) else {
            panic!("no pointer");
        };
        // In a union without a name
        assert_eq!(btf.member(inode, "bytes").unwrap().bits, 192);
        assert!(btf.member(inode, "few").unwrap().is_bitfield);
        assert_eq!(btf.member(inode, "none"), None);
        assert_eq!(btf.size(btf.member(inode, "name").unwrap().ty), Some(16));
    }

    /// All that can be asked.
    fn ask(bytes: &[u8]) {
        let mut btf = Btf::default();
        let _ = btf.add(bytes);
        for name in ["do_read", "by_value"] {
            let _ = btf.function(name);
        }
        for name in ["read", "old"] {
            let _ = btf.tracepoint(name);
        }
        for id in 0..40 {
            let _ = (btf.ty(id), btf.size(id), btf.member(id, "bytes"), btf.member(id, "none"));
        }
    }

    #[test]
    fn any_bytes_are_read() {
        let whole = kernel();
        for at in 0..whole.len() {
            ask(&whole[..at]);
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = byte;
                ask(&bytes);
            }
        }
    }
}
