/// What only KUnit's suites use of this crate. These are the last lines of its lib.rs then.
#[doc(hidden)]
pub mod suites {
    use super::bindings::{
        iov_iter,
        task_struct, //
    };
    use core::ffi::{
        c_char,
        c_int,
        c_void, //
    };

    pub const ITER_DEST: u32 = 0;

    #[repr(C)]
    pub struct kvec {
        pub iov_base: *mut c_void,
        pub iov_len: usize,
    }

    type Thread = unsafe extern "C" fn(*mut c_void) -> c_int;

    unsafe extern "C" {
        pub fn iov_iter_kvec(
            iter: *mut iov_iter,
            direction: u32,
            vec: *const kvec,
            count: usize,
            bytes: usize,
        );
        pub fn kthread_create_on_node(
            run: Option<Thread>,
            data: *mut c_void,
            node: c_int,
            name: *const c_char,
            ...
        ) -> *mut task_struct;
        pub fn kthread_should_stop() -> bool;
        pub fn kthread_stop(task: *mut task_struct) -> c_int;
        pub fn schedule_timeout_interruptible(jiffies: isize) -> isize;
        pub fn wake_up_process(task: *mut task_struct) -> c_int;
        pub fn blog_kunit_spawn(run: unsafe extern "C" fn(*mut c_void), data: *mut c_void)
            -> c_int;
    }
}

pub mod workqueue {
    use super::{
        alloc::{
            Flags,
            KBox, //
        },
        error::{
            to_result,
            Result, //
        },
        suites::blog_kunit_spawn, //
    };
    use core::ffi::c_void;

    pub struct Queue;

    pub fn system_unbound() -> Queue {
        Queue
    }

    /// # Safety
    ///
    /// `f` is a box of an `F`, and nobody else's.
    unsafe extern "C" fn run<F: FnOnce()>(f: *mut c_void) {
        // SAFETY: By this function's requirement.
        unsafe {
            f.cast::<F>().read()();
            drop(KBox::from_raw(f.cast::<core::mem::ManuallyDrop<F>>()));
        }
    }

    impl Queue {
        pub fn try_spawn<F: FnOnce() + Send + 'static>(&self, flags: Flags, f: F) -> Result {
            let f = KBox::into_raw(KBox::new(f, flags)?);
            // SAFETY: It is a box of an `F`.
            to_result(unsafe { blog_kunit_spawn(run::<F>, f.cast()) })
        }
    }
}

pub mod time {
    use core::marker::PhantomData;

    unsafe extern "C" {
        safe fn ktime_get() -> i64;
        safe fn msleep(ms: u32);
        #[link_name = "__msecs_to_jiffies"]
        pub safe fn msecs_to_jiffies(ms: u32) -> usize;
    }

    pub struct Monotonic;

    /// In nanoseconds.
    #[derive(Clone, Copy)]
    pub struct Instant<C>(i64, PhantomData<C>);

    impl Instant<Monotonic> {
        pub fn now() -> Self {
            Self(ktime_get(), PhantomData)
        }

        pub fn elapsed(&self) -> Delta {
            Delta(ktime_get() - self.0)
        }
    }

    /// In nanoseconds.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub struct Delta(i64);

    impl Delta {
        pub const fn from_micros(micros: i64) -> Self {
            Self(micros * 1_000)
        }

        pub const fn from_millis(millis: i64) -> Self {
            Self(millis * 1_000_000)
        }

        pub const fn as_nanos(self) -> i64 {
            self.0
        }

        pub fn as_millis(self) -> i64 {
            self.0 / 1_000_000
        }
    }

    pub mod delay {
        use super::Delta;

        pub fn fsleep(time: Delta) {
            super::msleep((time.0 as u64).div_ceil(1_000_000) as u32);
        }
    }
}

impl TryFrom<&str::CStr> for str::CString {
    type Error = error::Error;

    /// Of plain text, as suites have it.
    fn try_from(text: &str::CStr) -> error::Result<Self> {
        Self::try_from_fmt(format_args!("{}", str::BStr::from_bytes(text.to_bytes())))
    }
}
