// SPDX-License-Identifier: GPL-2.0

// KUnit suite: probes of functions, where the kernel has kprobes, and of tracepoints.

use kernel::prelude::*;

#[kunit_tests(blog_probe)]
mod suite {
    use crate::{
        parts::probe,
        read::{
            sections::Form,
            walk::Walk, //
        },
        registry::{
            name_bytes,
            state::Locked, //
        },
        sys::glue::errno,
        tasks,
        tests::rig::*, //
    };
    use kernel::{
        bindings::EOPNOTSUPP,
        blog::{
            ring::Mode,
            wire::record::{
                Context,
                Lost, //
            }, //
        },
        prelude::*,
        str::CString, //
    };

    unsafe extern "C" {
        /// Returns the number with the other sign.
        safe fn blog_test_probed(number: u32, data: u64, text: *const c_char) -> c_int;
    }

    /// A side table, as far as the kernel looks at it, with a build ID of this byte.
    fn table(id: u8) -> Result<KVec<u8>> {
        let mut table = KVec::from_elem(0, 88, GFP_KERNEL)?;
        table[..8].copy_from_slice(b"BLOGFMT\0");
        table[16] = 88;
        table[32] = 16;
        table[36..52].fill(id);
        Ok(table)
    }

    /// A line for a probe, with such a side table.
    fn line(place: &str, id: u8, fetches: &str) -> Result<CString> {
        let mut digits = KVec::new();
        for byte in &table(id)? {
            for nibble in [byte >> 4, byte & 15] {
                let digit = char::from_digit(nibble.into(), 16).ok_or(EINVAL)?;
                digits.push(digit as u8, GFP_KERNEL)?;
            }
        }
        let digits = core::str::from_utf8(&digits).map_err(|_| EINVAL)?;
        CString::try_from_fmt(fmt!("{place} info {digits} {fetches}\n"))
    }

    /// A component with one probe. `EOPNOTSUPP`: the kernel has none of this kind.
    fn rig(place: &str, id: u8, fetches: &str) -> Result<Rig> {
        let rig = Rig::new(c"blog_probed", config(64, 16, Mode::Overwrite))?;
        add(&rig, place, id, fetches)?;
        Ok(rig)
    }

    fn add(rig: &Rig, place: &str, id: u8, fetches: &str) -> Result {
        change(rig, line(place, id, fetches)?.to_str().map_err(|_| EINVAL)?)
    }

    fn change(rig: &Rig, text: &str) -> Result {
        probe::change(&*rig.state()?, text)
    }

    /// A snapshot of the component.
    fn file(rig: &Rig) -> Result<KVVec<u8>> {
        let mut file = KVVec::new();
        let mut walk = Walk::new(Form::Snapshot, Some(rig.state()?), true)?;
        copy(&mut walk, 4096, &mut file)?;
        Ok(file)
    }

    fn has(file: &[u8], bytes: &[u8]) -> bool {
        file.windows(bytes.len()).any(|window| window == bytes)
    }

    fn lost(rig: &Rig) -> Result<u64> {
        let state = rig.state()?;
        probe::count(&state);
        Ok(state.read(|locked: &Locked| state.loose(locked)).lost[Lost::Nested as usize])
    }

    /// What a kernel without kprobes says.
    const NO_KPROBES: bool = cfg!(not(CONFIG_KPROBES));
    const TARGET: &str = "f:blog_test_probed";

    /// Whether there is nothing to test, which is what `result` says then.
    fn is_nothing<T>(result: &Result<T>) -> bool {
        NO_KPROBES && matches!(result, Err(e) if *e == errno(EOPNOTSUPP))
    }

    #[repr(C)]
    struct Data {
        number: u64,
        next: u64,
        short: u16,
        text: [u8; 6],
    }

    #[test]
    fn a_record_has_arguments_and_what_they_lead_to() -> Result {
        let fetches = "$arg1:4 $arg2+0:8 $arg2+8+16:2 $arg2+8+18:s $arg3:s $comm:s";
        let rig = rig(TARGET, 1, fetches);
        if is_nothing(&rig) {
            return Ok(());
        }
        let rig = rig?;
        let mut data = Data {
            number: 0x0102_0304_0506_0708,
            next: 0,
            short: 0x1234,
            text: *b"inner\0",
        };
        let at = &raw const data as u64;
        data.next = at;
        assert_eq!(blog_test_probed(77, at, c"outer".as_char_ptr()), -77);
        // SAFETY: It is the current task.
        let comm = unsafe { tasks::facts(tasks::current()) }.comm();
        let comm = name_bytes(&comm);
        let mut want = KVec::new();
        for part in [
            77u32.to_ne_bytes().as_slice(),
            &[0],
            &data.number.to_ne_bytes(),
            &[0],
            &0x1234u16.to_ne_bytes(),
            &[0, 0, 5],
            b"inner",
            &[5],
            b"outer",
            &[comm.len() as u8],
            comm,
        ] {
            want.extend_from_slice(part, GFP_KERNEL)?;
        }
        let file = file(&rig)?;
        assert!(has(&file, &want));
        // Readers have its side table, before its image.
        assert!(has(&file, &table(1)?));
        // The task or interrupt there has the record, though a breakpoint is like an NMI.
        let read = Read::parse(&file)?;
        let ring = read.only_ring()?;
        // By ftrace, as distributions have it, there is no breakpoint.
        if cfg!(any(
            CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS,
            BLOG_ANYKERNEL
        )) {
            assert_eq!(ring.context, Context::Task as u8);
            assert_eq!(ring.pid, this());
        } else {
            assert_eq!(ring.context, Context::Nmi as u8);
        }
        assert_eq!(ring.records, 1);
        Ok(())
    }

    #[test]
    fn a_bad_pointer_is_an_error_in_the_record() -> Result {
        let rig = rig(TARGET, 2, "$arg2+8:4 $arg2+8+0:4 $arg2+8+0:s $arg3:s");
        if is_nothing(&rig) {
            return Ok(());
        }
        let rig = rig?;
        const BAD: u64 = 0xdead_0000_0000_0000;
        let mut want = KVec::new();
        for (data, errno, text) in [(0, 0, "(null)"), (BAD, -14i32, "(efault)")] {
            blog_test_probed(0, data, data as *const c_char);
            want.clear();
            for _ in 0..2 {
                want.push(1, GFP_KERNEL)?;
                want.extend_from_slice(&errno.to_ne_bytes(), GFP_KERNEL)?;
            }
            for _ in 0..2 {
                want.push(text.len() as u8, GFP_KERNEL)?;
                want.extend_from_slice(text.as_bytes(), GFP_KERNEL)?;
            }
            assert!(has(&file(&rig)?, &want));
        }
        // What is read in the middle can't be, either.
        let data = [0u64, BAD];
        blog_test_probed(0, data.as_ptr() as u64, c"".as_char_ptr());
        let mut want = KVec::new();
        for part in [
            [0, 0, 0, 0, 0].as_slice(),
            &[1, 0xf2, 0xff, 0xff, 0xff, 8],
            b"(efault)\0",
        ] {
            want.extend_from_slice(part, GFP_KERNEL)?;
        }
        assert!(has(&file(&rig)?, &want));
        Ok(())
    }

    #[test]
    fn a_return_has_what_is_returned() -> Result {
        let rig = rig("f:blog_test_probed%return", 3, "$retval:4 $comm:s");
        if is_nothing(&rig) {
            return Ok(());
        }
        let rig = rig?;
        assert_eq!(blog_test_probed(5, 0, core::ptr::null()), -5);
        assert!(has(&file(&rig)?, &(-5i32).to_ne_bytes()));
        let read = Read::parse(&file(&rig)?)?;
        assert_eq!(read.only_ring()?.pid, this());
        Ok(())
    }

    #[test]
    fn a_tracepoint_has_its_arguments() -> Result {
        let rig = rig("t:sched_kthread_stop", 4, "$arg1:8")?;
        let thread = Thread::start(&rig, 0..0)?;
        let task = thread.task() as u64;
        drop(thread);
        assert!(has(&file(&rig)?, &task.to_ne_bytes()));
        Ok(())
    }

    #[test]
    fn a_probe_in_a_probe_is_missed_and_counted() -> Result {
        let rig = rig(TARGET, 5, "$arg2+0:8");
        if is_nothing(&rig) {
            return Ok(());
        }
        let rig = rig?;
        add(&rig, "f:blog_copy_nofault", 6, "")?;
        assert_eq!(lost(&rig)?, 0);
        let data = 1u64;
        blog_test_probed(0, &raw const data as u64, core::ptr::null());
        assert_eq!(lost(&rig)?, 1);
        assert_eq!(lost(&rig)?, 1);
        Ok(())
    }

    #[test]
    fn removed_probes_leave_their_side_tables() -> Result {
        let rig = rig("t:sched_kthread_stop", 7, "")?;
        let site = registry_site(7)?;
        assert_eq!(change(&rig, "-262143"), Err(ENOENT));
        let remove = CString::try_from_fmt(fmt!("-{site}"))?;
        let remove = remove.to_str().map_err(|_| EINVAL)?;
        change(&rig, remove)?;
        assert_eq!(change(&rig, remove), Err(ENOENT));
        drop(Thread::start(&rig, 0..0)?);
        let file = file(&rig)?;
        assert!(Read::parse(&file)?.rings.is_empty());
        assert!(has(&file, &table(7)?));
        // The same one has the same site.
        add(&rig, "t:sched_kthread_stop", 7, "")?;
        assert_eq!(registry_site(7)?, site);
        Ok(())
    }

    /// The site of the probe with this build ID.
    fn registry_site(id: u8) -> Result<u32> {
        crate::registry::with_images(|images| {
            let mut all = images.list().iter();
            let image = all.find(|image| image.entry.build_id[..16] == [id; 16]);
            image.map(|image| image.entry.first).ok_or(ENOENT)
        })
    }

    #[test]
    fn what_cannot_be_probed_is_refused() -> Result {
        let rig = rig("t:sched_kthread_stop", 8, "")?;
        let refused = |place, fetches| add(&rig, place, 9, fetches);
        let no_kprobes = |error| if NO_KPROBES { errno(EOPNOTSUPP) } else { error };
        assert_eq!(refused("t:blog_no_such", ""), Err(ENOENT));
        assert_eq!(refused("f:blog_no_such", ""), Err(no_kprobes(ENOENT)));
        // Not where an instruction starts, or not code that may be probed
        let is_code = |place| to_err(refused(place, ""));
        let entry = if cfg!(CONFIG_ARM64) {
            "f:el1h_64_sync_handler"
        } else if cfg!(CONFIG_RISCV) {
            "f:do_trap_break"
        } else {
            "f:exc_int3"
        };
        assert_eq!(is_code(entry), no_kprobes(EINVAL));
        assert_eq!(is_code("f:blog_hook_reached"), no_kprobes(EINVAL));
        for bad in [
            "",
            "f:",
            "x:y",
            "f:a%return+1",
            "t:a+1",
            "t:a%return",
            "f:a+x",
            "f:a+-1",
        ] {
            assert_eq!(refused(bad, ""), Err(EINVAL));
        }
        for bad in [
            "$arg0:4",
            "$arg12:4",
            "$arg1",
            "$arg1:3",
            "$arg1+:4",
            "$arg1+x:4",
            "arg1:4",
            "$retval:4",
            "$comm:4",
            "$comm+1:s",
            "$arg1+4294967295:4",
            "$arg1:",
        ] {
            assert_eq!(refused("f:blog_test_probed", bad), Err(EINVAL));
        }
        let many = "$arg1:1 $arg1:1 $arg1:1 $arg1:1 $arg1:1 $arg1:1 $arg1:1 ";
        let many = CString::try_from_fmt(fmt!("{many}{many}"))?;
        let many = many.to_str().map_err(|_| EINVAL)?;
        assert_eq!(refused("f:blog_test_probed", many), Err(E2BIG));
        let deep = "$arg1+1+1+1+1+1+1+1:4";
        assert_eq!(refused("f:blog_test_probed", deep), Err(E2BIG));
        for table in ["", "00", "424c4f47464d5400", "zz"] {
            let line = CString::try_from_fmt(fmt!("t:sched_kthread_stop info {table}"))?;
            assert_eq!(
                change(&rig, line.to_str().map_err(|_| EINVAL)?),
                Err(EINVAL)
            );
        }
        Ok(())
    }

    fn to_err(result: Result) -> Error {
        result.err().unwrap_or(EEXIST)
    }

    #[test]
    fn a_component_has_64_probes() -> Result {
        let rig = rig("t:sched_kthread_stop", 10, "")?;
        for _ in 1..64 {
            add(&rig, "t:sched_kthread_stop", 10, "")?;
        }
        assert_eq!(add(&rig, "t:sched_kthread_stop", 10, ""), Err(ENOSPC));
        drop(Thread::start(&rig, 0..0)?);
        assert_eq!(Read::parse(&file(&rig)?)?.only_ring()?.records, 64);
        Ok(())
    }
}
