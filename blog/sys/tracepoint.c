// SPDX-License-Identifier: GPL-2.0
/*
 * Tracepoints by name: most are not exported to modules.
 */

#include <linux/errno.h>
#include <linux/kconfig.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "glue.h"

struct blog_wanted_tracepoint {
	const char *name;
	struct tracepoint *found;
};

static void blog_match_tracepoint(struct tracepoint *tp, void *data)
{
	struct blog_wanted_tracepoint *wanted = data;

	if (!strcmp(tp->name, wanted->name))
		wanted->found = tp;
}

static struct tracepoint *blog_find_tracepoint(const char *name)
{
	struct blog_wanted_tracepoint wanted = { .name = name };

	for_each_kernel_tracepoint(blog_match_tracepoint, &wanted);
	return wanted.found;
}

int blog_tracepoint_attach(const char *name, void *probe, void *data)
{
	struct tracepoint *tp;

	if (!IS_ENABLED(CONFIG_TRACEPOINTS))
		return -EOPNOTSUPP;
	tp = blog_find_tracepoint(name);
	return tp ? tracepoint_probe_register(tp, probe, data) : -ENOENT;
}

void blog_tracepoint_detach(const char *name, void *probe, void *data)
{
	struct tracepoint *tp;

	if (!IS_ENABLED(CONFIG_TRACEPOINTS))
		return;
	tp = blog_find_tracepoint(name);
	if (tp && !tracepoint_probe_unregister(tp, probe, data))
		tracepoint_synchronize_unregister();
}
