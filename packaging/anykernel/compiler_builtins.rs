// SPDX-License-Identifier: GPL-2.0

//! What rustc wants a crate of this name for, each kernel has: memcpy() and so on.

#![feature(compiler_builtins)]
#![compiler_builtins]
#![no_builtins]
#![no_std]
