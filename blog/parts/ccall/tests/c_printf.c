// SPDX-License-Identifier: GPL-2.0
/*
 * Everything that printk() can print, twice: as a record with its arguments,
 * and, in the record after it, as the text that snprintf() makes of them.
 * On the host, tests/suites/test_printf.py of BLog's repository decodes and compares both.
 * CASE, HOST and REFUSED have their text here, too: tools/blog-decode/tests/it/cformat.rs
 * there reads them, and packs and decodes them without a kernel.
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
#include <linux/hex.h>
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

static void *hex_at(u8 *to, const char *text)
{
	return hex2bin(to, text, strlen(text) / 2) ? NULL : to;
}

/*
 * Both. An argument is a number, with ULL if it isn't an int; a character, a string,
 * NULL, ERR_PTR(), or the address of HEX(), INTS() or LONGS().
 */
#define CASE(expected, format, ...)                  \
	do {                                         \
		SAME(format, ##__VA_ARGS__);         \
		IS(expected, format, ##__VA_ARGS__); \
	} while (0)

/* What a kernel prints otherwise, and what is refused when it is built: the host's alone. */
#define HOST(expected, format, ...)
#define REFUSED(reason, format)

#define NUMBERS(type, ...)                                   \
	({                                                   \
		static const type those[] = { __VA_ARGS__ }; \
		(void *)those;                               \
	})
#define HEX(text)                                        \
	({                                               \
		static u8 bytes[(sizeof(text) - 1) / 2]; \
		hex_at(bytes, text);                     \
	})
#define INTS(...)  NUMBERS(s32, __VA_ARGS__)
#define LONGS(...) NUMBERS(u64, __VA_ARGS__)

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
	SAME("100%%");
}

/* Many are of lib/tests/printf_kunit.c. */
static void print_cases(void)
{
	/* Numbers. Unlike C, the kernel pads with zeros in spite of a precision. */
	CASE("xxx%yyy", "xxx%cyyy", '%');
	CASE("  a|a  |", "%3c|%-3c|", 'a', 'a');
	CASE("0x1234abcd  ", "%#-12x", 0x1234abcd);
	CASE("  0x1234abcd", "%#12x", 0x1234abcd);
	CASE("0|001| 12|+123| 1234|-123|-1234", "%d|%03d|%3d|%+d|% d|%+d|% d", 0, 1, 12, 123, 1234,
	     -123, -1234);
	CASE("0|1|1|128|255", "%hhu|%hhu|%hhu|%hhu|%hhu", 0, 1, 257, 128, -1);
	CASE("0|1|1|-128|-1", "%hhd|%hhd|%hhd|%hhd|%hhd", 0, 1, 257, 128, -1);
	CASE("2015122420151225", "%ho%ho%#ho", 1037, 5282, -11627);
	CASE("00|0|0|0|0", "%.2d|%.1d|%.0d|%.*d|%1.0d", 0, 0, 0, 0, 0, 0);
	CASE("-9223372036854775808", "%lld", 0x8000000000000000ULL);
	CASE("18446744073709551615", "%zu", 0xffffffffffffffffULL);
	CASE("0|0x0|0XFF|017", "%#o|%#x|%#X|%#o", 0, 0, 255, 15);
	CASE("42   |   42|00042", "%*d|%*d|%0*d", -5, 42, 5, 42, 5, 42);
	CASE("-0042|  0042", "%.*d|%6.4d", 4, -42, 42);
	CASE("0000042", "%07.3d", 42);

	/* Strings */
	CASE("ABCD|abc|123", "%s|%.3s|%.*s", "ABCD", "abcdef", 3, "123456");
	CASE("1  |  2|3  |  4|5  ", "%-3s|%3s|%-*s|%*s|%*s", "1", "2", 3, "3", 3, "4", -3, "5");
	CASE("1234      ", "%-10.4s", "123456");
	CASE("      1234", "%10.4s", "123456");
	CASE("    ", "%4.*s", -5, "123456");
	CASE("123456", "%.s", "123456");
	CASE("a||", "%.s|%.0s|%.*s", "a", "b", 0, "c");
	CASE("a  |   |   ", "%-3.s|%-3.0s|%-3.*s", "a", "b", 0, "c");
	CASE("123456", "%.5000s", "123456");

	/* Addresses and errors */
	CASE("-1234", "%pe", ERR_PTR(-1234));
	CASE("(-ENOTSOCK)", "(%pe)", ERR_PTR(-88));
	CASE("[-EIO    ]", "[%-8pe]", ERR_PTR(-5));
	CASE("[    -EIO]", "[%8pe]", ERR_PTR(-5));
	CASE("-EPROBE_DEFER", "%pe", ERR_PTR(-517));
	CASE("fffffffffffffff5", "%px", ERR_PTR(-11));

	/* Bytes */
	CASE("c0 ff ee|c0:ff:ee|c0-ff-ee|c0ffee", "%3ph|%3phC|%3phD|%3phN", HEX("c0ffee"),
	     HEX("c0ffee"), HEX("c0ffee"), HEX("c0ffee"));
	CASE("c0 ff ee|c0:ff:ee|c0-ff-ee|c0ffee", "%*ph|%*phC|%*phD|%*phN", 3, HEX("c0ffee"), 3,
	     HEX("c0ffee"), 3, HEX("c0ffee"), -3, HEX("c0ffee"));
	CASE("c0||(null)", "%ph|%*ph|%*ph", HEX("c0ffee"), 0, NULL, 3, NULL);
	CASE("2d:48:d6:fc:7a:05|05:7a:fc:d6:48:2d|05:7A:FC:D6:48:2D|2d-48-d6-fc-7a-05",
	     "%pM|%pMR|%pMRU|%pMF", HEX("2d48d6fc7a05"), HEX("2d48d6fc7a05"), HEX("2d48d6fc7a05"),
	     HEX("2d48d6fc7a05"));
	CASE("2d48d6fc7a05|2D48D6FC7A05|057afcd6482d", "%pm|%pmU|%pmR", HEX("2d48d6fc7a05"),
	     HEX("2d48d6fc7a05"), HEX("2d48d6fc7a05"));
	CASE("127.000.000.001|127.0.0.1", "%pi4|%pI4", HEX("7f000001"), HEX("7f000001"));
	CASE("1.0.0.127|127.0.0.1|1.0.0.127", "%pI4h|%pI4n|%pI4l", HEX("7f000001"), HEX("7f000001"),
	     HEX("7f000001"));
	CASE("(null)|127.0.0.1      |", "%pI4|%-15pI4|", NULL, HEX("7f000001"));
	CASE("00010203-0405-0607-0809-0a0b0c0d0e0f|00010203-0405-0607-0809-0A0B0C0D0E0F",
	     "%pUb|%pUB", HEX("000102030405060708090a0b0c0d0e0f"),
	     HEX("000102030405060708090a0b0c0d0e0f"));
	CASE("03020100-0504-0706-0809-0a0b0c0d0e0f|03020100-0504-0706-0809-0A0B0C0D0E0F",
	     "%pUl|%pUL", HEX("000102030405060708090a0b0c0d0e0f"),
	     HEX("000102030405060708090a0b0c0d0e0f"));
	CASE("0x123456789abcdef0|0x123456789abcdef0", "%pad|%pNF", LONGS(0x123456789abcdef0),
	     LONGS(0x123456789abcdef0));
	CASE("a\\n\\001\\\"\\0~", "%*pE", 7, HEX("610a015c22007e"));
	CASE("\\x61\\n\\x01\\x5c\\x22\\x00\\x7e", "%*pEhs", 7, HEX("610a015c22007e"));
	CASE("a\\n\\001\\\"\\000~", "%*pEosp", 7, HEX("610a015c22007e"));
	CASE("\\141\\n\\001\\\\\\\"\\0\\176", "%*pEa", 7, HEX("610a015c22007e"));
	CASE("a|a\\n||(null)", "%pE|%2pE|%*pE|%*pE", HEX("610a015c22007e"), HEX("610a015c22007e"),
	     0, NULL, 1, NULL);

	/* Addresses of version 6 */
	CASE("1:2:3:4:5:6:7:8", "%pI6c", HEX("00010002000300040005000600070008"));
	CASE("1:0:3:4:5:6:7:8", "%pI6c", HEX("00010000000300040005000600070008"));
	CASE("::", "%pI6c", HEX("00000000000000000000000000000000"));
	CASE("::1", "%pI6c", HEX("00000000000000000000000000000001"));
	CASE("1::", "%pI6c", HEX("00010000000000000000000000000000"));
	CASE("fe80::1:0:0:1", "%pI6c", HEX("fe800000000000000001000000000001"));
	CASE("::ffff:1.2.3.4", "%pI6c", HEX("00000000000000000000ffff01020304"));
	CASE("fe80::5efe:1.2.3.4", "%pI6c", HEX("fe8000000000000000005efe01020304"));
	CASE("fe80::200:5efe:1.2.3.4", "%pI6c", HEX("fe8000000000000002005efe01020304"));
	CASE("fe80:0000:0000:0000:0200:5efe:0102:0304|fe8000000000000002005efe01020304",
	     "%pI6|%pi6", HEX("fe8000000000000002005efe01020304"),
	     HEX("fe8000000000000002005efe01020304"));

	/* Bitmaps */
	CASE("00000|00000||", "%20pb|%*pb|%20pbl|%*pbl", LONGS(0), 20, LONGS(0), LONGS(0), 20,
	     LONGS(0));
	CASE("a28ac|a28ac|2-3,5,7,11,13,17,19|2-3,5,7,11,13,17,19", "%20pb|%*pb|%20pbl|%*pbl",
	     LONGS(0xa28ac), 20, LONGS(0xa28ac), LONGS(0xa28ac), 20, LONGS(0xa28ac));
	CASE("fffff|fffff|0-19|0-19", "%20pb|%*pb|%20pbl|%*pbl", LONGS(0xffffffffffffffff), 20,
	     LONGS(0xffffffffffffffff), LONGS(0xffffffffffffffff), 20, LONGS(0xffffffffffffffff));
	CASE("f,ffffffff,ffffffff,ffffffff 0-99", "%*pb %*pbl", 100,
	     LONGS(0xffffffffffffffff, 0xffffffffffffffff), 100,
	     LONGS(0xffffffffffffffff, 0xffffffffffffffff));
	CASE("|   (null)", "%*pb|%*pbl", 0, LONGS(0xffffffffffffffff, 0xffffffffffffffff), 9, NULL);

	/* Codes of pixel formats and the like */
	CASE("YV12 little-endian (0x32315659)|21VY (0x32315659)", "%p4cc|%p4ch", LONGS(0x32315659),
	     LONGS(0x32315659));
	CASE("YV12 (0x59563132)|21VY (0x32315659)|YV12 (0x59563132)", "%p4chR|%p4cl|%p4cb",
	     LONGS(0x32315659), LONGS(0x32315659), LONGS(0x32315659));
	CASE("YV12 big-endian (0xb2315659)|.1VY (0xb2315659)", "%p4cc|%p4ch", LONGS(0xb2315659),
	     LONGS(0xb2315659));
	CASE("YV1. (0x595631b2)|.1VY (0xb2315659)|YV1. (0x595631b2)", "%p4chR|%p4cl|%p4cb",
	     LONGS(0xb2315659), LONGS(0xb2315659), LONGS(0xb2315659));

	/* struct resource: start, end, name, flags; struct range */
	CASE("[mem 0xc0ffee00 flags 0x200]", "%pr", LONGS(0xc0ffee00, 0xc0ffee00, 7, 0x200));
	CASE("[mem 0x00c0ffee-0xba5eba11 flags 0x200]", "%pr",
	     LONGS(0xc0ffee, 0xba5eba11, 7, 0x200));
	CASE("[io  size 0x1000 disabled]", "%pR", LONGS(0xba11, 0xca10, 7, 0x30000100));
	CASE("[mem 0x00001000-0x00001fff 64bit pref window]", "%pR",
	     LONGS(0x1000, 0x1fff, 7, 0x302200));
	CASE("[irq 7]|", "%pR|", LONGS(7, 7, 7, 0x400));
	CASE("[bus 00-ff]", "%pR", LONGS(0, 255, 7, 0x1000));
	CASE("[range 0xc0ffee00ba5eba11]", "%pra", LONGS(0xc0ffee00ba5eba11, 0xc0ffee00ba5eba11));
	CASE("[range 0x0000000000000001-0x0000000000000002]", "%pra", LONGS(1, 2));

	/* Times: struct rtc_time, time64_t, struct timespec64 */
	CASE("2018-11-26T05:35:43", "%ptR", INTS(43, 35, 5, 26, 10, 118, 1, 0, 0));
	CASE("0118-10-26T05:35:43", "%ptRr", INTS(43, 35, 5, 26, 10, 118, 1, 0, 0));
	CASE("05:35:43 tr|", "%ptRt tr|", INTS(43, 35, 5, 26, 10, 118, 1, 0, 0));
	CASE("2018-11-26", "%ptRdtr", INTS(43, 35, 5, 26, 10, 118, 1, 0, 0));
	CASE("0118-10-26", "%ptRdr", INTS(43, 35, 5, 26, 10, 118, 1, 0, 0));
	CASE("2019-01-04T15:32:23|0119-00-04 15:32:23|15:32:23", "%ptT|%ptTsr|%ptTts",
	     LONGS(1546615943), LONGS(1546615943), LONGS(1546615943));
	CASE("2019-01-04T15:32:23.011235813|1546615943.011235813", "%ptS|%ptSp",
	     LONGS(1546615943, 11235813), LONGS(1546615943, 11235813));
	CASE("1970-01-01T00:00:00", "%ptT", LONGS(0));
	CASE("1969-12-31T23:59:59", "%ptT", LONGS(-1));
	CASE("2000-02-29T00:00:00", "%ptT", LONGS(951782400));
	CASE("2000-03-01T00:00:00", "%ptT", LONGS(951868800));
	CASE("2100-02-28T23:59:59", "%ptT", LONGS(4107542399));
	CASE("2100-03-01T00:00:00", "%ptT", LONGS(4107542400));
	CASE("1600-02-29T12:00:00", "%ptT", LONGS(-11670955200));

	/* Addresses of sockets */
	CASE("1.2.3.4|001.002.003.004:12345|4.3.2.1:12345", "%pIS|%piSp|%pISpl",
	     HEX("02003039010203040000000000000000"), HEX("02003039010203040000000000000000"),
	     HEX("02003039010203040000000000000000"));
	CASE("00010002000300040005000600070008", "%piS",
	     HEX("0a003039f00000070001000200030004000500060007000809000000"));
	CASE("[1:2:3:4:5:6:7:8]:12345", "%pISpc",
	     HEX("0a003039f00000070001000200030004000500060007000809000000"));
	CASE("[1:2:3:4:5:6:7:8]:12345/7%9", "%pISpcfs",
	     HEX("0a003039f00000070001000200030004000500060007000809000000"));
	CASE("(einval)|(null)", "%pIS|%pIS", HEX("0100"), NULL);
	CASE("1 2 3 4 5 6 7 8", "%d %d %d %d %d %d %d %d", 1, 2, 3, 4, 5, 6, 7, 8);
	CASE("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
	     "%hhu %hu %u %llu %hhu %hu %u %llu %hhu %hu %u %llu %hhu %hu %u %llu", 1, 2, 3, 4ULL,
	     5, 6, 7, 8ULL, 9, 10, 11, 12ULL, 13, 14, 15, 16ULL);
	CASE("a 1 b 2 c 3 d 4 e 5 f 6 g 7 h 8", "%s %d %s %d %s %d %s %d %s %d %s %d %s %d %s %d",
	     "a", 1, "b", 2, "c", 3, "d", 4, "e", 5, "f", 6, "g", 7, "h", 8);
	CASE("a 1 bcdefghijklmn 2", "%s %hhu %s %llu", "a", 1, "bcdefghijklmn", 2ULL);
}

/* At 0xffffdead00000000, nothing is mapped. */
static void __maybe_unused host_cases(void)
{
	HOST("100%|ffff|\xef\xbf\xbd", "100%5%|%Lx|%c", 0xffffULL, 0xe9);
	HOST("ffff0123456789ab|ffff0123456789ab|  ffff0123456789ab", "%p|%px|%18pK",
	     0xffff0123456789abULL, 0xffff0123456789abULL, 0xffff0123456789abULL);
	HOST("0000000000000000|00000000000000ab", "%p|%px", NULL, 0xabULL);
	HOST("12@ffff0123456789ab|13@0|14@1000|  12@a", "%pS|%ps|%pB|%6pSR", 0xffff0123456789abULL,
	     NULL, 4096ULL, 10ULL);

	/* No byte after the precision is looked at: these have no end. */
	HOST("open|open", "%.4s|%.*s", HEX("6f70656e"), 4, HEX("6f70656e"));
	HOST("(efault)|(efault)", "%s|%s", HEX("6f70656e"), 0xfffffffffffffff5ULL);
	HOST("(null)|(efault)|(efault)|  (null)|(n", "%s|%s|%s|%8s|%.2s", NULL, 0xabULL,
	     0xffffdead00000000ULL, NULL, NULL);
	HOST("    (efault)|(efault)|(efault)", "%*ph|%pI6|%pISpc", 12, 0xffffdead00000000ULL,
	     0xffffdead00000000ULL, 0xffffdead00000000ULL);
	HOST("(null)|    (efault)", "%pR|%12pr", NULL, 0xffffdead00000000ULL);
	HOST("[??? 0x00000001 flags 0x20000000]", "%pR", LONGS(1, 1, 7, 0x20000000));

	/* What objects are called is up to the kernel; on the host it is the kind, and where. */
	HOST("0@0|1@1  |3@| 6@3", "%pd|%-5pd2|%.2pd4|%4pD3", HEX("00"), HEX("00"), HEX("00"),
	     HEX("00"));
	HOST("8@0|9@1|10@2|11@3", "%pg|%pGp|%pGv|%20pGg", HEX("00"), HEX("00"), HEX("00"),
	     HEX("00"));
	HOST("(null)|(efault)|(null)|1@0 ", "%pd|%pD|%pg|%*pd2", NULL, 0xabULL, NULL, -4,
	     HEX("00"));

	REFUSED("can't be stored", "%pV");
	REFUSED("Rust", "%pA");
	REFUSED("firmware's tables", "%pOF");
	REFUSED("firmware's tables", "%pfw");
	REFUSED("clock framework", "%pC");
	REFUSED("BPF", "%pks");
	REFUSED("knows no %pI5", "%pI5");
	REFUSED("knows no %pt", "%pt");
	REFUSED("knows no %pNx", "%pNx");
	REFUSED("knows no %p4cx", "%p4cx");
	REFUSED("knows no %pGx", "%pGx");
	REFUSED("width or precision of %pg", "%8pg");
	REFUSED("longer than 255 bytes", "%256pE");
	REFUSED("%n stores", "%n");
	REFUSED("%n stores", "%hhn");
	REFUSED("no conversion 'f'", "%f");
	REFUSED("no conversion 'q'", "%q");
	REFUSED("ends in the middle", "tail %");
	REFUSED("ends in the middle", "%-5.");
	REFUSED("ends in the middle", "%l");
	REFUSED("no conversion '%'", "%*%");
	REFUSED("no conversion '\xc3\xa9'", "%d%\xc3\xa9");
	REFUSED("means nothing", "%*.*ph");
	REFUSED("longer than 255 bytes", "%2048pb");
	REFUSED("longer than", "%9999999pb");
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
	SAME("%ph", NULL);
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
		v4.sin_port = (__force __be16)next_random();
		v4.sin_addr.s_addr = (__force __be32)next_random();
		v6.sin6_port = (__force __be16)next_random();
		v6.sin6_flowinfo = (__force __be32)(next_random() << 1);
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

/* Memory that nobody prints, beside what is printed: test_printf.py looks for these bytes. */
static void print_parts(void)
{
	struct { /* As on a stack that was in use */
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct resource res;
		struct rtc_time time;
		unsigned long bits;
	} seen;

	memset(&seen, 0x5e, sizeof(seen));
	seen.v4.sin_family = AF_INET;
	seen.v4.sin_addr.s_addr = htonl(0x7f000001);
	seen.v6.sin6_family = AF_INET6;
	seen.v6.sin6_addr = (struct in6_addr)IN6ADDR_LOOPBACK_INIT;
	seen.res.start = 0x1000;
	seen.res.end = 0x1fff;
	seen.res.flags = IORESOURCE_MEM;
	seen.time.tm_mday = 3;
	seen.time.tm_mon = 4;
	seen.time.tm_year = 126;
	SAME("%pIS|%pISc|%pISpc", &seen.v4, &seen.v6, &seen.v4);
	SAME("%pR|%pr", &seen.res, &seen.res);
	SAME("%ptRd|%8pb|%*pb", &seen.time, &seen.bits, 8, &seen.bits);
}

u32 blog_kunit_print_all(u32 seed)
{
	state = seed;
	print_numbers();
	print_cases();
	print_strings();
	print_addresses();
	print_bytes();
	print_sockets();
	print_times();
	print_ranges();
	print_flags();
	print_names();
	print_parts();
	return cases;
}
