/* SPDX-License-Identifier: GPL-2.0 */
/* What the Rust side of counts has of C. */

#ifndef BLOG_HITS_H
#define BLOG_HITS_H

#include <linux/types.h>

extern bool blog_param_counts;

#endif
