// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Who blocks whom: the chain from a task that waits for a lock to who holds it, to what that one
//! waits for, and so on.

use std::collections::HashMap;

use crate::wire::file::{LockKind, Wait, WAIT_GONE, WAIT_LINKS, WAIT_READERS};

/// A task waits for a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Thread id of who waits.
    pub pid: i32,
    /// The lock: the same number for all who wait for it in one file. 0: not known.
    pub lock: u64,
    /// What it is; `None`: of a kind that this program doesn't know.
    pub kind: Option<LockKind>,
    /// Thread id of who holds it.
    pub holder: Option<i32>,
    /// Readers hold it: the holder is the last of them to have taken it.
    pub readers: bool,
    /// Who held it has ended.
    pub gone: bool,
}

impl Link {
    /// What a file says of a task that waits.
    pub fn of(wait: &Wait) -> Self {
        Self {
            pid: wait.pid,
            lock: wait.lock,
            kind: LockKind::from_u32(wait.kind),
            holder: (wait.holder != 0).then_some(wait.holder),
            readers: wait.flags & WAIT_READERS != 0,
            gone: wait.flags & WAIT_GONE != 0,
        }
    }

    /// The kind of lock, for programs.
    pub fn kind_name(&self) -> Option<&'static str> {
        Some(match self.kind? {
            LockKind::Mutex => "mutex",
            LockKind::Semaphore => "semaphore",
            LockKind::RwsemRead => "rwsem-read",
            LockKind::RwsemWrite => "rwsem-write",
        })
    }

    /// The kind of lock, as users know it, with its article.
    pub fn name(&self) -> &'static str {
        match self.kind {
            Some(LockKind::Mutex) => "a mutex",
            Some(LockKind::Semaphore) => "a semaphore",
            Some(LockKind::RwsemRead) => "an rwsem (to read)",
            Some(LockKind::RwsemWrite) => "an rwsem (to write)",
            None => "a lock of an unknown kind",
        }
    }

    /// Whether its holder has the lock, and nobody else: the kernel knows only the last taker of a
    /// semaphore, and of several readers the one that came last.
    pub fn is_certain(&self) -> bool {
        let is_owned = !matches!(self.kind, Some(LockKind::Semaphore) | None);
        self.holder.is_some() && is_owned && !self.readers
    }
}

/// What a task waits for, in the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// From the task on. It ends with a holder who doesn't wait for a lock, or isn't known; or
    /// where it comes back to a task that it has had.
    pub links: Vec<Link>,
    /// It comes back, by locks whose holders are certain: those from that task on wait for each
    /// other.
    pub deadlock: bool,
}

/// All that wait, by thread id.
pub struct Waits(HashMap<i32, Wait>);

impl Waits {
    /// What a file says. Of one thread, the first one counts.
    pub fn new(waits: &[Wait]) -> Self {
        let mut by_pid = HashMap::new();
        for wait in waits {
            by_pid.entry(wait.pid).or_insert(*wait);
        }
        Self(by_pid)
    }

    /// The chain of a task.
    pub fn of(&self, pid: i32) -> Chain {
        let mut chain = Chain::default();
        let mut next = Some(pid);
        // A file may say anything. The kernel goes so far, from each task with rings.
        while let Some(wait) = next.and_then(|pid| self.0.get(&pid)) {
            if chain.links.len() == 2 * WAIT_LINKS {
                break;
            }
            let link = Link::of(wait);
            let holder = link.holder;
            chain.links.push(link);
            let ring = chain.links.iter().position(|link| Some(link.pid) == holder);
            chain.deadlock = ring.is_some_and(|at| chain.links[at..].iter().all(Link::is_certain));
            next = holder.filter(|_| ring.is_none());
        }
        chain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(pid: i32, holder: i32) -> Wait {
        Wait { lock: u64::from(pid.unsigned_abs()), pid, holder, kind: 1, flags: 0 }
    }

    fn of(waits: &[Wait], pid: i32) -> (Vec<(i32, Option<i32>)>, bool) {
        let chain = Waits::new(waits).of(pid);
        let links = chain.links.iter().map(|link| (link.pid, link.holder));
        (links.collect(), chain.deadlock)
    }

    #[test]
    fn a_chain_ends_with_who_does_not_wait() {
        let waits = [wait(1, 2), wait(2, 3), wait(3, 4)];
        assert_eq!(of(&waits, 1), (vec![(1, Some(2)), (2, Some(3)), (3, Some(4))], false));
        assert_eq!(of(&waits, 4), (vec![], false));
        assert_eq!(of(&[wait(1, 0)], 1), (vec![(1, None)], false));
    }

    #[test]
    fn a_circle_is_a_deadlock_wherever_it_begins() {
        let waits = [wait(1, 2), wait(2, 1), wait(3, 1), wait(4, 4)];
        assert_eq!(of(&waits, 1), (vec![(1, Some(2)), (2, Some(1))], true));
        assert_eq!(of(&waits, 3), (vec![(3, Some(1)), (1, Some(2)), (2, Some(1))], true));
        assert_eq!(of(&waits, 4), (vec![(4, Some(4))], true));
    }

    #[test]
    fn who_was_the_last_to_take_a_semaphore_is_in_no_deadlock() {
        let semaphore = Wait { kind: LockKind::Semaphore as u32, ..wait(2, 1) };
        assert_eq!(of(&[wait(1, 2), semaphore], 1), (vec![(1, Some(2)), (2, Some(1))], false));
        let readers = Wait { flags: WAIT_READERS, kind: 4, ..wait(1, 1) };
        assert_eq!(of(&[readers], 1), (vec![(1, Some(1))], false));
    }

    #[test]
    fn a_long_chain_is_cut() {
        let waits: Vec<Wait> = (1..100).map(|pid| wait(pid, pid + 1)).collect();
        let (links, deadlock) = of(&waits, 1);
        assert_eq!((links.len(), deadlock), (2 * WAIT_LINKS, false));
    }

    #[test]
    fn flags_and_kinds_are_told() {
        let mut strange = wait(1, 0);
        (strange.kind, strange.flags) = (77, WAIT_GONE | WAIT_READERS);
        let chain = Waits::new(&[strange]).of(1);
        let link = &chain.links[0];
        assert!(link.gone && link.readers && link.kind.is_none());
        assert_eq!(link.name(), "a lock of an unknown kind");
    }
}
