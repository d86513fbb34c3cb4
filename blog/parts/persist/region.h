/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What region.c has for region.rs.
 */

#ifndef BLOG_REGION_H
#define BLOG_REGION_H

#include <linux/types.h>

extern char *blog_param_persist;
void *blog_reserved(const char *name, size_t *size);
void blog_keep(void *memory, size_t size);

#endif
