/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions of the files in C here, and those of the kernel crate that they call. The file in Rust
 * beside each file in C declares the same.
 */

#ifndef BLOG_GLUE_H
#define BLOG_GLUE_H

#include <linux/blog.h>
#include <linux/types.h>

struct eventfs_inode;
struct file;
struct file_operations;
struct inode;
struct iov_iter;
struct kernel_param;
struct poll_table_struct;
struct task_struct;

/* tracepoint.c, for Rust and other files. */
int blog_tracepoint_attach(const char *name, void *probe, void *data);
void blog_tracepoint_detach(const char *name, void *probe, void *data);

/* The seam: hook.c or task_hook.c, with a pointer in task_struct and without. */
int blog_start_task_hook(void (*hook)(struct task_struct *tsk, bool freed));

/* In hook.c, which is built in; BLog for other kernels, out of the tree, has them otherwise. */
bool blog_shows_addresses(const struct file *file);
bool blog_boots_off(void);

/* What a kind of file is like; Shape of sys/tree.rs. */
enum blog_shape { BLOG_SHAPE_TEXT, BLOG_SHAPE_STREAM };

/*
 * What a kind of file does; struct FileKind of sys/tree.rs, a pointer to which is at the start of
 * what @open has made.
 */
struct blog_file_kind {
	enum blog_shape shape;
	int (*open)(unsigned long of, const struct file *file, void **opened);
	void (*release)(void *opened);
	ssize_t (*read)(const void *opened, const struct file *file, struct iov_iter *to,
			loff_t *at);
	int (*write)(const void *opened, const char *text, size_t size);
	u32 (*poll)(const void *opened, const struct file *file, struct poll_table_struct *table);
};

/* tree.c, for operations of other files. */
int blog_file_open(struct inode *inode, struct file *file);
int blog_file_release(struct inode *inode, struct file *file);

/* A kind of folder; Folder of sys/tree.rs. */
enum blog_folder { BLOG_FOLDER_TOP, BLOG_FOLDER_COMPONENT, BLOG_FOLDER_PART, BLOG_FOLDERS };

/* The most files of a folder. */
#define BLOG_FILES_MAX 24

/* A file of a folder. */
struct blog_file {
	const char *name;
	umode_t mode;
	const struct blog_file_kind *kind;
	const struct file_operations *fops;
};

/* In sys/tracefs.c, which is built in, for sys/tree.c: only in a kernel that has that. */
struct eventfs_inode *blog_tracefs_dir(enum blog_folder folder, const char *name,
				       struct eventfs_inode *in, const struct blog_file *files,
				       unsigned long of);
void blog_tracefs_remove(struct eventfs_inode *dir);

/* In C, for Rust. */
extern u8 blog_clock_is_counter;
u64 blog_local_clock(void);
void blog_file_add(enum blog_folder folder, const char *name, umode_t mode,
		   const struct blog_file_kind *kind, const struct file_operations *fops);
void *blog_dir_create(enum blog_folder folder, const char *name, void *in, unsigned long of);
void blog_dir_remove(void *dir);
const char *blog_file_name(const struct file *file);
int blog_may_open(void);
const char *blog_lacks(void);
void blog_uts(char names[3][64]);
u32 blog_param_max_kb(void);
bool blog_is_quiet(void);
void blog_params_start(int (*max_kb_changed)(void));
void blog_pause(void);
void *blog_pages_alloc(u32 count);
void blog_pages_free(void *pages);
bool blog_poll_wait(struct file *file, struct poll_table_struct *table);
void blog_wake_in(u32 ms);

/* For KUnit suites; some are in tests/. */
int blog_set_max_kb(u32 kb);
void blog_pretend_reclaim(bool begin);
unsigned long blog_free_kb(void);
char blog_state_letter(u32 state, u32 exit_state);
void blog_wake_cpus(void);

#endif
