// SPDX-License-Identifier: GPL-2.0
/*
 * Log calls in C: see api_c.rs, which knows how long their records are.
 */

#include <linux/array_size.h>
#include <linux/blog.h>
#include <linux/err.h>
#include <linux/sched.h>
#include <linux/types.h>

BLOG_COMPONENT(blog_kunit_c, .name = "kunit_c", .size_kb = 64, .ring_kb = 16, .level = BLOG_DEBUG);
BLOG_COMPONENT(blog_kunit_c_off, .name = "kunit_c_off", .size_kb = 64, .enabled = false);

/* Rust reads how many of these were evaluated. */
u32 blog_kunit_c_evaluated;

static u32 evaluated(void)
{
	return blog_kunit_c_evaluated++;
}

/* Inlined twice, it is one site. */
static inline void log_number(int n)
{
	blog_info(blog_kunit_c, "number %d", n);
}

/* In Rust, which knows what each one stores. */
void blog_kunit_c_call(u32 which);

void blog_kunit_c_call(u32 which)
{
	static const u8 address[] = { 127, 0, 0, 1 };
	/* Not even a kernel address; and one that nothing is mapped at. */
	const char *low = (const char *)0xab, *wild = (const char *)-(1UL << 46);
	const char open[] = { 'o', 'p', 'e', 'n' };

	switch (which) {
	case 0:
		blog_log(blog_kunit_c, "no arguments, 100%%");
		break;
	case 1:
		blog_log(blog_kunit_c, "read %u bytes at %llx", 4096, 8ULL);
		break;
	case 2:
		blog_info(blog_kunit_c, "%hhd %hu %d %ld %c", 1, 2, 3, 4L, '5');
		break;
	case 3:
		blog_info(blog_kunit_c, "%s and %.*s, %.2s", "text", 4, open, open);
		break;
	case 4:
		blog_debug(blog_kunit_c, "%s %s %s", (const char *)NULL, low, wild);
		break;
	case 5:
		blog_log(blog_kunit_c, "%pI4 %pI4", address, wild);
		break;
	case 6:
		blog_log(blog_kunit_c, "%*ph", (int)ARRAY_SIZE(address), address);
		break;
	case 7:
		blog_log(blog_kunit_c, "%p %pe", current, ERR_PTR(-EIO));
		break;
	case 8:
		log_number(1);
		log_number(2);
		break;
	case 9:
		blog_log(blog_kunit_c, "evaluated %u", evaluated());
		break;
	case 10:
		blog_trace(blog_kunit_c, "above the level %u", evaluated());
		break;
	case 11:
		blog_log(blog_kunit_c_off, "off %u", evaluated());
		break;
	case 12:
		blog_log(blog_kunit_c, "%s by %u, %.*s", blog_private("text"), blog_private(7U), 4,
			 blog_private(open));
		break;
	case 13:
		blog_log(blog_kunit_c, "%s", blog_private(wild));
		break;
	case 14:
		blog_err(blog_kunit_c, "%hhd %s", 1, "text");
		blog_warn(blog_kunit_c, "a warning");
		break;
	}
}
