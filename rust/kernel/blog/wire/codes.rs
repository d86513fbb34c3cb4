// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Codes of derived types, and which codes there are.

use super::types::*;

impl TypeCode {
    /// The code of a derived type.
    pub const fn derived(hash: u64) -> Self {
        Self(DERIVED as u64 | (hash & HASH_MASK) << 8)
    }

    /// Whether this version knows the code: known kinds all the way in, and no stray bits.
    pub const fn is_valid(self) -> bool {
        let params = self.0 >> 8;
        match self.kind() {
            _ if self.0 == Self::TEXT.0 => true,
            U8..=USIZE | I8..=ISIZE | BOOL..=UNIT | HEX | PID..=MAC => params == 0,
            BYTE_ARRAY => params <= MAX_PAYLOAD as u64,
            OPTION | RESULT | PRIVATE => self.inner().kind() != PRIVATE && self.inner().is_valid(),
            DERIVED => params <= HASH_MASK,
            _ => false,
        }
    }
}

const HASH_MASK: u64 = (1 << 48) - 1;

/// 48-bit hash (FNV-1a, folded) of a derived type's `module_path::Name`, followed by
/// `@line:column` of the derive, so that two local types of one name in one module differ.
pub const fn derived_hash(module_path: &str, name: &str, line: u32, column: u32) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    let mut h = fnv1a(OFFSET, module_path.as_bytes());
    h = fnv1a(h, b"::");
    h = fnv1a(h, name.as_bytes());
    h = fnv1a(h, &line.to_le_bytes());
    h = fnv1a(h, &column.to_le_bytes());
    (h ^ h >> 48) & HASH_MASK
}

const fn fnv1a(mut h: u64, bytes: &[u8]) -> u64 {
    let mut i = 0;
    while i < bytes.len() {
        h = (h ^ bytes[i] as u64).wrapping_mul(0x0100_0000_01b3);
        i += 1;
    }
    h
}
