//! The mark is on disk before the write goes on: by the kernel's own word on what was called, and in which order.

use crate::resource::Resource;
use crate::rig::{GateProcess, skip};
use std::path::Path;
use std::process::Command;

#[test]
fn the_mark_is_durable_before_the_write_goes_on() {
    if Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .status()
        .is_ok_and(|it| it.success())
    {
        let traced = trace(&[]);
        for token in 1..=5 {
            assert_eq!(order(&traced, token), Ok(()), "token {token} in:\n{traced}");
        }
        // The check itself can fail: without the flush it does.
        let hasty = trace(&["--no-fsync"]);
        assert_eq!(
            order(&hasty, 1),
            Err("the mark was not flushed before the write went on"),
            "in:\n{hasty}"
        );
    } else {
        skip(
            "the_mark_is_durable_before_the_write_goes_on",
            "no strace here, or it may not trace",
        );
    }
}

/// Five writes with rising tokens through a traced gate.
fn trace(more: &[&str]) -> String {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("trace");
    let resource = Resource::start();
    let calls = "trace=write,writev,sendto,sendmsg,fdatasync,fsync";
    // As a grandchild, so that the gate is our own child and no traced process is left behind.
    let strace = [
        "strace",
        "-D",
        "-f",
        "-s",
        "200",
        "-e",
        calls,
        "-o",
        file.to_str().expect("text"),
    ];
    let gate = GateProcess::start(&strace, resource.address, &dir.path().join("marks"), more);
    for token in 1..=5 {
        assert_eq!(gate.write("/a", token), 200);
    }
    drop(gate);
    wait_for_the_last(&file);
    std::fs::read_to_string(&file).expect("a trace")
}

/// strace ends after what it traces; its file is whole once it has the last write.
fn wait_for_the_last(file: &Path) {
    let until = std::time::Instant::now() + crate::resource::LONG;
    while !std::fs::read_to_string(file)
        .unwrap_or_default()
        .contains("fencing-token: 5")
    {
        assert!(std::time::Instant::now() < until, "the trace has no last write");
        std::thread::yield_now();
    }
}

/// Whether, in the trace, the mark's line was written, then flushed with success, then the request went on.
fn order(traced: &str, token: u64) -> Result<(), &'static str> {
    let lines: Vec<&str> = traced.lines().collect();
    let place = |from: usize, found: &dyn Fn(&str) -> bool| {
        lines[from..].iter().position(|line| found(line)).map(|at| from + at)
    };
    let mark = place(0, &|line| line.contains(&format!(" {token}:/a\\n"))).ok_or("no mark was written")?;
    let sent = place(0, &|line| {
        line.contains("PUT /a") && line.contains(&format!("fencing-token: {token}\\r\\n"))
    })
    .ok_or("no write went on")?;
    // A call that another thread interrupts in the trace ends in a line of its own.
    let flushed = place(mark, &|line| {
        line.contains("fdatasync") && line.trim_end().ends_with("= 0")
    });
    match flushed {
        Some(flushed) if flushed < sent => Ok(()),
        _ => Err("the mark was not flushed before the write went on"),
    }
}
