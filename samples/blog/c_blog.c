// SPDX-License-Identifier: GPL-2.0
/*
 * Binary logging sample in C, a driver of an imaginary disk. The sample in Rust,
 * samples/rust/rust_blog.rs, shows more.
 */

#include <linux/blog.h>
#include <linux/err.h>
#include <linux/module.h>

BLOG_COMPONENT(c_blog, .size_kb = 256, .level = BLOG_DEBUG);

static int read_sectors(u64 sector, u32 bytes)
{
	blog_log(c_blog, "read %u bytes at sector %llu", bytes, sector);
	if (bytes % 512) {
		blog_err(c_blog, "not whole sectors: %pe", ERR_PTR(-EINVAL));
		return -EINVAL;
	}
	blog_debug(c_blog, "%u sectors for %s", bytes / 512, current->comm);
	return 0;
}

static int __init c_blog_init(void)
{
	u64 sector;

	for (sector = 0; sector < 64; sector += 8)
		read_sectors(sector, 4096);
	read_sectors(sector, 100);
	return 0;
}
module_init(c_blog_init);

static void __exit c_blog_exit(void)
{
	blog_info(c_blog, "bye");
}
module_exit(c_blog_exit);

MODULE_DESCRIPTION("C binary logging sample");
MODULE_LICENSE("GPL");
