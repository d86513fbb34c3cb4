// SPDX-License-Identifier: GPL-2.0
/*
 * Everything that printk() can print, twice: as a record with its arguments,
 * and, in the record after it, as the text that snprintf() makes of them.
 * On the host, tests/test_printf.py of BLog's repository decodes and compares both.
 * The cases of lib/tests/printf_kunit.c are among them.
 */

#include <linux/array_size.h>
#include <linux/bitmap.h>
#include <linux/blkdev.h>
#include <linux/blog.h>
#include <linux/dcache.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/range.h>
#include <linux/rtc.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/sprintf.h>
#include <linux/string.h>
#include <linux/types.h>

BLOG_COMPONENT(blog_kunit_printf, .name = "kunit_printf", .size_kb = 4096, .ring_kb = 2048,
	       .mode = BLOG_DISCARD);

/* In Rust, which calls it. */
u32 blog_kunit_print_all(u32 seed);

static char text[1000];
static u32 cases;

static void compared(void)
{
	blog_log(blog_kunit_printf, "= %s", text);
	/* For the worker, which makes new pages. */
	if (!(++cases % 32))
		msleep(20);
}

#define SAME(format, ...)                                            \
	do {                                                         \
		blog_log(blog_kunit_printf, format, ##__VA_ARGS__);  \
		snprintf(text, sizeof(text), format, ##__VA_ARGS__); \
		compared();                                          \
	} while (0)

/* What snprintf() would die of. */
#define IS(expected, format, ...)                                   \
	do {                                                        \
		blog_log(blog_kunit_printf, format, ##__VA_ARGS__); \
		strscpy(text, expected);                            \
		compared();                                         \
	} while (0)

#define PTR	    ((void *)0xffff0123456789abUL)
#define PTR_INVALID ((void *)0xab)
#define PTR_WILD    ((void *)-(1UL << 46))

/* Numbers that don't repeat for long, and are the same in each run. */
static u64 state;

static u32 next_random(void)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return state >> 33;
}

static void fill_random(void *to, size_t size)
{
	for (u8 *byte = to; size--; byte++)
		*byte = next_random();
}

__diag_push();
__diag_ignore_all("-Wformat", "sizes that are cut, on purpose");
static void print_numbers(void)
{
	static const s64 numbers[] = {
		0,     1,	   -1,	    7,	     8,	       42,	-42,	 127,	 128,
		255,   256,	   257,	    1037,    5282,     -11627,	32767,	 -32768, 65535,
		65536, 0x1234abcd, INT_MAX, INT_MIN, UINT_MAX, S64_MAX, S64_MIN,
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(numbers) + 24; i++) {
		s64 n = i < ARRAY_SIZE(numbers) ? numbers[i] :
						  (s64)((u64)next_random() << 32 | next_random()) >>
							  next_random() % 64;
		int width = (int)(next_random() % 40) - 20;

		SAME("%d|%03d|%3d|%+d|% d|%-9d|", (int)n, (int)n, (int)n, (int)n, (int)n, (int)n);
		SAME("%#x|%#o|%X|%#X|%#-12x|%#12x", (int)n, (int)n, (int)n, (int)n, (int)n, (int)n);
		SAME("%hhu|%hhd|%hx|%hd|%ho|%#ho", (int)n, (int)n, (int)n, (int)n, (int)n, (int)n);
		SAME("%ld|%lu|%lld|%llu|%zu|%td", (long)n, (long)n, n, n, (size_t)n, (long)n);
		SAME("%#llx|%020lld|%-20llo|%+.30lld|%.3llx", n, n, n, n, n);
		SAME("%*d|%*u|%-*x|%0*llx", width, (int)n, -width, (int)n, width, (int)n, width, n);
		SAME("%.*d|%*.*lld|%.0d|%.d", width, (int)n, width, width, n, (int)n, (int)n);
		SAME("[%c%3c%-3c]%%", '!' + (int)(n & 63), '%', 'x');
		SAME("%px|%20px|%-20px|%02px", (void *)n, (void *)n, (void *)n, (void *)n);
	}
	SAME("0|001| 12|+123| 1234|-123|-1234 %d|%03d|%3d|%+d|% d|%+d|% d", 0, 1, 12, 123, 1234,
	     -123, -1234);
	SAME("%hhu|%hhu|%hhu|%hhu|%hhu", 0, 1, 257, 128, -1);
	SAME("%ho%ho%#ho", 1037, 5282, -11627);
	SAME("%.2d|%.1d|%.0d|%.*d|%1.0d", 0, 0, 0, 0, 0, 0);
	SAME("100%%");
	SAME("xxx%cyyy", '%');
}

__diag_pop();

static void print_strings(void)
{
	static const char *const strings[] = {
		"",
		"a",
		"ABCD",
		"abcdef",
		"123456",
		"with spaces ",
		"tab\there",
		"100%",
		"a longer one, of which fields show only the first few characters, or all of them",
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(strings); i++) {
		const char *s = strings[i];

		for (int width = -12; width <= 12; width += 3) {
			SAME("%s|%.3s|%.*s", s, s, width, s);
			SAME("%*s|%-*s|%*.*s", width, s, width, s, width, width, s);
			SAME("%10s|%-10.4s|%10.4s|%.s|%.0s|%-3.s", s, s, s, s, s, s);
		}
	}
	SAME("%s%.0s", "", "123");
	SAME("%-3s|%3s|%-*s|%*s|%*s", "1", "2", 3, "3", 3, "4", -3, "5");
	SAME("%s|%.2s|%10s|%-10s|", (char *)NULL, (char *)NULL, (char *)NULL, (char *)NULL);
	SAME("%s|%.2s|%10s", (char *)PTR_INVALID, (char *)PTR_INVALID, (char *)ERR_PTR(-11));
	IS("(efault)|  (efault)", "%s|%10s", (char *)PTR_WILD, (char *)PTR_WILD);
}

static void print_addresses(void)
{
	static const int errors[] = {
		-1, -EIO, -EAGAIN, -EWOULDBLOCK, -ENOTSOCK, -EPROBE_DEFER, -1234, -4095, -513,
	};
	const void *symbols[] = {
		kfree, (char *)kfree + 4, print_addresses, NULL, ERR_PTR(-11), PTR, PTR_INVALID,
	};

	SAME("%px|%px|%px|%px", PTR, NULL, ERR_PTR(-11), PTR_INVALID);
	SAME("%p|%p", NULL, ERR_PTR(-11));
	for (unsigned int i = 0; i < ARRAY_SIZE(symbols); i++) {
		SAME("%pS|%ps|%pB|%pSR", symbols[i], symbols[i], symbols[i], symbols[i]);
		SAME("[%-30ps][%30ps]", symbols[i], symbols[i]);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(errors); i++) {
		SAME("%pe", ERR_PTR(errors[i]));
		SAME("(%pe)[%-8pe][%8pe]", ERR_PTR(errors[i]), ERR_PTR(errors[i]),
		     ERR_PTR(errors[i]));
	}
}

static void print_bytes(void)
{
	u8 bytes[64] __aligned(8);

	for (unsigned int i = 0; i < 64; i++) {
		int n = i % 40;

		fill_random(bytes, sizeof(bytes));
		if (i % 4 == 1)
			memset(bytes + i % 32, 0, i % 16);
		SAME("%3ph|%3phC|%3phD|%3phN|%ph", bytes, bytes, bytes, bytes, bytes);
		SAME("%*ph|%*phC", n, bytes, -n, bytes);
		SAME("%*phD|%*phN", n, bytes, n, bytes);
		SAME("%pM|%pMR|%pMF", bytes, bytes, bytes);
		SAME("%pMRU|%pMFU|%pMU", bytes, bytes, bytes);
		SAME("%pm|%pmR|%pmU", bytes, bytes, bytes);
		SAME("%pI4|%pi4|%pI4h", bytes, bytes, bytes);
		SAME("%pI4n|%pI4l|%20pI4", bytes, bytes, bytes);
		SAME("%pI6|%pi6|%pI6c", bytes, bytes, bytes);
		SAME("%-50pI6c|%8pI6", bytes, bytes);
		SAME("%pUb|%pUB", bytes, bytes);
		SAME("%pUl|%pUL|%40pU", bytes, bytes, bytes);
		SAME("%pad|%pap|%pa|%pNF", bytes, bytes, bytes, bytes);
		SAME("%p4cc|%p4ch|%p4chR", bytes, bytes, bytes);
		SAME("%p4cl|%p4cb|%40p4cc", bytes, bytes, bytes);
		SAME("%20pb|%20pbl", bytes, bytes);
		SAME("%*pb|%*pbl", 8 * n, bytes, 8 * n, bytes);
		/* Only what is a character in UTF-8 decodes to that. */
		for (unsigned int j = 0; j < sizeof(bytes); j++)
			bytes[j] &= 0x7f;
		SAME("%*pE|%*pEa", n % 12, bytes, n % 12, bytes);
		SAME("%*pEhs|%*pEosp", n % 12, bytes, n % 12, bytes);
		SAME("%8pEcn|%8pEan", bytes + 1, bytes + 1);
	}
	SAME("%ph|%*ph|%*ph", NULL, 0, NULL, 3, NULL);
	SAME("%pM|%pI4|%pI6c", NULL, PTR_INVALID, NULL);
	SAME("%pUb|%12pm|%pad|%p4cc", NULL, NULL, NULL, PTR_INVALID);
	SAME("%*pb|%*pbl|%pE|%pE", 9, NULL, 9, NULL, NULL, ERR_PTR(-11));
	IS("(efault)|(efault)", "%pM|%*ph", PTR_WILD, 8, PTR_WILD);
	IS("(efault)|(efault)", "%pUb|%*pbl", PTR_WILD, 8, PTR_WILD);
}

/* Not a width with a port: vsnprintf() pads the port itself, beyond its buffer. */
static void print_sockets(void)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	static const struct sockaddr other = { .sa_family = AF_UNIX };

	for (unsigned int i = 0; i < 24; i++) {
		v4.sin_port = next_random();
		v4.sin_addr.s_addr = next_random();
		v6.sin6_port = next_random();
		v6.sin6_flowinfo = next_random() << 1;
		v6.sin6_scope_id = next_random();
		fill_random(&v6.sin6_addr, sizeof(v6.sin6_addr));
		if (i % 2)
			memset((u8 *)&v6.sin6_addr + i / 2, 0, 6);
		SAME("%pIS|%piS", &v4, &v4);
		SAME("%pISp|%piSp|%pISpl", &v4, &v4, &v4);
		SAME("%pIS|%piS|%pISc", &v6, &v6, &v6);
		SAME("%pISpc|%pISpfsc", &v6, &v6);
		SAME("%piSpfs|%-60pISc|%60pIS", &v6, &v6, &v6);
	}
	SAME("%pIS|%pISp|%pIS", &other, NULL, PTR_INVALID);
	IS("(efault)", "%pISpc", PTR_WILD);
}

static void print_times(void)
{
	struct rtc_time tm = {
		.tm_sec = 43,
		.tm_min = 35,
		.tm_hour = 5,
		.tm_mday = 26,
		.tm_mon = 10,
		.tm_year = 118,
	};
	struct timespec64 ts = { .tv_sec = 1546615943, .tv_nsec = 11235813 };

	SAME("%ptR|%ptRr|%ptRt|%ptRd", &tm, &tm, &tm, &tm);
	SAME("%ptRtr|%ptRdr|%ptRttr|%ptRdtr", &tm, &tm, &tm, &tm);
	SAME("%ptRt tr|%ptRd tr", &tm, &tm);
	tm.tm_year = -1901;
	SAME("%ptR|%ptRs", &tm, &tm);
	for (unsigned int i = 0; i < 48; i++) {
		time64_t t = ts.tv_sec;

		SAME("%ptT|%ptTr|%ptTt|%ptTd", &t, &t, &t, &t);
		SAME("%ptTs|%ptTsr|%ptTts|%ptTds", &t, &t, &t, &t);
		SAME("%ptTtrs|%ptTdrs|%ptS|%ptSp", &t, &t, &ts, &ts);
		ts.tv_sec = (s64)((u64)next_random() << 32 | next_random()) >> (24 + i % 40);
		ts.tv_nsec = next_random() % 1000000000;
	}
	SAME("%ptR|%ptT|%20ptS", NULL, PTR_INVALID, NULL);
	IS("(efault)", "%ptT", PTR_WILD);
}

static void print_ranges(void)
{
	static const unsigned long flags[] = {
		IORESOURCE_MEM,
		IORESOURCE_IO | IORESOURCE_DISABLED | IORESOURCE_UNSET,
		IORESOURCE_IO,
		IORESOURCE_IRQ,
		IORESOURCE_DMA,
		IORESOURCE_BUS,
		0,
		IORESOURCE_MEM | IORESOURCE_MEM_64 | IORESOURCE_PREFETCH | IORESOURCE_WINDOW,
	};

	for (unsigned int i = 0; i < 8 * ARRAY_SIZE(flags); i++) {
		struct resource res = {
			.start = next_random() >> i % 24,
			.end = next_random() >> i % 16,
			.flags = flags[i % ARRAY_SIZE(flags)],
		};
		struct range range = { .start = res.start, .end = res.end };

		res.end = i % 5 ? res.end : res.start;
		range.end = res.end;
		SAME("%pr|%pR", &res, &res);
		SAME("%80pR|%pra", &res, &range);
	}
	SAME("%pr|%pR|%pra", NULL, PTR_INVALID, NULL);
	IS("(efault)|(efault)", "%pR|%pra", PTR_WILD, PTR_WILD);
}

static void print_flags(void)
{
	gfp_t gfp[] = { GFP_ATOMIC, GFP_TRANSHUGE,    GFP_ATOMIC | __GFP_DMA,
			__GFP_HIGH, ~__GFP_BITS_MASK, 0 };
	unsigned long vma = VM_READ | VM_EXEC | VM_MAYREAD | VM_MAYWRITE | VM_MAYEXEC;
	unsigned long page = 1UL << PG_uptodate | 1UL << PG_dirty | 1UL << PG_lru;

	for (unsigned int i = 0; i < ARRAY_SIZE(gfp); i++)
		SAME("%pGg", &gfp[i]);
	for (unsigned int i = 0; i < 32; i++) {
		SAME("%pGv|%pGp", &vma, &page);
		vma = next_random();
		page = (unsigned long)next_random() << 32 | next_random();
	}
	SAME("%pGg|%pGv", NULL, PTR_INVALID);
	IS("(efault)|(efault)", "%pGp|%pGg", PTR_WILD, PTR_WILD);
}

static struct dentry dentries[4] = {
	{ .d_parent = &dentries[0], .d_name = QSTR_INIT("foo", 3) },
	{ .d_parent = &dentries[0], .d_name = QSTR_INIT("bravo", 5) },
	{ .d_parent = &dentries[1], .d_name = QSTR_INIT("alfa", 4) },
	{ .d_parent = &dentries[2], .d_name = QSTR_INIT("romeo", 5) },
};

static void print_names(void)
{
	struct block_device *bdev = kzalloc(sizeof(*bdev), GFP_KERNEL);
	struct gendisk *disk = kzalloc(sizeof(*disk), GFP_KERNEL);
	struct file *file = kzalloc(sizeof(*file), GFP_KERNEL);
	struct dentry orphan = { .d_name = QSTR_INIT("orphan", 6) };

	if (!bdev || !disk || !file)
		goto out;
	for (unsigned int i = 0; i < ARRAY_SIZE(dentries); i++) {
		*(struct dentry **)&file->f_path.dentry = &dentries[i];
		SAME("%pd|%pd2|%pd3|%pd4", &dentries[i], &dentries[i], &dentries[i], &dentries[i]);
		SAME("%pD|%pD2|%pD3|%pD4", file, file, file, file);
		SAME("%-12pd2|%12pd4|%-20pD4|", &dentries[i], &dentries[i], file);
		SAME("%*pd2|%*pd", -12, &dentries[i], 12, &dentries[i]);
	}
	SAME("%pd|%pd2", &orphan, &orphan);
	*(struct dentry **)&file->f_path.dentry = NULL;
	SAME("%pd|%pd|%pD|%pD|%pD", NULL, PTR_INVALID, NULL, PTR_INVALID, file);
	*(struct dentry **)&file->f_path.dentry = PTR_WILD;
	IS("(efault)|(efault)|(efault)", "%pd|%pD|%pD", PTR_WILD, PTR_WILD, file);
	orphan.__d_name.name = PTR_WILD;
	IS("(efault)", "%pd", &orphan);

	bdev->bd_disk = disk;
	strscpy(disk->disk_name, "sda");
	SAME("%pg", bdev);
	atomic_set(&bdev->__bd_flags, 3);
	SAME("%pg|%pg|%pg", bdev, NULL, PTR_INVALID);
	strscpy(disk->disk_name, "nvme0n1");
	SAME("%pg", bdev);
	bdev->bd_disk = PTR_WILD;
	IS("(efault)|(efault)", "%pg|%pg", bdev, PTR_WILD);
out:
	kfree(bdev);
	kfree(disk);
	kfree(file);
}

u32 blog_kunit_print_all(u32 seed)
{
	state = seed;
	print_numbers();
	print_strings();
	print_addresses();
	print_bytes();
	print_sockets();
	print_times();
	print_ranges();
	print_flags();
	print_names();
	return cases;
}
