/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records of the debug messages that a driver in C has, without a change to it: pr_debug(),
 * dev_dbg(), netdev_dbg(), drm_dbg() and macros made of them, and those of subsystems that call
 * blog_capture_call().
 *
 * A module is captured if its Makefile says "BLOG_CAPTURE := y", or if the kernel's configuration
 * names it; kbuild defines BLOG_CAPTURE for its files then. Each call is a call site of a component
 * with the module's name, whether dynamic debug prints it or not.
 *
 * The macros that print call blog_capture() with the function that prints. It evaluates the
 * arguments of a call once, for the record and for the print, and not at all if there is neither.
 * The format may be any that can be printed: if it can't be stored, the call is not recorded, and
 * scripts/blog-fmt-sidetable prints a warning.
 */
#ifndef _LINUX_BLOG_CAPTURE_H
#define _LINUX_BLOG_CAPTURE_H

#define __blog_list(...)		__VA_ARGS__

/*
 * printk.h includes this file, so a configuration symbol here would compile nearly every file anew
 * when it changes. blog_call.h has them.
 */
#ifdef BLOG_CAPTURE
#include <linux/blog_call.h>
#include <linux/ratelimit_types.h>
#endif

#if defined(BLOG_CAPTURE) && defined(__BLOG_CALLS)

#define __blog_captured		CONCATENATE(blog_captured_, __KBUILD_MODNAME)

/* All files of a module define it, and the linker takes the first one. */
extern struct blog_component __blog_captured;
__BLOG_COMPONENT(__weak, __blog_captured, .name = KBUILD_MODNAME, .level = BLOG_DEBUG);

/**
 * blog_capture - record a call, and print it if it is to be printed
 * @print:	whether it is to be printed
 * @func:	what prints, one of those that have a __blog_capture_... below
 *
 * What @func is called with follows.
 */
#define blog_capture(print, func, ...)						\
	CONCATENATE(__blog_capture_, func)(print, true, __VA_ARGS__)

/**
 * blog_capture_limited - the same, for a call that prints not too often
 * @print:	whether it is to be printed now
 * @func:	what prints
 *
 * Records have the same limit, by a count of their own. At the level trace, the
 * component has none.
 */
#define blog_capture_limited(print, func, ...)					\
do {										\
	/* By the flag, it prints nothing of how many it holds back. */		\
	static struct ratelimit_state __blog_limit =				\
		RATELIMIT_STATE_INIT_FLAGS(__blog_limit, DEFAULT_RATELIMIT_INTERVAL, \
					   DEFAULT_RATELIMIT_BURST,		\
					   RATELIMIT_MSG_ON_RELEASE);		\
										\
	CONCATENATE(__blog_capture_, func)(print,				\
		READ_ONCE(__blog_captured.threshold) > BLOG_TRACE ||		\
		__ratelimit(&__blog_limit), __VA_ARGS__);			\
} while (0)

/**
 * blog_capture_call - the same, for the macro or function of a subsystem
 * @print:	whether it is to be printed: a test of the subsystem's mask, for instance
 * @class:	what the subsystem calls this kind of message: a bit of that mask, as text
 * @func:	what prints; it is called with @fmt and what follows that
 * @fmt:	the message, with printk's formats
 *
 * blog_capture_with() is for an @func that has other arguments before @fmt. They
 * are evaluated if it prints.
 */
#define blog_capture_call(print, class, func, fmt, ...)				\
	blog_capture_with(print, class, __blog_capture_print, (func), fmt, ##__VA_ARGS__)
#define blog_capture_with(print, class, func, with, fmt, ...)			\
	__blog_capture(print, true, class, __COUNTER__, fmt, #__VA_ARGS__, , (0), \
		       func, with, fmt, ##__VA_ARGS__)
#define __blog_capture_print(func, ...)	func(__VA_ARGS__)

#define __blog_capture___dynamic_pr_debug(print, may, desc, fmt, ...)		\
	__blog_capture(print, may, "", __COUNTER__, fmt, #__VA_ARGS__, , (0),	\
		       __dynamic_pr_debug, (desc), fmt, ##__VA_ARGS__)

#define __blog_capture___dynamic_dev_dbg(print, may, desc, dev, fmt, ...)	\
	__blog_capture_device(print, may, "", const struct device *, dev,	\
			      dev_name(__blog_dev), "(NULL device *)",		\
			      __dynamic_dev_dbg, (desc, __blog_dev), fmt, ##__VA_ARGS__)

#define __blog_capture___dynamic_netdev_dbg(print, may, desc, dev, fmt, ...)	\
	__blog_capture_device(print, may, "", const struct net_device *, dev,	\
			      netdev_name(__blog_dev), "(NULL net_device)",	\
			      __dynamic_netdev_dbg, (desc, __blog_dev), fmt, ##__VA_ARGS__)

#define __blog_capture___dynamic_ibdev_dbg(print, may, desc, dev, fmt, ...)	\
	__blog_capture_device(print, may, "", const struct ib_device *, dev,	\
			      dev_name(&__blog_dev->dev), "(NULL ib_device)",	\
			      __dynamic_ibdev_dbg, (desc, __blog_dev), fmt, ##__VA_ARGS__)

#define __blog_capture___drm_dev_dbg(print, may, desc, dev, cat, fmt, ...)	\
	__blog_capture_device(print, may, #cat, const struct device *, dev,	\
			      dev_name(__blog_dev), "drm",			\
			      __drm_dev_dbg, (desc, __blog_dev, cat), fmt, ##__VA_ARGS__)

#define __blog_capture_drm_dev_printk(print, may, dev, level, fmt, ...)		\
	__blog_capture_device(print, may, "", const struct device *, dev,	\
			      dev_name(__blog_dev), "drm",			\
			      drm_dev_printk, (__blog_dev, level), fmt, ##__VA_ARGS__)

/* A message that is stored with the name of a device before it */
#define __blog_capture_device(print, may, class, type, dev, name, none, func, with, fmt, ...) \
	__blog_capture(print, may, class, __COUNTER__, "%s: " fmt,		\
		       __stringify(device, ##__VA_ARGS__),			\
		       type __blog_dev = (dev);, (0, __blog_dev ? name : none),	\
		       func, with, fmt, ##__VA_ARGS__)

/*
 * @print:	whether to print it
 * @may:	whether to store it, if it logs
 * @class:	what the subsystem calls this kind of message
 * @format, @arguments: as the driver wrote them, as strings
 * @let:	declares what @named and @with use
 * @named:	what is stored before the arguments, after a 0, in parentheses
 * @func, @with: what prints, and what it has before @fmt, in parentheses
 */
#define __blog_capture(print, may, class, id, format, arguments, let, named, func, with, fmt, ...) \
	__blog_captured_call(__blog_count(0, ##__VA_ARGS__), print, may, class, id, \
			     __stringify(format), arguments, let, named, func, with, fmt, \
			     ##__VA_ARGS__)
#define __blog_captured_call(n, print, may, class, id, format, arguments, let, named, func, \
			     with, fmt, ...)					\
do {										\
	__blog_declare(id);							\
	bool __blog_prints = print, __blog_stores = false;			\
										\
	__blog_define(BLOG_DEBUG, id, format, arguments,			\
		      __blog_many(__blog_list named, ##__VA_ARGS__), 1, class);	\
	if (__blog_logs(__blog_captured, id))					\
		__blog_stores = may;						\
	if (__blog_stores || __blog_prints) {					\
		let								\
		CONCATENATE(__blog_each_, n)(__blog_let, ##__VA_ARGS__);	\
										\
		if (__blog_stores)						\
			__blog_store(__blog_captured, id, __blog_list named	\
				     CONCATENATE(__blog_each_, n)(__blog_got, ##__VA_ARGS__)); \
		if (__blog_prints)						\
			func(__blog_list with, fmt				\
			     CONCATENATE(__blog_each_, n)(__blog_got, ##__VA_ARGS__)); \
	}									\
} while (0)

/*
 * Arguments as variables, which have their values once. The comma makes pointers of arrays, and
 * numbers of bit fields.
 */
#define __blog_let(i, value)		; __auto_type __blog_arg_##i = ((void)0, (value))
#define __blog_got(i, value)		, __blog_arg_##i
#define __blog_each_0(f)
#define __blog_each_1(f, a)		f(1, a)
#define __blog_each_2(f, a, ...)	f(2, a) __blog_each_1(f, __VA_ARGS__)
#define __blog_each_3(f, a, ...)	f(3, a) __blog_each_2(f, __VA_ARGS__)
#define __blog_each_4(f, a, ...)	f(4, a) __blog_each_3(f, __VA_ARGS__)
#define __blog_each_5(f, a, ...)	f(5, a) __blog_each_4(f, __VA_ARGS__)
#define __blog_each_6(f, a, ...)	f(6, a) __blog_each_5(f, __VA_ARGS__)
#define __blog_each_7(f, a, ...)	f(7, a) __blog_each_6(f, __VA_ARGS__)
#define __blog_each_8(f, a, ...)	f(8, a) __blog_each_7(f, __VA_ARGS__)
#define __blog_each_9(f, a, ...)	f(9, a) __blog_each_8(f, __VA_ARGS__)
#define __blog_each_10(f, a, ...)	f(10, a) __blog_each_9(f, __VA_ARGS__)
#define __blog_each_11(f, a, ...)	f(11, a) __blog_each_10(f, __VA_ARGS__)
#define __blog_each_12(f, a, ...)	f(12, a) __blog_each_11(f, __VA_ARGS__)
#define __blog_each_13(f, a, ...)	f(13, a) __blog_each_12(f, __VA_ARGS__)
#define __blog_each_14(f, a, ...)	f(14, a) __blog_each_13(f, __VA_ARGS__)
#define __blog_each_15(f, a, ...)	f(15, a) __blog_each_14(f, __VA_ARGS__)
#define __blog_each_16(f, a, ...)	f(16, a) __blog_each_15(f, __VA_ARGS__)
#define __blog_each_17(f, a, ...)	f(17, a) __blog_each_16(f, __VA_ARGS__)
#define __blog_each_18(f, a, ...)	f(18, a) __blog_each_17(f, __VA_ARGS__)
#define __blog_each_19(f, a, ...)	f(19, a) __blog_each_18(f, __VA_ARGS__)
#define __blog_each_20(f, a, ...)	f(20, a) __blog_each_19(f, __VA_ARGS__)
#define __blog_each_21(f, a, ...)	f(21, a) __blog_each_20(f, __VA_ARGS__)
#define __blog_each_22(f, a, ...)	f(22, a) __blog_each_21(f, __VA_ARGS__)
#define __blog_each_23(f, a, ...)	f(23, a) __blog_each_22(f, __VA_ARGS__)
#define __blog_each_24(f, a, ...)	f(24, a) __blog_each_23(f, __VA_ARGS__)
#define __blog_each_25(f, a, ...)	f(25, a) __blog_each_24(f, __VA_ARGS__)
#define __blog_each_26(f, a, ...)	f(26, a) __blog_each_25(f, __VA_ARGS__)
#define __blog_each_27(f, a, ...)	f(27, a) __blog_each_26(f, __VA_ARGS__)
#define __blog_each_28(f, a, ...)	f(28, a) __blog_each_27(f, __VA_ARGS__)
#define __blog_each_29(f, a, ...)	f(29, a) __blog_each_28(f, __VA_ARGS__)
#define __blog_each_30(f, a, ...)	f(30, a) __blog_each_29(f, __VA_ARGS__)
#define __blog_each_31(f, a, ...)	f(31, a) __blog_each_30(f, __VA_ARGS__)

#else

#define blog_capture(print, func, ...)						\
do {										\
	if (print)								\
		func(__VA_ARGS__);						\
} while (0)
#define blog_capture_limited		blog_capture
#define blog_capture_call(print, class, ...)	blog_capture(print, __VA_ARGS__)
#define blog_capture_with(print, class, func, with, ...)			\
do {										\
	if (print)								\
		func(__blog_list with, __VA_ARGS__);				\
} while (0)

#endif

#endif /* _LINUX_BLOG_CAPTURE_H */
