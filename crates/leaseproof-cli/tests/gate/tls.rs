//! TLS on both sides, with real certificates: a gate that listens by TLS is the upstream of another.

use crate::resource::Resource;
use crate::rig::{GateProcess, raw, skip};
use crate::tls_rig::certificate_for;
use std::path::Path;
use std::process::Command;

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

fn put(token: u64) -> Vec<u8> {
    format!("PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: {token}\r\ncontent-length: 3\r\nconnection: close\r\n\r\nnew")
        .into_bytes()
}

#[test]
fn by_tls_on_both_sides() {
    let dir = tempfile::tempdir().expect("a folder");
    let at = |name: &str| dir.path().join(name);
    let both = certificate_for(dir.path(), "good", "DNS:localhost,IP:127.0.0.1")
        .and_then(|good| Ok((good, certificate_for(dir.path(), "other", "DNS:localhost")?)));
    let (good, another) = match both {
        Ok(both) => both,
        Err(why) => return skip("by_tls_on_both_sides", &why),
    };
    let (pem, key, other, other_key) = (good.pem, good.key, another.pem, another.key);
    let resource = Resource::start();
    let inner = GateProcess::start(
        &[],
        resource.address,
        &at("inner"),
        &["--tls-cert", text(&pem), "--tls-key", text(&key)],
    );
    let outer = |url: &str, ca: &Path, marks: &str| {
        GateProcess::before(&[], url, &at(marks), &["--upstream-ca", text(ca), "--settle", "1ms"])
    };
    let port = inner.address.port();
    for (url, marks) in [
        (format!("https://localhost:{port}"), "by-name"),
        (format!("https://127.0.0.1:{port}"), "by-address"),
    ] {
        let gate = outer(&url, &pem, marks);
        let before = resource.tokens().len();
        assert_eq!(gate.write(&format!("/{marks}"), 5), 200);
        assert_eq!(gate.write(&format!("/{marks}"), 4), 409);
        assert_eq!(gate.write(&format!("/{marks}"), 6), 200);
        assert_eq!(resource.tokens()[before..], [5, 6], "{url}");
    }
    // Each of these ends before a byte of the request is sent.
    let seen = resource.seen().len();
    for (what, url, ca) in [
        (
            "a certificate that nobody vouches for",
            format!("https://localhost:{port}"),
            &other,
        ),
        ("another name", format!("https://127.0.0.2:{port}"), &pem),
        (
            "no TLS there",
            format!("https://127.0.0.1:{}", resource.address.port()),
            &pem,
        ),
    ] {
        let gate = outer(&url, ca, "refused");
        let (status, answer) = raw(gate.address, &put(7));
        assert_eq!(status, 502, "{what}: {answer}");
        assert!(answer.contains("upstream-unreachable"), "{what}: {answer}");
        assert!(answer.contains("was not sent"), "{what}: {answer}");
    }
    let heard = resource.seen()[seen..].iter().filter(|it| it.method == "PUT").count();
    assert_eq!(heard, 0);
    // A key that is another certificate's is no identity; and plain HTTP to a TLS port is no request.
    let output = Command::new(crate::rig::BIN)
        .args(["gate", "http", "--upstream", "http://127.0.0.1:1", "--marks"])
        .arg(at("x"))
        .args(["--tls-cert", text(&pem), "--tls-key", text(&other_key)])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("together"),
        "{output:?}"
    );
    let (status, _) = raw(inner.address, &put(8));
    assert_ne!(status, 200);
    // Another's TLS than ours: curl's.
    let curl = Command::new("curl")
        .args([
            "-sS",
            "-o",
            "/dev/null",
            "-w",
            "%{http_code} %{http_version}",
            "--cacert",
        ])
        .arg(&pem)
        .args(["-X", "PUT", "-H", "fencing-token: 9", "-d", "new"])
        .arg(format!("https://localhost:{port}/curl"))
        .output();
    match curl {
        Ok(output) => assert_eq!(String::from_utf8_lossy(&output.stdout), "200 1.1", "{output:?}"),
        Err(error) => skip("by_tls_on_both_sides, with curl", &error.to_string()),
    }
}
