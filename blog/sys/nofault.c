// SPDX-License-Identifier: GPL-2.0
/* Memory that may be unreadable is copied and hashed, in any context, with a key of this boot. */

#include <linux/cache.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/uaccess.h>

#include "nofault.h"

notrace bool blog_copy_nofault(void *dst, const void *src, size_t size)
{
	return !copy_from_kernel_nofault(dst, src, size);
}

/* Of this boot. */
static siphash_aligned_key_t blog_key __read_mostly;

/*
 * Draws it before anything can log. As random numbers can be guessed then, early in a boot, it is
 * drawn once more when they can't be. From main.rs, also about once a second.
 */
void blog_draw_key(void)
{
	static bool is_drawn, is_good;
	bool is_ready = rng_is_initialized();

	if (is_good || (is_drawn && !is_ready))
		return;
	get_random_bytes(&blog_key, sizeof(blog_key));
	is_drawn = true;
	is_good = is_ready;
}

/* The hash of memory that may be unreadable: then false. */
notrace bool blog_hash(const void *bytes, size_t len, u64 *hash)
{
	struct {
		u64 before;
		u8 bytes[56];
	} piece = {};
	size_t n;

	do {
		n = min(len, sizeof(piece.bytes));
		if (n && !blog_copy_nofault(piece.bytes, bytes, n))
			return false;
		piece.before = siphash(&piece, sizeof(piece.before) + n, &blog_key);
		bytes += n;
		len -= n;
	} while (len);
	*hash = piece.before;
	return true;
}
EXPORT_SYMBOL_GPL(blog_hash);

/*
 * The hash of a lock's address. No private argument has it, whatever its bytes are: those are
 * hashed after a 0. Else a user who can have a number logged as private could test a guess of the
 * address.
 */
u64 blog_hash_lock(unsigned long lock)
{
	const u64 words[] = { 1, lock };

	return siphash(words, sizeof(words), &blog_key);
}
