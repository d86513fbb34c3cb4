// SPDX-License-Identifier: GPL-2.0
/* What of the crate blog_kernel drivers may call: as the kernel does with its own. */

#include <linux/export.h>

#include "exports_generated.h"

/* Each driver refers to it: one that was built for another BLog is not loaded. */
extern const char BLOG_ABI;
const char BLOG_ABI;
EXPORT_SYMBOL_GPL(BLOG_ABI);
