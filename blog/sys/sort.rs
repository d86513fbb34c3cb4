// SPDX-License-Identifier: GPL-2.0

//! Sorting without a path to a panic.
//!
//! `core`'s sorts panic where an order is inconsistent, in a function that objtool doesn't know not
//! to return. The snapshot reader needs no more than this heapsort: in place, without recursion,
//! O(n log n) whatever the input.

/// Sorts by `key`.
pub(crate) fn sort_by_key<T, K: Ord>(values: &mut [T], key: impl Fn(&T) -> K) {
    let len = values.len();
    for root in (0..len / 2).rev() {
        sift_down(values, root, &key);
    }
    for end in (1..len).rev() {
        values.swap(0, end);
        if let Some(heap) = values.get_mut(..end) {
            sift_down(heap, 0, &key);
        }
    }
}

/// Moves the value at `at` down until no child is greater.
fn sift_down<T, K: Ord>(heap: &mut [T], mut at: usize, key: &impl Fn(&T) -> K) {
    loop {
        let left = 2 * at + 1;
        let (Some(parent), Some(mut child)) = (heap.get(at), heap.get(left)) else {
            return;
        };
        let mut greater = left;
        if let Some(right) = heap.get(left + 1) {
            if key(right) > key(child) {
                (child, greater) = (right, left + 1);
            }
        }
        if key(child) <= key(parent) {
            return;
        }
        heap.swap(at, greater);
        at = greater;
    }
}
