/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BLOG_OWNER_H
#define BLOG_OWNER_H

#include <linux/blog.h>

/* Defined in owner.c, logged to in borrower.c. */
DECLARE_BLOG_COMPONENT(blog_owner);

#endif
