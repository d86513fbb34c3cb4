// SPDX-License-Identifier: GPL-2.0

//! Nothing: see Cargo.toml.
