// SPDX-License-Identifier: GPL-2.0
/* Images that come and go, with their sites and components: vmlinux, and modules. */

#include <linux/buildid.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include "life.h"

#ifdef CONFIG_MODULES
/* Where a module's constants are. BLog for older kernels, out of the tree, says it otherwise. */
#ifndef blog_rodata
#define blog_rodata(mod) (&(mod)->mem[MOD_RODATA])
#endif

/* What the symbols of a module that is coming say. */
struct blog_symbols {
	unsigned long sites, sites_end, comps, comps_end;
	bool other; /* Some of it was built for another BLog. */
	bool needs; /* It refers to what each component refers to. */
};

/*
 * The bounds of tables are symbols, as those of code tags are (lib/codetag.c). Each crate in the
 * module has two of its own, around its part of a table (rust/macros/blog/asm.rs).
 */
static struct blog_symbols blog_look_at(const struct module *mod)
{
	struct blog_symbols found = {};
	const struct mod_kallsyms *syms;
	unsigned int i;

	guard(rcu)();
	syms = rcu_dereference(mod->kallsyms);
	for (i = 0; i < syms->num_symtab; i++) {
		const char *name = syms->strtab + syms->symtab[i].st_name;
		unsigned long value = syms->symtab[i].st_value;

		if (!strcmp(name, "__blog_sites"))
			found.sites = min_not_zero(found.sites, value);
		else if (!strcmp(name, "__blog_sites_end"))
			found.sites_end = max(found.sites_end, value);
		else if (!strcmp(name, "__blog_components"))
			found.comps = min_not_zero(found.comps, value);
		else if (!strcmp(name, "__blog_components_end"))
			found.comps_end = max(found.comps_end, value);
		else if (!strcmp(name, "__blog_abi"))
			found.other |= value != blog_abi;
		/* It stays where those of the tables are stripped off, as the loader needs it. */
		else if (syms->symtab[i].st_shndx == SHN_UNDEF &&
			 !strcmp(name, "blog_clock_is_counter"))
			found.needs = true;
	}
	return found;
}

static u32 blog_entries(unsigned long first, unsigned long end, size_t size)
{
	return first < end ? (end - first) / size : 0;
}

/* The module's build ID; zeros where it has none. */
static const u8 *blog_build_id(const struct module *mod)
{
#ifdef CONFIG_STACKTRACE_BUILD_ID
	return mod->build_id;
#else
	/*
	 * The note that the linker has made lies among the read-only data, wherever. An array
	 * to compare with would lie there, too.
	 */
	static const u8 none[20];
	const struct module_memory *data = blog_rodata(mod);
	size_t at;

	for (at = 0; at + 4 * sizeof(u32) + sizeof(none) <= data->size; at += sizeof(u32)) {
		const u32 *note = data->base + at;

		if (note[0] == sizeof("GNU") && note[1] == sizeof(none) &&
		    note[2] == 3 /* NT_GNU_BUILD_ID */ && note[3] == 0x00554e47 /* "GNU" */)
			return (const u8 *)(note + 4);
	}
	return none;
#endif
}

static int blog_module_event(struct notifier_block *nb, unsigned long event, void *data)
{
	struct module *mod = data;
	struct blog_symbols found;
	u32 sites, comps;

	switch (event) {
	case MODULE_STATE_COMING:
		found = blog_look_at(mod);
		sites = blog_entries(found.sites, found.sites_end, sizeof(struct blog_site));
		comps = blog_entries(found.comps, found.comps_end, sizeof(struct blog_component *));
		if (found.other)
			pr_warn("blog: %s was built for another BLog: it can't log; build it again\n",
				mod->name);
		else if (sites || comps)
			blog_module_coming(mod->name, blog_build_id(mod), (void *)found.sites,
					   sites, (void *)found.comps, comps);
		else if (found.needs)
			pr_warn("blog: %s was stripped of its symbols: it can't log; use strip -g\n",
				mod->name);
		break;
	case MODULE_STATE_GOING:
		blog_module_going(mod);
		break;
	}
	return NOTIFY_OK;
}

/*
 * After jump labels (priority 1) know the module: its components' static keys
 * are switched from here.
 */
static struct notifier_block blog_module_nb = {
	.notifier_call = blog_module_event,
};

#endif

bool blog_within_module(const struct module *mod, const void *p)
{
	return within_module((unsigned long)p, mod);
}

/* As a module, BLog can't be called by what is built in. */
void blog_start_modules(void)
{
#ifndef MODULE
	blog_module_coming("vmlinux", vmlinux_build_id, __start_blog_sites,
			   __stop_blog_sites - __start_blog_sites, __start_blog_components,
			   __stop_blog_components - __start_blog_components);
#endif
#ifdef MODULE
	/* Its own site, which the file "marker" logs by. */
	blog_module_event(&blog_module_nb, MODULE_STATE_COMING, THIS_MODULE);
#endif
#ifdef CONFIG_MODULES
	/* It fails where that is there already. */
	register_module_notifier(&blog_module_nb);
#endif
}
