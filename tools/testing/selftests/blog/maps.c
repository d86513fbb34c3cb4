// SPDX-License-Identifier: GPL-2.0
/*
 * A process that maps the memory of a component. It knows
 * the start of the meta page only: it checks what system calls on the file do,
 * and that memory stays readable, whatever happens to the component.
 *
 * usage: maps calls MAP
 *		checks system calls
 *	  maps hold MAP STOP
 *		maps all there is, and reads it again and again until STOP exists;
 *		then prints its generation
 *	  maps error MAP
 *		prints the name of the error of a mapping of one page, or "none"
 */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest.h"

#define PAGE 4096

/* The start of struct Meta of blog/parts/map/format.rs. */
struct meta {
	char magic[8];
	unsigned int version;
	unsigned int size;
	unsigned int wire_version;
	unsigned int page_size;
	unsigned int rings_at;
	unsigned int rings;
	unsigned int pages;
	unsigned int generation;
};

static void check(bool holds, const char *name)
{
	if (holds)
		ksft_test_result_pass("%s\n", name);
	else
		ksft_test_result_fail("%s: %s\n", name, strerror(errno));
}

static bool fails(void *at, int error)
{
	if (at != MAP_FAILED) {
		errno = 0;
		return false;
	}
	return errno == error;
}

static int open_or_die(const char *path, int flags)
{
	int fd = open(path, flags);

	if (fd < 0)
		ksft_exit_fail_perror(path);
	return fd;
}

static const struct meta *map(int fd, size_t *len)
{
	const struct meta *meta = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	void *all;

	if (meta == MAP_FAILED)
		ksft_exit_fail_perror("mmap");
	*len = (1 + meta->pages) * PAGE;
	all = mmap(NULL, *len, PROT_READ, MAP_SHARED, fd, 0);
	munmap((void *)meta, PAGE);
	return all;
}

/* Whether a child process hasn't got this. */
static bool is_of_us_alone(const void *at)
{
	int pipes[2], status;
	pid_t child;

	if (pipe(pipes))
		ksft_exit_fail_perror("pipe");
	child = fork();
	if (!child)
		_exit(write(pipes[1], (const void *)at, 1) < 0 && errno == EFAULT);
	return child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 1;
}

static int calls(const char *path)
{
	int fd = open_or_die(path, O_RDONLY), both = open_or_die(path, O_RDWR), mem;
	const struct meta *meta;
	char byte = 0;
	size_t len;

	check(read(fd, &byte, 1) < 0 && errno == EINVAL, "it isn't for read()");
	meta = map(fd, &len);
	if (meta == MAP_FAILED)
		ksft_exit_fail_perror("mmap");
	bool known = !memcmp((const void *)meta->magic, "BLOG_MAP", 8) && meta->version == 3;

	check(known && meta->page_size == PAGE && meta->generation, "there is a meta page");
	check(fails(mmap(NULL, len + PAGE, PROT_READ, MAP_SHARED, fd, 0), EINVAL),
	      "there is no more than it says");
	check(fails(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, len), EINVAL), "nor after that");
	check(fails(mmap(NULL, 1UL << 46, PROT_READ, MAP_SHARED, fd, 0), EINVAL),
	      "nor as much as there can't be");
	check(fails(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, (off_t)1 << 62), EINVAL),
	      "nor so far away");
	check(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, len - PAGE) != MAP_FAILED,
	      "a part is mapped");
	check(fails(mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), EACCES),
	      "it can't be written");
	check(fails(mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, both, 0), EINVAL),
	      "even if it was opened for that");
	check(fails(mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE, both, 0), EINVAL),
	      "nor as a copy");
	check(fails(mmap(NULL, len, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0), EINVAL),
	      "nor executed");
	check(mprotect((void *)meta, len, PROT_READ | PROT_WRITE) < 0 && errno == EACCES,
	      "nor made writable later");
	check(mprotect((void *)meta, len, PROT_READ | PROT_EXEC) < 0 && errno == EACCES,
	      "nor executable");
	meta = mmap(NULL, len, PROT_READ, MAP_SHARED, both, 0);
	check(meta != MAP_FAILED && mprotect((void *)meta, len, PROT_READ | PROT_WRITE) < 0,
	      "nor in another way");
	mem = open_or_die("/proc/self/mem", O_RDWR);
	check(pread(mem, &byte, 1, (off_t)meta) == 1 && pwrite(mem, &byte, 1, (off_t)meta) < 0,
	      "nor by force");
	check(is_of_us_alone(meta), "a child has no part in it");
	check(mremap((void *)meta, len, len + PAGE, MREMAP_MAYMOVE) == MAP_FAILED,
	      "it doesn't grow");
	ksft_set_plan(ksft_test_num());
	ksft_finished();
}

static int hold(const char *path, const char *stop)
{
	int fd = open_or_die(path, O_RDONLY);
	const struct meta *meta;
	size_t len;

	meta = map(fd, &len);
	if (meta == MAP_FAILED)
		ksft_exit_fail_perror("mmap");
	while (access(stop, F_OK)) {
		const unsigned long *word = (const void *)meta;

		for (size_t i = 0; i < len / 8; i += 8)
			__atomic_load_n(word + i, __ATOMIC_RELAXED);
		usleep(10000);
	}
	printf("%u\n", __atomic_load_n(&meta->generation, __ATOMIC_ACQUIRE));
	return 0;
}

static int error(const char *path)
{
	int fd = open(path, O_RDONLY);
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	printf("%s\n", at == MAP_FAILED ? strerrorname_np(errno) : "none");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "calls"))
		return calls(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "hold"))
		return hold(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "error"))
		return error(argv[2]);
	return 2;
}
