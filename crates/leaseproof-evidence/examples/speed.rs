//! How fast reading is, and with how much memory: `cargo run --release -p leaseproof-evidence --example speed -- WHAT…`.
//!
//! - `monitor [MiB]`: a MONITOR capture in which one line in a thousand names the key, in the page cache
//! - `gc [MiB]`: GC logs whose time goes on, made of a sample's lines: with the usual decorations, and with all
//! - `read KEY FILE`: any file; `-` for no key
//!
//! Each is read three times, and the best counts; it is given in processor time, too, which other work does not lengthen. `KEEP=1` leaves the files where they are, for other tools to be measured
//! by, and prints their names.
#![allow(clippy::print_stdout, clippy::expect_used)]

use leaseproof_evidence::input::Input;
use leaseproof_evidence::options::Options;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let what = args.first().map_or("all", String::as_str);
    if let ("read", [_, key, path]) = (what, &args[..]) {
        return best(path, Path::new(path), Some(key).filter(|key| *key != "-"));
    }
    let size = args.get(1).and_then(|size| size.parse::<u64>().ok()).unwrap_or(2048) << 20;
    let folder = std::env::temp_dir().join(format!("leaseproof-speed-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    if what != "gc" {
        let capture = folder.join("monitor.txt");
        write_capture(&capture, size)?;
        let key = "lock:orders".to_owned();
        best("MONITOR, one line in a thousand names the key", &capture, Some(&key))?;
    }
    if what != "monitor" {
        for (name, all) in [("usual", false), ("all", true)] {
            let log = folder.join(format!("gc-{name}.log"));
            write_gc(&log, size / 8, all)?;
            best(&format!("unified GC log, {name} decorations"), &log, None)?;
        }
    }
    if std::env::var_os("KEEP").is_some() {
        println!("kept in {}", folder.display());
        return Ok(());
    }
    std::fs::remove_dir_all(&folder)
}

fn best(what: &str, path: &Path, key: Option<&String>) -> std::io::Result<()> {
    let options = Options {
        key: key.cloned(),
        ..Options::default()
    };
    let bytes = std::fs::metadata(path)?.len();
    let (mut took, mut busy, mut lines, mut records) = (Duration::MAX, Duration::MAX, 0, 0);
    for _ in 0..3 {
        let (begun, before) = (Instant::now(), processor()?);
        let evidence = leaseproof_evidence::read(&[Input::Path(path.to_path_buf())], &options);
        took = took.min(begun.elapsed());
        busy = busy.min(processor()?.saturating_sub(before));
        lines = evidence.files.first().map_or(0, |file| file.lines);
        records = evidence.records.len();
    }
    let rate = |amount: f64| (amount / took.as_secs_f64(), amount / busy.as_secs_f64());
    let (data, text) = (rate(bytes as f64 / 1e9), rate(lines as f64 / 1e6));
    println!("{what}: {} MiB, {lines} lines, {records} records", bytes >> 20);
    println!("  in {took:.2?}: {:.2} GB/s, {:.2} million lines/s", data.0, text.0);
    println!(
        "  of the processor {busy:.2?}: {:.2} GB/s, {:.2} million lines/s",
        data.1, text.1
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

/// The processor time that this thread has had.
fn processor() -> std::io::Result<Duration> {
    let figures = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanos = figures.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Ok(Duration::from_nanos(nanos.unwrap_or_default()))
}

/// The sample's lines again and again, with stamps and numbers of collections that go on.
fn write_gc(path: &Path, size: u64, all: bool) -> std::io::Result<()> {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/jvm/g1-time-uptime-pid-tid-level-tags.log");
    let sample = std::fs::read_to_string(sample)?;
    // Uptime in nanoseconds, level, tags, and the text with the number of its collection.
    let lines: Vec<(i64, &str, &str, Option<u64>, &str)> = sample
        .lines()
        .filter_map(|line| {
            let parts: Vec<&str> = line.splitn(12, ']').collect();
            let text = parts.get(11)?;
            let number = text
                .strip_prefix(" GC(")
                .and_then(|rest| rest.split_once(')'))
                .and_then(|(number, rest)| Some((number.parse().ok()?, rest)));
            let nanos = parts.get(5)?.trim_start_matches('[').strip_suffix("ns")?.parse().ok()?;
            let (level, tags) = (parts.get(9)?, parts.get(10)?);
            Some((
                nanos,
                *level,
                *tags,
                number.map(|(number, _)| number),
                number.map_or(*text, |(_, rest)| rest),
            ))
        })
        .collect();
    let span = lines.last().map_or(0, |line| line.0) + 20_000_000;
    let collections = lines.iter().filter_map(|line| line.3).max().unwrap_or(0) + 1;
    let mut file = BufWriter::with_capacity(1 << 20, std::fs::File::create(path)?);
    let (mut written, mut round) = (0_usize, 0_i64);
    let begun = 1_796_007_126_483_000_000_i64;
    while (written as u64) < size {
        for (nanos, level, tags, number, text) in &lines {
            let up = nanos + round * span;
            let wall = jiff::Timestamp::from_nanosecond(i128::from(begun + up)).expect("a time of this century");
            let seconds = up as f64 / 1e9;
            let mut line = format!("[{}][{seconds:.3}s]", wall.strftime("%Y-%m-%dT%H:%M:%S.%3f+0000"));
            if all {
                let ms = (begun + up) / 1_000_000;
                line += &format!(
                    "[{ms}ms][{}ms][{}ns][{up}ns][vm][8530][8537]",
                    up / 1_000_000,
                    up + 465_967_939_933
                );
            }
            line += &format!("{level}]{tags}]");
            match number {
                Some(number) => line += &format!(" GC({}){text}\n", number + round.unsigned_abs() * collections),
                None => line += &format!("{text}\n"),
            }
            file.write_all(line.as_bytes())?;
            written += line.len();
        }
        round += 1;
    }
    file.flush()
}
