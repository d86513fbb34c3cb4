// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Copies what is logged to a file, until another file exists: `mapcopy MAP OUT STOP [MS]`, with as many ms
//! between two passes.
//!
//! A piece is 32 bytes (ring and pid, number of the first record, records missed before it, length
//! of the page), and its page.

use std::{
    env,
    error::Error,
    fs::File,
    io::{BufWriter, Write},
    path::Path,
    thread,
    time::Duration,
};

use blog_map::{Map, Reader};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<_> = env::args().skip(1).collect();
    let (path, out, stop, ms) = match args.as_slice() {
        [path, out, stop] => (path, out, stop, 20),
        [path, out, stop, ms] => (path, out, stop, ms.parse()?),
        _ => return Err("usage: mapcopy MAP OUT STOP [MS]".into()),
    };
    let mut out = BufWriter::new(File::create(out)?);
    let mut map = Map::open(path)?;
    let mut reader = Reader::new(map.memory())?;
    loop {
        let last = Path::new(stop).exists();
        let mut written = Ok(());
        let passed = reader.pass(map.memory(), |piece| {
            let mut bytes = Vec::new();
            bytes.extend(piece.ring.to_le_bytes());
            bytes.extend(piece.owner.pid.to_le_bytes());
            for n in [piece.first, piece.missed, piece.page.len() as u64] {
                bytes.extend(n.to_le_bytes());
            }
            bytes.extend(piece.page);
            if written.is_ok() {
                written = out.write_all(&bytes);
            }
        });
        written?;
        match passed {
            Err(blog_map::Error::Changed) => {
                map = map.again()?;
                reader.go_on(map.memory())?;
                continue;
            }
            passed => passed?,
        }
        if last {
            return Ok(out.flush()?);
        }
        thread::sleep(Duration::from_millis(ms));
    }
}
