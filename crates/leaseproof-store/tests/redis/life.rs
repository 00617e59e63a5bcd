//! Servers that die, close connections, or are none.

use super::*;

#[test]
fn a_server_that_dies_and_comes_back_empty() {
    let mut server = server!("a_server_that_dies_and_comes_back_empty");
    let url = url(&server.url());
    let mut observer = open_observer(&url, PATIENT).expect("it opens");
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    let before = observer.read(KEY).expect("a reading").1.epoch;
    server.kill();
    let done = owner.renew(&grant, LONG, BRIEF);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    assert!(done.reason.expect("a reason").contains("no store answers"));
    assert!(matches!(observer.read(KEY), Err(StoreError::Unreachable { .. })));
    server.start_again();
    let (_, reading) = observer.read(KEY).expect("it connects by itself");
    assert_ne!(reading.epoch, before, "another process answers");
    assert!(reading.held.is_none() && reading.previous.is_some());
    // The server lost it, and says so; the scripts are loaded anew.
    assert_eq!(owner.renew(&grant, LONG, PATIENT).refusal, Some(Refusal::Gone));
    assert_eq!(owner.acquire(KEY, "a", LONG, PATIENT).outcome, Outcome::Applied);
}

#[test]
fn a_connection_closed_in_between_loses_no_request() {
    let server = server!("a_connection_closed_in_between_loses_no_request");
    let url = url(&server.url());
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    for _ in 0..20 {
        server.cli(&["CLIENT", "KILL", "TYPE", "normal"]);
        let done = owner.renew(&grant, LONG, PATIENT);
        assert_eq!(done.outcome, Outcome::Applied, "{done:?}");
    }
}

#[test]
fn a_request_that_was_sent_may_still_be_applied() {
    let server = server!("a_request_that_was_sent_may_still_be_applied");
    let url = url(&server.url());
    let mut observer = open_observer(&url, PATIENT).expect("it opens");
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    // A connection is there, so that the request leaves.
    let first = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    assert_eq!(owner.release(&first, PATIENT).outcome, Outcome::Applied);
    server.freeze();
    let done = owner.acquire(KEY, "a", LONG, BRIEF);
    assert_eq!(done.outcome, Outcome::Unknown, "{done:?}");
    server.thaw();
    // Here it is, though nobody was told.
    let reading = observer.read(KEY).expect("a reading").1;
    assert_eq!(reading.counter.map(|token| token.0), Some(2));
    // Without a connection nothing can have been sent.
    owner.reconnect();
    server.freeze();
    let done = owner.acquire("canary/never", "a", LONG, BRIEF);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    server.thaw();
    assert_eq!(server.cli(&["EXISTS", "canary/never"]), "0");
}

#[test]
fn a_cluster_is_refused() {
    let server = server!("a_cluster_is_refused", &["--cluster-enabled", "yes"]);
    let error = open_observer(&url(&server.url()), PATIENT).err().expect("a cluster");
    assert!(error.to_string().contains("give redis+cluster://"), "{error}");
}

#[test]
fn what_is_no_redis_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let _ = stream.read(&mut [0; 512]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let error = open_observer(&url(&format!("redis://127.0.0.1:{port}")), PATIENT)
        .err()
        .expect("it is a web server");
    server.join().expect("the server ends");
    assert!(error.to_string().contains("is it a Redis server?"), "{error}");
    let error = open_observer(&url(&format!("redis://127.0.0.1:{port}")), PATIENT).err();
    let words = error.expect("nobody listens any more").to_string();
    assert!(
        words.contains("no store answers") && words.contains("refused"),
        "{words}"
    );
}
