// SPDX-License-Identifier: GPL-2.0

//! The files: opening, reading, and waiting for records.

use kernel::fs::file::flags::O_NONBLOCK;

use crate::{
    read::{
        sections::Form,
        walk::Walk, //
    },
    registry,
    sys::{
        hook,
        prelude::*,
        tree::{
            self,
            OpenFile,
            Shape, //
        }, //
    }, //
};

/// An open file `stream` or `snapshot`; of a component, or of all where it was made without one.
pub(crate) struct Reader<const STREAM: bool> {
    walk: Pin<KBox<Mutex<Walk>>>,
}

impl<const STREAM: bool> OpenFile for Reader<STREAM> {
    const SHAPE: Shape = Shape::Stream;

    fn open(of: u64, file: &File) -> Result<Self> {
        let addresses = hook::shows_addresses(file);
        let only = registry::by_id(of)?;
        let form = match STREAM {
            true => Form::Stream,
            false => Form::Snapshot,
        };
        let walk = Walk::new(form, only, addresses)?;
        let walk = KBox::pin_init(new_mutex!(walk), GFP_KERNEL)?;
        Ok(Self { walk })
    }

    /// Reads on; 0 at the end. If there is nothing to read now, it waits, or with `O_NONBLOCK`
    /// returns `EAGAIN`, after a look at all rings, so that what was logged before was read.
    fn read(&self, file: &File, to: &mut IovIterDest<'_>, _at: &mut Offset) -> Result<usize> {
        if to.is_empty() {
            return Ok(0);
        }
        let now = file.flags() & O_NONBLOCK != 0;
        let stop = || current!().signal_pending();
        loop {
            let mut walk = self.walk.lock();
            if now || walk.rests().is_none() {
                match walk.read(to, stop)? {
                    0 if !walk.ended() => (),
                    done => return Ok(done),
                }
            }
            if stop() {
                return Err(ERESTARTSYS);
            }
            let ms = walk.rests().unwrap_or(0);
            if now {
                tree::wake_in(ms);
                return Err(EAGAIN);
            }
            drop(walk);
            // SAFETY: This is process context.
            unsafe { bindings::msleep_interruptible(ms) };
            if stop() {
                return Err(ERESTARTSYS);
            }
        }
    }

    /// Chooses what this open file gives, before it is read, where there is a part for that.
    #[cfg(CONFIG_BLOG_PARTS)]
    fn write(&self, text: &str) -> Result {
        let choose = super::choice::CHOOSE.as_ref().ok_or(EINVAL)?;
        self.walk.lock().choose(choose(text)?)
    }

    /// Looks at the rings, unless that was done just now and somebody waits.
    fn poll(&self, file: &File, table: PollTable<'_>) -> u32 {
        let waits = tree::wait(file, table);
        let mut walk = self.walk.lock();
        if (!waits || walk.rests().is_none()) && walk.peek().is_err() {
            return bindings::POLLERR;
        }
        let data = bindings::POLLIN | bindings::POLLRDNORM;
        match (walk.is_last(), walk.has_data()) {
            (true, _) => data | bindings::POLLHUP,
            (false, true) => data,
            (false, false) => {
                tree::wake_in(walk.rests().unwrap_or(0));
                0
            }
        }
    }
}
