/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What older kernels call otherwise, or lack. This comes before each file of BLog in C. Kbuild
 * looks for what there is, for BLOG_HAS_.
 */

#ifndef BLOG_COMPAT_H
#define BLOG_COMPAT_H

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <linux/syscore_ops.h>
#include <linux/workqueue.h>

#ifndef BLOG_HAS_DFL_WQ
#define system_dfl_wq system_unbound_wq
#endif

#ifndef BLOG_HAS_PANIC_ON_THIS_CPU
#define BLOG_LACKS_PANIC_ON_THIS_CPU
/* Nobody knows: the freeze waits for the panic notifiers. */
static inline bool panic_on_this_cpu(void)
{
	return false;
}
#endif

#ifndef BLOG_HAS_RESERVE_MEM
#define BLOG_LACKS_RESERVE_MEM
/* There is no such memory. */
static inline int reserve_mem_find_by_name(const char *name, phys_addr_t *start, phys_addr_t *size)
{
	return 0;
}
#endif

#ifndef BLOG_HAS_COPY_SPLICE_READ
#define copy_splice_read generic_file_splice_read
#endif

#ifndef BLOG_HAS_VM_FLAGS_MOD
static inline void vm_flags_mod(struct vm_area_struct *vma, unsigned long set, unsigned long clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

#ifndef BLOG_HAS_MODULE_MEMORY
struct module_memory {
	void *base;
	unsigned int size;
};

/* For life.c: after a module's code, its constants. */
static inline struct module_memory blog_old_rodata(const struct module *mod)
{
	const struct module_layout *core = &mod->core_layout;

	return (struct module_memory){
		.base = core->base + core->text_size,
		.size = core->ro_size - core->text_size,
	};
}

#define blog_rodata(mod) ((const struct module_memory[]){ blog_old_rodata(mod) })
#endif

#ifndef BLOG_HAS_REGISTER_SYSCORE
/* With a type that has its name from here on, and functions that take data. */
#define syscore_ops blog_new_syscore_ops

struct syscore_ops {
	int (*suspend)(void *data);
	void (*resume)(void *data);
};

struct syscore {
	const struct syscore_ops *ops;
	void *data;
};

void register_syscore(struct syscore *syscore);
#endif

/* In Rust, exported by compat.c; linux/blog.h has the others. */
extern const char blog_no_ring;
extern char blog_tasks;

#endif
