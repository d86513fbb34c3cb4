/* SPDX-License-Identifier: GPL-2.0 */
/* What the stand-in of the crate "kernel", in kernel/, and compat.c call of each other. */

#ifndef BLOG_KERNEL_H
#define BLOG_KERNEL_H

#include <linux/types.h>

struct file;
struct iov_iter;
struct mutex;
struct page;
struct vm_area_struct;

/* In Rust, called from C. */
int blog_init_module(void);

/* In C, called from Rust. */
void *blog_k_alloc(size_t size);
void blog_k_free(void *memory);
void blog_k_might_sleep(void);
bool blog_k_signal_pending(void);
u32 blog_k_nr_cpu_ids(void);
unsigned long blog_k_irq_save(void);
void blog_k_irq_restore(unsigned long flags);
void blog_k_mutex_init(struct mutex *mutex);
void blog_k_mutex_lock(struct mutex *mutex);
void blog_k_mutex_unlock(struct mutex *mutex);
void blog_k_rcu_lock(void);
void blog_k_rcu_unlock(void);
void blog_k_synchronize_rcu_tasks(void);
s64 blog_k_monotonic(void);
void blog_k_sleep(u64 micros);
unsigned long blog_k_jiffies(u32 ms);
void blog_k_print(u32 level, const char *text, size_t len);
u32 blog_k_file_flags(const struct file *file);
size_t blog_k_iov_len(const struct iov_iter *iov);
size_t blog_k_iov_copy(struct iov_iter *iov, const void *from, size_t len);
unsigned long blog_k_vma_start(const struct vm_area_struct *vma);
unsigned long blog_k_vma_end(const struct vm_area_struct *vma);
int blog_k_vma_read_only(struct vm_area_struct *vma);
int blog_k_vma_no_exec(struct vm_area_struct *vma);
void blog_k_vma_flag(struct vm_area_struct *vma, u32 which);
int blog_k_vma_insert(struct vm_area_struct *vma, unsigned long at, struct page *page);

#endif
