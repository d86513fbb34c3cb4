// SPDX-License-Identifier: GPL-2.0
/*
 * usage: as UID GID COMMAND...: runs a command as another user, of no other group
 */

#include <err.h>
#include <grp.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 4)
		errx(2, "usage: as UID GID COMMAND...");
	if (setgroups(0, NULL) || setgid(atoi(argv[2])) || setuid(atoi(argv[1])))
		err(1, "as %s:%s", argv[1], argv[2]);
	execvp(argv[3], argv + 3);
	err(127, "%s", argv[3]);
}
