//! Whose write goes on when.

use crate::resource::{LONG, Manner};
use crate::rig::{Rig, answer, connect};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[test]
fn order_decides() {
    let rig = Rig::start();
    for (token, status) in [
        ("5", 200),
        ("5", 200),
        ("4", 409),
        ("10", 200),
        ("9", 409),
        ("10", 200),
        ("5", 409),
    ] {
        let got = rig.write("/a", token);
        assert_eq!(got.status, status, "token {token}: {got:?}");
    }
    let stale = rig.write("/a", "7");
    assert_eq!((stale.number("token"), stale.number("highest")), (7, 10));
    // Another resource has a mark of its own.
    assert_eq!(rig.write("/b", "1").status, 200);
    assert_eq!(rig.resource.tokens(), [5, 5, 10, 10, 1]);
}

#[test]
fn marks_outlive_the_gate() {
    let mut rig = Rig::start();
    assert_eq!(rig.write("/a", "9").status, 200);
    assert!(rig.restart(), "nothing was under way");
    assert_eq!(rig.write("/a", "8").status, 409);
    assert_eq!(rig.write("/a", "9").status, 200);
}

/// While 5 is under way 6 is not sent on; and no other 5 is, once 6 has come.
#[test]
fn a_greater_one_waits_for_what_is_under_way() {
    let rig = Rig::start();
    rig.resource.treat("5", Manner::Hold);
    let older = rig.write_aside("/a", "5");
    rig.resource.wait_for(1);
    let newer = rig.write_aside("/a", "6");
    // Once a 5 is refused, the 6 has been offered.
    let until = std::time::Instant::now() + LONG;
    while rig.write_aside_is_refused() {
        assert!(std::time::Instant::now() < until, "6 was never offered");
    }
    rig.let_others_pass();
    assert!(!rig.resource.tokens().contains(&6), "6 has overtaken 5");
    rig.resource.release("5");
    assert_eq!(older.join().expect("ends").status, 200);
    assert_eq!(newer.join().expect("ends").status, 200);
    assert_eq!(rig.write("/a", "5").number("highest"), 6);
    assert_eq!(rig.resource.fault(), None);
}

impl Rig {
    /// Whether a write with 4 is told of 5 as the greatest: true as long as no 6 was offered.
    fn write_aside_is_refused(&self) -> bool {
        self.write("/a", "4").number("highest") == 5
    }

    /// Other keys' writes go to the disk and to the resource and back: by then one that waits for nothing is there.
    fn let_others_pass(&self) {
        for token in 1000..1020 {
            assert_eq!(self.write("/other", &token.to_string()).status, 200);
        }
    }
}

/// An upstream that stands still: bounded waits, the key blocked, the others not, and all well once it goes on.
#[test]
fn an_upstream_that_does_not_answer_blocks_its_key() {
    let rig = Rig::with(|settings| settings.patience = Duration::from_millis(400));
    rig.resource.treat("5", Manner::Hold);
    let late = rig.write("/a", "5");
    assert_eq!(late.status, 504, "{late:?}");
    assert!(late.body.contains("upstream-late"), "{late:?}");
    let blocked = rig.write("/a", "6");
    assert_eq!(blocked.status, 504, "{blocked:?}");
    assert!(
        blocked.body.contains("older-write-under-way") && blocked.body.contains("token 5"),
        "{blocked:?}"
    );
    assert_eq!(rig.write("/a", "5").status, 409, "the mark has risen all the same");
    assert_eq!(rig.write("/b", "5").status, 504, "held by its token");
    let until = std::time::Instant::now() + LONG;
    // On a busy machine it may be late, too, but it is not blocked.
    while rig.write("/c", "7").status != 200 {
        assert!(std::time::Instant::now() < until, "another key is blocked as well");
    }
    rig.resource.release("5");
    while rig.write("/a", "6").status != 200 {
        assert!(std::time::Instant::now() < until, "it stays blocked");
    }
    assert_eq!(rig.resource.fault(), None);
}

/// A client that leaves does not end its write: the next holder waits all the same.
#[test]
fn a_client_that_left_leaves_its_write() {
    let rig = Rig::start();
    rig.resource.treat("5", Manner::Hold);
    let mut client = connect(rig.address);
    client.write_all(&crate::rig::put("/a", "5")).expect("sends");
    rig.resource.wait_for(1);
    drop(client);
    let newer = rig.write_aside("/a", "6");
    let until = std::time::Instant::now() + LONG;
    while rig.write_aside_is_refused() {
        assert!(std::time::Instant::now() < until, "6 was never offered");
    }
    rig.let_others_pass();
    assert!(!rig.resource.tokens().contains(&6), "6 has overtaken 5");
    rig.resource.release("5");
    assert_eq!(newer.join().expect("ends").status, 200);
    assert_eq!(rig.resource.fault(), None);
}

/// A connection that the upstream ends: the write may have been applied, so the next one waits a while.
#[test]
fn an_upstream_that_hangs_up() {
    let rig = Rig::start();
    rig.resource.treat("5", Manner::HangUp);
    let got = rig.write("/a", "5");
    assert_eq!(got.status, 502, "{got:?}");
    assert!(got.body.contains("may have been applied"), "{got:?}");
    assert_eq!(rig.write("/a", "6").status, 200);
    assert_eq!(rig.resource.tokens(), [5, 6], "nothing was sent twice");
}

/// A holder that stands still in the middle of its write: the next one does not wait for it, and the resource
/// never gets the rest.
#[test]
fn a_write_that_is_still_coming_is_cut() {
    for chunked in [false, true] {
        let rig = Rig::start();
        let mut paused = connect(rig.address);
        let head = if chunked {
            "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: 5\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n"
        } else {
            "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: 5\r\ncontent-length: 10\r\n\r\nabc"
        };
        paused.write_all(head.as_bytes()).expect("sends");
        rig.resource.wait_for_heads(1);
        let newer = rig.write("/a", "6");
        assert_eq!(newer.status, 200, "{newer:?}");
        let cut = answer(paused);
        assert_eq!((cut.status, cut.number("highest")), (409, 6), "{cut:?}");
        assert_eq!(*rig.resource.tokens().last().expect("one"), 6);
        assert!(!rig.resource.tokens().contains(&5), "half a write counts for nothing");
    }
}

/// An answer that comes before the body's end does not end the write.
#[test]
fn an_early_answer_does_not_end_the_write() {
    let rig = Rig::start();
    rig.resource.treat("5", Manner::Early);
    let mut older = connect(rig.address);
    let head = "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: 5\r\ncontent-length: 10\r\n\r\nabc";
    older.write_all(head.as_bytes()).expect("sends");
    rig.resource.wait_for(1);
    assert_eq!(rig.write("/a", "6").status, 200);
    let whole: Vec<bool> = rig.resource.seen().iter().map(|it| it.whole).collect();
    assert_eq!(whole, [false, false, true], "5 early, 5 cut, 6");
}

/// Many clients, few keys: the resource never sees two tokens of a key at once, nor a smaller one after a greater.
/// Nothing of it rests on the time to settle: a write that is cut is incomplete, whenever its connection ends.
#[test]
fn a_storm() {
    let rig = Rig::with(|settings| {
        settings.settle = Duration::ZERO;
        settings.sync = false;
    });
    let newest = Arc::new(AtomicU64::new(1));
    let clients: Vec<_> = (0..8_u64)
        .map(|client| {
            let (address, newest) = (rig.address, Arc::clone(&newest));
            std::thread::spawn(move || {
                let mut state = client + 1;
                for _ in 0..400_u64 {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    // Mostly the newest, often one that was surpassed a moment ago.
                    let token = newest
                        .fetch_add(state >> 63, Ordering::SeqCst)
                        .saturating_sub((state >> 50) % 3);
                    let path = format!("/{}", (state >> 40) % 2);
                    let got = crate::rig::ask(address, &crate::rig::put(&path, &token.to_string()));
                    assert!([200, 409].contains(&got.status), "{got:?}");
                }
            })
        })
        .collect();
    for client in clients {
        client.join().expect("no panic");
    }
    assert_eq!(rig.resource.fault(), None);
    assert!(rig.resource.tokens().len() > 20);
}
