// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The reason why a file of this system's BLog can't be read, by facts of the system, without a
//! guess.

use std::{fs, io, path::Path};

use super::args::{DEBUGFS, TRACEFS};

/// Where the kernel has the module.
pub const MODULE: &str = "/sys/module/blog";

/// The message for a file in BLog's directory that can't be opened, read or written.
pub fn explain_missing(path: &Path, e: &io::Error) -> String {
    let why = match e.kind() {
        io::ErrorKind::NotFound => missing(path),
        io::ErrorKind::PermissionDenied => refused(e, &read("/sys/kernel/security/lockdown")),
        _ => None,
    };
    match why {
        Some(why) => format!("{}: {why}", path.display()),
        None => format!("{}: {e}", path.display()),
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn missing(path: &Path) -> Option<String> {
    if !path.starts_with(TRACEFS) && !path.starts_with(DEBUGFS) {
        return None;
    }
    let is_loaded = Path::new(MODULE).exists();
    absent(&read("/proc/cmdline"), &read("/proc/mounts"), is_loaded).map(Into::into)
}

/// Why nothing of BLog is in tracefs or debugfs.
fn absent(cmdline: &str, mounts: &str, is_loaded: bool) -> Option<&'static str> {
    let is_mounted = |fs| {
        let mut places = mounts.lines().map(|line| line.split_whitespace().nth(1));
        places.any(|place| place == Some(fs))
    };
    let mut words = cmdline.split_whitespace();
    let is_off = words.any(|word| matches!(word, "debugfs=off" | "debugfs=no-mount"));
    match (is_loaded, is_mounted(TRACEFS), is_mounted(DEBUGFS)) {
        (false, ..) => Some("not there: the module blog is not loaded"),
        (_, false, _) => {
            Some("not there: tracefs is not mounted (mount -t tracefs none /sys/kernel/tracing)")
        }
        (_, true, _) if is_off => Some(
            "not there: the kernel was booted with debugfs turned off, and this BLog has no files \
             in tracefs",
        ),
        (_, true, false) => {
            Some("not there: debugfs is not mounted (mount -t debugfs none /sys/kernel/debug)")
        }
        _ => None,
    }
}

fn refused(e: &io::Error, lockdown: &str) -> Option<String> {
    const EPERM: i32 = 1;
    let level = lockdown.split(['[', ']']).nth(1).unwrap_or("none");
    match e.raw_os_error() {
        Some(EPERM) if level != "none" => {
            Some(format!("refused: the kernel is locked down ({level})"))
        }
        Some(EPERM) => None,
        _ => Some("permission denied: try it as root".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_what_the_system_says() {
        let debugfs = "none /proc proc rw 0 0\nnone /sys/kernel/debug debugfs rw 0 0\n";
        let tracefs = "none /proc proc rw 0 0\nnone /sys/kernel/tracing tracefs rw 0 0\n";
        let both = [debugfs, tracefs].concat();
        for (cmdline, mounts, is_loaded, word) in [
            ("quiet debugfs=off", tracefs, true, "turned off"),
            ("quiet debugfs=no-mount ro", tracefs, true, "turned off"),
            ("quiet", "none /proc proc rw 0 0\n", true, "mount -t tracefs"),
            ("quiet debugfs=off", "none /proc proc rw 0 0\n", true, "mount -t tracefs"),
            // What is in debugfs is a link.
            ("quiet", debugfs, true, "mount -t tracefs"),
            ("quiet", tracefs, true, "mount -t debugfs"),
            ("quiet", &both, false, "not loaded"),
        ] {
            let told = absent(cmdline, mounts, is_loaded);
            assert!(told.is_some_and(|told| told.contains(word)), "{told:?}");
        }
        assert_eq!(absent("quiet xdebugfs=off", &both, true), None);
        let [eperm, eacces] = [1, 13].map(io::Error::from_raw_os_error);
        let told = |e, lockdown| refused(e, lockdown).unwrap_or_default();
        assert!(told(&eperm, "none integrity [confidentiality]\n").contains("(confidentiality)"));
        assert_eq!(told(&eperm, "[none] integrity confidentiality\n"), "");
        assert_eq!(told(&eperm, ""), "");
        assert!(told(&eacces, "").contains("as root"));
    }
}
