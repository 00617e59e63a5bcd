//! A disk without room: refused with 507, nothing forgotten, and well again once there is room.

use crate::resource::Resource;
use crate::rig::GateProcess;
use rustix::process::{Pid, Resource as Bound, Rlimit, prlimit};

#[test]
fn no_room_for_a_mark() {
    let dir = tempfile::tempdir().expect("a folder");
    let marks = dir.path().join("marks");
    let resource = Resource::start();
    // The shell's blocks are of 512 or 1024 bytes; writing beyond fails instead of killing.
    let tight = ["sh", "-c", "trap '' XFSZ; ulimit -S -f 1; exec \"$0\" \"$@\""];
    let gate = GateProcess::start(&tight, resource.address, &marks, &[]);
    let long = format!("/{}", "x".repeat(900));
    assert_eq!(gate.write("/a", 5), 200);
    assert_eq!(gate.write(&long, 5), 507, "its mark has no room");
    assert_eq!(
        gate.write(&long, 4),
        409,
        "5 was seen: it may be tried again, and 4 is stale"
    );
    assert_eq!(gate.write(&long, 5), 507, "still no room");
    assert_eq!(gate.write("/a", 4), 409, "nothing was forgotten");
    assert_eq!(resource.tokens(), [5], "nothing went on");
    let pid = Pid::from_raw(i32::try_from(gate.child.id()).expect("a pid")).expect("a pid");
    let free = Rlimit {
        current: None,
        maximum: None,
    };
    prlimit(Some(pid), Bound::Fsize, free).expect("our child's bound can be lifted");
    assert_eq!(gate.write(&long, 5), 200, "well again");
    drop(gate);
    let gate = GateProcess::start(&[], resource.address, &marks, &["--settle", "10ms"]);
    assert_eq!(gate.write("/a", 4), 409);
    assert_eq!(gate.write(&long, 4), 409);
    assert_eq!(resource.tokens(), [5, 5]);
}
