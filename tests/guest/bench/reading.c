// SPDX-License-Identifier: GPL-2.0
/*
 * Reads a file to its end, or until there is nothing more to read, and prints one
 * line: NAME WAY STEP BYTES NS LONGEST. NS is what the system calls that read, and
 * those that write to OUT, have taken in all, LONGEST the slowest of the former.
 *
 * usage: reading NAME WAY STEP FILE [OUT]
 *	WAY is "read", or "splice" through a pipe of a MiB, for STEP bytes at a time;
 *	OUT is where that goes to, else nowhere. NAME "-": reads on for ever.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what)
{
	fprintf(stderr, "guest: reading: %s: %s\n", what, strerror(errno));
	exit(1);
}

static unsigned long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

int main(int argc, char **argv)
{
	unsigned long long bytes = 0, sum = 0, longest = 0;
	int from, to, spliced, pipes[2];
	size_t step;
	char *buf;

	if (argc < 5)
		return 2;
	spliced = !strcmp(argv[2], "splice");
	step = strtoul(argv[3], NULL, 0);
	from = open(argv[4], O_RDONLY | O_NONBLOCK);
	to = open(argc > 5 ? argv[5] : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	buf = malloc(step);
	if (from < 0 || to < 0 || !buf || pipe(pipes))
		die(argv[4]);
	if (spliced && fcntl(pipes[1], F_SETPIPE_SZ, 1 << 20) < 0)
		die("F_SETPIPE_SZ");
	/* So that no page of it comes with the first read. */
	memset(buf, 1, step);
	for (;;) {
		unsigned long long start = now(), took;
		ssize_t n = spliced ? splice(from, NULL, pipes[1], NULL, step, SPLICE_F_NONBLOCK) :
				      read(from, buf, step);

		if (n < 0 && errno != EAGAIN)
			die(argv[4]);
		if (n <= 0 && strcmp(argv[1], "-"))
			break;
		took = now() - start;
		sum += took;
		if (took > longest)
			longest = took;
		if (n <= 0) {
			usleep(1000);
			continue;
		}
		bytes += n;
		/* Reads that go nowhere end here, as the other calls would only be in the way. */
		if (!spliced && argc <= 5)
			continue;
		start = now();
		for (ssize_t done = 0; done < n;) {
			ssize_t m = spliced ? splice(pipes[0], NULL, to, NULL, n - done, 0) :
					      write(to, buf + done, n - done);

			if (m <= 0)
				die("writing");
			done += m;
		}
		if (argc > 5)
			sum += now() - start;
	}
	printf("%s %s %zu %llu %llu %llu\n", argv[1], argv[2], step, bytes, sum, longest);
	return 0;
}
