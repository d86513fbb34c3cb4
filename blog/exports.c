// SPDX-License-Identifier: GPL-2.0
/* What others see of the Rust side: symbols for drivers, and the initcall if it is built in. */

#include <linux/export.h>
#include <linux/init.h>
#include <linux/module.h>

#include "life.h"
#include "main.h"
#include "sys/glue.h"
#include "write/slow.h"

/* The body is in life.rs or write/slow.rs. */
#define EXPORT_RUST_SYMBOL_GPL(sym) EXPORT_SYMBOL_GPL(sym)

EXPORT_RUST_SYMBOL_GPL(blog_component_register);
EXPORT_RUST_SYMBOL_GPL(blog_component_unregister);
EXPORT_RUST_SYMBOL_GPL(blog_reserve);
EXPORT_RUST_SYMBOL_GPL(blog_stored);

/*
 * From here on, BLog can't be removed. Nobody can tell when the last log call has
 * left its code; and what it has recorded should outlive a slip of the hand.
 */
void blog_stay(void)
{
	__module_get(THIS_MODULE);
}

#ifndef MODULE
/* Before the initcalls of all drivers, which are linked after blog/. */
early_initcall(blog_start);
#endif
