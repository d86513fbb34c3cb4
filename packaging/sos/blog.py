# SPDX-License-Identifier: GPL-2.0
"""What "sos report" collects of BLog, the binary kernel logger."""

from sos.report.plugins import IndependentPlugin, Plugin, PluginOpt


class Blog(Plugin, IndependentPlugin):
    short_desc = "BLog, the binary kernel logger"
    plugin_name = "blog"
    profiles = ("system", "kernel", "debug")
    kernel_mods = ("blog",)
    files = ("/sys/kernel/tracing/blog", "/sys/kernel/debug/blog")
    option_list = [
        PluginOpt("size", default=64, val_type=int, desc="MiB of what is saved, at most")
    ]

    def setup(self):
        self.add_copy_spec(["/sys/module/blog/parameters", "/etc/blog.conf"])
        # Names of side tables contain build IDs.
        self.add_dir_listing("/lib/modules/*/blog")
        # Recordings, logs of crashes, and of the last boot
        self.add_dir_listing(
            ["/var/log/blog", "/var/crash", "/var/lib/blog/previous"], recursive=True
        )
        place = next(filter(self.path_exists, self.files), None)
        if place is None:
            return
        self.add_copy_spec([f"{place}/stats", f"{place}/control"])
        # With all settings, the kernel log and side tables. What a limit cuts off is at its end.
        size = self.get_option("size")
        self.add_cmd_output(
            f"sh -c 'blog-decode save -o - | head -c {size << 20}'",
            suggest_filename="blog",
            binary=True,
            to_file=True,
            sizelimit=size + 1,
        )
