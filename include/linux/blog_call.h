/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BLog, the binary logger, for drivers in C. Include <linux/blog.h>.
 *
 *	BLOG_COMPONENT(disk, .size_kb = 1024);
 *
 *	blog_log(disk, "read %u bytes at %llx", n, sector);
 *
 * A call stores its arguments as they are, and what they point to, into a ring
 * of the running task or of this CPU's interrupt context. It takes no lock,
 * may be made in any context but noinstr code, and evaluates its arguments
 * once, and only if it logs. The format is that of printk(), and must be a
 * string literal. It is not in the kernel's memory: scripts/blog-fmt-sidetable
 * compiles it when the image is linked, and fails if it can't be stored.
 */
#ifndef _LINUX_BLOG_CALL_H
#define _LINUX_BLOG_CALL_H

#include <linux/kconfig.h>

/* Before printk.h, which includes blog_capture.h */
#if IS_REACHABLE(CONFIG_BLOG) && IS_ENABLED(CONFIG_BLOG_CCALL)
#define __BLOG_CALLS
#endif

#include <linux/args.h>
#include <linux/compiler.h>
#include <linux/printk.h>
#include <linux/stringify.h>
#include <linux/types.h>

#ifdef CONFIG_JUMP_LABEL
#include <linux/jump_label.h>
#endif

/* Levels, as numbers for the assembler (Rust: kernel::blog::Level) */
#define BLOG_ERR	1
#define BLOG_WARN	2
#define BLOG_INFO	3
#define BLOG_DEBUG	4
#define BLOG_TRACE	5

/* What full rings do (Rust: kernel::blog::Mode) */
#define BLOG_OVERWRITE	0
#define BLOG_DISCARD	1

/**
 * struct blog_site - one call site, in section .blog_sites
 * @id_shl10:	site id << 10, or 0 before the image is registered
 * @level:	level of the call, fixed at compile time
 * @gate:	the site logs if its component's threshold is at least this
 * @flags:	1: an address is among its arguments; 2: its format isn't compiled yet
 */
struct blog_site {
	u32 id_shl10;
	u8 level;
	u8 gate;
	u16 flags;
} __aligned(8);

/**
 * struct blog_component - what calls log to (Rust: kernel::blog::RawComponent)
 * @threshold:	for BLog: a site logs if its gate is at most this
 * @privacy:	for BLog: what is done with arguments in blog_private()
 * @slot:	for BLog
 * @way:	for BLog
 * @percpu:	for BLog
 * @state:	for BLog
 * @name:	name; that of the variable if none is given
 * @size_kb:	all its memory, in KiB: rings and their tables
 * @ring_kb:	limit of one ring, in KiB
 * @level:	the least important level that is logged: BLOG_ERR ... BLOG_TRACE
 * @mode:	BLOG_OVERWRITE or BLOG_DISCARD
 * @enabled:	whether the component logs from the start
 * @key:	for BLog: enabled while @threshold isn't 0
 *
 * Define one by BLOG_COMPONENT(), with the fields from @name to @enabled.
 */
struct blog_component {
	u8 threshold;
	u8 privacy;
	u32 slot;
	u32 way;
	void *percpu;
	void *state;
	const char *name;
	u32 size_kb;
	u32 ring_kb;
	u8 level;
	u8 mode;
	bool enabled;
#ifdef CONFIG_JUMP_LABEL
	struct static_key_false key;
#endif
};

#define __BLOG_COMPONENT_INIT(_name, ...)					\
	{									\
		.name = __stringify(_name),					\
		.size_kb = 1024,						\
		.ring_kb = 64,							\
		.level = BLOG_INFO,						\
		.mode = BLOG_OVERWRITE,						\
		.enabled = true,						\
		__VA_ARGS__							\
	}

#ifdef __BLOG_CALLS

/*
 * Symbols around what an object file has in a table, and the number of the BLog that it was built
 * for, where that isn't part of the kernel: see rust/macros/blog/asm.rs.
 */
#ifdef __has_include /* sparse has none */
#if __has_include(<linux/blog_abi.h>)
#include <linux/blog_abi.h>
#endif
#endif
#ifdef BLOG_ABI
#define __BLOG_SET_ABI	".set __blog_abi, " __stringify(BLOG_ABI) "\n"
#else
#define __BLOG_SET_ABI	""
#endif
#define __BLOG_BOUNDS(section, symbol)						\
	".ifndef " symbol "\n"							\
	".pushsection " section ",\"aw\",@progbits\n"				\
	".balign 8\n"								\
	".set " symbol ", .\n"							\
	".subsection 2\n"							\
	".set " symbol "_end, .\n"						\
	".popsection\n"								\
	__BLOG_SET_ABI								\
	".endif\n"

/**
 * BLOG_COMPONENT - define a component
 * @_name:	the variable
 *
 * Fields of struct blog_component may follow. DECLARE_BLOG_COMPONENT() is for
 * other files that log to it.
 */
#define BLOG_COMPONENT(_name, ...)						\
	__BLOG_COMPONENT(, _name, __VA_ARGS__)

#define __BLOG_COMPONENT(attributes, _name, ...)				\
	__diag_push();								\
	__diag_ignore_all("-Woverride-init", "fields replace defaults");	\
	struct blog_component attributes _name =				\
		__BLOG_COMPONENT_INIT(_name, __VA_ARGS__);			\
	__diag_pop();								\
	asm(__BLOG_BOUNDS(".blog_components", "__blog_components")		\
	    ".pushsection .blog_components,\"aw\",@progbits\n"			\
	    ".subsection 1\n"							\
	    ".balign 8\n"							\
	    ".quad " __stringify(_name) "\n"					\
	    ".popsection\n"							\
	    /* BLog is loaded before a module that has a component. */		\
	    ".pushsection .rodata.blog,\"a\",@progbits\n"			\
	    ".balign 8\n"							\
	    ".quad blog_clock_is_counter\n"					\
	    ".popsection\n")

#ifdef CONFIG_JUMP_LABEL
#define __blog_is_on(component)	static_branch_unlikely(&(component).key)
#else
#define __blog_is_on(component)	(READ_ONCE((component).threshold) != 0)
#endif

/*
 * Write a record by the words for its arguments, of which there are as many, or less:
 * blog/parts/ccall/
 */
void blog_write1(const struct blog_component *component, u32 site_shl10, const u64 *words, u64 a);
void blog_write2(const struct blog_component *component, u32 site_shl10, const u64 *words, u64 a,
		 u64 b);
void blog_write4(const struct blog_component *component, u32 site_shl10, const u64 *words, u64 a,
		 u64 b, u64 c, u64 d);
void blog_write8(const struct blog_component *component, u32 site_shl10, const u64 *words, u64 a,
		 u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h);
void blog_write(const struct blog_component *component, u32 site_shl10, const u64 *words,
		unsigned int count, ...);

/*
 * What a C call has in common with those who read it: rust/kernel/blog/wire/record.rs
 * (GATE_OFF, SITE_UNCOMPILED), scripts/blog-fmt-sidetable/descriptor.rs (C_SITE_MAGIC and its
 * version, PLACE_MAGIC)
 */
#define __BLOG_GATE_OFF			255
#define __BLOG_SITE_UNCOMPILED		2
#define __BLOG_DESCRIPTOR_MAGIC		0x43464c42
#define __BLOG_DESCRIPTOR_VERSION	3
#define __BLOG_PLACE_MAGIC		0x50464c42

/*
 * Pick the writer with this many parameters, or the next larger one, padded with zeros. The format
 * is not passed.
 */
#define __blog_u64(x)			((u64)(unsigned long)(x))
#define __blog_pass_0(to, f)		blog_write1(to, 0)
#define __blog_pass_1(to, f, a)		blog_write1(to, __blog_u64(a))
#define __blog_pass_2(to, f, a, b)	blog_write2(to, __blog_u64(a), __blog_u64(b))
#define __blog_pass_3(to, f, a, b, c)						\
	blog_write4(to, __blog_u64(a), __blog_u64(b), __blog_u64(c), 0)
#define __blog_pass_4(to, f, a, b, c, d)					\
	blog_write4(to, __blog_u64(a), __blog_u64(b), __blog_u64(c), __blog_u64(d))
#define __blog_pass_5(to, f, a, b, c, d, e)					\
	blog_write8(to, __blog_u64(a), __blog_u64(b), __blog_u64(c), __blog_u64(d), \
		    __blog_u64(e), 0, 0, 0)
#define __blog_pass_6(to, f, a, b, c, d, e, g)					\
	blog_write8(to, __blog_u64(a), __blog_u64(b), __blog_u64(c), __blog_u64(d), \
		    __blog_u64(e), __blog_u64(g), 0, 0)
#define __blog_pass_7(to, f, a, b, c, d, e, g, h)				\
	blog_write8(to, __blog_u64(a), __blog_u64(b), __blog_u64(c), __blog_u64(d), \
		    __blog_u64(e), __blog_u64(g), __blog_u64(h), 0)
#define __blog_pass_8(to, f, a, b, c, d, e, g, h, i)				\
	blog_write8(to, __blog_u64(a), __blog_u64(b), __blog_u64(c), __blog_u64(d), \
		    __blog_u64(e), __blog_u64(g), __blog_u64(h), __blog_u64(i))
#define __blog_pass_n(to, f, ...)						\
	blog_write(to, __blog_count(__VA_ARGS__) + 1, __VA_ARGS__)
/* Which one of these, for a format and up to 31 arguments */
#define __blog_pass(...)							\
	CONCATENATE(__blog_pass_,						\
		    __blog_nth(__VA_ARGS__, n, n, n, n, n, n, n, n, n, n, n, n, n, n, \
			       n, n, n, n, n, n, n, n, n, 8, 7, 6, 5, 4, 3, 2, 1, 0))
/* How many arguments there are after the first one, and whether these are more than three */
#define __blog_count(...)							\
	__blog_nth(__VA_ARGS__, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, \
		   17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define __blog_many(...)							\
	__blog_nth(__VA_ARGS__, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,	\
		   1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)
#define __blog_nth(_0, _1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13,	\
		   _14, _15, _16, _17, _18, _19, _20, _21, _22, _23, _24, _25,	\
		   _26, _27, _28, _29, _30, _31, nth, ...)			\
	nth
#define __blog_to(component, id)						\
	&(component), READ_ONCE(CONCATENATE(__blog_site_, id).id_shl10),	\
	CONCATENATE(__blog_words_, id)

/*
 * What the assembler calls a call. With LTO it sees many files at once, so that
 * the name has module and file in it, as that of an initcall. Files of one name in
 * modules of one name may still have calls of one name: __BLOG_SITE() finds that.
 */
#define __BLOG_ID(id)								\
	__stringify(__KBUILD_MODNAME) "_" KBUILD_BASENAME "_" __stringify(id)

/*
 * The entry of a call, the words for its arguments, and its descriptor, which is
 * never loaded; no code. This has no operands, so that a percent sign of the
 * format is just that. A call that is inlined several times is one site.
 */
#define __BLOG_SITE(level, id, format, arguments, many, captured, class)	\
	"770:\n"								\
	__BLOG_BOUNDS(".blog_sites", "__blog_sites")				\
	".ifndef .Lblog_site_" id "\n"						\
	".set \".Lblog_" id ":" __BASE_FILE__ "\", 0\n"				\
	".pushsection .blog_sites,\"aw\",@progbits\n"				\
	".subsection 1\n"							\
	".balign 8\n"								\
	".Lblog_site_" id ":\n"							\
	".long 0\n"								\
	".byte " level ", " __stringify(__BLOG_GATE_OFF) "\n"			\
	".short " __stringify(__BLOG_SITE_UNCOMPILED) "\n"			\
	".popsection\n"								\
	".pushsection .rodata.blog,\"a\",@progbits\n"				\
	".balign 8\n"								\
	".Lblog_words_" id ":\n"						\
	".rept 1 + " many "\n"							\
	".quad -1\n"								\
	".endr\n"								\
	".popsection\n"								\
	".pushsection .debug.blog,\"\",@progbits\n"				\
	".balign 8\n"								\
	"772: .long " __stringify(__BLOG_DESCRIPTOR_MAGIC) ", 779f - 772b\n"	\
	".quad .Lblog_site_" id "\n"						\
	".quad .Lblog_words_" id "\n"						\
	".long " __stringify(__LINE__) "\n"					\
	".byte " level ", " __stringify(__BLOG_DESCRIPTOR_VERSION) "\n"		\
	".short " captured " + 2 * " many "\n"					\
	".short 774f - 773f, 775f - 774f, 776f - 775f, 777f - 776f\n"		\
	"773: .ascii " format "\n"						\
	"774: .ascii \"" __FILE__ "\"\n"					\
	"775: .ascii \"" KBUILD_MODNAME "\"\n"					\
	"776: .ascii " arguments "\n"						\
	"777: .balign 8\n"							\
	"779: .long " __stringify(__BLOG_PLACE_MAGIC) ", 782f - 779b\n"		\
	".quad .Lblog_site_" id ", 770b\n"					\
	".short 0, 781f - 780f, 0, 0\n"						\
	"780: .ascii \"" class "\"\n"						\
	"781: .balign 8\n"							\
	"782:\n"								\
	".popsection\n"								\
	".endif\n"								\
	".ifndef \".Lblog_" id ":" __BASE_FILE__ "\"\n"				\
	".error \"log calls of two files have one name: rename " __BASE_FILE__ "\"\n" \
	".endif\n"

#define __blog_first(first, ...)	first

/* Declares what __blog_define() defines. */
#define __blog_declare(id)							\
	extern struct blog_site CONCATENATE(__blog_site_, id)			\
		__asm__(".Lblog_site_" __BLOG_ID(id));				\
	extern const u64 CONCATENATE(__blog_words_, id)[]			\
		__asm__(".Lblog_words_" __BLOG_ID(id))

/*
 * @format, @arguments: as the driver wrote them, as strings
 * @many: more than three are stored, by two words
 * @captured: the format may be one that can't be stored
 * @class: what a subsystem calls this kind of message
 */
#define __blog_define(level, id, format, arguments, many, captured, class)	\
	asm(__BLOG_SITE(__stringify(level), __BLOG_ID(id), __stringify(format),	\
			__stringify(arguments), __stringify(many), __stringify(captured), \
			class))

#define __blog_logs(component, id)						\
	(__blog_is_on(component) && READ_ONCE(CONCATENATE(__blog_site_, id).gate) <= \
	 READ_ONCE((component).threshold))

/* Stores the arguments, of which the first one, as it were the format, is left out. */
#define __blog_store(component, id, ...)					\
	__blog_pass(__VA_ARGS__)(__blog_to(component, id), __VA_ARGS__)

/* By its level. Warnings and errors have a share of the memory: no fast path looks for it. */
#define __blog_store_1(component, id, f, ...)					\
	blog_write(&(component), READ_ONCE(CONCATENATE(__blog_site_, id).id_shl10) | 1, \
		   CONCATENATE(__blog_words_, id), __blog_count(f, ##__VA_ARGS__), ##__VA_ARGS__)
#define __blog_store_2			__blog_store_1
#define __blog_store_3			__blog_store
#define __blog_store_4			__blog_store
#define __blog_store_5			__blog_store

#define __blog_emit(component, level, id, format, arguments, ...)		\
do {										\
	__blog_declare(id);							\
										\
	__blog_define(level, id, format, arguments, __blog_many(__VA_ARGS__), 0, ""); \
	if (__blog_logs(component, id))						\
		CONCATENATE(__blog_store_, level)(component, id, __VA_ARGS__);	\
} while (0)

#define ___blog(...)	__blog_emit(__VA_ARGS__)

/* @arguments: as the driver wrote them */
#define __blog(component, level, arguments, ...)				\
do {										\
	no_printk(__VA_ARGS__);							\
	___blog(component, level, __COUNTER__,					\
		__stringify(__blog_first(__VA_ARGS__)), arguments, __VA_ARGS__); \
} while (0)

#else /* No calls */

/* All is type checked, and nothing is left of it. */
#define BLOG_COMPONENT(_name, ...)						\
	__diag_push();								\
	__diag_ignore_all("-Woverride-init", "fields replace defaults");	\
	static const struct blog_component __maybe_unused			\
	CONCATENATE(__blog_off_, _name) =					\
		__BLOG_COMPONENT_INIT(_name, __VA_ARGS__);			\
	__diag_pop();								\
	extern struct blog_component _name

#define __blog(component, level, arguments, ...)				\
do {										\
	(void)sizeof((component).threshold);					\
	no_printk(__VA_ARGS__);							\
} while (0)

#endif /* No calls */

#define DECLARE_BLOG_COMPONENT(_name)	extern struct blog_component _name

/**
 * blog_private - mark an argument of a log call as private
 * @x:	all of the argument: a number, an address or a string
 *
 * Such an argument is stored as its component's setting "private" says: as a
 * hash, by which equal values of one boot can be recognised; not at all; or as
 * it is.
 */
#define blog_private(x)	__builtin_choose_expr(sizeof("blog_private"), x, 0)

/**
 * blog_log - log to a component at the level BLOG_INFO
 * @component:	the component
 * @fmt:	format, a string literal
 *
 * The arguments of the format follow, as for printk().
 */
#define blog_log(component, fmt, ...)						\
	__blog(component, BLOG_INFO, #__VA_ARGS__, fmt, ##__VA_ARGS__)
#define blog_err(component, fmt, ...)						\
	__blog(component, BLOG_ERR, #__VA_ARGS__, fmt, ##__VA_ARGS__)
#define blog_warn(component, fmt, ...)						\
	__blog(component, BLOG_WARN, #__VA_ARGS__, fmt, ##__VA_ARGS__)
#define blog_info(component, fmt, ...)						\
	__blog(component, BLOG_INFO, #__VA_ARGS__, fmt, ##__VA_ARGS__)
#define blog_debug(component, fmt, ...)						\
	__blog(component, BLOG_DEBUG, #__VA_ARGS__, fmt, ##__VA_ARGS__)
#define blog_trace(component, fmt, ...)						\
	__blog(component, BLOG_TRACE, #__VA_ARGS__, fmt, ##__VA_ARGS__)

#endif /* _LINUX_BLOG_CALL_H */
