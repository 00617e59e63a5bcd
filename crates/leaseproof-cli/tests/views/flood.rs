//! A server that answers without end: a look at it costs little memory, and says what it takes it for.

use crate::bad::{KEY, STORES, says};
use crate::rig::{PROGRAM, Ran, Room};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};

/// A server that answers whatever comes with `head`, and then with `part` for as long as anybody reads.
fn flood(head: &'static [u8], part: Vec<u8>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let part = part.clone();
            std::thread::spawn(move || {
                let _ = client.read(&mut [0; 4096]);
                let mut sent = client.write_all(head);
                while sent.is_ok() {
                    sent = client.write_all(&part);
                }
            });
        }
    });
    port
}

#[test]
fn answers_without_end_bad() {
    let room = Room::new();
    let http = &b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"[..];
    let spaces = [b"10000\r\n".to_vec(), vec![b' '; 0x10000], b"\r\n".to_vec()].concat();
    for (scheme, question) in STORES {
        // What it may write to, in MiB (heap, and the threads' stacks). An answer of Redis or PostgreSQL has 64 at the
        // most, and a growing one is given twice as much room before it is full.
        let (head, part, most) = match scheme {
            "redis" => (&b"$2000000000\r\n"[..], vec![b'x'; 0x10000], 256),
            "postgres" => (&b"R\x7f\xff\xff\xff"[..], vec![0; 0x10000], 256),
            "zookeeper" => (&b"\x00\xff\xff\xff"[..], vec![0; 0x10000], 64),
            _ => (http, spaces.clone(), 32),
        };
        let url = format!("{scheme}://127.0.0.1:{}", flood(head, part));
        let command = format!(
            "ulimit -d $(({most} * 1024)); exec timeout 60 {PROGRAM} inspect {url} {KEY} --quiet --for 200ms --timeout 20s"
        );
        let output = Command::new("sh")
            .args(["-c", &command])
            .current_dir(room.path())
            .stdin(Stdio::null())
            .output()
            .expect("it runs");
        let ran = Ran::from(output);
        says(&ran, &[question, "no store answers at"]);
    }
}
