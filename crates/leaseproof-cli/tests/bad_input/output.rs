//! A place that can't be written: found before anything starts, or never a pass.

use crate::redis_server::skip;
use crate::rig::{PROGRAM, Room, quick};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[test]
fn folder_bad() {
    let room = Room::new();
    room.write("file", "mine");
    let before = room.files();
    for (out, needles) in [
        (
            "/proc/nope",
            &[
                "the output folder /proc/nope can't be used",
                "name another with --out DIR",
            ][..],
        ),
        ("file", &["the output folder file can't be used: file is a file"]),
        (
            "file/below",
            &["the output folder file/below can't be used: file is a file"],
        ),
    ] {
        room.quick(&["--out", out]).refused(needles);
        assert_eq!(room.files(), before, "{out}");
    }
}

#[test]
fn junit_bad() {
    let room = Room::new();
    room.quick(&["--junit", "nope/junit.xml"])
        .refused(&["the JUnit file nope/junit.xml can't be written", "--junit PATH"]);
    assert!(room.files().is_empty());
    // Refused for another reason: no empty file is left behind, and one that was there stays.
    room.quick(&["--junit", "new.xml", "--", "./nope"]).refused(&["./nope"]);
    assert!(room.files().is_empty());
    room.write("old.xml", "old");
    room.quick(&["--junit", "old.xml", "--", "./nope"]).refused(&["./nope"]);
    assert_eq!(
        std::fs::read_to_string(room.path().join("old.xml")).expect("a file"),
        "old"
    );
}

#[test]
fn junit_ok() {
    let room = Room::new();
    room.quick_proven(&["--junit", "junit.xml"]);
    let text = std::fs::read_to_string(room.path().join("junit.xml")).expect("a file");
    assert!(text.contains("<testsuite") && text.contains("clean-release"), "{text}");
    room.nothing_left(&["junit.xml"]);
}

/// A verdict that nobody can read is no pass.
#[test]
fn full_stdout_bad() {
    let room = Room::new();
    for more in [&[][..], &["--json"]] {
        let full = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .expect("/dev/full");
        let output = room.command(quick(more)).stdout(full).stderr(Stdio::piped()).output();
        let output = output.expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("stdout can't be written: No space left"), "{said}");
    }
}

/// A tiny file system of our own.
struct Disk(PathBuf);

impl Disk {
    fn mount(at: &Path, size: &str) -> Result<Self, String> {
        std::fs::create_dir_all(at).map_err(|error| error.to_string())?;
        let output = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "leaseproof-test"])
            .arg(at)
            .output()
            .map_err(|error| format!("mount: {error}"))?;
        match output.status.success() {
            true => Ok(Self(at.to_owned())),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn full_disk_bad() {
    let room = Room::new();
    let small = match Disk::mount(&room.path().join("small"), "200k") {
        Ok(disk) => disk,
        Err(why) => return skip("full_disk_bad", &why),
    };
    room.quick(&["--out", "small/runs"])
        .refused(&["the output folder small/runs can't be used: No space left", "--out DIR"]);
    assert_eq!(
        std::fs::read_dir(&small.0).expect("the disk").count(),
        0,
        "nothing is left behind"
    );

    // It fills up in the middle: what was seen is no pass.
    let filling = Disk::mount(&room.path().join("filling"), "1300k").expect("the first one was mounted, too");
    let chatter = format!("head -c 3000000 /dev/zero | tr '\\0' x; echo; exec {PROGRAM} owner");
    let ran = room.quick(&["--out", "filling/runs", "--", "sh", "-c", &chatter]);
    ran.cannot_tell(&["No space left"]);
    drop((small, filling));
    room.nothing_left(&["small", "filling"]);
}
