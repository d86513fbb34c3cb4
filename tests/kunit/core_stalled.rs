// SPDX-License-Identifier: GPL-2.0

// KUnit suite: the file `tasks`, and the line after a report of a stuck task.

#[kunit_tests(blog_stalled)]
mod suite {
    use super::rig::*;
    use crate::{
        crash::stuck::*,
        read::stalled::*,
        sys::{
            clock,
            glue, //
        }, //
    };
    use kernel::{
        bindings,
        blog::{
            wire::file::{
                Task,
                TASK_RUNNING, //
            },
            Config, //
        },
        prelude::*,
        str::CString, //
    };

    const SMALL: Config = Config::new().size_kb(64).ring_kb(16);

    /// The line of a thread.
    fn line(pid: i32, limit: u64) -> Result<Line> {
        let lines = collect(limit)?;
        let mut lines = lines.into_iter().filter(|line| line.info.owner.pid == pid);
        lines.next().ok_or(ENOENT)
    }

    #[test]
    fn a_blocked_logger_is_stalled() -> Result {
        let rig = Rig::new(c"blog_test_stalled", SMALL)?;
        let thread = Thread::blocked(&rig)?;
        until(|| line(thread.pid(), 0).is_ok_and(|line| line.stalled))?;
        // Those who are stalled come first, and this task is not.
        assert!(rig.log(2));
        until(|| collect(0).is_ok_and(|lines| lines.first().is_some_and(|line| line.stalled)))?;
        assert!(!line(this(), 0)?.stalled);
        // After some time only.
        let never = line(thread.pid(), u64::MAX)?;
        assert!(!never.stalled && never.silent_ms.is_some());
        drop(thread);
        Ok(())
    }

    #[test]
    fn a_line_knows_when_its_task_logged_last() -> Result {
        let rig = Rig::new(c"blog_test_last", SMALL)?;
        // From a chunk, a page, and when the oldest pages have been overwritten.
        for n in [1, 100, 3000] {
            for i in 1..n {
                rig.log(i);
            }
            let before = clock::now();
            assert!(rig.log(n));
            let after = clock::now();
            let last = line(this(), 0)?.last.ok_or(ENOENT)?;
            assert!(before <= last && last <= after);
        }
        Ok(())
    }

    #[test]
    fn lines_are_keys_and_values() -> Result {
        let rig = Rig::new(c"blog_test_line", SMALL)?;
        let thread = Thread::start(&rig, 0..10)?;
        thread.wait()?;
        let pid = thread.pid();
        until(|| {
            // A task that goes to sleep says so first, and leaves its CPU then.
            let sleeps = |task: Task| task.state == b'S' && task.flags & TASK_RUNNING == 0;
            line(pid, 0).is_ok_and(|line| line.task.is_some_and(sleeps))
        })?;
        let text = CString::try_from_fmt(fmt!("{}", line(pid, 0)?))?;
        let text = text.to_str()?;
        let start = CString::try_from_fmt(fmt!("blog_test_line ring "))?;
        assert!(text.starts_with(start.to_str()?));
        let mut words = text.split(' ').skip(1);
        let mut keys = KVec::new();
        while let (Some(key), Some(value)) = (words.next(), words.next()) {
            keys.push((key, value), GFP_KERNEL)?;
        }
        let value = |key: &str| keys.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
        let number = CString::try_from_fmt(fmt!("{pid}"))?;
        assert_eq!(value("pid"), Some(number.to_str()?));
        for (key, said) in [
            ("ended", "0"),
            ("records", "10"),
            ("lost", "0"),
            ("state", "S"),
            ("running", "0"),
            ("stalled", "0"),
            ("comm", "blog_test"),
        ] {
            if value(key) != Some(said) {
                pr_err!("{key} is not {said} in: {text}\n");
            }
            assert_eq!(value(key), Some(said));
        }
        assert!(value("silent_ms").is_some_and(|ms| ms.parse::<u64>().is_ok()));
        assert!(value("cpu").is_some_and(|cpu| cpu.parse::<u32>().is_ok()));
        drop(thread);
        Ok(())
    }

    #[test]
    fn a_hint_names_the_components_of_a_task() -> Result {
        let rig = Rig::new(c"blog_test_hint", SMALL)?;
        let thread = Thread::blocked(&rig)?;
        until(|| line(thread.pid(), 0).is_ok_and(|line| line.info.records == 1))?;
        // SAFETY: The thread is there until it is ended.
        let hints = unsafe { hints_of(thread.task()) }.ok_or(ENOENT)?;
        let text = CString::try_from_fmt(fmt!("{hints}"))?;
        let pid = thread.pid();
        let wanted = CString::try_from_fmt(fmt!(
            "blog_test:{pid} has logged to blog_test_hint (1 records, 256 bytes kept): \
             blog-decode --pid {pid} /sys/kernel/debug/blog/snapshot"
        ))?;
        assert_eq!(text.to_str()?, wanted.to_str()?);
        drop(thread);

        // One that has logged to more than fit.
        let mut rigs = KVec::new();
        for n in 0..10 {
            let name = CString::try_from_fmt(fmt!("blog_test_hint{n}"))?;
            rigs.push(Rig::new(&name, SMALL)?, GFP_KERNEL)?;
        }
        for rig in &rigs {
            assert!(rig.log(1));
        }
        // SAFETY: The current task is valid.
        let hints = unsafe { hints_of(glue::current()) }.ok_or(ENOENT)?;
        let text = CString::try_from_fmt(fmt!("{hints}"))?;
        assert!(text.to_str()?.contains(", and "));
        rigs.clear();
        drop(rig);
        // None that has not.
        // SAFETY: The first task is always there.
        assert!(unsafe { hints_of(&raw mut bindings::init_task) }.is_none());
        Ok(())
    }
}
