// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Records of BLog, the binary kernel logger, in the formats of other programs.
//!
//! ```text
//! html.rs      a report for browsers; report.html, .css and .js are its page
//! perfetto.rs  Perfetto's packets, by proto.rs
//! ctf.rs       the Common Trace Format (feature ctf)
//! otlp.rs      logs for OpenTelemetry's collectors (feature otlp)
//! parquet.rs   columns for DuckDB and others (feature parquet)
//! ```
//!
//! An internal part of the program `blog-decode`: it changes with that.

#![forbid(unsafe_code)]

#[cfg(feature = "ctf")]
pub mod ctf;
pub mod html;
#[cfg(feature = "otlp")]
pub mod otlp;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod perfetto;
mod proto;
