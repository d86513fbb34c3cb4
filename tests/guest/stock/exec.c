// SPDX-License-Identifier: GPL-2.0
/*
 * exec PROGRAM: a thread that isn't its process's first one logs, and executes PROGRAM.
 * That is this program by another name, and without an argument: it logs and waits. So
 * the thread has the process's id from then on, and its own is nobody's.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* A task that makes a device of rnull logs. */
static void make_device(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/kernel/config/rnull/%s", name);
	if (mkdir(path, 0755))
		perror(path);
}

static void *run(void *program)
{
	make_device("by_thread");
	printf("guest: thread %d of %d\n", gettid(), getpid());
	fflush(stdout);
	execl(program, program, NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t made;

	if (argc == 1)
		make_device("by_program");
	else if (pthread_create(&made, NULL, run, argv[1]))
		return 1;
	for (;;)
		pause();
}
