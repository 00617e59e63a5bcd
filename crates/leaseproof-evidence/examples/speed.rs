//! How fast reading is: `cargo run --release -p leaseproof-evidence --example speed -- [MiB]`.
//!
//! Makes a MONITOR capture in which one line in a thousand names the key, and a GC log out of a sample's lines, both in
//! the page cache, and reads each three times. The best counts.
#![allow(clippy::print_stdout, clippy::expect_used)]

use leaseproof_evidence::input::Input;
use leaseproof_evidence::options::Options;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

fn main() -> std::io::Result<()> {
    let size = std::env::args()
        .nth(1)
        .and_then(|size| size.parse::<u64>().ok())
        .unwrap_or(2048)
        << 20;
    let folder = std::env::temp_dir().join(format!("leaseproof-speed-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let (capture, gc) = (folder.join("monitor.txt"), folder.join("gc.log"));
    write_capture(&capture, size)?;
    let options = Options {
        key: Some("lock:orders".to_owned()),
        ..Options::default()
    };
    best("MONITOR, one line in a thousand names the key", &capture, &options)?;
    write_gc(&gc, size / 8)?;
    best("unified GC log, all lines", &gc, &Options::default())?;
    std::fs::remove_dir_all(&folder)
}

fn best(what: &str, path: &Path, options: &Options) -> std::io::Result<()> {
    let bytes = std::fs::metadata(path)?.len();
    let (mut took, mut lines, mut records) = (Duration::MAX, 0, 0);
    for _ in 0..3 {
        let begun = Instant::now();
        let evidence = leaseproof_evidence::read(&[Input::Path(path.to_path_buf())], options);
        took = took.min(begun.elapsed());
        lines = evidence.files.first().map_or(0, |file| file.lines);
        records = evidence.records.len();
    }
    let seconds = took.as_secs_f64();
    println!(
        "{what}: {} MiB, {lines} lines, {records} records in {took:.2?}: {:.2} GB/s, {:.2} million lines/s",
        bytes >> 20,
        bytes as f64 / 1e9 / seconds,
        lines as f64 / 1e6 / seconds
    );
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap_or_default();
    println!("  {peak}");
    Ok(())
}

fn write_capture(path: &Path, size: u64) -> std::io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, std::fs::File::create(path)?);
    let (mut written, mut at) = (0_u64, 0_u64);
    while written < size {
        let key = if at.is_multiple_of(1000) {
            "lock:orders"
        } else {
            "cache:page:17"
        };
        let line = format!(
            "{}.{:06} [0 10.0.0.{}:{}] \"pexpire\" \"{key}\" \"30000\"\n",
            1_796_007_273 + at / 20_000,
            (at % 20_000) * 50,
            at % 200,
            40_000 + at % 20_000
        );
        file.write_all(line.as_bytes())?;
        written += line.len() as u64;
        at += 1;
    }
    file.flush()
}

fn write_gc(path: &Path, size: u64) -> std::io::Result<()> {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/jvm/g1-time-uptime-pid-tid-level-tags.log");
    let sample = std::fs::read(sample)?;
    let mut file = BufWriter::with_capacity(1 << 20, std::fs::File::create(path)?);
    let mut written = 0_u64;
    while written < size {
        file.write_all(&sample)?;
        written += sample.len() as u64;
    }
    file.flush()
}
