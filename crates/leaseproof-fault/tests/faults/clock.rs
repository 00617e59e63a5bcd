//! The wall clock of an owner, stepped.

use crate::Case;
use crate::rig::{LONG, Lines, Rig};
use leaseproof_fault::FaultError;
use leaseproof_fault::clock_step::clock_step;
use leaseproof_fault::launch::{Launch, Launched};
use leaseproof_fault::shim::{self, ShimFile};
use leaseproof_proc::clock::stamp_now;
use std::fs;
use std::process::Command;
use std::sync::Arc;

pub const ALL: &[Case] = &[
    ("clock-python-ok", || step_ok(PYTHON)),
    ("clock-node-ok", || step_ok(NODE)),
    ("clock-own-binary-ok", || step_ok(&["leaseproof", "__victim", "clock"])),
    ("clock-static-bad", step_of_static_bad),
    ("clock-dropped-ok", dropped_ok),
];

/// Each prints wall and monotonic seconds, then waits for nothing and prints again.
const PYTHON: &[&str] = &[
    "python3",
    "-c",
    "import time\nwhile True:\n print(int(time.time()), int(time.monotonic()), flush=True)\n time.sleep(0.01)",
];
const NODE: &[&str] = &[
    "node",
    "-e",
    "setInterval(() => console.log(Math.floor(Date.now() / 1000), Math.floor(performance.now() / 1000)), 10)",
];

const HOUR: i64 = 3600;

fn start(rig: &Rig, argv: &[&str]) -> (Launched, Arc<ShimFile>) {
    let shim = Arc::new(ShimFile::create(rig.dir.path()).expect("writable"));
    let owner = rig.launch(&Launch {
        argv: argv.iter().map(Into::into).collect(),
        shim: Some(Arc::clone(&shim)),
        ..Launch::default()
    });
    (owner, shim)
}

fn seconds(line: &str) -> (i64, i64) {
    let mut words = line.split(' ').map(|word| word.parse().expect("a number"));
    (words.next().expect("wall"), words.next().expect("monotonic"))
}

/// Reads lines until the wall clock is off by this, within a tolerance that no host's own clock has.
fn until_off_by(lines: &mut Lines, offset: i64) -> i64 {
    for _ in 0..100_000 {
        let (wall, mono) = seconds(&lines.next());
        let host = stamp_now().wall.0 / 1_000_000_000;
        if (wall - host - offset).abs() < 600 {
            return mono;
        }
    }
    panic!("its clock was never off by {offset} s");
}

fn offered(argv: &[&str]) -> bool {
    shim::availability().is_ok()
        && (argv[0] == "leaseproof"
            || Command::new(argv[0])
                .arg("--version")
                .output()
                .is_ok_and(|it| it.status.success()))
}

fn step_ok(argv: &[&str]) {
    if !offered(argv) {
        println!("  not offered here: {}", argv[0]);
        return;
    }
    let rig = Rig::new();
    let (owner, shim) = start(&rig, argv);
    let mut lines = Lines::of(&owner);
    let mono = until_off_by(&mut lines, 0);
    assert!(shim.mapped_in(owner.target().family()));
    let before = shim.counts();
    assert!(before.reads > 0);
    for offset in [HOUR, -HOUR] {
        let step = clock_step(
            &rig.warden,
            owner.target(),
            &shim,
            offset * 1_000_000_000,
            LONG,
            &rig.sink(),
        )
        .expect("steps");
        let now = until_off_by(&mut lines, offset);
        assert!((now - mono).abs() < 600, "the monotonic clock stays");
        step.undo();
        until_off_by(&mut lines, 0);
    }
    assert!(shim.counts().reads > before.reads);
}

fn step_of_static_bad() {
    let rig = Rig::new();
    let source = rig.dir.path().join("static.c");
    let program = rig.dir.path().join("static");
    fs::write(&source, "int pause(void); int main(void) { return pause(); }").expect("writable");
    let built = Command::new("cc")
        .args(["-static", "-o"])
        .arg(&program)
        .arg(&source)
        .status();
    if !built.is_ok_and(|status| status.success()) {
        println!("  not offered here: no static libc");
        return;
    }
    let (owner, shim) = start(&rig, &[program.to_str().expect("text")]);
    let error = clock_step(&rig.warden, owner.target(), &shim, 1, LONG, &rig.sink()).expect_err("not loaded");
    assert!(matches!(error, FaultError::NotOffered(_)), "{error}");
}

fn dropped_ok() {
    let rig = Rig::new();
    let (owner, shim) = start(&rig, &["sleep", "1000"]);
    let step = clock_step(&rig.warden, owner.target(), &shim, 5, LONG, &rig.sink()).expect("steps");
    assert_eq!(shim.counts().offset_ns, 5);
    drop(step);
    assert_eq!(shim.counts().offset_ns, 0);
}
