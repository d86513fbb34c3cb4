# SPDX-License-Identifier: GPL-2.0
#
# What the Makefile or Kbuild of an out-of-tree driver includes to log with BLog:
#
#	obj-m := disk.o
#	include /usr/src/blog/driver.mk
#
# The line may stand anywhere in it. It gives the C files of this folder, and of those below, the
# headers of BLog; modpost gets the symbols of the BLog that is installed for that kernel; and each
# module contains its side table, where blog-decode finds it. With "BLOG_CAPTURE := y" in the
# Makefile, messages that the driver prints are recorded, too.
#
# For a kernel without BLog, the driver is built all the same: its calls do nothing, and the build
# says so.
#
# kbuild reads a driver's Makefile when it compiles, before it calls modpost, and for "clean". This
# must do its part in each, and it can only change what kbuild's own rules look at.

blog := $(abspath $(dir $(lastword $(MAKEFILE_LIST))))
# Of a folder in which BLog was built, or of blog-dkms
blog-symvers := $(or $(wildcard $(blog)/Module.symvers),$(and						\
	$(wildcard /lib/modules/$(KERNELRELEASE)/updates/dkms/blog.ko*),				\
	$(wildcard /var/lib/blog/$(KERNELRELEASE)/Module.symvers)))
BLOG_FMT_SIDETABLE ?= $(firstword $(wildcard $(blog)/blog-fmt-sidetable) blog-fmt-sidetable)

# The headers are in front of the kernel's own, some of which those of capture.sh replace. Recursive,
# so that BLOG_CAPTURE may come later in the Makefile.
blog-flags = $(if $(blog-symvers),-DCONFIG_BLOG_MODULE=1 -DCONFIG_BLOG_CCALL=1 $(if $(filter y,$(BLOG_CAPTURE)),$(blog-capture)))	\
	-I$(blog)/include -idirafter $(blog)/compat
blog-capture = $(if $(wildcard $(dir $(blog-symvers))capture/linux/dynamic_debug.h),-DBLOG_CAPTURE		\
	-DDYNAMIC_DEBUG_MODULE -I$(dir $(blog-symvers))capture,$(warning BLog captures nothing on this kernel: see its build))

# Only kbuild's own makefiles have read the kernel's configuration.
ifdef CONFIG_MODULES
ifneq ($(filter __modpost,$(PHONY)),)

# --- modpost: objects are complete, and modules not yet linked ----------------------

ifneq ($(blog-itself)$(blog-symvers),)
KBUILD_EXTRA_SYMBOLS += $(if $(blog-itself),,$(blog-symvers))

# Since 6.13, the current folder is that of the driver.
blog-folder := $(patsubst ./,,$(obj)/)

quiet_cmd_blog_tables = BLOG    $(blog-folder)modules.order
      cmd_blog_tables = command -v $(BLOG_FMT_SIDETABLE) >/dev/null || {				\
	echo "driver.mk: there is no blog-fmt-sidetable: install the package blog-tools" >&2; exit 1; };	\
	sed 's/ko$$/o/' $(blog-folder)modules.order | xargs -r $(BLOG_FMT_SIDETABLE) --object

PHONY += blog-tables
blog-tables:
	$(call cmd,blog_tables)
$(blog-folder)Module.symvers: blog-tables
endif

else ifndef blog-itself

# --- compilation ---------------------------------------------------------------------

ifeq ($(blog-symvers)$(findstring -I$(blog)/include,$(LINUXINCLUDE)),)
$(warning BLog is not installed for the kernel $(KERNELRELEASE): this driver is built without it, \
	and logs nothing. See "dkms status blog")
endif

# Folders below inherit it.
blog-linuxinclude := $(LINUXINCLUDE)
LINUXINCLUDE = $(blog-flags) $(blog-linuxinclude)

endif
endif
