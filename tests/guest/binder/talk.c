// SPDX-License-Identifier: GPL-2.0
/* Talks over Binder: a server and clients that are processes of their own. */

#include <err.h>
#include <fcntl.h>
#include <linux/android/binder.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define USAGE "usage: talk DEVICE SERVER-THREADS CLIENTS CALLS\n"

/* An open device, and commands that wait to be written. */
struct talk {
	int fd;
	size_t used;
	char commands[512];
};

static int open_binder(const char *device)
{
	int fd = open(device, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		err(1, "%s", device);
	if (mmap(NULL, 256 << 10, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		err(1, "mmap");
	return fd;
}

/* For a thread of its own. */
static void put(struct talk *talk, __u32 command, const void *with)
{
	size_t size = _IOC_SIZE(command);

	if (talk->used + sizeof(command) + size > sizeof(talk->commands))
		errx(1, "too many commands");
	memcpy(talk->commands + talk->used, &command, sizeof(command));
	memcpy(talk->commands + talk->used + sizeof(command), with, size);
	talk->used += sizeof(command) + size;
}

/* Writes what waits; reads as well, if there is a buffer for it. Returns how much. */
static size_t swap(struct talk *talk, void *to, size_t size)
{
	struct binder_write_read bwr = {
		.write_buffer = (uintptr_t)talk->commands,
		.write_size = talk->used,
		.read_buffer = (uintptr_t)to,
		.read_size = size,
	};

	if (ioctl(talk->fd, BINDER_WRITE_READ, &bwr))
		err(1, "BINDER_WRITE_READ");
	if (bwr.write_consumed != talk->used)
		errx(1, "%llu of %zu bytes written", bwr.write_consumed, talk->used);
	talk->used = 0;
	return bwr.read_consumed;
}

static void put_call(struct talk *talk, __u32 command, __u32 code)
{
	static const char text[] = "twelve bytes";
	struct binder_transaction_data data = {
		.code = code,
		.data_size = sizeof(text) - 1,
		.data.ptr.buffer = (uintptr_t)text,
	};

	put(talk, command, &data);
}

/*
 * Reads until a command has come, and does what any thread must do for those before. What came
 * with it is in *with, if that is not NULL.
 */
static void await(struct talk *talk, __u32 wanted, void *with)
{
	for (int found = 0; !found;) {
		char said[512], *at = said, *end = said + swap(talk, said, sizeof(said));

		while (at < end) {
			__u32 command;

			memcpy(&command, at, sizeof(command));
			at += sizeof(command);
			if (command == wanted) {
				found = 1;
				if (with)
					memcpy(with, at, _IOC_SIZE(command));
			} else if (command == BR_INCREFS) {
				put(talk, BC_INCREFS_DONE, at);
			} else if (command == BR_ACQUIRE) {
				put(talk, BC_ACQUIRE_DONE, at);
			} else if (command != BR_NOOP && command != BR_TRANSACTION_COMPLETE &&
				   command != BR_SPAWN_LOOPER) {
				errx(1, "command %#x instead of %#x", command, wanted);
			}
			at += _IOC_SIZE(command);
		}
	}
}

static void *serve(void *fd)
{
	struct talk talk = { .fd = (intptr_t)fd };
	struct binder_transaction_data data;

	put(&talk, BC_ENTER_LOOPER, NULL);
	for (;;) {
		await(&talk, BR_TRANSACTION, &data);
		put_call(&talk, BC_REPLY, data.code + 1);
		put(&talk, BC_FREE_BUFFER, &data.data.ptr.buffer);
	}
	return NULL;
}

static void call(const char *device, unsigned int calls)
{
	struct talk talk = { .fd = open_binder(device) };
	struct binder_transaction_data data;

	for (unsigned int i = 0; i < calls; i++) {
		put_call(&talk, BC_TRANSACTION, i);
		await(&talk, BR_REPLY, &data);
		if (data.code != i + 1)
			errx(1, "%u answered by %u", i, data.code);
		put(&talk, BC_FREE_BUFFER, &data.data.ptr.buffer);
	}
	swap(&talk, NULL, 0);
}

/* A process that is the context's manager, and serves with so many threads. */
static pid_t start_server(const char *device, unsigned int threads)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready))
		err(1, "pipe");
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		intptr_t fd = open_binder(device);
		__u32 zero = 0;

		prctl(PR_SET_NAME, "server");
		if (ioctl(fd, BINDER_SET_CONTEXT_MGR, &zero))
			err(1, "BINDER_SET_CONTEXT_MGR");
		if (write(ready[1], "", 1) != 1)
			err(1, "pipe");
		for (pthread_t thread; threads > 1; threads--)
			if (pthread_create(&thread, NULL, serve, (void *)fd))
				errx(1, "pthread_create");
		serve((void *)fd);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		errx(1, "no server");
	return pid;
}

static void end_server(pid_t server)
{
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
}

static int load(const char *device, unsigned int threads, unsigned int clients, unsigned int calls)
{
	pid_t server = start_server(device, threads);
	int failed = 0;

	for (unsigned int i = 0; i < clients; i++) {
		pid_t pid = fork();

		if (pid < 0)
			err(1, "fork");
		if (!pid) {
			call(device, calls);
			_exit(0);
		}
	}
	for (unsigned int i = 0; i < clients; i++) {
		int status;

		wait(&status);
		failed |= status;
	}
	/* Its side of the last replies is over once it waits again. */
	sleep(1);
	end_server(server);
	return !!failed;
}

int main(int argc, char **argv)
{
	if (argc == 5)
		return load(argv[1], atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
	fputs(USAGE, stderr);
	return 2;
}
