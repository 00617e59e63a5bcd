//! What the witness can't keep is counted, and said.

mod rig;

use leaseproof_model::event::Source;
use leaseproof_model::scenario::WitnessMode;
use leaseproof_witness::{KEPT_WRITES, Place};
use rig::rig;
use std::io::{Read, Write};

#[test]
fn a_write_that_is_too_long_leaves_a_gap_that_says_so() {
    let rig = rig(WitnessMode::Record, None, Place::Thread);
    assert_eq!(rig.connect("b1").write(1), 200);
    assert_eq!(rig.witness.gaps(), []);
    let path = rig.connect("a1").path;
    let length = (4 << 20) + 1;
    let chunk = "x".repeat(length);
    for request in [
        format!("POST {path} HTTP/1.1\r\ncontent-length: {length}\r\n\r\n"),
        format!("POST {path} HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n{length:x}\r\n{chunk}"),
        format!("POST {path} HTTP/1.1\r\nx: {}", "y".repeat(40_000)),
    ] {
        let mut a = rig.connect("a1");
        // It may answer and hang up before all was sent.
        let _ = a.socket.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let _ = a.socket.read_to_end(&mut answer);
    }
    rig.witness.settle().expect("settles");
    let gaps = rig.witness.gaps();
    let [gap] = gaps.as_slice() else { panic!("{gaps:?}") };
    assert_eq!((gap.source, gap.owner.as_ref()), (Source::Witness, Some(&"a1".into())));
    assert_eq!(gap.dropped, 3);
    assert!(gap.from < gap.until);
    assert_eq!(rig.writes().len(), 1);
}

#[test]
fn a_flood_of_writes_is_counted_and_not_kept() {
    let rig = rig(WitnessMode::Enforce, None, Place::Thread);
    let mut a = rig.connect("a1");
    let more = 200;
    let flood = usize::try_from(KEPT_WRITES).expect("fits") + more;
    let one = format!("POST {} HTTP/1.1\r\ncontent-length: 0\r\n\r\n", a.path);
    let mut reader = a.socket.try_clone().expect("a second handle");
    let reading = std::thread::spawn(move || {
        let mut answers = Vec::new();
        reader.read_to_end(&mut answers).expect("reads to the end");
        String::from_utf8(answers)
            .expect("text")
            .matches("HTTP/1.1 200")
            .count()
    });
    for _ in 0..flood / 50 {
        a.socket.write_all(one.repeat(50).as_bytes()).expect("sends");
    }
    a.socket.shutdown(std::net::Shutdown::Write).expect("ends");
    // Each is decided and answered, like any other.
    assert_eq!(reading.join().expect("no panic"), flood);
    assert_eq!(rig.connect("b1").write(7), 200);
    let writes = rig.writes();
    assert_eq!(writes.len() as u64, KEPT_WRITES + 1);
    let (last, write) = writes.last().expect("one");
    assert_eq!(
        (last.owner.as_ref(), write.serial),
        (Some(&"b1".into()), flood as u64 + 1)
    );
    let gaps = rig.witness.gaps();
    assert_eq!(
        gaps.iter().map(|it| (it.owner.clone(), it.dropped)).collect::<Vec<_>>(),
        [(Some("a1".into()), more as u64)]
    );
}
