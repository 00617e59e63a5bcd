//! A tap on the wire: passes everything on, and keeps each command that a client sent. It speaks RESP
//! for tests that need keys which no command line can hold.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The bytes that each connection sent.
type Sent = Arc<Mutex<Vec<Vec<u8>>>>;

/// A tap in front of a server.
pub struct Tap {
    port: u16,
    sent: Sent,
}

impl Tap {
    pub fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let sent: Sent = Arc::default();
        let kept = Arc::clone(&sent);
        // Ends with the test's process.
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(("127.0.0.1", server)).expect("the server is there");
                let number = {
                    let mut all = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    all.push(Vec::new());
                    all.len() - 1
                };
                let (kept, up) = (Arc::clone(&kept), (client.try_clone(), server.try_clone()));
                std::thread::spawn(move || {
                    pass(up.0.expect("a socket"), up.1.expect("a socket"), |bytes| {
                        kept.lock().unwrap_or_else(PoisonError::into_inner)[number].extend_from_slice(bytes);
                    })
                });
                std::thread::spawn(move || pass(server, client, |_| {}));
            }
        });
        Self { port, sent }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// What each connection sent.
    pub fn raw(&self) -> Vec<Vec<u8>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Every command that was sent, its words in capitals, no more of them than `words`.
    pub fn commands(&self) -> Vec<Vec<String>> {
        let all = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().flat_map(|bytes| commands(bytes)).collect()
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, mut seen: impl FnMut(&[u8])) {
    let mut buffer = [0; 4096];
    while let Ok(count) = from.read(&mut buffer) {
        if count == 0 {
            break;
        }
        seen(&buffer[..count]);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
    let _ = from.shutdown(Shutdown::Read);
}

/// `*2\r\n$3\r\nGET\r\n$1\r\nk\r\n` and so on. What is of another form is a failure of the test.
fn commands(mut bytes: &[u8]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let words = number(&mut bytes, b'*');
        let mut command = Vec::new();
        for _ in 0..words {
            let length = number(&mut bytes, b'$');
            command.push(String::from_utf8_lossy(&bytes[..length]).to_ascii_uppercase());
            bytes = &bytes[length + 2..];
        }
        found.push(command);
    }
    found
}

fn number(bytes: &mut &[u8], mark: u8) -> usize {
    assert_eq!(bytes[0], mark, "{}", String::from_utf8_lossy(bytes));
    let end = bytes.iter().position(|&b| b == b'\r').expect("a whole line");
    let number = std::str::from_utf8(&bytes[1..end])
        .expect("digits")
        .parse()
        .expect("a number");
    *bytes = &bytes[end + 2..];
    number
}

/// Sends one command and gives the first bytes of its answer.
pub fn ask(port: u16, words: &[&[u8]]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the server is there");
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .expect("it can be set");
    let mut command = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        command.extend(format!("${}\r\n", word.len()).into_bytes());
        command.extend(*word);
        command.extend(b"\r\n");
    }
    stream.write_all(&command).expect("it is sent");
    let mut answer = [0; 256];
    let count = stream.read(&mut answer).expect("an answer");
    String::from_utf8_lossy(&answer[..count]).trim_end().to_owned()
}

/// A server that answers whatever comes with these bytes, and then closes; without any it never answers.
pub fn fake(answer: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for mut client in listener.incoming().flatten() {
            if answer.is_empty() {
                held.push(client);
                continue;
            }
            let _ = client.read(&mut [0; 4096]);
            let _ = client.write_all(answer);
            let _ = client.shutdown(Shutdown::Write);
            // Read on to the client's end: closing on unread bytes would reset, and the answer with it.
            let _ = client.read_to_end(&mut Vec::new());
        }
    });
    port
}
