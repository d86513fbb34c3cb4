# SPDX-License-Identifier: GPL-2.0
"""What "sos report" collects of BLog, the binary kernel logger."""

from sos.report.plugins import IndependentPlugin, Plugin, PluginOpt

# Of each component. Nothing reads the others: "stream" has no end.
FILES = (
    "enable", "level", "mode", "private", "size_kb", "ring_kb", "warn_share", "probes", "trigger",
    "stats",
)  # fmt: skip


class Blog(Plugin, IndependentPlugin):
    short_desc = "BLog, the binary kernel logger"
    plugin_name = "blog"
    profiles = ("system", "kernel", "debug")
    kernel_mods = ("blog",)
    files = ("/sys/kernel/tracing/blog", "/sys/kernel/debug/blog")
    option_list = [
        PluginOpt(
            "size", default=64, val_type=int, desc="MiB of each component's snapshot, at most"
        )
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
        mib = self.get_option("size")
        for name in sorted(self.listdir(place)):
            component = f"{place}/{name}"
            if not self.path_exists(f"{component}/snapshot"):
                continue
            self.add_copy_spec([f"{component}/{file}" for file in FILES])
            # A file there has no size that sos could compare with a limit.
            self.add_cmd_output(
                f"head -c {mib << 20} {component}/snapshot",
                suggest_filename=f"{name}.snapshot",
                binary=True,
                to_file=True,
                sizelimit=mib + 1,
            )
