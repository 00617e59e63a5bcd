//! The witness over real HTTP, in a thread and in a process.

use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Source, What, Write as Written};
use leaseproof_model::name::{OwnerName, Token};
use leaseproof_model::scenario::WitnessMode;
use leaseproof_proc::clock::boot_now;
use leaseproof_witness::{KEPT_WRITES, Place, Seen, Setup, Witness, WitnessFlaw};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

struct Rig {
    witness: Witness,
    seen: Arc<Mutex<Vec<Seen>>>,
    _dir: tempfile::TempDir,
}

fn rig(mode: WitnessMode, flaw: Option<WitnessFlaw>, place: Place) -> Rig {
    let dir = tempfile::tempdir().expect("a folder");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&seen);
    let setup = Setup {
        dir: dir.path().to_owned(),
        mode,
        flaw,
        place,
    };
    let sink = Arc::new(move |it| into.lock().expect("no panic before").push(it));
    Rig {
        witness: Witness::start(setup, sink).expect("starts"),
        seen,
        _dir: dir,
    }
}

fn process() -> Place {
    Place::Process {
        program: env!("CARGO_BIN_EXE_leaseproof-witness").into(),
    }
}

impl Rig {
    fn connect(&self, owner: &str) -> Client {
        let url = self.witness.url_for(&OwnerName::from(owner)).expect("a URL");
        let rest = url.strip_prefix("http://").expect("http");
        let (host, path) = rest.split_once('/').expect("a path");
        let socket = TcpStream::connect(host).expect("connects");
        socket
            .set_read_timeout(Some(Duration::from_secs(10)))
            .expect("takes a timeout");
        Client {
            socket,
            path: format!("/{path}/write"),
        }
    }

    fn writes(&self) -> Vec<(Seen, Written)> {
        self.witness.settle().expect("settles");
        let seen = self.seen.lock().expect("no panic before");
        seen.iter()
            .filter_map(|it| match &it.what {
                What::Write(write) => Some((it.clone(), write.clone())),
                _ => None,
            })
            .collect()
    }
}

struct Client {
    socket: TcpStream,
    path: String,
}

impl Client {
    fn send(&mut self, headers: &str) {
        let request = format!(
            "POST {} HTTP/1.1\r\nhost: x\r\n{headers}content-length: 2\r\n\r\nhi",
            self.path
        );
        self.socket.write_all(request.as_bytes()).expect("sends");
    }

    fn status(&mut self) -> (u16, String) {
        let mut bytes = Vec::new();
        let mut byte = [0];
        while !bytes.ends_with(b"\r\n\r\n") {
            self.socket.read_exact(&mut byte).expect("a head comes");
            bytes.push(byte[0]);
        }
        let head = String::from_utf8(bytes).expect("text").to_ascii_lowercase();
        let length = head
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.split("\r\n").next())
            .and_then(|text| text.parse().ok())
            .expect("a length");
        let mut body = vec![0; length];
        self.socket.read_exact(&mut body).expect("a body comes");
        let status = head[9..12].parse().expect("a status");
        (status, String::from_utf8(body).expect("text"))
    }

    fn write(&mut self, token: u64) -> u16 {
        self.send(&format!("fencing-token: {token}\r\n"));
        self.status().0
    }
}

#[test]
fn record_accepts_all_and_never_informs() {
    let rig = rig(WitnessMode::Record, None, Place::Thread);
    let (mut a, mut b) = (rig.connect("a1"), rig.connect("b1"));
    assert_eq!(b.write(2), 200);
    a.send("fencing-token: 1\r\nlease-owner: somebody\r\n");
    assert_eq!(a.status(), (200, r#"{"accepted":true}"#.to_owned()));
    a.send("");
    assert_eq!(a.status().0, 200);
    let writes = rig.writes();
    let owners: Vec<_> = writes.iter().filter_map(|(seen, _)| seen.owner.clone()).collect();
    assert_eq!(owners, ["b1".into(), "a1".into(), "a1".into()]);
    assert_eq!(writes.iter().map(|(_, it)| it.serial).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(writes[1].1.highest, Some(Token(2)));
    assert_eq!(writes[1].1.claims_owner.as_deref(), Some("somebody"));
    assert_eq!(writes[2].1.token, None);
    assert_eq!(writes[1].1.connection, writes[2].1.connection);
    assert_ne!(writes[0].1.connection, writes[1].1.connection);
}

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
fn enforce_rejects_what_is_stale_and_only_that() {
    let rig = rig(WitnessMode::Enforce, None, Place::Thread);
    let (mut a, mut b) = (rig.connect("a1"), rig.connect("b1"));
    assert_eq!(a.write(41), 200);
    assert_eq!(a.write(41), 200);
    assert_eq!(b.write(42), 200);
    a.send("fencing-token: 41\r\n");
    let stale = r#"{"accepted":false,"reason":"stale fence","highest":42}"#;
    assert_eq!(a.status(), (409, stale.to_owned()));
    a.send("");
    assert_eq!(a.status().0, 200);
    let accepted: Vec<_> = rig.writes().iter().map(|(_, it)| it.accepted).collect();
    assert_eq!(accepted, [true, true, true, false, true]);
}

#[test]
fn the_mode_can_change() {
    let rig = rig(WitnessMode::Record, None, Place::Thread);
    let (mut a, mut b) = (rig.connect("a1"), rig.connect("b1"));
    assert_eq!(b.write(2), 200);
    assert_eq!(a.write(1), 200);
    rig.witness.set_mode(WitnessMode::Enforce).expect("obeys");
    assert_eq!(a.write(1), 409);
}

#[test]
fn tokens_that_are_no_number_are_named() {
    let rig = rig(WitnessMode::Record, None, Place::Thread);
    let mut a = rig.connect("a1");
    for (headers, bad) in [
        ("fencing-token: 0x1\r\n", "0x1"),
        ("fencing-token: \r\n", ""),
        ("fencing-token: 99999999999999999999999\r\n", "99999999999999999999999"),
        ("fencing-token: 1\r\nFencing-Token: 2\r\n", "1, 2"),
    ] {
        a.send(headers);
        assert_eq!(a.status().0, 200);
        let (_, write) = rig.writes().pop().expect("a write");
        assert_eq!((write.token, write.bad_token.as_deref()), (None, Some(bad)));
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

#[test]
fn the_mark_survives_sigkill() {
    let rig = rig(WitnessMode::Enforce, None, process());
    assert_eq!(rig.connect("a1").write(1), 200);
    assert_eq!(rig.connect("b1").write(2), 200);
    assert!(rig.witness.replay(Token(2)).expect("answers"));
    assert!(!rig.witness.replay(Token(1)).expect("answers"));
    assert_eq!(rig.witness.kill_and_restart().expect("comes back"), Some(Token(2)));
    assert!(!rig.witness.replay(Token(1)).expect("answers"));
    assert_eq!(rig.connect("b1").write(2), 200);
    let writes = rig.writes();
    assert_eq!(
        writes.iter().map(|(_, it)| it.serial).collect::<Vec<_>>(),
        [1, 2, 3, 4, 5, 6]
    );
    assert_eq!(
        writes.iter().map(|(_, it)| it.replay).collect::<Vec<_>>(),
        [false, false, false, true, true, false]
    );
    let restarted = |it: &Seen| {
        it.what
            == What::WitnessRestarted {
                highest: Some(Token(2)),
            }
    };
    assert!(rig.seen.lock().expect("no panic before").iter().any(restarted));
}

#[test]
fn a_thread_cannot_be_killed() {
    let rig = rig(WitnessMode::Enforce, None, Place::Thread);
    assert!(rig.witness.kill_and_restart().is_err());
}

#[test]
fn each_flaw_shows() {
    // What it does to an old owner's write, to a new owner's, and to an old one's after a restart.
    for (flaw, stale, fresh, after_restart) in [
        (None, 409, 200, 409),
        (Some(WitnessFlaw::AcceptAll), 200, 200, 200),
        (Some(WitnessFlaw::ForgetOnRestart), 409, 200, 200),
        (Some(WitnessFlaw::Equality), 200, 409, 200),
        (Some(WitnessFlaw::FirstWriterWins), 200, 409, 200),
    ] {
        let rig = rig(WitnessMode::Enforce, flaw, process());
        assert_eq!(rig.connect("a1").write(1), 200, "{flaw:?}");
        assert_eq!(rig.connect("b1").write(2), fresh, "{flaw:?}");
        assert_eq!(rig.connect("a1").write(1), stale, "{flaw:?}");
        rig.witness.kill_and_restart().expect("comes back");
        assert_eq!(rig.connect("a1").write(1), after_restart, "{flaw:?}");
    }
}

#[test]
fn rubbish_is_answered_and_harms_nobody() {
    let rig = rig(WitnessMode::Record, None, Place::Thread);
    let mut good = rig.connect("a1");
    assert_eq!(good.write(1), 200);
    for (bytes, status) in [
        (b"\x00\x01\x02 rubbish\r\n\r\n".to_vec(), 400),
        (b"GET /o/nobody/write HTTP/1.1\r\n\r\n".to_vec(), 404),
        (format!("GET {} HTTP/1.1\r\n\r\n", good.path).into_bytes(), 405),
        (
            format!("POST {} HTTP/1.1\r\ncontent-length: 99999999\r\n\r\n", good.path).into_bytes(),
            413,
        ),
        ([b"POST / HTTP/1.1\r\nx: ".to_vec(), vec![b'y'; 40_000]].concat(), 431),
    ] {
        let mut bad = rig.connect("a1");
        bad.socket.write_all(&bytes).expect("sends");
        assert_eq!(bad.status().0, status);
    }
    let mut chunked = rig.connect("a1");
    let request = format!(
        "POST {} HTTP/1.1\r\ntransfer-encoding: chunked\r\nfencing-token: 1\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        chunked.path
    );
    chunked.socket.write_all(request.as_bytes()).expect("sends");
    assert_eq!(chunked.status().0, 200);
    assert_eq!(good.write(1), 200);
    assert_eq!(rig.writes().len(), 3);
}
