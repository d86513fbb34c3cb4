/* SPDX-License-Identifier: GPL-2.0 */
/* Memory of components in processes: between map.c and mod.rs. */

#ifndef BLOG_MAP_H
#define BLOG_MAP_H

#include <linux/types.h>

struct file_operations;
struct page;
struct vm_area_struct;

/* In Rust */
int blog_map(const void *file, struct vm_area_struct *area, unsigned long first,
	     unsigned long count);

/* In C */
extern const struct file_operations blog_map_fops;
int blog_area_insert(struct vm_area_struct *area, unsigned long n, struct page *page);
struct page *blog_page_get(void *at);
void blog_page_put(struct page *page);

#endif
