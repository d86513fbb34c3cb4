// SPDX-License-Identifier: GPL-2.0
/*
 * Log calls of drivers in C: where their arguments are collected, and how what
 * they point to is read. Called from any context, and never waits.
 */

#include <linux/array_size.h>
#include <linux/blog.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/stdarg.h>
#include <linux/stddef.h>
#include <linux/uaccess.h>

#include "glue.h"

/* As in rust/kernel/blog/call/component.rs */
static_assert(offsetof(struct blog_component, threshold) == 0);
static_assert(offsetof(struct blog_component, name) == 32);
static_assert(offsetof(struct blog_component, size_kb) == 40);
static_assert(offsetof(struct blog_component, ring_kb) == 44);
static_assert(offsetof(struct blog_component, level) == 48);
static_assert(offsetof(struct blog_component, mode) == 49);
static_assert(offsetof(struct blog_component, enabled) == 50);
#ifdef CONFIG_JUMP_LABEL
static_assert(offsetof(struct blog_component, key) == 56);
#endif

/*
 * Writes a record: the codes say how many arguments there are, and how each of
 * them is stored. Of a site whose format nobody has compiled, nothing is known.
 */
notrace void blog_write(const struct blog_component *component, const struct blog_site *site,
			const u64 *codes, ...)
{
	u64 args[BLOG_MAX_ARGS];
	unsigned int i, count = *codes & 15;
	va_list ap;

	if (unlikely(count > ARRAY_SIZE(args)))
		return;
	va_start(ap, codes);
	/* Each one takes as much, whatever its size; the upper half of an int is anything. */
	for (i = 0; i < count; i++)
		args[i] = va_arg(ap, u64);
	va_end(ap);
	blog_write_packed(component, READ_ONCE(site->id_shl10), *codes, args);
}
EXPORT_SYMBOL_GPL(blog_write);

/* Length of a string without its NUL, at most max; -EFAULT if it can't be read. */
notrace long blog_string_length(const char *s, size_t max)
{
	size_t n = 0;

	while (n < max) {
		unsigned long word, at = (unsigned long)s + n;
		/* By whole words, of which none is in two pages. */
		unsigned int i = at % sizeof(word);

		if (get_kernel_nofault(word, (unsigned long *)(at - i)))
			return -EFAULT;
		for (; i < sizeof(word) && n < max; i++, n++) {
			if (!(word >> (8 * i) & 0xff))
				return n;
		}
	}
	return n;
}

notrace bool blog_copy_nofault(void *dst, const void *src, size_t size)
{
	return !copy_from_kernel_nofault(dst, src, size);
}
