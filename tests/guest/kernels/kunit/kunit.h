/* SPDX-License-Identifier: GPL-2.0 */
/* Of kunit.rs and suites.rs */

#ifndef BLOG_TESTS_KUNIT_H
#define BLOG_TESTS_KUNIT_H

/* As in kunit.rs; the last case has no name. */
struct blog_kunit_case {
	const char *name;
	void (*run)(void);
};

struct blog_kunit_suite {
	const char *name;
	const struct blog_kunit_case *cases;
};

/* The first one, up to NULL: suites.rs */
extern const struct blog_kunit_suite *const blog_kunit_suites[];

void blog_kunit_abort(void);

#endif
