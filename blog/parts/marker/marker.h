/* SPDX-License-Identifier: GPL-2.0 */
/* What the C and the Rust side of markers call of each other. */

#ifndef BLOG_MARKER_H
#define BLOG_MARKER_H

#include <linux/types.h>

struct blog_component;

bool blog_mark(const struct blog_component *component, const char *line);

#endif
