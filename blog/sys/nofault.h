/* SPDX-License-Identifier: GPL-2.0 */
/* Memory that may be unreadable: nofault.c, for nofault.rs and other files in C. */

#ifndef BLOG_NOFAULT_H
#define BLOG_NOFAULT_H

#include <linux/types.h>

bool blog_copy_nofault(void *dst, const void *src, size_t size);
void blog_draw_key(void);
bool blog_hash(const void *bytes, size_t len, u64 *hash);
u64 blog_hash_lock(unsigned long lock);

#endif
