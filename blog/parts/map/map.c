// SPDX-License-Identifier: GPL-2.0
/* A file that is mapped, and nothing else. */

#include <linux/fs.h>
#include <linux/mm.h>

#include "../../sys/glue.h"
#include "map.h"

static int blog_map_mmap(struct file *file, struct vm_area_struct *area)
{
	if (area->vm_flags & (VM_WRITE | VM_EXEC))
		return -EINVAL;
	vm_flags_mod(area, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP | VM_MIXEDMAP,
		     VM_MAYWRITE | VM_MAYEXEC);
	return blog_map(file->private_data, area, area->vm_pgoff, vma_pages(area));
}

/* Debugfs opens no file with mmap() under lockdown. */
const struct file_operations blog_map_fops = {
	.open = blog_file_open,
	.release = blog_file_release,
	.mmap = blog_map_mmap,
};

/* Maps a page in the @n th place. */
int blog_area_insert(struct vm_area_struct *area, unsigned long n, struct page *page)
{
	return vm_insert_page(area, area->vm_start + n * PAGE_SIZE, page);
}

/* A single page, for a process that maps it; it counts as a user of that. */
struct page *blog_page_get(void *at)
{
	struct page *page = virt_to_page(at);

	get_page(page);
	return page;
}

void blog_page_put(struct page *page)
{
	put_page(page);
}
