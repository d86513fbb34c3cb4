// SPDX-License-Identifier: GPL-2.0
/*
 * Last words: when they are due, and how they are packed and printed. What they
 * say is in mod.rs.
 */

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/kdebug.h>
#include <linux/moduleparam.h>
#include <linux/notifier.h>
#include <linux/panic_notifier.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <linux/zlib.h>

#include "../../sys/params.h"
#include "words.h"

/* As Why of format.rs numbers them. */
enum { BLOG_PANIC, BLOG_OOPS, BLOG_HANG };

static int blog_parse_events(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 0, 7);
}

BLOG_PARAM_OPS(last_words, blog_parse_events, param_get_uint);

static unsigned int blog_last_words_mask = BIT(BLOG_PANIC);
module_param_cb(last_words, &blog_last_words_ops, &blog_last_words_mask, 0644);
MODULE_PARM_DESC(last_words, "Print the last records to the kernel's log: 1 at a panic, 2 at an oops, 4 for a task that hangs, or a sum of these (default 1)");

#define BLOG_AN_HOUR RATELIMIT_STATE_INIT(blog_words_limits, 3600 * HZ, 3)

static struct ratelimit_state blog_words_limits[] = { BLOG_AN_HOUR, BLOG_AN_HOUR, BLOG_AN_HOUR };

/* Whether such events are wanted, and there were not too many before. */
bool blog_words_due(u32 why)
{
	return READ_ONCE(blog_last_words_mask) & BIT(why) && __ratelimit(&blog_words_limits[why]);
}

/* After blog_panic(), and before what may end the machine without a word. */
static int blog_words_panic(struct notifier_block *nb, unsigned long event, void *msg)
{
	blog_last_words(BLOG_PANIC, current);
	return NOTIFY_DONE;
}

static struct notifier_block blog_words_panic_nb = {
	.notifier_call = blog_words_panic,
	.priority = INT_MAX,
};

static int blog_words_died(struct notifier_block *nb, unsigned long event, void *args)
{
	if (event == DIE_OOPS)
		blog_last_words(BLOG_OOPS, current);
	return NOTIFY_DONE;
}

static struct notifier_block blog_words_die_nb = { .notifier_call = blog_words_died };

void blog_words_start(void)
{
	/* Neither fails: each is registered once. */
	atomic_notifier_chain_register(&panic_notifier_list, &blog_words_panic_nb);
	register_die_notifier(&blog_words_die_nb);
}

/* There are 4 KiB at most to pack at a time. */
#define BLOG_WINDOW_BITS 12
#define BLOG_MEM_LEVEL	 5

/* Bytes that blog_pack() needs to work. */
size_t blog_pack_room(void)
{
	return zlib_deflate_workspacesize(-BLOG_WINDOW_BITS, BLOG_MEM_LEVEL);
}

/*
 * Packs bytes as raw deflate; returns the length, 0 where that is more than @size.
 * Any context: it only computes.
 */
size_t blog_pack(void *room, const void *from, size_t len, void *to, size_t size)
{
	struct z_stream_s stream = {
		.workspace = room,
		.next_in = from,
		.avail_in = len,
		.next_out = to,
		.avail_out = size,
	};

	if (zlib_deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -BLOG_WINDOW_BITS,
			      BLOG_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		return 0;
	return zlib_deflate(&stream, Z_FINISH) == Z_STREAM_END ? stream.total_out : 0;
}

/* Who looks at a panic or an oops has all levels on the console; a hang is an error. */
void blog_words_print(const char *line, u32 len)
{
	pr_err("%.*s\n", (int)len, line);
}
