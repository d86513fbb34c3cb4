/* SPDX-License-Identifier: GPL-2.0 */
/* What the C and the Rust side of settings call of each other. */

#ifndef BLOG_SETTINGS_H
#define BLOG_SETTINGS_H

#include <linux/types.h>

/* In Rust, called from C. */
int blog_set_components(const char *text);
size_t blog_show_components(char *to, size_t size);

/* In C, called from Rust. */
const char *blog_take_early(void);

#endif
