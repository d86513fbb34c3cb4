// SPDX-License-Identifier: GPL-2.0
/*
 * usage: addresses FILE...: prints for each file how many addresses of the kernel and its modules
 * are in it, at any place: numbers of 8 bytes between the first and the last symbol.
 * /proc/kallsyms must show those.
 */

#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* What lies around the symbols of modules */
#define AROUND 0x100000UL

/* Of the kernel, from _stext on, and of modules */
static struct range {
	unsigned long first, last;
} ranges[2] = { { -1UL, 0 }, { -1UL, 0 } };

static void find_ranges(void)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	unsigned long at, text = 0;
	char line[4096], name[512];

	while (file && fgets(line, sizeof(line), file)) {
		bool is_module = strchr(line, '[');
		struct range *range = ranges + is_module;

		if (sscanf(line, "%lx %*c %511s", &at, name) != 2)
			continue;
		if (!strcmp(name, "_stext"))
			text = at;
		/* Offsets in a CPU's memory come before the kernel's text and data. */
		if (!text && !is_module)
			continue;
		range->first = at < range->first ? at : range->first;
		range->last = at > range->last ? at : range->last;
	}
	if (!text)
		errx(1, "/proc/kallsyms has no addresses");
	ranges[0].first = text;
	if (ranges[1].last) {
		ranges[1].first -= AROUND;
		ranges[1].last += AROUND;
	}
}

static unsigned long count(const char *path)
{
	FILE *file = fopen(path, "r");
	unsigned long word = 0, found = 0;
	int byte, i;

	if (!file)
		err(1, "%s", path);
	while ((byte = fgetc(file)) != EOF) {
		word = word >> 8 | (unsigned long)byte << 56;
		for (i = 0; i < 2; i++)
			found += word >= ranges[i].first && word <= ranges[i].last;
	}
	fclose(file);
	return found;
}

int main(int argc, char **argv)
{
	int i;

	find_ranges();
	for (i = 1; i < argc; i++)
		printf("%lu\n", count(argv[i]));
	return 0;
}
