// SPDX-License-Identifier: GPL-2.0
/*
 * Writes texts at random to files of BLog, reads them, and maps them. Whatever
 *is written, the kernel goes on. Where the kernel has KCOV, it also tells which
 *code was reached.
 *
 * usage: random SEED SECONDS WORDS PCS FILE...
 *		WORDS has a word in each line. Addresses of the code that was
 *reached go to PCS.
 */

#include <fcntl.h>
#include <linux/kcov.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define COVER		  (64 << 10)
#define SEEN		  (256 << 10)
#define TEXT		  8192

static char *words[4096];
static unsigned int n_words;
static unsigned long *cover, seen[SEEN];
static const char separators[] = "\n ,=:;-+*?.\t\"'%";

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static unsigned int below(unsigned int n)
{
	return random() % n;
}

static void read_words(const char *path)
{
	char line[256];
	FILE *file = fopen(path, "r");

	if (!file)
		fail(path);
	while (n_words < ARRAY_SIZE(words) && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		words[n_words++] = strdup(line);
	}
	fclose(file);
}

/* What has been reached since the last time */
static void keep_cover(void)
{
	unsigned long n = cover ? __atomic_exchange_n(cover, 0, __ATOMIC_RELAXED) : 0;

	for (unsigned long i = 1; i <= n && i < COVER; i++) {
		unsigned int at = (cover[i] >> 1) % SEEN;

		for (unsigned int tries = 8; tries && seen[at] && seen[at] != cover[i]; tries--)
			at = (at + 1) % SEEN;
		seen[at] = cover[i];
	}
}

static void start_cover(void)
{
	int fd = open("/sys/kernel/debug/kcov", O_RDWR);

	if (fd < 0)
		return;
	cover = MAP_FAILED;
	if (!ioctl(fd, KCOV_INIT_TRACE, COVER))
		cover = mmap(NULL, COVER * sizeof(*cover), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			     0);
	if (cover == MAP_FAILED || ioctl(fd, KCOV_ENABLE, KCOV_TRACE_PC))
		fail("kcov");
}

/* A text that the file may have shown, or one of words, with some bytes changed */
static size_t text(int fd, char *to)
{
	size_t n = 0, room = 1 + below(below(16) ? 200 : TEXT - 32);

	if (!below(4)) {
		ssize_t got = pread(fd, to, room, 0);

		n = got > 0 ? got : 0;
	}
	while (n < room && below(12)) {
		n += snprintf(to + n, TEXT - n, "%.24s", words[below(n_words)]);
		if (below(3))
			to[n++] = separators[below(sizeof(separators) - 1)];
	}
	if (!below(8))
		for (unsigned int i = below(8); n && i; i--)
			to[below(n)] = random();
	return n;
}

static void step(const char *path)
{
	static char bytes[TEXT + 64];
	int fd = open(path, (below(4) ? O_RDWR : below(2) ? O_RDONLY : O_WRONLY) | O_NONBLOCK);
	struct pollfd waits = { .fd = fd, .events = POLLIN | POLLOUT };
	size_t size;
	void *at;

	if (fd < 0)
		return;
	for (unsigned int i = 1 + below(4); i; i--) {
		switch (below(8)) {
		case 0:
			read(fd, bytes, below(TEXT));
			break;
		case 1:
			pread(fd, bytes, below(TEXT), below(2) ? below(TEXT) : random() << 20);
			break;
		case 2:
			poll(&waits, 1, 0);
			break;
		case 3:
			size = below(64) << 12;
			at = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
			if (at != MAP_FAILED)
				munmap(at, size);
			break;
		default:
			write(fd, bytes, text(fd, bytes));
		}
	}
	close(fd);
}

int main(int argc, char **argv)
{
	struct timespec now;
	time_t end;
	FILE *pcs;

	if (argc < 6)
		return 2;
	srandom(atoi(argv[1]));
	read_words(argv[3]);
	start_cover();
	clock_gettime(CLOCK_MONOTONIC, &now);
	end = now.tv_sec + atoi(argv[2]);
	for (; now.tv_sec < end; clock_gettime(CLOCK_MONOTONIC, &now)) {
		step(argv[5 + below(argc - 5)]);
		keep_cover();
	}
	pcs = fopen(argv[4], "a");
	if (!pcs)
		fail(argv[4]);
	for (unsigned int i = 0; i < SEEN; i++)
		if (seen[i])
			fprintf(pcs, "%#lx\n", seen[i]);
	return fclose(pcs) ? 1 : 0;
}
