// SPDX-License-Identifier: GPL-2.0
/*
 * Logs to the component of another module when it is loaded.
 */

#include <linux/blog.h>
#include <linux/module.h>

#include "blog_owner.h"

static unsigned int records = 1000;
module_param(records, uint, 0444);
MODULE_PARM_DESC(records, "How many to log (default 1000)");

static int __init blog_borrower_init(void)
{
	unsigned int i;

	for (i = 0; i < records; i++)
		blog_log(blog_owner, "number %u", i);
	return 0;
}
module_init(blog_borrower_init);

static void __exit blog_borrower_exit(void)
{
}
module_exit(blog_borrower_exit);

MODULE_DESCRIPTION("BLog test: logs to a component of another module");
MODULE_LICENSE("GPL");
