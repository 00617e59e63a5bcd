//! TLS: a certificate of our own, and a relay that changes the port and not the name.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

/// `ca.pem` and `key.pem` for `localhost` in this folder, by the openssl command.
pub fn certificate(folder: &Path) -> Result<(), String> {
    let output = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec"])
        .args(["-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-nodes", "-days", "30", "-subj", "/CN=leaseproof test"])
        .args(["-addext", "subjectAltName=DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-keyout", "key.pem", "-out", "ca.pem"])
        .current_dir(folder)
        .output()
        .map_err(|error| format!("openssl can't be run: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Passes bytes on, as the lab's relay does; gives its port.
#[allow(dead_code, reason = "not every store's test has a relay")]
pub fn relay(to: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(("127.0.0.1", to)).expect("the server is there");
            for (mut from, mut into) in [
                (client.try_clone().expect("a copy"), server.try_clone().expect("a copy")),
                (server, client),
            ] {
                std::thread::spawn(move || std::io::copy(&mut from, &mut into));
            }
        }
    });
    port
}
