// KUnit's suites without KUnit: these are the last lines of blog/main.rs then.

#[macro_use]
extern crate kunit_macros;

#[path = "tests/kunit.rs"]
mod kunit;

// Names the suites to kunit.c, by the start and the end of their section.
core::arch::global_asm!(
    ".pushsection .kunit_test_suites, \"aw\", @progbits",
    ".balign 8",
    ".globl blog_kunit_suites",
    "blog_kunit_suites:",
    ".subsection 2",
    ".quad 0",
    ".popsection",
);
