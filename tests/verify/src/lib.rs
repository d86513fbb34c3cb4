// SPDX-License-Identifier: GPL-2.0

//! Accounts for every record of a run of BLog's torture module.
//!
//! ```text
//! truth.rs    the module's counts of each writer's records
//! payload.rs  the content that each record must have: the module's own file, by path
//! walk.rs     goes through one ring: contents, order, gaps
//! account.rs  adds up: attempted = decoded + overwritten + lost, for each component and ring
//! report.rs   the results: failures with their places, and sums
//! ```
//!
//! Sections are read by the library of `blog-decode`, pages as by all of BLog's tests. A run's directory has
//! `end.snap`, made when nobody logged any more, `end.truth`, and snapshots that were made before.
//! The rules are in `Documentation/blog/torture.rst`.

#![forbid(unsafe_code)]

use blog_wire as wire;

pub mod account;
#[allow(dead_code, unreachable_pub)]
#[path = "../../../blog/tests/rig/pages.rs"]
mod pages;
#[path = "../../../blog/tests/torture/payload.rs"]
mod payload;
pub mod report;
pub mod truth;
pub mod walk;

/// What records must be, for tests that make some.
pub mod expected {
    use super::payload;

    /// Checksum of a record.
    pub fn sum(component: &str, writer: u32, seq: u32) -> u32 {
        payload::sum(payload::salt(component.as_bytes()), writer, seq)
    }

    /// Arguments of a record as they are stored, and which call makes it.
    pub fn record(
        component: &str,
        writer: u32,
        seq: u32,
        max: u32,
    ) -> (super::walk::Form, Vec<u8>) {
        let sum = sum(component, writer, seq);
        let mut bytes = [writer.to_le_bytes(), seq.to_le_bytes()].concat();
        let tail = |bytes: &mut Vec<u8>, tail: &[u8]| {
            match u8::try_from(tail.len()) {
                Ok(len @ ..=254) => bytes.push(len),
                _ => {
                    bytes.push(255);
                    bytes.extend((tail.len() as u16).to_le_bytes());
                }
            }
            bytes.extend(tail);
        };
        let form = match payload::shape(sum, max) {
            payload::Shape::Short => {
                bytes.extend(sum.to_le_bytes());
                super::walk::Form::Short
            }
            payload::Shape::Bytes(b) => {
                bytes.extend(sum.to_le_bytes());
                tail(&mut bytes, b);
                super::walk::Form::Bytes
            }
            payload::Shape::Text(t) => {
                tail(&mut bytes, t.as_bytes());
                bytes.extend(sum.to_le_bytes());
                super::walk::Form::Text
            }
        };
        (form, bytes)
    }
}
