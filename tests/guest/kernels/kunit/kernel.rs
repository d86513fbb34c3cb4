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
