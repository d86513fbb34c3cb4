// SPDX-License-Identifier: GPL-2.0

//! The bytes of arguments whose types exist in the kernel only; the host tests have the others.

use kernel::prelude::*;

#[kunit_tests(blog_api_encoding)]
mod tests {
    use kernel::{
        blog::{
            wire::types::{
                self,
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

    /// Room for the largest payload, and a byte behind that must stay.
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

    #[derive(Clone, Copy, BlogArg)]
    struct Pair {
        a: u8,
        b: u32,
    }

    #[derive(Clone, Copy, BlogArg)]
    enum Op {
        Read,
        Write(Pair),
        Other { code: u16 },
    }

    #[test]
    fn two_scalars_take_twenty_bytes_with_their_header() {
        let payload = Payload::of((&4096_u32, &8_u64));
        assert_eq!(payload.size + 8, 20);
        assert!(payload.is(&[&4096_u32.to_ne_bytes(), &8_u64.to_ne_bytes()]));
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
    fn strings_are_length_and_bytes() -> Result {
        assert!(Payload::of((c"label",)).is(&[&[5], b"label"]));
        let owned = CString::try_from(c"owned")?;
        assert!(Payload::of((&owned,)).is(&[&[5], b"owned"]));
        assert!(Payload::of(("", &1_u8)).is(&[&[0, 1]]));
        Ok(())
    }

    #[test]
    fn tails_share_what_fixed_bytes_leave() -> Result {
        let mut long = KVec::new();
        long.resize(3000, b'x', GFP_KERNEL)?;
        let bytes: &[u8] = &long;
        // 3 bytes for each length and 4 for the number; the first tail takes all that is left.
        let payload = Payload::of((bytes, "cut away", &1_u32));
        let x = &bytes[..1013];
        let one = 1_u32.to_ne_bytes();
        assert!(payload.is(&[&[255], &3000_u16.to_ne_bytes(), x, &[8], &one]));
        Ok(())
    }

    #[test]
    fn a_length_has_one_byte_up_to_254() -> Result {
        let mut long = KVec::new();
        long.resize(256, b'x', GFP_KERNEL)?;
        assert!(Payload::of((&long[..254],)).is(&[&[254], &long[..254]]));
        for n in [255, 256] {
            let payload = Payload::of((&long[..n], &true));
            assert!(payload.is(&[&[255], &(n as u16).to_ne_bytes(), &long[..n], &[1]]));
        }
        Ok(())
    }

    #[test]
    fn a_length_that_u16_cannot_name_is_65535() -> Result {
        let mut long = KVVec::new();
        long.resize(70_000, b'x', GFP_KERNEL)?;
        let payload = Payload::of((&long[..],));
        assert!(payload.is(&[&[255], &u16::MAX.to_ne_bytes(), &long[..1020]]));
        Ok(())
    }

    #[test]
    fn pointers_to_values_are_the_values() -> Result {
        let arc = Arc::new(5_u16, GFP_KERNEL)?;
        let boxed = KBox::new(6_u16, GFP_KERNEL)?;
        let payload = Payload::of((&arc, &boxed, &&7_u16));
        assert!(payload.is(&[&[5, 0, 6, 0, 7, 0]]));
        assert!(code(&arc) == TypeCode::plain(types::U16));
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

    #[test]
    fn derived_types_are_packed_and_padded() {
        let pair = Pair { a: 1, b: 2 };
        assert!(Payload::of((&pair,)).is(&[&[1, 2, 0, 0, 0]]));
        assert!(Payload::of((&Op::Read,)).is(&[&[0; 6]]));
        assert!(Payload::of((&Op::Write(pair),)).is(&[&[1, 1, 2, 0, 0, 0]]));
        assert!(Payload::of((&Op::Other { code: 3 },)).is(&[&[2, 3, 0, 0, 0, 0]]));
        assert!(Payload::of((&Some(pair),)).is(&[&[1, 1, 2, 0, 0, 0]]));
        assert!(Payload::of((&None::<Pair>,)).is(&[&[0; 6]]));
        assert!(code(&pair).kind() == types::DERIVED);
        assert!(code(&pair) != code(&Op::Read));
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
