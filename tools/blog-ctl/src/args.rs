// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! All commands and options, each defined once, with its help. The man page and the shells'
//! completions come from here, too.

// Groups of options have no help of their own.
#![allow(missing_docs)]

use std::path::PathBuf;

use blog_decode::cli::args::{parse_level, place, TablePaths};
use clap::{Args, Parser, Subcommand};

/// Switch what BLog records on this system: components, call sites, triggers and probes.
#[derive(Parser, Debug)]
#[command(
    name = "blog-ctl",
    version,
    about,
    after_help = CONTROL_HELP,
    args_conflicts_with_subcommands = true
)]
pub struct Cli {
    /// What to do; without it, COMMAND.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Options without another command.
    #[command(flatten)]
    pub control: Control,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Record functions and tracepoints of the kernel that runs here
    #[command(subcommand)]
    Probe(ProbeWhat),
    /// Print a shell's completions
    #[command(hide = true)]
    Completions {
        /// The shell
        #[arg(value_name = "SHELL")]
        shell: clap_complete::Shell,
    },
    /// Print the man page
    #[command(hide = true)]
    Man,
}

/// Options without another command.
#[derive(Args, Debug)]
pub struct Control {
    /// What to do, each command in quotes. Without a command, show the settings
    #[arg(value_name = "COMMAND")]
    pub commands: Vec<String>,

    /// Show what the commands would do, and do nothing
    #[arg(long)]
    pub dry_run: bool,

    /// After that, wait until a trigger that is set has frozen its component; without a command,
    /// until any has
    #[arg(long, conflicts_with = "dry_run")]
    pub wait: bool,

    /// Directory of this system's BLog files
    #[arg(long, value_name = "DIR", default_value_os_t = place(), hide_default_value = true)]
    pub blog: PathBuf,

    /// Directory of BLog's module parameters
    #[arg(long, value_name = "DIR", default_value = "/sys/module/blog/parameters")]
    pub parameters: PathBuf,

    #[command(flatten)]
    pub tables: TablePaths,
}

/// What to do with probes.
#[derive(Subcommand, Debug)]
#[command(after_help = PROBE_HELP)]
pub enum ProbeWhat {
    /// Have a component record a place in the kernel
    Add {
        /// The component
        #[arg(value_name = "NAME")]
        component: String,

        /// The place, a format in double quotes, and its arguments; all of it in one argument
        #[arg(value_name = "PROBE")]
        probe: String,

        /// Level of its records
        #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = parse_level)]
        level: u8,

        /// Directory of the kernel's types
        #[arg(long, value_name = "DIR", default_value = "/sys/kernel/btf")]
        btf: PathBuf,

        /// Print the line for the kernel, and do nothing
        #[arg(long)]
        dry_run: bool,

        #[command(flatten)]
        blog: Place,
    },
    /// List probes, and how often each was reached without a record
    List {
        /// Components; all of them if none is named
        #[arg(value_name = "NAME")]
        components: Vec<String>,

        #[command(flatten)]
        blog: Place,
    },
    /// Remove probes
    Remove {
        /// The component
        #[arg(value_name = "NAME")]
        component: String,

        /// Their sites, as `list` prints them; all if none is named
        #[arg(value_name = "SITE")]
        sites: Vec<u32>,

        #[command(flatten)]
        blog: Place,
    },
}

/// Where the files are.
#[derive(Args, Debug)]
pub struct Place {
    /// Directory of this system's BLog files
    #[arg(long, value_name = "DIR", default_value_os_t = place(), hide_default_value = true)]
    pub blog: PathBuf,
}

const PROBE_HELP: &str = "\
A PROBE is a place, a format as of printk in double quotes, and an argument for each
conversion:
  f:FUNCTION          a function's entry
  f:FUNCTION+OFFSET   an instruction in it
  f:FUNCTION%return   its return
  t:TRACEPOINT        a tracepoint of vmlinux
An argument is one of
  NAME      an argument of the function or the tracepoint, by the kernel's types
  $argN     the Nth one; without types, of the size that the conversion says
  $retval   what the function returns
  comm      the name of the current task
and members: ->NAME, .NAME. Without a format, it records all arguments that are numbers,
pointers or strings.

Examples:
  blog-ctl probe add ceph 'f:ceph_handle_caps \"caps of %s\" comm'
  blog-ctl probe add virtio_blk 't:block_rq_issue \"%u bytes\" rq->__data_len'
  blog-ctl probe add disk 'f:vfs_fsync%return \"fsync: %d\" $retval'
  blog-ctl probe list";

const CONTROL_HELP: &str = "\
A COMMAND is one of
  component NAME SETTING...   on, off, clear, level=LEVEL, mode=overwrite, mode=discard,
                              private=hash, private=omit, private=keep, size_kb=N,
                              ring_kb=N, warn_share=N; * in NAME matches anything
  max_kb=N                    limit of all components together
  CONDITION... FLAGS          call sites for which all conditions hold:
    module NAME                 its name in lsmod, or vmlinux
    file FILE[:LINES]           its path, the end of its path, or a pattern with *
    line N, line N-M
    format TEXT                 a part of the format string, in quotes if it contains blanks
    func NAME                   the function that has the call's code, * matches anything
    class NAME                  the category of a captured message
    level LEVEL
    site ID, site ID-ID
  FLAGS are +p (on at any level), -p (off) or =_ (back to the component's level)
  trigger NAME CONDITION...   freeze component NAME when the one such call site logs
    if ARG == N                 only if this argument is so; also != < >
    after N                     N records of the component later
    all                         freeze all components
  trigger NAME hang           freeze it when the kernel finds a task that hangs; also with all
  trigger NAME off            let it log again, or don't wait any more

Examples:
  blog-ctl 'component rnull level=debug'
  blog-ctl --dry-run 'file rnull.rs:60-80 +p'
  blog-ctl 'format \"timed out\" +p; module rnull_mod level trace -p'
  blog-ctl --wait 'trigger nvme file pci.c:1423 if status != 0 after 100'

Exit status:
  0  done
  1  done, but an image has no side table, so its sites were left out
  2  wrong usage, no such call site or component, or the kernel refused it";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn options_are_consistent() {
        Cli::command().debug_assert();
    }
}
