// SPDX-License-Identifier: GPL-2.0
/* Images that come and go, with their sites and components: vmlinux, and modules. */

#include <linux/buildid.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include "glue.h"

#ifdef CONFIG_MODULES
/* Where a module's constants are. Older kernels know it otherwise: packaging/anykernel/compat.h. */
#ifndef blog_rodata
#define blog_rodata(mod) (&(mod)->mem[MOD_RODATA])
#endif

/*
 * A table of a module that is coming: its bounds are symbols, as those of code
 * tags are (lib/codetag.c). Each crate in the module has two of its own, around
 * its part of the table (rust/macros/blog/asm.rs). Returns the table's size.
 */
static unsigned long blog_table(const struct module *mod, const char *first, const char *end,
				unsigned long *table)
{
	const struct mod_kallsyms *syms;
	unsigned long last = 0;
	unsigned int i;

	*table = 0;
	guard(rcu)();
	syms = rcu_dereference(mod->kallsyms);
	for (i = 0; i < syms->num_symtab; i++) {
		unsigned long value = syms->symtab[i].st_value;
		const char *name = syms->strtab + syms->symtab[i].st_name;

		if (!strcmp(name, first))
			*table = min_not_zero(*table, value);
		else if (!strcmp(name, end))
			last = max(last, value);
	}
	return *table < last ? last - *table : 0;
}

/* Whether all of a module was built for this BLog. */
static bool blog_fits(const struct module *mod)
{
	const struct mod_kallsyms *syms;
	unsigned int i;

	guard(rcu)();
	syms = rcu_dereference(mod->kallsyms);
	for (i = 0; i < syms->num_symtab; i++) {
		if (!strcmp(syms->strtab + syms->symtab[i].st_name, "__blog_abi") &&
		    syms->symtab[i].st_value != blog_abi)
			return false;
	}
	return true;
}

/*
 * Whether a module refers to what each component refers to. That symbol stays where those of its
 * tables have been stripped off, as the loader needs it.
 */
static bool blog_is_needed(const struct module *mod)
{
	const struct mod_kallsyms *syms;
	unsigned int i;

	guard(rcu)();
	syms = rcu_dereference(mod->kallsyms);
	for (i = 0; i < syms->num_symtab; i++) {
		if (syms->symtab[i].st_shndx == SHN_UNDEF &&
		    !strcmp(syms->strtab + syms->symtab[i].st_name, "blog_clock_is_counter"))
			return true;
	}
	return false;
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
	unsigned long sites, sites_size, comps, comps_size;
	struct module *mod = data;

	switch (event) {
	case MODULE_STATE_COMING:
		sites_size = blog_table(mod, "__blog_sites", "__blog_sites_end", &sites);
		comps_size = blog_table(mod, "__blog_components", "__blog_components_end", &comps);
		if (!blog_fits(mod))
			pr_warn("blog: %s was built for another BLog: it can't log; build it again\n",
				mod->name);
		else if (sites_size || comps_size)
			blog_module_coming(mod->name, blog_build_id(mod), (void *)sites,
					   sites_size / sizeof(struct blog_site), (void *)comps,
					   comps_size / sizeof(struct blog_component *));
		else if (blog_is_needed(mod))
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
