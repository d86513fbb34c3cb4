// SPDX-License-Identifier: GPL-2.0

//! Where dumps, mapped memory and the next boot find the fields of a ring.

use super::{
    super::wire::ring::RingHead,
    Ring, //
};
use core::mem::offset_of;

/// Asserts that fields are where others find them.
macro_rules! as_in_head {
    ($($there:ident: $($here:ident).+;)*) => {
        $(assert!(offset_of!(RingHead, $there) == offset_of!(Ring, $($here).+));)*
    };
}

const _: () = {
    as_in_head! {
        busy: busy;
        limit: cursor.limit;
        ts_base: cursor.ts_base;
        page: cursor.page;
        exit_clock: cursor.last;
        seq: cursor.seq;
        taken: cursor.taken;
        oldest: chain;
        pages: chain.pages;
        lost: losses.lost;
        told: losses.reported;
        id: owner.id;
        version: owner.version;
        state: owner.state;
        context: owner.context;
        slot: owner.slot;
        cpu: owner.cpu;
        pid: owner.pid;
        tgid: owner.tgid;
        comm: owner.comm;
        first_seq: owner.first_seq;
        next: next;
    }
};
