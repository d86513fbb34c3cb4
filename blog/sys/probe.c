// SPDX-License-Identifier: GPL-2.0
/*
 * Probes of tracepoints, found by name: not all tracepoints are exported.
 */

#include <linux/string.h>
#include <linux/tracepoint.h>

#include "glue.h"

#ifdef CONFIG_TRACEPOINTS

struct blog_wanted {
	const char *name;
	struct tracepoint *tp;
};

static void blog_look_at(struct tracepoint *tp, void *wanted)
{
	struct blog_wanted *want = wanted;

	if (!strcmp(tp->name, want->name))
		want->tp = tp;
}

/* From now on @probe is called; NULL where there is no such tracepoint, or no memory. */
struct tracepoint *blog_probe(const char *name, void *probe)
{
	struct blog_wanted want = { .name = name };

	for_each_kernel_tracepoint(blog_look_at, &want);
	if (!want.tp || tracepoint_probe_register(want.tp, probe, NULL))
		return NULL;
	return want.tp;
}

/* Not any more. A call may still run until tracepoint_synchronize_unregister(). */
void blog_unprobe(struct tracepoint *tp, void *probe)
{
	if (tp)
		tracepoint_probe_unregister(tp, probe, NULL);
}

#else

struct tracepoint *blog_probe(const char *name, void *probe)
{
	return NULL;
}

void blog_unprobe(struct tracepoint *tp, void *probe)
{
}

#endif
