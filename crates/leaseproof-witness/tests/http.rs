//! The witness over real HTTP, in a thread and in a process.

mod rig;

use leaseproof_model::event::What;
use leaseproof_model::name::Token;
use leaseproof_model::scenario::WitnessMode;
use leaseproof_witness::{Place, Seen, WitnessFlaw};
use rig::{process, rig};
use std::io::Write;

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
fn a_value_has_the_version_of_its_write_and_a_stale_one_is_not_cached() {
    for (mode, flaw, stale) in [
        (WitnessMode::Enforce, None, 409),
        (WitnessMode::Enforce, Some(WitnessFlaw::AcceptAll), 200),
        (WitnessMode::Record, None, 200),
    ] {
        let rig = rig(mode, flaw, Place::Thread);
        let (mut a, mut b) = (rig.connect("a1"), rig.connect("b1"));
        assert_eq!(a.read(), r#"{"value":0,"version":null}"#);
        assert_eq!(a.write(41), 200);
        assert_eq!(a.read(), r#"{"value":1,"version":41}"#);
        assert_eq!(a.fill("1", "fencing-token: 41\r\n"), 200);
        assert_eq!(b.write(42), 200);
        assert_eq!(a.fill("1", "fencing-token: 41\r\n"), stale);
        assert_eq!(b.fill("2", "fencing-token: 42\r\n"), 200);
        // Without a version nothing can refuse it.
        assert_eq!(a.fill("1", ""), 200);
        for value in ["", "3", "-1", "x"] {
            assert_eq!(a.fill(value, "fencing-token: 41\r\n"), 400, "{value:?}");
        }
        let fills = rig.fills();
        let short: Vec<_> = fills
            .iter()
            .map(|it| (it.after, it.value, it.token.map(|token| token.0), it.accepted))
            .collect();
        let taken = stale == 200;
        assert_eq!(
            short,
            [
                (1, 1, Some(41), true),
                (2, 1, Some(41), taken),
                (2, 2, Some(42), true),
                (2, 1, None, true)
            ]
        );
        // No fill is a write.
        assert_eq!(rig.writes().len(), 2);
    }
}

#[test]
fn a_held_read_is_answered_with_the_value_that_it_found() {
    let rig = rig(WitnessMode::Enforce, None, Place::Thread);
    let (mut a, mut b) = (rig.connect("a1"), rig.connect("b1"));
    assert_eq!(a.write(1), 200);
    let hold = rig.witness.hold_next_read(&"a1".into()).expect("obeys");
    // Another request of it, and another's read, are not held.
    assert_eq!(a.write(1), 200);
    assert_eq!(b.read(), r#"{"value":2,"version":1}"#);
    a.ask("GET", "value", "");
    hold.wait_held(std::time::Duration::from_secs(10)).expect("it is held");
    assert_eq!(b.write(2), 200);
    hold.release().expect("obeys");
    assert_eq!(a.status(), (200, r#"{"value":2,"version":1}"#.to_owned()));
    let seen = rig.seen.lock().expect("no panic before");
    let held = seen.iter().filter(|it| {
        matches!(
            it.what,
            What::ReadHeld {
                value: 2,
                version: Some(Token(1)),
                ..
            }
        )
    });
    assert_eq!(held.count(), 1);
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

/// Bodies are read and dropped, whatever their form, and the connection goes on behind them.
#[test]
fn long_bodies_are_taken() {
    let rig = rig(WitnessMode::Record, None, Place::Thread);
    let mut a = rig.connect("a1");
    let (length, body) = (3 << 20, "x".repeat(3 << 20));
    for request in [
        format!("content-length: {length}\r\n\r\n{body}"),
        format!("transfer-encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n"),
    ] {
        let request = format!("POST {} HTTP/1.1\r\nfencing-token: 7\r\n{request}", a.path);
        a.socket.write_all(request.as_bytes()).expect("sends");
        assert_eq!(a.status().0, 200);
        assert_eq!(a.write(8), 200);
    }
    let tokens: Vec<_> = rig.writes().iter().filter_map(|(_, it)| it.token).collect();
    assert_eq!(tokens, [Token(7), Token(8), Token(7), Token(8)]);
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
            format!(
                "POST {} HTTP/1.1\r\n\r\n",
                good.path.replace("/write", "/cache?value=0")
            )
            .into_bytes(),
            405,
        ),
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
