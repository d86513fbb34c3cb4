// SPDX-License-Identifier: GPL-2.0

//! An instance that stays registered when it is gone.

#![forbid(unsafe_code)]

use kernel::blog::Instance;

pub fn forget(mut instance: Instance) {
    instance.unregister = None;
    //~      ^ field `unregister` of struct `Instance` is private: private field
}
