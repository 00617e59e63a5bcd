//! What is refused, and that the resource never hears of it.

use crate::resource::Manner;
use crate::rig::{Rig, ask};

/// Raw bytes, the status that they get (0: closed without one), and a word of the answer.
const REFUSED: &[(&str, &str, u16, &str)] = &[
    (
        "no token",
        "PUT /a HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n",
        428,
        "token-missing",
    ),
    (
        "an empty token",
        "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: \r\ncontent-length: 0\r\n\r\n",
        428,
        "token-missing",
    ),
    (
        "negative",
        "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: -1\r\n\r\n",
        400,
        "negative",
    ),
    (
        "not a number",
        "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: abc\r\n\r\n",
        400,
        "not a number",
    ),
    (
        "above 2^63-1",
        "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: 9223372036854775808\r\n\r\n",
        400,
        "9223372036854775807",
    ),
    (
        "twice",
        "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: 5\r\nFencing-Token: 6\r\n\r\n",
        400,
        "more than one",
    ),
    (
        "a list",
        "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: 5, 6\r\n\r\n",
        400,
        "more than one",
    ),
    (
        "a dot segment",
        "PUT /a/../b HTTP/1.1\r\nhost: x\r\nfencing-token: 5\r\n\r\n",
        400,
        "dot segment",
    ),
    (
        "an encoded slash",
        "PUT /a%2Fb HTTP/1.1\r\nhost: x\r\nfencing-token: 5\r\n\r\n",
        400,
        "encoded slash",
    ),
    (
        "an upgrade",
        "GET /a HTTP/1.1\r\nhost: x\r\nconnection: close, upgrade\r\nupgrade: websocket\r\n\r\n",
        501,
        "upgrade",
    ),
    (
        "a method nobody named",
        "MKCOL /a HTTP/1.1\r\nhost: x\r\nfencing-token: 5\r\n\r\n",
        405,
        "--methods",
    ),
    (
        "connect",
        "CONNECT x:80 HTTP/1.1\r\nhost: x:80\r\n\r\n",
        405,
        "--methods",
    ),
    (
        "an overridden method",
        "GET /a HTTP/1.1\r\nhost: x\r\nx-http-method-override: DELETE\r\n\r\n",
        400,
        "request-unclear",
    ),
    (
        "a token for this hop",
        "PUT /a HTTP/1.1\r\nhost: x\r\nconnection: close, fencing-token\r\nfencing-token: 5\r\n\r\n",
        400,
        "request-unclear",
    ),
    (
        "an overridden method, as CGI reads it",
        "GET /a HTTP/1.1\r\nhost: x\r\nX_HTTP_Method-Override: DELETE\r\n\r\n",
        400,
        "request-unclear",
    ),
    (
        "a second token, as CGI reads it",
        "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: 5\r\nFencing_Token: 6\r\n\r\n",
        400,
        "fencing_token",
    ),
    (
        "two hosts",
        "PUT /a HTTP/1.1\r\nhost: x\r\nhost: y\r\nfencing-token: 5\r\n\r\n",
        400,
        "",
    ),
    (
        "two lengths",
        "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: 5\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nnew",
        400,
        "",
    ),
    (
        "a length with a sign",
        "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: 5\r\ncontent-length: +3\r\n\r\nnew",
        400,
        "",
    ),
    (
        "a coding that is not chunked",
        "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: 5\r\ntransfer-encoding: chunked, x\r\n\r\n",
        400,
        "",
    ),
    (
        "a folded header",
        "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: 5\r\nx-a: b\r\n c: d\r\n\r\n",
        400,
        "",
    ),
    (
        "a folded token",
        "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token:\r\n 5\r\n\r\n",
        400,
        "",
    ),
    (
        "a space before the colon",
        "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token : 5\r\n\r\n",
        400,
        "",
    ),
    (
        "chunked in HTTP/1.0",
        "PUT /a HTTP/1.0\r\nfencing-token: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
        "",
    ),
    (
        "a bare carriage return",
        "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: 5\rx: y\r\n\r\n",
        400,
        "",
    ),
    ("no request at all", "hello\r\n\r\n", 400, ""),
];

#[test]
fn refused_and_never_forwarded() {
    let rig = Rig::start();
    for (what, bytes, status, word) in REFUSED {
        let got = ask(
            rig.address,
            bytes
                .replacen(
                    "\r\n",
                    "\r\nconnection: close\r\n",
                    usize::from(!bytes.contains("connection:")),
                )
                .as_bytes(),
        );
        assert_eq!(got.status, *status, "{what}: {got:?}");
        assert!(got.body.contains(word), "{what}: {got:?}");
    }
    assert_eq!(rig.resource.seen(), []);
}

/// A request whose framing could be read in two ways is one request to the resource, or none.
#[test]
fn nothing_is_smuggled() {
    let smuggled = "PUT /smuggled HTTP/1.1\r\nhost: x\r\nfencing-token: 1\r\ncontent-length: 0\r\n\r\n";
    let cases = [
        (
            "length and coding",
            format!(
                "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: 5\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{smuggled}"
            ),
        ),
        (
            "coding and length",
            format!(
                "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: 5\r\ntransfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n{smuggled}"
            ),
        ),
        (
            "a bad chunk",
            format!(
                "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: 5\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{smuggled}"
            ),
        ),
        (
            "a chunk without its end",
            format!(
                "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: 5\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabcdef\r\n0\r\n\r\n{smuggled}"
            ),
        ),
        (
            "a huge chunk",
            format!(
                "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: 5\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n{smuggled}"
            ),
        ),
        (
            "bytes after a refused write",
            format!(
                "PUT /a HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{smuggled}",
                smuggled.len()
            ),
        ),
    ];
    for (what, bytes) in cases {
        let rig = Rig::start();
        let got = ask(
            rig.address,
            format!("{bytes}GET /last HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").as_bytes(),
        );
        let seen = rig.resource.seen();
        for request in &seen {
            let framed = ["content-length", "transfer-encoding"]
                .iter()
                .filter(|it| request.headers.contains_key(**it))
                .count();
            assert!(framed <= 1, "{what}: {request:?}");
            // A request that the client itself pipelined is one of its own, with a token of its own; none comes out
            // of the middle of a body.
            assert!(
                request.path != "/smuggled" || what.contains("coding"),
                "{what}: {got:?} {seen:?}"
            );
        }
        assert!(
            seen.iter()
                .filter(|it| it.path == "/a" && it.whole)
                .all(|it| it.body.is_empty()),
            "{what}: {seen:?}"
        );
    }
}

/// Bytes that are no body are the client's fault, and it is told so.
#[test]
fn bodies_that_are_none() {
    let rig = Rig::start();
    for body in [
        "0x3\r\nnew\r\n0\r\n\r\n",
        "ffffffffffffffffff\r\nnew",
        "3\nnew\n0\n\n",
        "3\r\nnewer",
    ] {
        let got = ask(
            rig.address,
            format!("PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: 5\r\ntransfer-encoding: chunked\r\n\r\n{body}")
                .as_bytes(),
        );
        assert_eq!(got.status, 400, "{body:?}: {got:?}");
        assert!(got.body.contains("body-invalid"), "{body:?}: {got:?}");
    }
    assert!(
        rig.resource.seen().iter().all(|it| !it.whole),
        "{:?}",
        rig.resource.seen()
    );
}

#[test]
fn an_upstream_that_is_not_there() {
    let rig = Rig::with(|settings| {
        // Nothing listens on a port that was free a moment ago.
        let free = std::net::TcpListener::bind("127.0.0.1:0")
            .expect("a port")
            .local_addr()
            .expect("bound");
        settings.upstream.place = free.to_string();
    });
    let got = rig.write("/a", "5");
    assert_eq!(got.status, 502, "{got:?}");
    assert!(got.body.contains("was not sent"), "{got:?}");
    // Nothing is in doubt: the next one is not kept waiting.
    assert!(rig.write("/a", "6").body.contains("upstream-unreachable"));
}

#[test]
fn an_upstream_that_switches_protocols_unasked() {
    let rig = Rig::start();
    rig.resource.treat("/switch", Manner::Switch);
    assert_eq!(rig.write("/switch", "5").status, 502);
}

#[test]
fn so_many_keys_and_no_more() {
    let rig = Rig::with(|settings| settings.most_keys = 2);
    assert_eq!(rig.write("/a", "5").status, 200);
    assert_eq!(rig.write("/b", "5").status, 200);
    let got = rig.write("/c", "5");
    assert_eq!(got.status, 507, "{got:?}");
    assert_eq!(rig.write("/a", "4").status, 409, "nothing was forgotten");
}
