//! TLS, and by which names.

use super::*;

#[test]
fn tls() {
    let folder = tempfile::tempdir().expect("a folder");
    if let Err(why) = certificate(folder.path()) {
        return skip("tls", &why);
    }
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (ca, key) = (file("ca.pem"), file("key.pem"));
    let server = server!(
        "tls",
        &[
            "--port",
            "0",
            "--tls-port",
            "{port}",
            "--tls-cert-file",
            &ca,
            "--tls-key-file",
            &key,
            "--tls-ca-cert-file",
            &ca,
            "--tls-auth-clients",
            "no",
        ]
    );
    let port = server.port();
    let good = url(&format!("rediss://localhost:{port}?ca={ca}"));
    let mut owner = open_lease(&good, PATIENT).expect("lazy");
    let grant = owner.acquire(KEY, "a", LONG, PATIENT);
    assert_eq!(grant.outcome, Outcome::Applied, "{grant:?}");
    // Through a relay the certificate is still asked for by its own name.
    let relayed = good.with_host_port("127.0.0.1", relay(port));
    let held = open_observer(&relayed, PATIENT)
        .expect("through the relay")
        .read(KEY)
        .expect("a reading");
    assert_eq!(
        held.1.held.map(|held| held.holder),
        grant.value.map(|grant| grant.holder)
    );
    // Not trusted, and not by that name.
    for bad in [
        format!("rediss://localhost:{port}"),
        format!("rediss://127.0.0.1:{port}?ca={ca}"),
        format!("rediss://localhost:{port}?ca={ca}&server_name=example.org"),
    ] {
        let error = open_observer(&url(&bad), PATIENT).err().expect(&bad);
        let words = error.to_string();
        assert!(words.contains("certificate"), "{bad}: {words}");
    }
    for (bad, part) in [("/nowhere.pem", "can't be used"), (key.as_str(), "no certificate")] {
        let bad = url(&format!("rediss://localhost:{port}?ca={bad}"));
        let error = open_lease(&bad, PATIENT).err().expect("no CA").to_string();
        assert!(error.contains(part), "{error}");
    }
    // Plain words to a TLS port end, and say where.
    let plain = url(&format!("redis://localhost:{port}"));
    assert!(open_observer(&plain, PATIENT).is_err());
}
