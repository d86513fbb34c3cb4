// SPDX-License-Identifier: GPL-2.0

//! The kernel's encoder of QR codes as a program: `QR URL` makes a PBM image of what is on standard
//! input. The suite `words` compiles it with the kernel's file, of which it takes off what needs a
//! kernel.

use std::{env, ffi::CString, io::Read};

#[allow(dead_code, clippy::all)]
mod encoder {
    use core::ffi::CStr;
    include!(env!("ENCODER"));
}

/// Sizes of the buffers of drm_panic.c, and the modules around a code.
const DATA: usize = 4096;
const TMP: usize = 3 * 4096;
const MARGIN: usize = 4;

fn main() {
    let url = CString::new(env::args().nth(1).expect("a URL")).unwrap();
    let mut data = Vec::new();
    std::io::stdin().read_to_end(&mut data).unwrap();
    let len = data.len();
    data.resize(DATA, 0);
    let mut tmp = vec![0; TMP];
    // SAFETY: All pointers are valid for the lengths beside them, and the URL is a C string.
    let width = unsafe {
        let (data, tmp) = (data.as_mut_ptr(), tmp.as_mut_ptr());
        encoder::drm_panic_qr_generate(url.as_ptr(), data, len, DATA, tmp, TMP)
    };
    assert!(width > 0, "too much for a QR code");
    let width = usize::from(width);
    let size = width + 2 * MARGIN;
    println!("P1\n{size} {size}");
    for y in 0..size {
        let row: String = (0..size)
            .map(|x| {
                let inside =
                    (MARGIN..MARGIN + width).contains(&x) && (MARGIN..MARGIN + width).contains(&y);
                // drm_panic draws a bit in the color of the margin.
                let bit = inside && {
                    let (x, y) = (x - MARGIN, y - MARGIN);
                    data[y * width.div_ceil(8) + x / 8] & (0x80 >> (x % 8)) == 0
                };
                if bit {
                    '1'
                } else {
                    '0'
                }
            })
            .collect();
        println!("{row}");
    }
}
