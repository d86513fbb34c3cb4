// SPDX-License-Identifier: GPL-2.0

//! Nothing: the package is its tests.
