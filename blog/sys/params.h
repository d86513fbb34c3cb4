/* SPDX-License-Identifier: GPL-2.0 */
/* Module parameters of BLog, in params.c and in parts. */

#ifndef BLOG_PARAMS_H
#define BLOG_PARAMS_H

#include <linux/module.h>
#include <linux/moduleparam.h>

/*
 * Calls what may allocate, and wait for others. All that sets or shows parameters would wait for
 * that, by kernel_param_lock(), and where BLog is built in, also those of others. The parameters
 * stay, as BLog does.
 */
#define blog_without_lock(call)                   \
	({                                        \
		int _ret;                         \
		kernel_param_unlock(THIS_MODULE); \
		_ret = call;                      \
		kernel_param_lock(THIS_MODULE);   \
		_ret;                             \
	})

/*
 * BLog starts with the default for a value that it doesn't understand, so that it records. Later
 * on, the write fails.
 */
int blog_param_result(const char *val, const struct kernel_param *kp, int ret);

/* Of a parameter that is a text */
int blog_parse_text(const char *val, const struct kernel_param *kp);

/* The parser also gets what has no value. */
#define BLOG_PARAM_OPS(name, parse, show, ...)                                       \
	static int blog_write_##name(const char *val, const struct kernel_param *kp) \
	{                                                                            \
		return blog_param_result(val, kp, parse(val, kp));                   \
	}                                                                            \
	static const struct kernel_param_ops blog_##name##_ops = {                   \
		.flags = KERNEL_PARAM_OPS_FL_NOARG,                                  \
		.set = blog_write_##name,                                            \
		.get = show,                                                         \
		__VA_ARGS__                                                          \
	}

#endif
