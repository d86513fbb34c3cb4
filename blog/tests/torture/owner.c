// SPDX-License-Identifier: GPL-2.0
/*
 * Defines a component that other modules log to, and logs nothing itself. Even so it
 * needs BLog for as long as it is loaded.
 */

#include <linux/blog.h>
#include <linux/module.h>

#include "blog_owner.h"

BLOG_COMPONENT(blog_owner, .name = "owner");
EXPORT_SYMBOL_GPL(blog_owner);

MODULE_DESCRIPTION("BLog test: a component that other modules log to");
MODULE_LICENSE("GPL");
