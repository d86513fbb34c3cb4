// SPDX-License-Identifier: GPL-2.0

//! The bytes of arguments whose types exist in the kernel only; the host tests have the others.

use kernel::prelude::*;

#[kunit_tests(blog_api_encoding)]
mod tests {
    use kernel::{
        blog::{
            private,
            wire::types::{
                self,
                Privacy,
                TypeCode, //
            },
            BlogArg,
            BlogArgs,
            Hex,
            Mac, //
        },
        prelude::*,
        str::CString,
        sync::Arc,
        time::Delta, //
    };

    /// Room for the largest payload, and a byte after that must stay.
    struct Payload {
        bytes: [u8; types::MAX_PAYLOAD + 1],
        size: usize,
    }

    impl Payload {
        fn of(args: impl BlogArgs) -> Self {
            let mut this = Self {
                bytes: [0xa5; types::MAX_PAYLOAD + 1],
                size: args.size(),
            };
            // SAFETY: `size` is at most `MAX_PAYLOAD`.
            unsafe { args.store(this.bytes.as_mut_ptr()) };
            this
        }

        /// Whether these are the bytes, followed by nothing else.
        fn is(&self, parts: &[&[u8]]) -> bool {
            let mut left = &self.bytes[..];
            for part in parts {
                match left.strip_prefix(*part) {
                    Some(rest) => left = rest,
                    None => return false,
                }
            }
            let used = self.bytes.len() - left.len();
            self.size == used && left.iter().all(|b| *b == 0xa5)
        }
    }

    fn code<T: BlogArg + ?Sized>(_: &T) -> TypeCode {
        T::CODE
    }

    #[test]
    fn errors_are_their_number() {
        assert!(Payload::of((&EINVAL,)).is(&[&(-22_i32).to_ne_bytes()]));
        let ok: Result<u8> = Ok(7);
        let err: Result<u8> = Err(ENOSPC);
        assert!(Payload::of((&ok,)).is(&[&[0, 7, 0, 0, 0]]));
        assert!(Payload::of((&err,)).is(&[&[1], &(-28_i32).to_ne_bytes()]));
        assert!(code(&EINVAL) == TypeCode::plain(types::ERROR));
        assert!(code(&err) == TypeCode(u64::from(types::U8) << 8 | u64::from(types::RESULT)));
    }

    #[test]
    fn pointers_to_values_are_the_values() -> Result {
        let arc = Arc::new(5_u16, GFP_KERNEL)?;
        let boxed = KBox::new(6_u16, GFP_KERNEL)?;
        let payload = Payload::of((&arc, &boxed, &&7_u16));
        assert!(payload.is(&[&[5, 0, 6, 0, 7, 0]]));
        assert!(code(&arc) == TypeCode::plain(types::U16));
        let owned = CString::try_from(c"owned")?;
        assert!(Payload::of((c"label", &owned)).is(&[&[5], b"label", &[5], b"owned"]));
        Ok(())
    }

    #[test]
    fn tasks_are_pids_and_times_are_nanoseconds() {
        let pid = kernel::current!().pid();
        let task: &kernel::task::Task = kernel::current!();
        assert!(Payload::of((task,)).is(&[&pid.to_ne_bytes()]));
        let delta = Delta::from_micros(5);
        assert!(Payload::of((&delta,)).is(&[&5000_i64.to_ne_bytes()]));
    }

    /// What the component's setting makes of it is for `blog_control`.
    #[test]
    fn private_arguments_are_hashes_by_which_equal_ones_are_found() {
        let hash = |payload: &Payload| payload.bytes.first_chunk::<10>().copied();
        let of = |text: &str| hash(&Payload::of((&private(text).pass_by(|| Privacy::Hash),)));
        let text = of("text");
        assert!(text.is_some_and(|bytes| bytes[0] == 0 && bytes[9] == 0xa5));
        assert!(text == of("text") && text != of("texts") && text != of(""));
        // Of any length, up to what a record has.
        let long = [b'a'; types::MAX_PAYLOAD];
        let longer = [b'a'; types::MAX_PAYLOAD + 1];
        let bytes = |bytes: &[u8]| hash(&Payload::of((&private(bytes).pass_by(|| Privacy::Hash),)));
        assert!(bytes(&long) == bytes(&longer) && bytes(&long) != bytes(&long[1..]));
        assert!(bytes(b"text") == text);
        let number = |n: u32| hash(&Payload::of((&private(n).pass_by(|| Privacy::Hash),)));
        assert!(number(7) == number(7) && number(7) != number(8));
        let code = code(&private(7_u32));
        assert!(code == TypeCode::plain(types::U32).wrapped(types::PRIVATE));
        assert!(code.wrapped(types::OPTION) == TypeCode::TOO_DEEP);
    }

    #[test]
    fn wrappers_print_as_fmt_prints_them() -> Result {
        let text = CString::try_from_fmt(fmt!(
            "{} {:>20} {:?}",
            Hex(&[0xde, 0xad, 0]),
            Mac([2, 0, 0x5e, 0x10, 0, 0xff]),
            Mac([0; 6])
        ))?;
        let expected = "de ad 00    02:00:5e:10:00:ff 00:00:00:00:00:00";
        assert_eq!(text.to_str()?, expected);
        Ok(())
    }
}
