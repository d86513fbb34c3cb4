// SPDX-License-Identifier: GPL-2.0

//! What the kernel crate lacks, and the seam to what patches add to the core kernel.

pub(crate) mod clock;
pub(crate) mod glue;
pub(crate) mod queue;
pub(crate) mod room;
pub(crate) mod sort;
pub(crate) mod text;
