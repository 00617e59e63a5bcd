//! TLS: certificates that are not trusted, and TLS spoken to who speaks none, and the other way round.

use crate::bad::{KEY, STORES, inspect, says, watch};
use crate::postgres_server::{PostgresServer, skip};
use crate::rig::Room;
use crate::rig::tls_rig::{certificate_for, expire};
use crate::tap::fake;
use std::process::{Command, Stdio};

/// Something that speaks TLS with a certificate of its own, whatever is spoken inside.
struct Tls(std::process::Child, u16);

impl Tls {
    fn start(key: &str, cert: &str) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--", "openssl", "s_server", "-quiet", "-accept"])
            .arg(format!("127.0.0.1:{port}"))
            .args(["-key", key, "-cert", cert])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("openssl was there a moment ago");
        crate::rig::until("it listens", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Self(child, port)
    }
}

impl Drop for Tls {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn certificates_bad() {
    let room = Room::new();
    let made = room
        .certificate("server")
        .and_then(|own| Ok((own, room.certificate("other")?.1)));
    let ((key, cert), other) = match made {
        Ok(made) => made,
        Err(why) => return skip("certificates_bad", &why),
    };
    let tls = Tls::start(&key, &cert);
    let mut urls: Vec<String> = ["rediss", "etcds", "zookeepers", "consuls"]
        .map(|scheme| format!("{scheme}://localhost:{}?ca={other}", tls.1))
        .into();
    let postgres = PostgresServer::start().map(|mut server| {
        for (name, from) in [("server.key", &key), ("server.pem", &cert)] {
            std::fs::copy(from, server.folder().join(name)).expect("a copy");
            server.own_file(name);
        }
        let file = |name: &str| server.folder().join(name).display().to_string();
        let settings = format!(
            "ALTER SYSTEM SET ssl_key_file = '{}'; ALTER SYSTEM SET ssl_cert_file = '{}'; ALTER SYSTEM SET ssl = on",
            file("server.key"),
            file("server.pem")
        );
        for statement in settings.split("; ") {
            server.psql(statement);
        }
        server.kill();
        server.start_again();
        server
    });
    match &postgres {
        Ok(server) => urls.push(format!(
            "postgres://postgres@localhost:{}/postgres?sslmode=verify-full&ca={other}",
            server.port()
        )),
        Err(why) => skip("certificates_bad", why),
    }
    for url in urls {
        inspect(&room, &url, KEY).refused(&["certificate", "?ca=FILE.pem"]);
        says(&watch(&room, &url), &["certificate"]);
        // And one that is trusted, of another name.
        let named = url.replace(&other, &cert) + "&server_name=example.com";
        let ran = inspect(&room, &named, KEY);
        ran.refused(&["certificate", "example.com", "?server_name=NAME"]);
        // Who signed it is not in question.
        assert!(!ran.stderr.contains("authority"), "{ran:#?}");
    }
}

/// Who signed it is told to nobody whose certificate is over.
#[test]
fn an_expired_certificate_bad() {
    let room = Room::new();
    let made = certificate_for(room.path(), "over", "DNS:localhost");
    let made = made.and_then(|made| expire(room.path(), &made).map(|()| made));
    let made = match made {
        Ok(made) => made,
        Err(why) => return skip("an_expired_certificate_bad", &why),
    };
    let text = |path: &std::path::Path| path.to_str().expect("UTF-8").to_owned();
    let tls = Tls::start(&text(&made.key), &text(&made.pem));
    for scheme in ["rediss", "etcds", "zookeepers", "consuls"] {
        let url = format!("{scheme}://localhost:{}?ca={}", tls.1, text(&made.pem));
        for ran in [inspect(&room, &url, KEY), watch(&room, &url)] {
            ran.refused(&[
                "the server's certificate expired ",
                " days ago",
                "renew it on the server",
            ]);
            assert!(!ran.stderr.contains("authority"), "{ran:#?}");
        }
    }
}

/// Who is asked for TLS and speaks none, and who is asked for none and wants it: both things that it may be are named.
#[test]
fn tls_on_one_side_alone_bad() {
    let room = Room::new();
    for (scheme, _) in STORES.into_iter().filter(|(scheme, _)| *scheme != "postgres") {
        let plain = fake(b"-ERR Protocol error\r\n");
        let url = format!("{scheme}s://127.0.0.1:{plain}");
        let parts = [
            "what came back is no TLS",
            &format!("({scheme}:// asks for none)"),
            "another server is there",
        ];
        inspect(&room, &url, KEY).refused(&parts);
        watch(&room, &url).refused(&parts);
    }
    let made = room.certificate("server");
    let (key, cert) = match made {
        Ok(made) => made,
        Err(why) => return skip("tls_on_one_side_alone_bad", &why),
    };
    let tls = Tls::start(&key, &cert);
    for (scheme, question) in STORES {
        let url = format!("{scheme}://127.0.0.1:{}", tls.1);
        for ran in [inspect(&room, &url, KEY), watch(&room, &url)] {
            let said = format!("{} {}", ran.stdout, ran.stderr);
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(said.contains("TLS"), "{scheme}: {ran:#?}");
            let both = said.contains(question) || said.contains("another server is there");
            assert!(both, "{scheme}: {ran:#?}");
            says(&ran, &["TLS"]);
        }
    }
}
