// SPDX-License-Identifier: GPL-2.0
/*
 * What the stand-in of the crate "kernel" has in C, as this kernel has it; and what makes a module
 * of all that.
 */

#include <linux/blog.h>
#include <linux/cpumask.h>
#include <linux/fcntl.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/jump_label.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>

#include "compat.h"

#if !defined(CONFIG_64BIT) || !defined(CONFIG_SMP) || !defined(CONFIG_JUMP_LABEL)
#error "BLog needs a kernel for 64 bits, with CONFIG_SMP and CONFIG_JUMP_LABEL"
#endif
#if !defined(CONFIG_DEBUG_FS) || !defined(CONFIG_KALLSYMS) || !defined(CONFIG_TRACEPOINTS) || \
	!IS_ENABLED(CONFIG_ZLIB_DEFLATE)
#error "BLog needs CONFIG_DEBUG_FS, CONFIG_KALLSYMS, CONFIG_TRACEPOINTS and CONFIG_ZLIB_DEFLATE"
#endif
#if defined(CONFIG_PREEMPT_COUNT) && !defined(CONFIG_TASKS_RCU)
#error "BLog needs CONFIG_TASKS_RCU in a kernel with CONFIG_PREEMPT_COUNT"
#endif
#if defined(CONFIG_CFI_CLANG) || defined(CONFIG_CFI)
#error "BLog's code has no tags for CONFIG_CFI"
#endif
#if defined(CONFIG_X86) && defined(CONFIG_FRAME_POINTER)
#error "BLog's code has no frame pointers: see CONFIG_UNWINDER_ORC"
#endif

/* As kernel/bindings.rs, kernel/file.rs and kernel/sync.rs have them. */
static_assert(POLLIN == 1 && POLLOUT == 4 && POLLERR == 8 && POLLHUP == 16 && POLLRDNORM == 64);
static_assert(O_NONBLOCK == 04000);
static_assert(PAGE_SIZE == 4096, "BLog needs a kernel with pages of 4 KiB");
static_assert(sizeof(struct static_key_false) == 16);
static_assert(sizeof(struct mutex) <= 128 && __alignof__(struct mutex) <= 8);
static_assert(EPERM == 1 && ENOENT == 2 && EINTR == 4 && EIO == 5 && E2BIG == 7 && EBADF == 9 &&
	      EAGAIN == 11 && ENOMEM == 12 && EFAULT == 14 && EBUSY == 16 && EEXIST == 17 &&
	      ENODEV == 19 && EINVAL == 22 && ENOSPC == 28 && ERANGE == 34 && ENODATA == 61 &&
	      EOVERFLOW == 75 && EOPNOTSUPP == 95 && ERESTARTSYS == 512);

/* BLog says itself what it has no memory for. */
void *blog_k_alloc(size_t size, bool pages)
{
	gfp_t flags = GFP_KERNEL | __GFP_NOWARN;

	return pages ? __vmalloc(size, flags) : kvmalloc(size, flags);
}

void blog_k_free(void *memory)
{
	kvfree(memory);
}

void blog_k_might_sleep(void)
{
	might_sleep();
}

bool blog_k_signal_pending(void)
{
	return signal_pending(current);
}

u32 blog_k_nr_cpu_ids(void)
{
	return nr_cpu_ids;
}

/* One class for all of them: with CONFIG_PROVE_LOCKING, nested ones look like a deadlock. */
void blog_k_mutex_init(struct mutex *mutex)
{
	mutex_init(mutex);
}

void blog_k_mutex_lock(struct mutex *mutex)
{
	mutex_lock(mutex);
}

void blog_k_mutex_unlock(struct mutex *mutex)
{
	mutex_unlock(mutex);
}

void blog_k_rcu_lock(void)
{
	rcu_read_lock();
}

void blog_k_rcu_unlock(void)
{
	rcu_read_unlock();
}

void blog_k_synchronize_rcu_tasks(void)
{
	synchronize_rcu_tasks();
}

void blog_k_print(u32 level, const char *text, size_t len)
{
	switch (level) {
	case LOGLEVEL_EMERG:
		pr_emerg("blog: %.*s", (int)len, text);
		break;
	case LOGLEVEL_WARNING:
		pr_warn("blog: %.*s", (int)len, text);
		break;
	default:
		pr_info("blog: %.*s", (int)len, text);
	}
}

u32 blog_k_file_flags(const struct file *file)
{
	return READ_ONCE(file->f_flags);
}

size_t blog_k_iov_len(const struct iov_iter *iov)
{
	return iov_iter_count(iov);
}

size_t blog_k_iov_copy(struct iov_iter *iov, const void *from, size_t len)
{
	return copy_to_iter(from, len, iov);
}

#ifndef BLOG_HAS_REGISTER_SYSCORE
static struct syscore *blog_syscore;

static int blog_old_suspend(void)
{
	return blog_syscore->ops->suspend(blog_syscore->data);
}

static void blog_old_resume(void)
{
	blog_syscore->ops->resume(blog_syscore->data);
}

#undef syscore_ops

static struct syscore_ops blog_old_ops = {
	.suspend = blog_old_suspend,
	.resume = blog_old_resume,
};

/* There is one. */
void register_syscore(struct syscore *syscore)
{
	blog_syscore = syscore;
	register_syscore_ops(&blog_old_ops);
}
#endif

/* In Rust: main.rs */
int blog_init_module(void);

/* Drivers in Rust refer to these, too. With patches, they are the kernel's. */
#define EXPORT_RUST_SYMBOL_GPL(sym) EXPORT_SYMBOL_GPL(sym)

EXPORT_RUST_SYMBOL_GPL(blog_no_ring);
EXPORT_RUST_SYMBOL_GPL(blog_no_rings);
EXPORT_RUST_SYMBOL_GPL(blog_root);
EXPORT_RUST_SYMBOL_GPL(blog_tasks);

static int __init blog_module_init(void)
{
	return blog_init_module();
}
module_init(blog_module_init);

MODULE_DESCRIPTION("Binary logger for drivers");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.3.0");
