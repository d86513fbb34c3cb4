// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The QR code on the screen of a kernel that has panicked, as text: a URL whose parameter `z` is the
//! kernel's log, packed by zlib, in decimal digits (`drivers/gpu/drm/drm_panic_qr.rs`).

use std::io::Read;

use flate2::read::ZlibDecoder;

/// Digits of so many bytes.
const DIGITS: [usize; 8] = [0, 3, 5, 8, 10, 13, 15, 17];
/// The longest text of a QR code, and the most that a kernel puts into one, with room to spare.
pub const TEXT_MAX: usize = 16 << 10;
const LOG_MAX: u64 = 1 << 20;

/// The end of the kernel's log that the text of a QR code has; `None`: it is other text.
pub fn log(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.trim_ascii();
    let is_url = text.starts_with(b"http") && text.len() <= TEXT_MAX;
    let digits = is_url.then(|| text.rsplit(|b| matches!(b, b'?' | b'&')));
    let digits = digits?.find_map(|parameter| parameter.strip_prefix(b"z="))?;
    let mut packed = Vec::new();
    for digits in digits.chunks(DIGITS[7]) {
        let len = DIGITS.iter().position(|n| *n == digits.len())?;
        let number = std::str::from_utf8(digits).ok()?.parse::<u64>().ok()?;
        packed.extend_from_slice(number.to_le_bytes().get(..len)?);
    }
    let mut log = Vec::new();
    let unpacked = ZlibDecoder::new(&packed[..]).take(LOG_MAX);
    // Of what is damaged, the start is good.
    let _ = { unpacked }.read_to_end(&mut log);
    (!log.is_empty()).then_some(log)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{write::ZlibEncoder, Compression};

    use super::*;

    fn url(log: &[u8]) -> String {
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
        packed.write_all(log).unwrap();
        let mut url = "https://example.org/panic?a=x86_64&v=7.3&z=".to_owned();
        for part in packed.finish().unwrap().chunks(7) {
            let number = part.iter().rev().fold(0u64, |n, b| n << 8 | u64::from(*b));
            url += &format!("{number:0width$}", width = DIGITS[part.len()]);
        }
        url
    }

    #[test]
    fn the_log_comes_back() {
        for text in ["", "x", "Kernel panic - not syncing: a line, and another one\n"] {
            let found = log(format!("{}\n", url(text.as_bytes())).as_bytes());
            assert_eq!(found.unwrap_or_default(), text.as_bytes());
        }
    }

    #[test]
    fn other_text_is_none_and_damage_leaves_the_start() {
        let good = url(&b"blog-words: ".repeat(50));
        assert!(log(good.replacen("http", "ftp", 1).as_bytes()).is_none());
        assert!(log(good.replacen("z=", "y=", 1).as_bytes()).is_none());
        assert!(log(b"https://example.org/?z=12x").is_none());
        assert!(log(b"https://example.org/?z=99999999999999999").is_none());
        assert!(log(&[&b"https://x/?z="[..], &vec![b'0'; TEXT_MAX]].concat()).is_none());
        for end in 0..good.len() {
            let _ = log(&good.as_bytes()[..end]);
        }
    }
}
