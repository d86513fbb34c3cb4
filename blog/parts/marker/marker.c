// SPDX-License-Identifier: GPL-2.0
/* The log call of the files "marker": see mod.rs. */

#include <linux/blog_call.h>
#include <linux/stringify.h>

#include "marker.h"

/* A component that is known by a pointer has no jump label here: its threshold says all. */
#undef __blog_is_on
#define __blog_is_on(component) ((void)&(component), true)

/* Logs a line; false: the component, its level or "control" says that it isn't logged. */
bool blog_mark(const struct blog_component *component, const char *line)
{
	bool is_logged = false;

	___blog(*component, BLOG_INFO, __COUNTER__, "\"%s\"", "\"line\"", "%s",
		(is_logged = true, line));
	return is_logged;
}
