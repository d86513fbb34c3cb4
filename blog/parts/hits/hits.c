// SPDX-License-Identifier: GPL-2.0
/* The parameter of counts by call site: see mod.rs. */

#include <linux/moduleparam.h>

#include "../../sys/params.h"
#include "hits.h"

BLOG_PARAM_OPS(counts, param_set_bool, param_get_bool);

bool blog_param_counts;
module_param_cb(counts, &blog_counts_ops, &blog_param_counts, 0444);
MODULE_PARM_DESC(counts, "Count the records of each call site (default 0)");
