//! What the page says, many keys, and what is no PostgreSQL.

use super::*;

#[test]
fn the_page_prints_what_it_says() {
    const PAGE: &str = include_str!("../../../../docs/stores/postgres.md");
    let server = match PostgresServer::start() {
        Ok(server) => server,
        Err(why) => return skip("the_page_prints_what_it_says", &why),
    };
    let blocks = |language: &str| -> Vec<&str> {
        PAGE.split(&format!("```{language}\n"))
            .skip(1)
            .filter_map(|rest| rest.split("```").next())
            .collect()
    };
    let printed = server.psql(&blocks("sql").join("\n"));
    // The first that is printed is psql's; what other programs print comes after it.
    assert_eq!(
        Some(&printed.as_str()),
        blocks("text").first().map(|text| text.trim_end()).as_ref()
    );
    // Its table is the adapter's.
    prepare(&server);
    let grant = granted(&mut *owner(&server), LONG);
    assert_eq!(read(&server).held.map(|held| held.holder), Some(grant.holder));
}

#[test]
fn many_keys_under_a_prefix_are_counted_within_bounds() {
    let server = server!("many_keys_under_a_prefix_are_counted_within_bounds");
    server.psql(
        "INSERT INTO leaseproof_lease (key, token) SELECT 'canary/' || n, 1 FROM generate_series(1, 100000) AS n; \
         INSERT INTO leaseproof_lease (key, token) VALUES ('mine', 1), ('canary', 1);",
    );
    let mut lab = open_administrator(&url(&server.url()), PATIENT).expect("it opens");
    assert_eq!(lab.foreign_keys("canary/").expect("a count"), 2);
    assert_eq!(lab.foreign_keys("").expect("a count"), 0);
    assert_eq!(lab.foreign_keys("other/").expect("a count"), 1000, "enough to know");
    let keys: Vec<String> = (1..=2500).map(|n| format!("canary/{n}")).collect();
    assert_eq!(lab.clean(&keys).expect("it cleans"), 2500);
    assert_eq!(server.psql("SELECT count(*) FROM leaseproof_lease"), "97502");
}

/// A server that answers one client with these bytes.
fn answering(bytes: &'static [u8]) -> (u16, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let _ = stream.read(&mut [0; 512]);
        let _ = stream.write_all(bytes);
        // Until the client goes: an end of the stream would tell it something.
        let _ = stream.set_read_timeout(Some(PATIENT));
        while matches!(stream.read(&mut [0; 512]), Ok(1..)) {}
    });
    (port, server)
}

/// A server that begins its answer like this, and never ends it.
fn streaming(beginning: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let _ = stream.read(&mut [0; 512]);
        let _ = stream.write_all(beginning);
        let zeros = vec![0; 1 << 20];
        while stream.write_all(&zeros).is_ok() {}
    });
    port
}

#[test]
fn what_is_no_postgresql_is_named() {
    for bytes in [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        b"-ERR unknown command\r\n",
        b"\x15\x03\x01\x00\x02\x02\x28",
    ] {
        for options in ["", "?sslmode=require"] {
            let (port, server) = answering(bytes);
            let text = format!("postgres://me:hunter2@127.0.0.1:{port}/db{options}");
            let error = open_observer(&url(&text), BRIEF).err().expect("it is another server");
            let words = error.to_string();
            server.join().expect("the server ends");
            assert!(
                words.contains("is it a PostgreSQL server?"),
                "{bytes:?}{options}: {words}"
            );
            assert!(!words.contains("hunter2"), "{words}");
        }
    }
    // An answer cut in the middle, and one that is too long to be any.
    for bytes in [&b"R\x00\x00\x00\x08\x00\x00"[..], b"R\x7f\xff\xff\xff\x00\x00"] {
        let (port, server) = answering(bytes);
        let text = format!("postgres://me:hunter2@127.0.0.1:{port}/db");
        let error = open_observer(&url(&text), BRIEF).err().expect("no answer");
        server.join().expect("the server ends");
        assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    }
    // An answer that goes on for as long as it was announced, two gigabytes.
    let text = format!("postgres://me:hunter2@127.0.0.1:{}/db", streaming(b"R\x7f\xff\xff\xf0"));
    let error = open_observer(&url(&text), PATIENT)
        .err()
        .expect("no answer")
        .to_string();
    assert!(error.contains("more than 64 MiB"), "{error}");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let error = open_observer(&url(&format!("postgres://me@127.0.0.1:{port}/db")), PATIENT).err();
    let words = error.expect("nobody listens").to_string();
    assert!(
        words.contains("no store answers") && words.contains("refused"),
        "{words}"
    );
}
