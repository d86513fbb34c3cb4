/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records of the debug messages that a driver in C has, without a change to it:
 * pr_debug(), dev_dbg(), netdev_dbg(), drm_dbg() and what is made of them.
 *
 * A module is captured if its Makefile says "BLOG_CAPTURE := y", or if
 * CONFIG_BLOG_CAPTURE names it; kbuild defines BLOG_CAPTURE for its files then.
 * Each call is a call site of a component with the module's name, whether
 * dynamic debug prints it or not. <linux/dynamic_debug.h> includes this; the
 * macros that print call blog_capture_*() with what they would print.
 *
 * Arguments are evaluated when a call is recorded, and once more when it is
 * printed. The format may be anything that is printed: where it can't be
 * stored, the call is not recorded, and scripts/blog-fmt-sidetable says so.
 */
#ifndef _LINUX_BLOG_CAPTURE_H
#define _LINUX_BLOG_CAPTURE_H

#if defined(BLOG_CAPTURE) && IS_REACHABLE(CONFIG_BLOG)

#include <linux/blog_call.h>

#define __blog_captured		CONCATENATE(blog_captured_, __KBUILD_MODNAME)

/* All files of a module define it, and the linker takes the first one. */
extern struct blog_component __blog_captured;
__BLOG_COMPONENT(__weak, __blog_captured, .name = KBUILD_MODNAME, .level = BLOG_DEBUG);

/* @fmt is made a string, and is not passed: it needs to be no literal. */
#define __blog_capture(arguments, fmt, ...)					\
	___blog(__blog_captured, BLOG_DEBUG, __COUNTER__, __stringify(fmt),	\
		arguments, 1, 0, ##__VA_ARGS__)

#define __blog_capture_of(name, fmt, ...)					\
	__blog_capture(__stringify(device, ##__VA_ARGS__), "%s: " fmt, name, ##__VA_ARGS__)

#define blog_capture_pr(fmt, ...)						\
	__blog_capture(#__VA_ARGS__, fmt, ##__VA_ARGS__)

#define blog_capture_dev(dev, fmt, ...)						\
	__blog_capture_of(({							\
		const struct device *__blog_dev = (dev);			\
		__blog_dev ? dev_name(__blog_dev) : "(NULL device *)";		\
	}), fmt, ##__VA_ARGS__)

#define blog_capture_netdev(dev, fmt, ...)					\
	__blog_capture_of(({							\
		const struct net_device *__blog_dev = (dev);			\
		__blog_dev ? netdev_name(__blog_dev) : "(NULL net_device)";	\
	}), fmt, ##__VA_ARGS__)

#define blog_capture_ibdev(dev, fmt, ...)					\
	__blog_capture_of(({							\
		const struct ib_device *__blog_dev = (dev);			\
		__blog_dev ? dev_name(&__blog_dev->dev) : "(NULL ib_device)";	\
	}), fmt, ##__VA_ARGS__)

#else

#define blog_capture_pr(fmt, ...)		do { } while (0)
#define blog_capture_dev(dev, fmt, ...)		do { } while (0)
#define blog_capture_netdev(dev, fmt, ...)	do { } while (0)
#define blog_capture_ibdev(dev, fmt, ...)	do { } while (0)

#endif

#endif /* _LINUX_BLOG_CAPTURE_H */
