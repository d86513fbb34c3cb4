// SPDX-License-Identifier: GPL-2.0
/*
 * A reader of stream files. It knows nothing of what is in a stream: it checks
 * what read(), poll() and signals do, how soon data is there, and copies streams
 * to files.
 *
 * usage: streams copy STREAM OUT STOP [BYTES [PAUSE-MS]]
 *		copies until STOP exists and nothing comes any more, in reads of
 *		BYTES, with a pause after each
 *	  streams cat STREAM OUT STOP
 *		the same with blocking reads, which a signal ends
 *	  streams splice STREAM OUT STOP
 *		the same by splice through the shortest pipe, first by tasks that are
 *		killed meanwhile, then with a signal every few milliseconds
 *	  streams rest STREAM OUT READY
 *		opens the stream, makes READY, and copies it to its end
 *	  streams calls STREAM DISK
 *		checks system calls; reading from DISK makes records
 *	  streams trigger FILE DISK FIRST LAST
 *		freezes a component by one of these sites, and waits for that
 *	  streams latency STREAM DISK MS
 *		are records there MS after they are logged, at most? STREAM may be
 *		"-", for what another program makes of it
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest.h"

static bool check(bool holds, const char *name, ...)
{
	char text[200];
	va_list args;

	va_start(args, name);
	vsnprintf(text, sizeof(text), name, args);
	va_end(args);
	ksft_test_result(holds, "%s\n", text);
	return holds;
}

/* The plan, which shows that this was reached, and the totals. */
static int finished(void)
{
	ksft_set_plan(ksft_test_num());
	ksft_finished();
}

static int open_or_die(const char *path, int flags)
{
	int fd = open(path, flags, 0600);

	if (fd < 0)
		ksft_exit_fail_perror(path);
	return fd;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void sleep_ms(int ms)
{
	usleep(ms * 1000);
}

static bool exists(const char *path)
{
	return !access(path, F_OK);
}

static void write_all(int fd, const char *buf, ssize_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, buf, n);

		if (done < 0)
			ksft_exit_fail_perror("write");
		buf += done;
		n -= done;
	}
}

/* Logs: two records, one from this task, one from an interrupt. */
static void log_some(const char *disk)
{
	static void *buf;
	int fd = open_or_die(disk, O_RDONLY | O_DIRECT);

	if (!buf && posix_memalign(&buf, 4096, 4096))
		ksft_exit_fail_perror("memory");
	if (pread(fd, buf, 4096, 0) != 4096)
		ksft_exit_fail_perror("disk");
	close(fd);
}

static int copy(const char *stream, const char *out, const char *stop, size_t step, int pause)
{
	int from = open_or_die(stream, O_RDONLY | O_NONBLOCK);
	int to = open_or_die(out, O_WRONLY | O_CREAT | O_TRUNC);
	char *buf = malloc(step);
	int quiet = 0;

	while (quiet < 3) {
		struct pollfd poll_fd = { .fd = from, .events = POLLIN };
		bool stopping = exists(stop);
		ssize_t n;

		if (poll(&poll_fd, 1, 200) < 0)
			ksft_exit_fail_perror("poll");
		n = read(from, buf, step);
		if (n < 0 && errno != EAGAIN)
			ksft_exit_fail_perror(stream);
		if (!n)
			break;
		if (n > 0)
			write_all(to, buf, n);
		quiet = n > 0 || !stopping ? 0 : quiet + 1;
		if (pause && !stopping)
			sleep_ms(pause);
	}
	return 0;
}

static void nothing(int sig)
{
}

/* A handler that makes system calls return, or start again. */
static void handle(int sig, int flags)
{
	struct sigaction action = { .sa_handler = nothing, .sa_flags = flags };

	if (sigaction(sig, &action, NULL))
		ksft_exit_fail_perror("sigaction");
}

/* An alarm from when there is nothing to do any more, again and again. */
static void alarm_ms(int ms)
{
	struct itimerval timer = {
		.it_value = { ms / 1000, ms % 1000 * 1000 },
		.it_interval = { ms / 1000, ms % 1000 * 1000 },
	};

	setitimer(ITIMER_REAL, &timer, NULL);
}

static int cat(const char *stream, const char *out, const char *stop)
{
	int from = open_or_die(stream, O_RDONLY);
	int to = open_or_die(out, O_WRONLY | O_CREAT | O_TRUNC);
	static char buf[65536];

	handle(SIGALRM, 0);
	alarm_ms(500);
	for (;;) {
		bool stopping = exists(stop);
		ssize_t n = read(from, buf, sizeof(buf));

		if (n < 0 && errno != EINTR)
			ksft_exit_fail_perror(stream);
		if (n < 0 && stopping)
			return 0;
		if (!n)
			return 0;
		if (n > 0)
			write_all(to, buf, n);
	}
}

/* Moves all that is in a pipe to a file. */
static void empty(int pipe, int to)
{
	int n;

	for (ioctl(pipe, FIONREAD, &n); n > 0; ioctl(pipe, FIONREAD, &n)) {
		if (splice(pipe, NULL, to, NULL, n, SPLICE_F_MOVE) < 0 && errno != EINTR)
			ksft_exit_fail_perror("splice to a file");
	}
}

static int splices(const char *stream, const char *out, const char *stop)
{
	int from = open_or_die(stream, O_RDONLY);
	int to = open_or_die(out, O_WRONLY | O_CREAT | O_TRUNC);
	struct pollfd poll_fd = { .fd = from, .events = POLLIN };
	int quiet = 0, i, p[2];

	if (pipe(p) || fcntl(p[1], F_SETPIPE_SZ, 4096) < 0)
		ksft_exit_fail_perror("pipe");
	for (i = 0; i < 20; i++) {
		pid_t child = fork();

		if (!child) {
			while (splice(from, NULL, p[1], NULL, 1 << 20, 0) > 0)
				empty(p[0], to);
			_exit(1);
		}
		sleep_ms(5 + i);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		empty(p[0], to);
	}
	handle(SIGALRM, 0);
	alarm_ms(5);
	while (quiet < 3) {
		bool stopping = exists(stop);
		ssize_t n;

		if (poll(&poll_fd, 1, 200) < 0 && errno != EINTR)
			ksft_exit_fail_perror("poll");
		n = splice(from, NULL, p[1], NULL, 1 << 20, SPLICE_F_NONBLOCK);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			ksft_exit_fail_perror(stream);
		if (!n)
			break;
		quiet = n > 0 || !stopping ? 0 : quiet + (errno == EAGAIN);
		empty(p[0], to);
	}
	return 0;
}

static int rest(const char *stream, const char *out, const char *ready)
{
	int from = open_or_die(stream, O_RDONLY);
	int to = open_or_die(out, O_WRONLY | O_CREAT | O_TRUNC);
	struct pollfd poll_fd = { .fd = from, .events = POLLIN };
	char buf[512];
	ssize_t n;

	close(open_or_die(ready, O_WRONLY | O_CREAT));
	while ((n = read(from, buf, sizeof(buf))) > 0)
		write_all(to, buf, n);
	check(!n, "the stream of a removed component ends");
	check(!read(from, buf, sizeof(buf)), "and has ended for good");
	check(poll(&poll_fd, 1, 0) == 1 && poll_fd.revents & POLLHUP, "poll says so");
	return finished();
}

/*
 * Reads until there is nothing; returns how many bytes there were. How often it is called
 * depends on time, so it is a test of its own only where it fails.
 */
static size_t drain(int fd, size_t step)
{
	static char buf[65536];
	size_t sum = 0;
	ssize_t n;

	while ((n = read(fd, buf, step)) > 0)
		sum += n;
	if (n == 0 || errno != EAGAIN)
		check(false, "reads of %zu end with EAGAIN after %zu bytes", step, sum);
	return sum;
}

/* A read to an address that isn't there; the compiler doesn't look through it. */
static ssize_t read_nowhere(int fd)
{
	return syscall(SYS_read, fd, 16L, 100L);
}

/*
 * Opens a stream and reads as many bytes as another one began with; 0 if two
 * never begin alike. A record that comes between the two reads changes what
 * the second one gives, so both are tried again.
 */
static ssize_t beginning(const char *stream, char *to, size_t size, int *fd)
{
	ssize_t n = 0;
	int i;

	for (i = 0; i < 50; i++) {
		*fd = open_or_die(stream, O_RDONLY | O_NONBLOCK);
		n = read(*fd, to, size);
		close(*fd);
		*fd = open_or_die(stream, O_RDONLY | O_NONBLOCK);
		if (n > 0 && read(*fd, to, n) == n)
			return n;
		close(*fd);
		usleep(100000);
	}
	*fd = open_or_die(stream, O_RDONLY | O_NONBLOCK);
	return 0;
}

static int calls(const char *stream, const char *disk)
{
	int fd = open_or_die(stream, O_RDONLY | O_NONBLOCK);
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	static char a[65536];
	double start;
	pid_t child;
	int epoll, other, i, p[2];
	ssize_t n;

	check(drain(fd, 65536) > 0, "a stream begins with what there is");
	/* The last requests on the disk may not be done yet. */
	for (i = 0; i < 100 && poll(&poll_fd, 1, 200) > 0; i++)
		drain(fd, 65536);
	check(lseek(fd, 0, SEEK_SET) < 0 && errno == ESPIPE, "a stream can't be sought in");
	check(write(fd, "x", 1) < 0, "nothing can be written to it");
	check(!read(fd, a, 0), "nothing is read into no space");
	check(read_nowhere(fd) < 0 && errno == EAGAIN, "a bad address alone is no error");
	check(poll(&poll_fd, 1, 100) == 0, "poll waits while nothing is logged");

	log_some(disk);
	check(read_nowhere(fd) < 0 && errno == EFAULT, "a bad address is");
	check(poll(&poll_fd, 1, 0) == 1, "and loses nothing");
	check(drain(fd, 1) > 0, "a stream can be read byte by byte");

	/* A read that ends with the last ring, but not with the pass through all. */
	n = beginning(stream, a, sizeof(a), &other);
	check(n > 0, "two streams begin with the same number of bytes");
	log_some(disk);
	check(read(other, a, sizeof(a)) > 0, "a read gives all that was logged before it");
	close(other);
	drain(fd, 65536);

	epoll = epoll_create1(0);
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		ksft_exit_fail_perror("epoll_ctl");
	while (epoll_wait(epoll, &event, 1, 100) > 0)
		drain(fd, 65536);
	log_some(disk);
	check(epoll_wait(epoll, &event, 1, 5000) == 1, "epoll is woken, edge-triggered");
	check(drain(fd, 65536) > 0, "and finds data");
	close(epoll);

	/* Splice, which doesn't wait either. */
	if (pipe(p))
		ksft_exit_fail_perror("pipe");
	check(splice(fd, NULL, p[1], NULL, 65536, 0) < 0 && errno == EAGAIN,
	      "nothing is spliced while nothing is logged");
	log_some(disk);
	n = splice(fd, NULL, p[1], NULL, 100, 0);
	check(n == 100 && read(p[0], a, sizeof(a)) == 100, "a splice gives what is asked for");
	drain(fd, 65536);

	/* Blocking reads. */
	fcntl(fd, F_SETFL, 0);
	handle(SIGALRM, 0);
	start = now_ms();
	alarm_ms(200);
	n = read(fd, a, sizeof(a));
	check(n < 0 && errno == EINTR, "a signal ends a read that waits, after %.0f ms",
	      now_ms() - start);
	handle(SIGALRM, SA_RESTART);
	child = fork();
	if (!child) {
		sleep_ms(700);
		log_some(disk);
		_exit(0);
	}
	start = now_ms();
	n = read(fd, a, sizeof(a));
	check(n > 0 && now_ms() - start > 500, "or starts it again: %zd bytes after %.0f ms", n,
	      now_ms() - start);
	alarm_ms(0);
	waitpid(child, NULL, 0);

	handle(SIGALRM, 0);
	alarm_ms(200);
	while ((n = splice(fd, NULL, p[1], NULL, 65536, 0)) > 0)
		read(p[0], a, sizeof(a));
	check(n < 0 && errno == EINTR, "a signal ends a splice that waits");
	alarm_ms(0);
	check(splice(fd, NULL, p[1], NULL, 65536, SPLICE_F_NONBLOCK) < 0 && errno == EAGAIN,
	      "a splice need not wait");

	/* A task that waits can be killed. */
	child = fork();
	if (!child) {
		int mine = open_or_die(stream, O_RDONLY);

		for (;;)
			read(mine, a, sizeof(a));
	}
	sleep_ms(300);
	kill(child, SIGKILL);
	check(waitpid(child, NULL, 0) == child, "a reader can be killed");

	return finished();
}

static void set(int fd, const char *text)
{
	if (pwrite(fd, text, strlen(text), 0) != (ssize_t)strlen(text))
		ksft_exit_fail_perror(text);
}

static int freeze(const char *file, const char *disk, int first, int last)
{
	int fd = open_or_die(file, O_RDWR), fired = 0, id;
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	char text[200] = "";

	check(poll(&poll_fd, 1, 0) == 0, "a trigger that is off is not ready");
	for (id = first; id <= last; id++) {
		snprintf(text, sizeof(text), "site=%d after=1", id);
		set(fd, text);
		if (poll(&poll_fd, 1, 0))
			check(false, "an armed trigger is ready: site %d", id);
		log_some(disk);
		if (poll(&poll_fd, 1, 500) != 1)
			continue;
		fired++;
		memset(text, 0, sizeof(text));
		if (pread(fd, text, sizeof(text) - 1, 0) <= 0)
			ksft_exit_fail_perror("read of a trigger");
		if (strncmp(text, "frozen site=", 12))
			check(false, "a trigger is ready, but says %s", text);
	}
	check(fired > 0, "%d of %d sites have frozen the component", fired, last - first + 1);
	set(fd, "off");
	check(poll(&poll_fd, 1, 0) == 0, "it is not ready any more");
	return finished();
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

#define ROUNDS 15

static int latency(const char *stream, const char *disk, int bound)
{
	int fd = strcmp(stream, "-") ? open_or_die(stream, O_RDONLY | O_NONBLOCK) : 0;
	int go[2], done[2];
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	static char buf[65536];
	double took[ROUNDS], logged, seen;
	pid_t child;
	int i;

	if (pipe(go) || pipe(done))
		ksft_exit_fail_perror("pipe");
	child = fork();
	if (!child) {
		close(go[1]);
		for (i = 0; read(go[0], buf, 1) == 1; i++) {
			/* At any time between two looks at the rings. */
			usleep(50000 + i * 2700);
			logged = now_ms();
			log_some(disk);
			write_all(done[1], (char *)&logged, sizeof(logged));
		}
		_exit(0);
	}
	/* The first one is not counted: a worker may have to start. */
	for (i = -1; i < ROUNDS; i++) {
		while (poll(&poll_fd, 1, 150) == 1)
			read(fd, buf, sizeof(buf));
		write_all(go[1], "", 1);
		if (poll(&poll_fd, 1, 5000) != 1)
			ksft_exit_fail_perror("poll: nothing in 5 s");
		/* The task's record and the interrupt's may come one by one. */
		do {
			seen = now_ms();
			read(fd, buf, sizeof(buf));
		} while (poll(&poll_fd, 1, 150) == 1);
		if (read(done[0], &logged, sizeof(logged)) != sizeof(logged))
			ksft_exit_fail_perror("pipe");
		if (i >= 0)
			took[i] = seen - logged;
	}
	close(go[1]);
	waitpid(child, NULL, 0);
	qsort(took, ROUNDS, sizeof(*took), by_size);
	check(took[ROUNDS - 1] <= bound, "records are there in %d ms (%.1f to %.1f, median %.1f)",
	      bound, took[0], took[ROUNDS - 1], took[ROUNDS / 2]);
	return finished();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "copy") && argc >= 5)
		return copy(argv[2], argv[3], argv[4], argc > 5 ? atoi(argv[5]) : 65536,
			    argc > 6 ? atoi(argv[6]) : 0);
	if (!strcmp(what, "cat") && argc == 5)
		return cat(argv[2], argv[3], argv[4]);
	if (!strcmp(what, "splice") && argc == 5)
		return splices(argv[2], argv[3], argv[4]);
	if (!strcmp(what, "rest") && argc == 5)
		return rest(argv[2], argv[3], argv[4]);
	if (!strcmp(what, "calls") && argc == 4)
		return calls(argv[2], argv[3]);
	if (!strcmp(what, "trigger") && argc == 6)
		return freeze(argv[2], argv[3], atoi(argv[4]), atoi(argv[5]));
	if (!strcmp(what, "latency") && argc == 5)
		return latency(argv[2], argv[3], atoi(argv[4]));
	fprintf(stderr, "usage: see the source\n");
	return 2;
}
