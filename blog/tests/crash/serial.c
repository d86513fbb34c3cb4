// SPDX-License-Identifier: GPL-2.0
/*
 * What is printed while the kernel can't print: by x86's first serial port.
 */

#include <linux/io.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/processor.h>
#include <linux/serial_reg.h>

#include "blog_crash.h"

/*
 * To the first serial port, past the kernel: from a CPU that is stopped in an
 * exception, for which the console would wait.
 */
static void crash_serial(const char *line)
{
	const char *c;

	for (c = line; *c; c++) {
		while (!(inb(0x3f8 + UART_LSR) & UART_LSR_THRE))
			cpu_relax();
		outb(*c, 0x3f8 + UART_TX);
	}
	outb('\n', 0x3f8 + UART_TX);
}

/* A writer is at its place, and stays there with interrupts off. */
void crash_tell_here(void)
{
	crash_serial("");
	crash_tell(crash_serial);
}

/* Says that BLog knows of the crash, before a kdump kernel starts. */
static int crash_freeze(struct kprobe *probe, struct pt_regs *regs)
{
	crash_serial("");
	crash_serial("blog_crash: frozen");
	return 0;
}

static struct kprobe crash_freeze_probe = {
	.symbol_name = "blog_crash",
	.pre_handler = crash_freeze,
};

static int __init crash_init(void)
{
	int ret = register_kprobe(&crash_freeze_probe);

	/* A kernel without BLog's hooks has no such function. */
	return ret == -ENOENT ? 0 : ret;
}
module_init(crash_init);
