/* SPDX-License-Identifier: GPL-2.0 */
/* The start of BLog, and its worker: between exports.c and main.rs. */

#ifndef BLOG_MAIN_H
#define BLOG_MAIN_H

/* In Rust; the first if BLog is built in */
int blog_start(void);
void blog_each_second(void);

/* In C */
void blog_stay(void);

#endif
