// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The side table file, `NAME.blogfmt`, version 1: all that a decoder needs to know of an image.
//!
//! `blog-fmt-sidetable` writes it out of vmlinux or a .ko; the crate `blog-table` links to this
//! file to read it. A damaged file is refused as a whole: half a table would decode to nonsense.
//!
//! ```text
//! off  0   8 bytes  magic "BLOGFMT" NUL
//!      8   u16      version = 1
//!      10  u8       byte order of the image: 1 little-endian
//!      11  u8       bytes of a pointer of the image: 8
//!      12  u32      size of this header: 80
//!      16  u64      size of the file
//!      24  u32      number of sites
//!      28  u32      number of type descriptors
//!      32  u32      length of the build ID, 0 to 32; 0 in an object's table
//!      36  32 bytes build ID (GNU note), zero padded
//!      68  u32      CRC-32 of all that follows the header
//!      72  u32      0
//!      76  u32      CRC-32 of the 76 bytes before
//!      80  u16 length and bytes, 3 times: release, architecture, image name; zero padding to 8
//!          type descriptors, then site descriptors in the order of their ids (descriptor.rs)
//! ```
//!
//! All integers are little-endian. The site with index i has the id "first id of the image + i".
//!
//! Needs only `std`.

use super::{
    bytes::{
        array,
        crc32,
        hex,
        pad8,
        round8,
        slice_at,
        u16_at,
        u32_at,
        u64_at, //
    },
    descriptor::{
        Descriptor,
        Site,
        Type,
        Walk, //
    },
};

/// First 8 bytes of the file.
pub const MAGIC: [u8; 8] = *b"BLOGFMT\0";
/// Version of the file.
pub const VERSION: u16 = 1;
/// Size of the header.
pub const HEADER_SIZE: usize = 80;
/// Longest build ID.
pub const BUILD_ID_MAX: usize = 32;
/// What file names of side tables end with.
pub const EXTENSION: &str = "blogfmt";
/// Largest file that a reader takes.
pub const FILE_MAX: u64 = 256 << 20;

/// All that a decoder must know of one image.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Table {
    /// Build ID.
    pub build_id: Vec<u8>,
    /// Kernel release.
    pub release: String,
    /// Architecture, as `uname -m` says it.
    pub arch: String,
    /// `vmlinux` or the module's name.
    pub name: String,
    /// Types with `#[derive(BlogArg)]`, by code.
    pub types: Vec<Type>,
    /// Sites by index.
    pub sites: Vec<Site>,
}

/// The header's answer to "whose table is this?"; cheap to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Build ID.
    pub build_id: Vec<u8>,
    /// Size of the file.
    pub size: u64,
    /// Number of sites.
    pub sites: u32,
    /// Number of type descriptors.
    pub types: u32,
    crc: u32,
}

/// Whether the bytes start as a side table does.
pub fn is_table(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

impl Head {
    /// Reads the header from a file's first bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        const CUT: &str = "the file is cut off within its header";
        if !is_table(bytes) {
            return Err("not a BLog side table (wrong magic)".into());
        }
        let version = u16_at(bytes, 8).ok_or(CUT)?;
        if version != VERSION {
            return Err(format!(
                "side table version {version}, but this program reads {VERSION}"
            ));
        }
        let stored = u32_at(bytes, 76).ok_or(CUT)?;
        if crc32(slice_at(bytes, 0, 76).ok_or(CUT)?) != stored {
            return Err("damaged side table (checksum of the header)".into());
        }
        let order = array::<2>(bytes, 10).ok_or(CUT)?;
        if order != [1, 8] {
            return Err("not a table of a little-endian 64-bit image".into());
        }
        if u32_at(bytes, 12).ok_or(CUT)? as usize != HEADER_SIZE {
            return Err("impossible size of the header".into());
        }
        let len = u32_at(bytes, 32).ok_or(CUT)? as usize;
        if len > BUILD_ID_MAX {
            return Err(format!("impossible build ID of {len} bytes"));
        }
        Ok(Self {
            build_id: slice_at(bytes, 36, len).ok_or(CUT)?.to_vec(),
            size: u64_at(bytes, 16).ok_or(CUT)?,
            sites: u32_at(bytes, 24).ok_or(CUT)?,
            types: u32_at(bytes, 28).ok_or(CUT)?,
            crc: u32_at(bytes, 68).ok_or(CUT)?,
        })
    }
}

impl Table {
    /// The bytes of the file.
    pub fn encode(&self) -> Result<Vec<u8>, String> {
        let id_len = self.build_id.len();
        if id_len > BUILD_ID_MAX {
            return Err(format!("a build ID of {id_len} bytes"));
        }
        let mut out = vec![0; HEADER_SIZE];
        for s in [&self.release, &self.arch, &self.name] {
            let len = u16::try_from(s.len()).map_err(|_| "release or name too long")?;
            out.extend(len.to_le_bytes());
            out.extend(s.as_bytes());
        }
        pad8(&mut out);
        for t in &self.types {
            t.write(&mut out)?;
        }
        for (i, s) in self.sites.iter().enumerate() {
            s.write(i as u64, &mut out)
                .map_err(|e| format!("{}:{}: {e}", s.file, s.line))?;
        }
        let count = |n: usize| u32::try_from(n).map_err(|_| "too many sites");
        let size = out.len() as u64;
        let body_crc = crc32(&out[HEADER_SIZE..]);
        out[..8].copy_from_slice(&MAGIC);
        out[8..10].copy_from_slice(&VERSION.to_le_bytes());
        out[10..12].copy_from_slice(&[1, 8]);
        out[12..16].copy_from_slice(&(HEADER_SIZE as u32).to_le_bytes());
        out[16..24].copy_from_slice(&size.to_le_bytes());
        out[24..28].copy_from_slice(&count(self.sites.len())?.to_le_bytes());
        out[28..32].copy_from_slice(&count(self.types.len())?.to_le_bytes());
        out[32..36].copy_from_slice(&(id_len as u32).to_le_bytes());
        out[36..36 + id_len].copy_from_slice(&self.build_id);
        out[68..72].copy_from_slice(&body_crc.to_le_bytes());
        let head_crc = crc32(&out[..76]);
        out[76..80].copy_from_slice(&head_crc.to_le_bytes());
        Ok(out)
    }

    /// Reads a whole file.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        let head = Head::parse(bytes)?;
        if head.size != bytes.len() as u64 {
            return Err(format!(
                "damaged side table: {} bytes, but its header says {}",
                bytes.len(),
                head.size
            ));
        }
        let body = bytes.get(HEADER_SIZE..).unwrap_or_default();
        if crc32(body) != head.crc {
            return Err("damaged side table (checksum)".into());
        }
        let mut pos = 0;
        let mut strings = [String::new(), String::new(), String::new()];
        for s in &mut strings {
            let len = u16_at(body, pos).ok_or("release or name cut off")?;
            let raw = slice_at(body, pos + 2, usize::from(len)).ok_or("release or name cut off")?;
            *s = std::str::from_utf8(raw)
                .map_err(|_| "release or name is not text")?
                .to_owned();
            pos += 2 + raw.len();
        }
        let [release, arch, name] = strings;
        let start = round8(pos).filter(|&p| p <= body.len()).ok_or("cut off")?;
        let mut table = Self {
            build_id: head.build_id,
            release,
            arch,
            name,
            ..Self::default()
        };
        for descriptor in Walk::new(&body[start..]) {
            match descriptor? {
                Descriptor::Type(t) => table.types.push(t),
                Descriptor::Place {
                    place, references, ..
                } => {
                    let [index, _] = references;
                    let site = table.sites.len().checked_sub(1);
                    let site = site.filter(|&last| last as u64 == index);
                    let site = site.and_then(|last| table.sites.get_mut(last));
                    site.ok_or_else(|| format!("the place of site {index} is out of order"))?
                        .place = place;
                }
                Descriptor::C { .. } => return Err("a C site that isn't compiled".into()),
                Descriptor::Site {
                    site, reference, ..
                } => {
                    if reference != table.sites.len() as u64 {
                        return Err(format!("site {reference} is out of order"));
                    }
                    table.sites.push(site);
                }
            }
        }
        let (sites, types) = (table.sites.len(), table.types.len());
        if sites != head.sites as usize || types != head.types as usize {
            return Err(format!(
                "{sites} sites and {types} types, but the header says {} and {}",
                head.sites, head.types
            ));
        }
        Ok(table)
    }

    /// The build ID in hex.
    pub fn build_id_hex(&self) -> String {
        hex(&self.build_id)
    }
}
