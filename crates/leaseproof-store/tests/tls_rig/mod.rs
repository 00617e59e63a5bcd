//! TLS: certificates of our own, and a relay that changes the port and not the name. Each test file that needs one takes
//! it from here.

#![allow(dead_code, reason = "each test uses a part of this fixture")]

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A certificate that vouches for itself alone, and its key: PEM files.
pub struct Certificate {
    pub pem: PathBuf,
    pub key: PathBuf,
}

/// `FILE.pem` and `FILE.key` in this folder, for these names (`DNS:localhost`), by the openssl command; or why there are
/// none.
pub fn certificate_for(folder: &Path, file: &str, names: &str) -> Result<Certificate, String> {
    let place = |end: &str| folder.join(format!("{file}.{end}"));
    let made = Certificate {
        pem: place("pem"),
        key: place("key"),
    };
    let output = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec"])
        .args(["-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-nodes", "-days", "30", "-subj", "/CN=leaseproof test"])
        .args(["-addext", &format!("subjectAltName={names}")])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
        .arg(&made.key)
        .arg("-out")
        .arg(&made.pem)
        .output()
        .map_err(|error| format!("openssl can't be run: {error}"))?;
    match output.status.success() {
        true => Ok(made),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Signs a certificate anew, by its own key and for `localhost`, as one that was over in the year 2020.
pub fn expire(folder: &Path, made: &Certificate) -> Result<(), String> {
    let settings = "[ca]\ndefault_ca = own\n[own]\ndatabase = index\nserial = serial\nnew_certs_dir = .\n\
                    default_md = sha256\npolicy = any\nx509_extensions = ends\n[any]\ncommonName = supplied\n[ends]\nsubjectAltName = DNS:localhost\n\
                    basicConstraints = critical,CA:FALSE\n";
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).map_err(|error| error.to_string());
    write("ca.cnf", settings)?;
    write("index", "")?;
    write("serial", "01")?;
    let openssl = |arguments: &[&str]| {
        let mut command = Command::new("openssl");
        command.args(arguments).current_dir(folder);
        command
    };
    let mut asked = openssl(&[
        "req",
        "-new",
        "-subj",
        "/CN=leaseproof test",
        "-out",
        "asked.pem",
        "-key",
    ]);
    let days = ["-startdate", "20200101000000Z", "-enddate", "20200102000000Z"];
    let signs = [
        "ca",
        "-batch",
        "-selfsign",
        "-notext",
        "-config",
        "ca.cnf",
        "-in",
        "asked.pem",
    ];
    let mut signed = openssl(&[&signs[..], &days, &["-keyfile"]].concat());
    for command in [asked.arg(&made.key), signed.arg(&made.key).arg("-out").arg(&made.pem)] {
        let output = command.output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
    }
    Ok(())
}

/// `ca.pem` and `key.pem` for `localhost` in this folder.
pub fn certificate(folder: &Path) -> Result<(), String> {
    let made = certificate_for(folder, "ca", "DNS:localhost")?;
    std::fs::rename(made.key, folder.join("key.pem")).map_err(|error| error.to_string())
}

/// Passes bytes on, as the lab's relay does; gives its port.
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
