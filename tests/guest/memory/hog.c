// SPDX-License-Identifier: GPL-2.0
/*
 * Takes memory, in a guest, as user 1000:
 *
 *	hog leave KB SECONDS	until no more than that is available, and keeps it for so long
 *	hog touch MIB		so much
 *	hog node N MIB		so much, all of it on one NUMA node
 */

#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static long available_kb(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	char line[200];
	long kb = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %ld", &kb) == 1)
			break;
	if (file)
		fclose(file);
	return kb;
}

static int take_mib(void)
{
	char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return 0;
	memset(p, 1, 1 << 20);
	return 1;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	long mib = 0, most = 1L << 40;

	if (setgid(1000) || setuid(1000)) {
		perror("setuid");
		return 2;
	}
	if (!strcmp(what, "leave") && argc == 4) {
		while (available_kb() > atol(argv[2]) && take_mib())
			mib++;
		printf("hog: has %ld MiB, and leaves %ld KiB\n", mib, available_kb());
		fflush(stdout);
		sleep(atoi(argv[3]));
		return 0;
	}
	if (!strcmp(what, "node") && argc == 4) {
		unsigned long nodes = 1UL << atoi(argv[2]);

		if (syscall(SYS_set_mempolicy, MPOL_BIND, &nodes, 64)) {
			perror("set_mempolicy");
			return 2;
		}
		most = atol(argv[3]);
	} else if (!strcmp(what, "touch")) {
		most = atol(argv[2]);
	} else {
		fprintf(stderr, "hog: what?\n");
		return 2;
	}
	while (mib < most && take_mib())
		mib++;
	printf("hog: has %ld MiB\n", mib);
	return 0;
}
