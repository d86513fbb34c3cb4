// SPDX-License-Identifier: GPL-2.0
/*
 * Debug messages of a captured driver: see api_capture.rs, which knows the number
 * of records. On the host, tests/suites/test_printf.py of BLog's repository compares them
 * with what dynamic debug prints. The Makefile captures this file.
 */

#define pr_fmt(fmt) "captured: " fmt

#include <linux/device.h>
#include <linux/err.h>
#include <linux/in.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/printk.h>
#include <linux/types.h>
#include <drm/drm_print.h>

/* In Rust, which calls it. */
void blog_kunit_capture(u32 which);

/* What prints, where it is not in the kernel itself: then nothing is printed. */
#if !IS_BUILTIN(CONFIG_DRM)
unsigned long __drm_debug;

void __drm_dev_dbg(struct _ddebug *desc, const struct device *dev, enum drm_debug_category category,
		   const char *format, ...)
{
}
#endif

#ifndef CONFIG_NET
int net_ratelimit(void)
{
	return 0;
}

void __dynamic_netdev_dbg(struct _ddebug *descriptor, const struct net_device *dev, const char *fmt,
			  ...)
{
}
#endif

static struct device device = { .init_name = "captured0" };
static struct net_device net_device = { .name = "captured1" };

/* How often. */
u32 blog_kunit_captured_evaluated;

static u32 evaluate(void)
{
	return ++blog_kunit_captured_evaluated;
}

/* What can't be stored is printed as ever. */
static void formatted(const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	vaf.va = &args;
	pr_debug("%pV\n", &vaf);
	va_end(args);
}

void blog_kunit_capture(u32 which)
{
	static const char variable[] = "no literal\n";
	const struct device *none = NULL;
	static const char array[] = "array";
	struct {
		int sign : 3;
		unsigned int number : 5;
	} fields = { .sign = -1, .number = 17 };
	int i;

	switch (which) {
	case 0:
		pr_debug("no arguments\n");
		break;
	case 1:
		pr_debug("%d of %s, %pe, %5.1s|\n", -1, "text", ERR_PTR(-EIO), "long");
		break;
	case 2:
		dev_dbg(&device, "reset by %u\n", 7);
		break;
	case 3:
		dev_dbg(none, "gone\n");
		break;
	case 4:
		/* More often than its limit has it */
		for (i = 0; i < 20; i++)
			pr_debug_ratelimited("limited %d\n", i);
		break;
	case 5:
		for (i = 0; i < 3; i++)
			pr_debug_once("once %d\n", i);
		break;
	case 6:
		for (i = 0; i < 3; i++)
			dev_dbg_once(&device, "once %d\n", i);
		break;
	case 7:
		for (i = 0; i < 20; i++)
			dev_dbg_ratelimited(&device, "limited %d\n", i);
		break;
	case 8:
		for (i = 0; i < 20; i++)
			net_dbg_ratelimited("limited %d\n", i);
		break;
	case 9:
		if (which)
			drm_dbg_core((struct drm_device *)NULL, "mode %d\n", 3);
		else
			drm_dbg_kms_ratelimited((struct drm_device *)NULL, "never\n");
		break;
	case 10:
		netdev_dbg(&net_device, "carrier %d\n", 1);
		break;
	case 11:
		pr_debug("%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d\n", 1, 2,
			 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,
			 23, 24, 25, 26, 27, 28, 29, 30, 31);
		break;
	case 12:
		/* Not recorded, and no reason not to build it */
		formatted("%d\n", 1);
		dev_dbg(&device, variable);
		break;
	case 13:
		pr_debug("evaluated %u\n", evaluate());
		break;
	case 14:
		/* What can't be copied to a variable as it is */
		pr_debug("%s, %s, %d, %u, %*ph, %pI4\n", array, "literal", fields.sign,
			 fields.number, 2, "ab", &(u32){ htonl(0x7f000001) });
		break;
	}
}
