// SPDX-License-Identifier: GPL-2.0

//! A captured driver: its code doesn't mention BLog, and its messages become records all the same.
//! A line in the Makefile captures it.

use kernel::prelude::*;

module! {
    type: BlogCaptureKunit,
    name: "blog_capture_kunit",
    description: "KUnit tests of BLog's records of messages",
    license: "GPL",
}

struct BlogCaptureKunit;

impl kernel::Module for BlogCaptureKunit {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        Ok(Self)
    }
}

/// What the driver says.
mod driver {
    use kernel::{
        device::Device,
        fmt,
        prelude::*, //
    };

    /// A type that BLog does not know.
    #[derive(Clone, Debug)]
    pub(crate) struct Foreign {
        pub(crate) id: u32,
        pub(crate) on: bool,
    }

    impl fmt::Display for Foreign {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.pad(if self.on { "foreign" } else { "off" })
        }
    }

    impl core::fmt::LowerHex for Foreign {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            core::fmt::LowerHex::fmt(&self.id, f)
        }
    }

    /// A message of each level.
    pub(crate) fn each_level() {
        pr_emerg!("emerg {}\n", 0);
        pr_alert!("alert {}\n", 1);
        pr_crit!("crit {}\n", 2);
        pr_err!("err {}\n", 3);
        pr_warn!("warn {}\n", 4);
        pr_notice!("notice {}\n", 5);
        pr_info!("info {}\n", 6);
        pr_debug!("debug {}\n", 7);
    }

    /// The same of a device.
    pub(crate) fn each_level_of(dev: &Device) {
        dev_emerg!(dev, "emerg {}\n", 0);
        dev_alert!(dev, "alert {}\n", 1);
        dev_crit!(dev, "crit {}\n", 2);
        dev_err!(dev, "err {}\n", 3);
        dev_warn!(dev, "warn {}\n", 4);
        dev_notice!(dev, "notice {}\n", 5);
        dev_info!(dev, "info {}\n", 6);
        dev_dbg!(dev, "debug {}\n", 7);
    }

    /// All that formats can say, of types that BLog knows and of others.
    pub(crate) fn each_format(dev: &Device) {
        let foreign = Foreign { id: 0x2a, on: true };
        let (name, number, width, precision) = ("captured", 0x1f_u64, 9, 3);
        let (error, one): (Result<u32>, Result<u8>) = (Err(EINVAL), Ok(1));

        pr_info!("no newline");
        pr_info!("braces {{}} %d \"quoted\" \\ ä\n");
        pr_info!("{} {:?} {} {:?}\n", name, name, true, 'c');
        pr_info!("{1} {0} {0:?} {1:x}\n", -1, number);
        pr_info!("{number} {number:#x} {number:#010b} {number:>5} {name:-^20}\n");
        pr_info!("{a} {b:?} {a:>4}\n", a = 7_u8, b = Some(7_i64));
        pr_info!("{name:>width$}|{number:<width$}|{name:.precision$}\n");
        pr_info!("{:?} {:?} {:?}\n", error, ENOMEM, one);
        pr_info!(
            "{} {}\n",
            c"c string",
            kernel::str::BStr::from_bytes(b"b\x01")
        );
        pr_info!("{:?} {:?}\n", [1_u8, 2], &[1_u16, 2][..]);

        pr_info!("{} {:?} {:?}\n", foreign, foreign, Some(&foreign));
        pr_info!("{foreign:>width$}|{foreign:.precision$}|{foreign:#x}|{foreign:^11}|\n");
        pr_info!("{0} {0:?} {1} {0}\n", foreign, number);
        pr_info!("{}\n", fmt!("{}: {foreign}", number));
        pr_info!("{}\n", Twice("x", 60));
        pr_info!(
            "{} {} {} {} {} {} {} {} {} {} {} {} {}\n",
            1,
            2,
            3,
            4,
            5,
            6,
            7,
            8,
            9,
            10,
            11,
            12,
            foreign
        );

        dev_info!(dev, "plain\n");
        dev_info!(dev, "{} of {}\n", number, foreign);
        dev_info!(dev, "{dev} {number} {}\n", 1, dev = 2);
        dev_info!(dev, "{0} {0:x}\n", number);
    }

    /// Text of twice a length.
    struct Twice(&'static str, usize);

    impl fmt::Display for Twice {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            for _ in 0..2 * self.1 {
                f.write_str(self.0)?;
            }
            Ok(())
        }
    }

    /// More than what is stored of a message.
    pub(crate) fn too_long() {
        pr_info!("{}|\n", Twice("ä", 100));
    }

    /// Places where messages stand, and values that they can be of.
    pub(crate) fn anywhere(n: Option<u32>, gone: Foreign) -> Result<u32> {
        fn generic<T: core::fmt::Debug>(value: T) {
            pr_info!("{:?}\n", value);
        }
        fn take(foreign: Foreign) -> u32 {
            foreign.id
        }
        generic(1_u8);
        generic(gone.clone());
        pr_info!("{}\n", take(gone));
        match n {
            Some(0) => pr_info!("zero\n"),
            Some(n) => pr_info!(
                "{}\n",
                match n {
                    1 => return Ok(1),
                    n => n,
                }
            ),
            None => return Err(EINVAL).inspect_err(|e| pr_notice!("{e:?}\n")),
        }
        pr_info!("{}\n", n.ok_or(EINVAL)?);
        Ok(0)
    }

    pub(crate) fn cont() {
        pr_info!("one");
        kernel::pr_cont!(", {}\n", "two");
    }

    pub(crate) fn scalars() {
        pr_info!("{} {:#x}\n", 1_u32, 2_u64);
    }

    /// Is recorded as it prints, as a hash.
    pub(crate) fn pointer() {
        pr_info!("{:p}\n", core::ptr::null::<u8>());
    }

    pub(crate) fn in_device(dev: &Device) {
        dev_dbg!(dev, "{}\n", 7_u16);
    }
}

#[kunit_tests(blog_capture)]
mod tests {
    use super::driver::{
        self,
        Foreign, //
    };
    use kernel::{
        blog::{
            ring_of,
            Component, //
        },
        device::Device,
        faux,
        prelude::*, //
    };

    /// Where the current task's ring is, and how many records it has had.
    fn position() -> Option<(u64, u32, u64)> {
        // SAFETY: The ring stays while the component is on.
        unsafe { ring_of(crate::__BLOG_CAPTURE.raw()).as_ref() }.and_then(|ring| ring.position())
    }

    /// The records that `f` adds, and their bytes without headers, where they are in one page.
    fn added(mut f: impl FnMut()) -> Option<(u64, u32)> {
        // The first one gets the task its ring; and any may lead to the next page.
        driver::scalars();
        for _ in 0..4 {
            let before = position()?;
            f();
            let after = position()?;
            let records = after.2 - before.2;
            if after.0 == before.0 {
                return Some((records, after.1 - before.1 - 8 * records as u32));
            }
        }
        None
    }

    fn records(f: impl FnMut()) -> Option<u64> {
        added(f).map(|(records, _)| records)
    }

    fn device(name: &CStr) -> Result<faux::Registration> {
        faux::Registration::new(name, None)
    }

    #[test]
    fn the_component_is_the_module() {
        assert!(crate::__BLOG_CAPTURE.is_on());
        assert_eq!(
            crate::__BLOG_CAPTURE
                .raw()
                .name()
                .map(|name| name.to_bytes()),
            Some(&b"blog_capture_kunit"[..])
        );
    }

    #[test]
    fn each_level_is_recorded() -> Result {
        let dev = device(c"captured0")?;
        let dev: &Device = dev.as_ref().as_ref();
        // In the ring of this task; warnings and errors are in others, and
        // `tests/suites/test_capture.py` finds all.
        assert_eq!(records(driver::each_level), Some(3));
        assert_eq!(records(|| driver::each_level_of(dev)), Some(3));
        Ok(())
    }

    #[test]
    fn a_message_is_stored_as_text() -> Result {
        let dev = device(c"captured1")?;
        let dev: &Device = dev.as_ref().as_ref();
        assert_eq!(added(driver::scalars), Some((1, 1 + "1 0x2".len() as u32)));
        assert_eq!(records(driver::pointer), Some(1));
        assert_eq!(added(driver::too_long), Some((1, 1 + 253)));
        assert_eq!(added(|| driver::in_device(dev)), Some((1, 1 + 1 + 1 + 9)));
        Ok(())
    }

    /// Whether they decode to what is printed is for `tests/suites/test_capture.py`.
    #[test]
    fn each_format_is_recorded() -> Result {
        let dev = device(c"captured2")?;
        let dev: &Device = dev.as_ref().as_ref();
        assert_eq!(records(|| driver::each_format(dev)), Some(20));
        Ok(())
    }

    #[test]
    fn a_line_that_goes_on_is_two_records() {
        assert_eq!(records(driver::cont), Some(2));
    }

    #[test]
    fn a_message_can_stand_anywhere() {
        let foreign = || Foreign { id: 1, on: false };
        for (n, messages, result) in [
            (Some(0), 3 + 2, Ok(0)),
            (Some(1), 3, Ok(1)),
            (Some(2), 3 + 2, Ok(0)),
            (None, 3 + 1, Err(EINVAL)),
        ] {
            let say = || assert_eq!(driver::anywhere(n, foreign()), result);
            assert_eq!(records(say), Some(messages));
        }
    }

    #[test]
    fn arguments_are_evaluated_once_and_in_order() {
        let mut seen = 0_u32;
        let mut next = |n: u32| {
            seen = seen * 10 + n;
            Foreign { id: n, on: true }
        };
        pr_info!("{1:x} {0} {0:?}\n", next(1), next(2));
        pr_debug!("{}\n", next(3));
        assert_eq!(seen, 123);
    }
}
