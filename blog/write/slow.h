/* SPDX-License-Identifier: GPL-2.0 */
/* The slow path of a log call, which is exported to drivers: slow.rs. */

#ifndef BLOG_SLOW_H
#define BLOG_SLOW_H

#include <linux/blog.h>
#include <linux/types.h>

/* Where a record goes; struct Reservation of rust/kernel/blog/ring/. */
struct blog_place {
	const void *ring;
	u64 ts;
};

struct blog_place blog_reserve(const struct blog_component *comp, const void *ring, u32 bytes,
			       u64 ts);
#ifdef CONFIG_BLOG_PARTS
/* In stored.rs */
void blog_stored(const struct blog_component *comp, u32 site_shl10, const void *payload,
		 size_t size);
#endif

#endif
