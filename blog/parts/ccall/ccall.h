/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What ccall.c and the files in Rust beside it call of each other.
 */

#ifndef BLOG_CCALL_H
#define BLOG_CCALL_H

#include <linux/types.h>

struct blog_component;

/* What blog_text() names; rust/kernel/blog/wire/pack.rs */
#define BLOG_TEXT_DENTRY 0
#define BLOG_TEXT_FILE	 4
#define BLOG_TEXT_BDEV	 8
#define BLOG_TEXT_GFP	 11
#define BLOG_TEXT_SYMBOL 12
#define BLOG_TEXT_CALL	 14

/* Arguments of a call; likewise CALL_ARGS. */
#define BLOG_CALL_ARGS 31

/* In mod.rs */
void blog_write_packed(const struct blog_component *comp, u32 site_shl10, const u64 *words,
		       const u64 *args, size_t count);

/* In C, called from pack.rs. */
long blog_copy_string(const char *s, char *dst, size_t max);
long blog_string_length(const char *s, size_t max);
long blog_text(u32 kind, const void *object, char *dst, size_t size);

#endif
