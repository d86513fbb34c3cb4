// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Jobs that other threads do, one after the other in turn.
//!
//! Their results come back in the order of the jobs, so what is made of them is the same with any
//! number of threads. There are so many jobs on their way, and no more.

use std::{
    io::{self, Write},
    sync::mpsc::{sync_channel, Receiver, SyncSender},
    thread::{Builder, Scope},
};

/// Jobs on their way for each thread: one that it does, and the next one.
const EACH: usize = 2;

/// The threads, and what does the jobs if there are none.
pub struct Queue<'a, J, R> {
    threads: Vec<(SyncSender<J>, Receiver<R>)>,
    own: Box<dyn FnMut(J) -> R + 'a>,
    /// The result of `own`.
    done: Option<R>,
    sent: usize,
    received: usize,
}

impl<'a, J: Send + 'a, R: Send + 'a> Queue<'a, J, R> {
    /// Starts so many threads, or as many as the system permits. Each calls what `work` makes.
    pub fn new<'s, W: FnMut(J) -> R + Send + 'a>(
        scope: &'s Scope<'s, '_>,
        threads: usize,
        work: impl Fn() -> W,
    ) -> Self
    where
        'a: 's,
    {
        let start = |_| {
            let (send, todo) = sync_channel(EACH);
            let (done, receive) = sync_channel(EACH);
            let mut work = work();
            let run = move || {
                let mut results = todo.into_iter().map(&mut work);
                results.try_for_each(|result| done.send(result))
            };
            let started = Builder::new().spawn_scoped(scope, run);
            started.ok().map(|_| (send, receive))
        };
        Self {
            threads: (0..threads).map_while(start).collect(),
            own: Box::new(work()),
            done: None,
            sent: 0,
            received: 0,
        }
    }

    /// Gives a job to a thread. If [`Queue::full`] was not called before, this may wait for ever.
    pub fn push(&mut self, job: J) {
        match self.threads.len() {
            0 => self.done = Some((self.own)(job)),
            n => {
                // A thread ends before its channel only by a panic, which the scope passes on.
                let _ = self.threads[self.sent % n].0.send(job);
                self.sent += 1;
            }
        }
    }

    /// The next result, if no job can be pushed before it is taken.
    pub fn full(&mut self) -> Option<R> {
        let is_full = self.sent - self.received == EACH * self.threads.len();
        is_full.then(|| self.pop()).flatten()
    }

    /// The next result; `None`: there are no more.
    pub fn pop(&mut self) -> Option<R> {
        if self.received == self.sent {
            return self.done.take();
        }
        let next = self.threads[self.received % self.threads.len()].1.recv();
        self.received += 1;
        next.ok()
    }
}

impl<'a, J: Send + 'a> Queue<'a, J, io::Result<Vec<u8>>> {
    /// Gives a job to a thread, after the result is written that has to be taken before.
    pub fn push_to(&mut self, job: J, out: &mut impl Write) -> io::Result<()> {
        if let Some(made) = self.full() {
            out.write_all(&made?)?;
        }
        self.push(job);
        Ok(())
    }

    /// Writes all results that are left.
    pub fn end_to(&mut self, out: &mut impl Write) -> io::Result<()> {
        while let Some(made) = self.pop() {
            out.write_all(&made?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn results_come_in_the_order_of_jobs() {
        for threads in [0, 1, 3] {
            let results: Vec<u64> = thread::scope(|scope| {
                let mut queue = Queue::new(scope, threads, || {
                    |n: u64| {
                        // The first jobs take the longest.
                        thread::sleep(std::time::Duration::from_millis(20 - n));
                        n * 2
                    }
                });
                let mut results = Vec::new();
                for n in 0..20 {
                    results.extend(queue.full());
                    queue.push(n);
                }
                results.extend(std::iter::from_fn(|| queue.pop()));
                results
            });
            assert_eq!(results, (0..20).map(|n| n * 2).collect::<Vec<_>>());
        }
    }
}
