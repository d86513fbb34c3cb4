// SPDX-License-Identifier: GPL-2.0

//! The file: who reads, and who waits for what he may read.

use core::sync::atomic::{
    AtomicU64,
    Ordering::Relaxed, //
};
use kernel::{
    bindings,
    fs::{
        file::{
            flags::O_NONBLOCK,
            Offset, //
        },
        operations::FileOperations,
        File, //
    },
    new_mutex,
    prelude::*,
    sync::{
        poll::PollTable,
        Arc,
        ArcBorrow,
        Mutex, //
    },
    uaccess::UserSliceWriter, //
};

use crate::{
    read::{
        sections::{
            copy_out,
            Source, //
        },
        stream::{
            news::{
                News,
                Open, //
            },
            passes::Stream, //
        }, //
    },
    registry::state::State,
    sys::glue, //
};

/// A stream file; of a component, or of all where it was made without one.
#[pin_data]
pub(crate) struct Reader {
    open: Open,
    /// [`News::count`] before the last pass.
    news: AtomicU64,
    #[pin]
    stream: Mutex<Stream>,
}

impl Reader {
    /// Reads on; 0 at the end of a stream. `EAGAIN` where there is nothing to read now: if `now`,
    /// after a look at all rings, so that what was logged before the call has been read, else the
    /// caller shall wait for news first.
    fn read_on(&self, to: &mut UserSliceWriter, now: bool) -> Result<usize> {
        if to.is_empty() {
            return Ok(0);
        }
        let mut stream = self.stream.lock();
        if !now && stream.calm() && !self.has_news() {
            return Err(EAGAIN);
        }
        let begun = stream.in_pass();
        let stop = || current!().signal_pending();
        let mut result = copy_out(&mut *stream, to, stop);
        if begun && result == Ok(0) {
            // That pass was past some rings before the call: only a whole one tells.
            result = copy_out(&mut *stream, to, stop);
        }
        self.news.store(stream.news(), Relaxed);
        match result? {
            0 if !stream.ended() => Err(EAGAIN),
            done => Ok(done),
        }
    }

    /// Whether anything has changed since the last pass.
    fn has_news(&self) -> bool {
        self.news.load(Relaxed) != self.open.news().count()
    }
}

#[vtable]
impl FileOperations for Reader {
    type Inode = State;
    type Data = Pin<KBox<Self>>;

    const STREAM: bool = true;

    fn open(of: Option<&State>, file: &File) -> Result<Self::Data> {
        let addresses = glue::may_open(file)?;
        // SAFETY: Such a file is of a component in an `Arc`, which is there during the call.
        let only = of.map(|state| Arc::from(unsafe { ArcBorrow::from_raw(state) }));
        KBox::pin_init(
            try_pin_init!(Self {
                open: Open::new(News::of(of)),
                news: AtomicU64::new(0),
                stream <- new_mutex!(Stream::new(only, addresses)?),
            }),
            GFP_KERNEL,
        )
    }

    fn read(
        reader: Pin<&Self>,
        file: &File,
        to: &mut UserSliceWriter,
        _at: &mut Offset,
    ) -> Result<usize> {
        let now = file.flags() & O_NONBLOCK != 0;
        loop {
            match reader.read_on(to, now) {
                Err(EAGAIN) if !now => reader.open.wait(reader.news.load(Relaxed))?,
                result => return result,
            }
        }
    }

    /// Looks at the rings if nobody does so for those who wait, or if there is news.
    fn poll(reader: Pin<&Self>, file: &File, table: PollTable<'_>) -> u32 {
        let now = glue::poll_stream(file, table);
        let mut stream = reader.stream.lock();
        if now || !stream.calm() || reader.has_news() {
            let failed = stream.peek().is_err();
            reader.news.store(stream.news(), Relaxed);
            if failed {
                return bindings::POLLERR;
            }
        }
        let data = bindings::POLLIN | bindings::POLLRDNORM;
        match (stream.is_last(), stream.has_data()) {
            (true, _) => data | bindings::POLLHUP,
            (false, true) => data,
            (false, false) => 0,
        }
    }
}
