/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the C and the Rust side of BLog's module call of each other. Included by
 * glue.c only; glue.rs declares the same for Rust.
 */

#ifndef BLOG_GLUE_H
#define BLOG_GLUE_H

#include <linux/blog.h>
#include <linux/export.h>
#include <linux/types.h>

struct blog_config;
struct file;
struct module;
struct page;
struct poll_table_struct;
struct static_key;
struct task_struct;

/* For a function whose body is in registry.rs or writer.rs. */
#define EXPORT_RUST_SYMBOL_GPL(sym) EXPORT_SYMBOL_GPL(sym)

/* One instant in all clocks; struct ClockPair of rust/kernel/blog/wire/file.rs. */
struct blog_clock_pair {
	u64 clock;
	u64 mono;
	u64 boot;
	u64 real;
};

/* Where a record goes; struct Place of rust/kernel/blog/ring/. */
struct blog_place {
	const void *ring;
	u64 ts;
};

/* From the linker script. */
extern struct blog_site __start_blog_sites[], __stop_blog_sites[];
extern struct blog_component *__start_blog_components[], *__stop_blog_components[];

/* Exported to drivers; their code calls these from what is inlined. */
const struct blog_component *blog_component_register(const char *name,
						     const struct blog_config *config);
void blog_component_unregister(const struct blog_component *comp);
struct blog_place blog_reserve(const struct blog_component *comp, const void *ring,
			       u32 bytes, u64 ts);
bool blog_put(const struct blog_component *comp, const void *ring, u32 bytes, u64 ts,
	      u32 site_shl8, const u8 *payload);
extern u8 blog_clock_is_tsc;

/* In Rust, called from here. */
int blog_start(void);
void blog_module_coming(const char *name, const u8 *build_id,
			struct blog_site *sites, u32 num_sites,
			struct blog_component **comps, u32 num_comps);
void blog_module_going(const struct module *mod);
u32 blog_work(void);
void blog_reap(void);
void blog_sleep_begins(void);
void blog_sleep_enters(void);
void blog_sleep_leaves(void);
void blog_sleep_ends(void);
void blog_clock_choose(void);
void blog_expire_rings(void);
void blog_clock_settled(void);
void blog_task_stuck(struct task_struct *tsk);
int blog_max_kb_setting(u32 kb);
void blog_max_kb_set(void);
bool blog_stream_tick(void);

/* In hook.c, called from here. */
bool blog_may_see_addresses(const struct file *file);

/* In here, called from Rust. */
int blog_may_open(const struct file *file);
u32 blog_where(void);
struct task_struct *blog_current(void);
unsigned long blog_tls_lock(void);
void blog_tls_unlock(unsigned long flags);
void blog_pretend_reclaim(bool begin);
char blog_state_letter(u32 state, u32 exit_state);
void blog_key_set(struct static_key *key, bool on);
void blog_quiesce(void);
void *blog_page_address(struct page *page);
u32 blog_crc32(u32 crc, const u8 *p, size_t len);
void blog_uts(char *release, char *machine, char *host, size_t size);
void blog_random(u8 *buf, size_t len);
unsigned long blog_ram_kb(void);
u32 blog_param_max_kb(void);
const char *blog_param_clock(void);
u32 blog_param_stalled_secs(void);
bool blog_param_stuck_hint(void);
u32 blog_tsc_quality(u32 *khz);
u32 blog_hz(void);
u64 blog_clock_mono(void);
u64 blog_clock_tsc(void);
void blog_clock_pair(struct blog_clock_pair *pair, bool tsc);
bool blog_tsc_unstable(void);
int blog_start_sleep(void);
void blog_stop_sleep(void);
void blog_settle(void);
u32 blog_vmlinux(const u8 **build_id, struct blog_site **sites,
		 struct blog_component ***comps, u32 *num_comps);
bool blog_is_within(const struct module *mod, const void *p);
int blog_start_modules(void);
void blog_stop_modules(void);
void blog_queue_worker(void);
bool blog_cpu_online(void);
void blog_queue_reap(void);
void blog_flush_reap(void);
void blog_start_detectors(void);
void blog_stop_detectors(void);
void blog_stop_worker(void);
int blog_stream_wait(const u64 *count, u64 old);
bool blog_stream_poll_wait(struct file *file, struct poll_table_struct *wait);
void blog_wake_streams(void);
void blog_stop_streams(void);

#endif
