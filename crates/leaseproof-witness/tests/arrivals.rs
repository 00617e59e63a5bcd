//! When a write was begun, when it was whole, and when it was decided.

mod rig;

use leaseproof_model::clock::BootNanos;
use leaseproof_model::scenario::WitnessMode;
use leaseproof_proc::clock::boot_now;
use leaseproof_witness::Place;
use rig::{Client, rig};
use std::io::Write;
use std::time::Duration;

#[test]
fn a_write_arrives_when_it_was_sent() {
    let rig = rig(WitnessMode::Record, None, Place::Thread);
    let mut a = rig.connect("a1");
    for token in 1..20 {
        let before = boot_now();
        assert_eq!(a.write(token), 200);
        let after = boot_now();
        let (seen, _) = rig.writes().pop().expect("a write");
        assert!(seen.at.latest >= before && seen.at.earliest <= after, "{seen:?}");
    }
}

#[test]
fn a_held_write_is_decided_when_it_is_let_go() {
    let rig = rig(WitnessMode::Enforce, None, Place::Thread);
    let (mut a, mut b) = (rig.connect("a1"), rig.connect("b1"));
    assert_eq!(a.write(1), 200);
    let hold = rig.witness.hold_next(&"a1".into()).expect("holds");
    assert_eq!(hold.held(), None);
    a.send("fencing-token: 1\r\n");
    let arrived = hold.wait_held(Duration::from_secs(10)).expect("is held");
    assert_eq!(b.write(2), 200);
    hold.release().expect("lets go");
    assert_eq!(a.status().0, 409);
    let (seen, write) = rig.writes().pop().expect("a write");
    assert_eq!((write.serial, write.arrived), (3, Some(arrived)));
    assert!(arrived.latest < seen.at.earliest);
    // The hold was for one write.
    assert_eq!(a.write(2), 200);
}

#[test]
fn a_held_write_of_a_client_that_went_away_still_lands() {
    let rig = rig(WitnessMode::Record, None, Place::Thread);
    let mut a = rig.connect("a1");
    let hold = rig.witness.hold_next(&"a1".into()).expect("holds");
    a.send("fencing-token: 1\r\n");
    hold.wait_held(Duration::from_secs(10)).expect("is held");
    drop(a);
    drop(hold);
    assert_eq!(rig.writes().len(), 1);
    assert_eq!(rig.connect("a1").write(1), 200);
}

/// Sends a write in two parts, the second one `late` after the witness has had the first.
fn in_two_parts(client: &mut Client, late: Duration) -> (BootNanos, BootNanos) {
    let head = format!("POST {} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n", client.path);
    client.socket.write_all(head.as_bytes()).expect("sends");
    let begun = boot_now();
    // The lateness is the thing under test.
    std::thread::sleep(late);
    let before_whole = boot_now();
    client.socket.write_all(b"hi").expect("sends");
    (begun, before_whole)
}

#[test]
fn a_write_whose_body_comes_late_says_when_it_was_begun_and_when_it_was_whole() {
    let rig = rig(WitnessMode::Record, None, Place::Thread);
    let mut a = rig.connect("a1");
    // The first request of a connection, and a later one.
    for _ in 0..2 {
        let (begun, before_whole) = in_two_parts(&mut a, Duration::from_millis(400));
        assert_eq!(a.status().0, 200);
        let (seen, write) = rig.writes().pop().expect("a write");
        let first = write.begun.expect("two moments");
        assert!(first.earliest <= begun, "{first:?}, sent by {begun}");
        assert!(
            first.latest < before_whole,
            "{first:?}, the rest from {before_whole} on"
        );
        assert!(
            seen.at.latest >= before_whole && seen.at.earliest > first.latest,
            "{seen:?}"
        );
        assert_eq!(write.arrived, None, "only what is held in flight has it");
    }
    // Nothing of a slow one sticks to the next.
    assert_eq!(a.write(1), 200);
    assert_eq!(rig.writes().pop().expect("a write").1.begun, None);
}

#[test]
fn a_slow_write_that_is_then_held_has_three_moments() {
    let rig = rig(WitnessMode::Record, None, Place::Thread);
    let mut a = rig.connect("a1");
    let hold = rig.witness.hold_next(&"a1".into()).expect("holds");
    let (_, before_whole) = in_two_parts(&mut a, Duration::from_millis(100));
    let whole = hold.wait_held(Duration::from_secs(10)).expect("is held");
    hold.release().expect("lets go");
    assert_eq!(a.status().0, 200);
    let (seen, write) = rig.writes().pop().expect("a write");
    let begun = write.begun.expect("it came in two parts");
    assert_eq!(write.arrived, Some(whole));
    assert!(begun.latest < before_whole && whole.latest >= before_whole);
    assert!(begun.latest < whole.earliest && whole.latest < seen.at.earliest);
}

#[test]
fn pipelined_writes_have_their_own_moments() {
    let rig = rig(WitnessMode::Record, None, Place::Thread);
    let mut a = rig.connect("a1");
    let one = format!("POST {} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n", a.path);
    // Two whole ones and the begin of a third in one segment; its rest comes late.
    let (whole, part) = (format!("{one}{one}"), &one[..20]);
    let before = boot_now();
    a.socket.write_all(format!("{whole}{part}").as_bytes()).expect("sends");
    assert_eq!((a.status().0, a.status().0), (200, 200));
    let answered = boot_now();
    // The lateness is the thing under test.
    std::thread::sleep(Duration::from_millis(100));
    let before_rest = boot_now();
    a.socket.write_all(&one.as_bytes()[20..]).expect("sends");
    assert_eq!(a.status().0, 200);
    let writes = rig.writes();
    for (seen, write) in &writes[..2] {
        assert_eq!(write.begun, None);
        assert!(seen.at.latest >= before && seen.at.earliest <= answered, "{seen:?}");
    }
    let (seen, write) = &writes[2];
    let begun = write.begun.expect("it came in two parts");
    assert!(begun.latest >= before && begun.earliest <= answered, "{begun:?}");
    assert!(seen.at.latest >= before_rest, "{seen:?}");
}

#[test]
fn what_arrives_behind_a_held_write_keeps_its_moment() {
    let rig = rig(WitnessMode::Record, None, Place::Thread);
    let (mut a, mut b) = (rig.connect("a1"), rig.connect("b1"));
    let hold = rig.witness.hold_next(&"a1".into()).expect("holds");
    a.send("fencing-token: 1\r\n");
    hold.wait_held(Duration::from_secs(10)).expect("is held");
    a.send("fencing-token: 1\r\n");
    let sent = boot_now();
    // The witness looks at others meanwhile, long after the second one is there.
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(b.write(2), 200);
    hold.release().expect("lets go");
    assert_eq!((a.status().0, a.status().0), (200, 200));
    let (seen, _) = rig.writes().pop().expect("a write");
    assert!(seen.at.earliest <= sent, "{seen:?}, sent by {sent}");
}
