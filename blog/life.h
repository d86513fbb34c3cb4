/* SPDX-License-Identifier: GPL-2.0 */
/* Components and images come and go: between life.c and life.rs. */

#ifndef BLOG_LIFE_H
#define BLOG_LIFE_H

#include <linux/blog.h>
#include <linux/types.h>

struct blog_config;
struct module;

/* From the linker script, where BLog is built in. */
extern struct blog_site __start_blog_sites[], __stop_blog_sites[];
extern struct blog_component *__start_blog_components[], *__stop_blog_components[];

/* In Rust, exported to drivers by exports.c */
const struct blog_component *blog_component_register(const char *name,
						     const struct blog_config *config, u32 abi);
void blog_component_unregister(const struct blog_component *comp);

/* In Rust */
extern const u32 blog_abi;
void blog_module_coming(const char *name, const u8 *build_id, struct blog_site *sites,
			u32 num_sites, struct blog_component **comps, u32 num_comps);
void blog_module_going(const struct module *mod);

/* In C */
bool blog_within_module(const struct module *mod, const void *p);
void blog_start_modules(void);

#endif
