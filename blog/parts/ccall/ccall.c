// SPDX-License-Identifier: GPL-2.0
/*
 * Log calls of drivers in C: collects their arguments, and reads what these point
 * to. Called from any context, and never waits.
 */

#ifdef CONFIG_X86
#include <asm/page.h>
#include <asm/vsyscall.h>
#endif
#include <linux/array_size.h>
#include <linux/bitops.h>
#include <linux/blk_types.h>
#include <linux/blkdev.h>
#include <linux/blog.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/gfp_types.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ioport.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <linux/range.h>
#include <linux/rtc.h>
#include <linux/sprintf.h>
#include <linux/stdarg.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
#include <linux/wordpart.h>

#include "../../sys/nofault.h"
#include "ccall.h"

/* As in rust/kernel/blog/call/component.rs */
static_assert(offsetof(struct blog_component, threshold) == 0);
static_assert(offsetof(struct blog_component, privacy) == 1);
static_assert(offsetof(struct blog_component, slot) == 4);
static_assert(offsetof(struct blog_component, name) == 32);
static_assert(offsetof(struct blog_component, size_kb) == 40);
static_assert(offsetof(struct blog_component, ring_kb) == 44);
static_assert(offsetof(struct blog_component, level) == 48);
static_assert(offsetof(struct blog_component, mode) == 49);
static_assert(offsetof(struct blog_component, enabled) == 50);
#ifdef CONFIG_JUMP_LABEL
static_assert(offsetof(struct blog_component, key) == 56);
#endif

/* What is stored as it is: in printf.rs its size, in blog-decode where its fields are */
static_assert(offsetof(struct resource, end) == 8);
static_assert(offsetof(struct resource, flags) == 24);
static_assert(sizeof(struct range) == 16);
static_assert(offsetof(struct rtc_time, tm_year) == 20);
static_assert(sizeof(time64_t) == 8);
static_assert(offsetof(struct timespec64, tv_nsec) == 8);
static_assert(sizeof(struct sockaddr_in) == 16);
static_assert(sizeof(struct sockaddr_in6) == 28);
static_assert(sizeof(gfp_t) == 4);

/* Writes a record of a call with more arguments than one of the others takes. */
notrace void blog_write(const struct blog_component *component, u32 site_shl10, const u64 *words,
			unsigned int count, ...)
{
	u64 args[BLOG_CALL_ARGS];
	unsigned int i;
	va_list ap;

	if (WARN_ON_ONCE(count > ARRAY_SIZE(args)))
		return;
	va_start(ap, count);
	/*
	 * Each one takes 8 bytes, in registers and on the stack, whatever its size; the upper half
	 * of an int is anything, and isn't stored.
	 */
#if !defined(__x86_64__) && !defined(__aarch64__) && (!defined(__riscv) || __riscv_xlen != 64)
#error "Does each variable argument take 8 bytes on this architecture?"
#endif
	for (i = 0; i < count; i++)
		args[i] = va_arg(ap, u64);
	va_end(ap);
	blog_write_packed(component, site_shl10, words, args, count);
}
EXPORT_SYMBOL_GPL(blog_write);

/* The others, which are in mod.rs */
#define EXPORT_RUST_SYMBOL_GPL(sym) EXPORT_SYMBOL_GPL(sym)

EXPORT_RUST_SYMBOL_GPL(blog_write1);
EXPORT_RUST_SYMBOL_GPL(blog_write2);
EXPORT_RUST_SYMBOL_GPL(blog_write4);
EXPORT_RUST_SYMBOL_GPL(blog_write8);

/*
 * Whether copy_from_kernel_nofault() reads what starts at an address, up to a page of it. Modules
 * can't call the function that it asks. Nothing has a string above the page for system calls.
 */
static __always_inline bool may_read(unsigned long at)
{
#ifdef CONFIG_X86
	/* The kernel's half is as large as the users' half. */
	return at >= -(TASK_SIZE_MAX + PAGE_SIZE) && at < VSYSCALL_ADDR - PAGE_SIZE;
#elif defined(CONFIG_ARM64)
	return is_ttbr1_addr(at);
#else
	return true;
#endif
}

/*
 * After a fault, UML goes on with the registers that the load has left, of which the compiler
 * doesn't know: so nothing else happens in this function.
 */
static noinline notrace bool read_word(unsigned long *word, const char *at)
{
	__get_kernel_nofault(word, at, unsigned long, fault);
	return true;
fault:
	return false;
}

static __always_inline __no_kmsan_checks long string_words(const char *s, char *dst, bool store,
							   size_t max)
{
	unsigned int before = (unsigned long)s % sizeof(long);
	size_t n = 0, step = sizeof(long) - before;
	unsigned long word, zeros;

	if (!may_read((unsigned long)s))
		return -EFAULT;
	if (!max)
		return 0;
	pagefault_disable();
	/* No word is in two pages. What the first one has before the string goes. */
	if (IS_ENABLED(CONFIG_UML)) {
		if (!read_word(&word, s - before))
			goto fault;
	} else {
		__get_kernel_nofault(&word, s - before, unsigned long, fault);
	}
	word = word >> 8 * before | ~(~0UL >> 8 * before);
	for (;;) {
		/* Read once: what is stored has the length that is seen. */
		if (store)
			put_unaligned(word, (unsigned long *)(dst + n));
		/* As has_zero(), which has more to do for a word of ASCII */
		zeros = (word - REPEAT_BYTE(0x01)) & REPEAT_BYTE(0x80);
		if (unlikely(zeros)) {
			zeros &= ~word;
			if (zeros) {
				n += __ffs(zeros) / 8;
				break;
			}
		}
		n += step;
		if (n >= max)
			break;
		step = sizeof(long);
		if (IS_ENABLED(CONFIG_UML)) {
			if (!read_word(&word, s + n))
				goto fault;
		} else {
			__get_kernel_nofault(&word, s + n, unsigned long, fault);
		}
	}
	pagefault_enable();
	return min(n, max);
fault:
	pagefault_enable();
	return -EFAULT;
}

/*
 * Copies a string without its NUL, at most max bytes, and returns its length; -EFAULT if it can't
 * be read. It stores whole words: up to 7 bytes more.
 */
notrace __no_kmsan_checks long blog_copy_string(const char *s, char *dst, size_t max)
{
	return string_words(s, dst, true, max);
}

/* Likewise, and stores nothing. */
notrace __no_kmsan_checks long blog_string_length(const char *s, size_t max)
{
	return string_words(s, NULL, false, max);
}

/* A text that is put together; what goes beyond its size is only counted. */
struct text {
	char *dst;
	size_t size;
	size_t len;
};

/* Appends a name that may be anywhere. */
static notrace int text_add(struct text *text, const char *s)
{
	size_t left = text->size - min(text->len, text->size);
	long most = min_t(size_t, left, NAME_MAX);
	long len = blog_copy_string(s, text->dst + text->len, most);

	if (len == most)
		len = blog_string_length(s, NAME_MAX);
	if (len < 0)
		return -EFAULT;
	text->len += len;
	return 0;
}

/* As printk(): the last components of a path, as many as depth. */
static notrace int text_dentry(struct text *text, const struct dentry *dentry, unsigned int depth)
{
	const char *names[4];
	unsigned int i = 0;
	int ret = 0;

	while (i < depth) {
		struct dentry *parent;
		const unsigned char *name;

		if (!dentry)
			return text_add(text, "(null)");
		if (get_kernel_nofault(parent, &dentry->d_parent) ||
		    get_kernel_nofault(name, &dentry->d_name.name))
			return -EFAULT;
		names[i++] = name;
		if (parent == dentry) {
			if (i > 1)
				names[i - 1] = "";
			break;
		}
		dentry = parent;
	}
	while (i-- && !ret) {
		ret = text_add(text, names[i]);
		if (i && !ret)
			ret = text_add(text, "/");
	}
	return ret;
}

static notrace int text_file(struct text *text, const struct file *file, unsigned int depth)
{
	struct dentry *dentry;

	if (get_kernel_nofault(dentry, &file->f_path.dentry))
		return -EFAULT;
	return text_dentry(text, dentry, depth);
}

/*
 * What printk() makes of an object: the name of a disk or a partition, flags by the names that this
 * kernel has for them, the symbol that an address is in.
 */
static notrace int text_format(struct text *text, u32 kind, const void *object)
{
	static const char *const formats[] = { "%pg", "%pGp", "%pGv", "%pGg", "%pS", "%ps", "%pB" };
	unsigned long flags = 0;
	char name[256];

	if (kind == BLOG_TEXT_BDEV) {
		const struct block_device *bdev = object;
		struct gendisk *disk;

		if (!IS_ENABLED(CONFIG_BLOCK) || get_kernel_nofault(disk, &bdev->bd_disk) ||
		    !blog_copy_nofault(name, disk->disk_name, DISK_NAME_LEN) ||
		    strnlen(name, DISK_NAME_LEN) == DISK_NAME_LEN)
			return -EFAULT;
	} else if (kind < BLOG_TEXT_SYMBOL) {
		size_t size = kind == BLOG_TEXT_GFP ? sizeof(gfp_t) : sizeof(flags);

		if (!blog_copy_nofault(&flags, object, size))
			return -EFAULT;
		object = &flags;
	}
	scnprintf(name, sizeof(name), formats[kind - BLOG_TEXT_BDEV], object);
	return text_add(text, name);
}

/*
 * What an object is called: stores at most size bytes and 7 more, and returns how many there are;
 * -EFAULT if it can't be read.
 */
notrace long blog_text(u32 kind, const void *object, char *dst, size_t size)
{
	struct text text = { .dst = dst, .size = size };
	int ret = -EFAULT;

	/* A name that is replaced meanwhile stays for as long as RCU has it. */
	preempt_disable_notrace();
	switch (kind) {
	case BLOG_TEXT_DENTRY ... BLOG_TEXT_DENTRY + 3:
		ret = text_dentry(&text, object, kind - BLOG_TEXT_DENTRY + 1);
		break;
	case BLOG_TEXT_FILE ... BLOG_TEXT_FILE + 3:
		ret = text_file(&text, object, kind - BLOG_TEXT_FILE + 1);
		break;
	case BLOG_TEXT_BDEV ... BLOG_TEXT_CALL:
		ret = text_format(&text, kind, object);
		break;
	}
	preempt_enable_notrace();
	return ret ?: text.len;
}
