// SPDX-License-Identifier: GPL-2.0
/*
 * Loads a kernel that takes over when this one crashes.
 *
 * usage: kexec-load KERNEL INITRD COMMAND-LINE
 */

#include <fcntl.h>
#include <linux/kexec.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int kernel, initrd;

	if (argc != 4) {
		fprintf(stderr, "usage: kexec-load KERNEL INITRD COMMAND-LINE\n");
		return 2;
	}
	kernel = open(argv[1], O_RDONLY);
	initrd = open(argv[2], O_RDONLY);
	if (kernel < 0 || initrd < 0) {
		perror("open");
		return 1;
	}
	if (syscall(SYS_kexec_file_load, kernel, initrd, strlen(argv[3]) + 1, argv[3],
		    (unsigned long)KEXEC_FILE_ON_CRASH)) {
		perror("kexec_file_load");
		return 1;
	}
	return 0;
}
