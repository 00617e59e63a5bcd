//! What the bytes of a connection ask for, by each protocol. What is of another form is a failure of the
//! test.

use std::future::poll_fn;
use std::task::Poll;
use tokio::io::AsyncWriteExt as _;

/// HTTP: method and path of each request, without its query; and the bodies beside them, those of HTTP/1.
pub fn http(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    if bytes.starts_with(b"PRI * HTTP/2.0") {
        return http2(bytes).into_iter().map(|name| (name, Vec::new())).collect();
    }
    let mut found = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let end = rest.windows(4).position(|it| it == b"\r\n\r\n").expect("a whole head");
        let head = std::str::from_utf8(&rest[..end]).expect("text");
        let line = head.lines().next().expect("a line");
        let mut words = line.split(' ');
        let (method, path) = (words.next().expect("a method"), words.next().expect("a path"));
        let length = head
            .lines()
            .find_map(|line| {
                line.to_ascii_lowercase()
                    .strip_prefix("content-length:")
                    .map(str::to_owned)
            })
            .map_or(0, |text| text.trim().parse().expect("a number"));
        let path = path.split('?').next().expect("a path");
        found.push((format!("{method} {path}"), rest[end + 4..end + 4 + length].to_vec()));
        rest = &rest[end + 4 + length..];
    }
    found
}

/// HTTP/2: method and path of each request, as a server takes them from these bytes.
pub fn http2(bytes: &[u8]) -> Vec<String> {
    /// All is in memory: after so many looks in a row that find nothing there is nothing more.
    const LOOKS: u32 = 100;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("an event loop");
    runtime.block_on(async {
        // The end stays open: a server forgets what a closed connection had asked for.
        let (near, mut far) = tokio::io::duplex(bytes.len() + 1);
        far.write_all(bytes).await.expect("there is room");
        let replayed = tokio::io::join(near, tokio::io::sink());
        let mut connection = h2::server::handshake(replayed).await.expect("a preface");
        let mut found = Vec::new();
        let mut looks = 0;
        while looks < LOOKS {
            match poll_fn(|context| Poll::Ready(connection.poll_accept(context))).await {
                Poll::Ready(Some(Ok((request, _)))) => {
                    found.push(format!("{} {}", request.method(), request.uri().path()));
                    looks = 0;
                }
                Poll::Ready(Some(Err(error))) => panic!("{error}"),
                Poll::Ready(None) => break,
                Poll::Pending => looks += 1,
            }
            tokio::task::yield_now().await;
        }
        found
    })
}

/// PostgreSQL: the text of each statement, and of each batch.
pub fn postgres(bytes: &[u8]) -> Vec<String> {
    let length = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
    let mut found = Vec::new();
    // The opening has no letter before its length.
    let mut at = length(0);
    while at < bytes.len() {
        let end = at + 1 + length(at + 1);
        let body = &bytes[at + 5..end];
        let text = |body: &[u8]| {
            let text = body.split(|&byte| byte == 0).next().expect("a text");
            String::from_utf8(text.to_vec()).expect("UTF-8")
        };
        match bytes[at] {
            b'Q' => found.push(text(body)),
            b'P' => {
                let name = body.iter().position(|&byte| byte == 0).expect("a name");
                found.push(text(&body[name + 1..]));
            }
            // Login, bind, describe, execute, sync, close, the end.
            b'p' | b'B' | b'D' | b'E' | b'S' | b'C' | b'H' | b'X' => {}
            other => panic!("a message {}", char::from(other)),
        }
        at = end;
    }
    found
}

/// ZooKeeper: four-letter words, and the requests of a session by their names.
pub fn zookeeper(bytes: &[u8]) -> Vec<String> {
    if bytes.len() == 4 {
        return vec![String::from_utf8(bytes.to_vec()).expect("a word")];
    }
    let int = |at: usize| i32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let end = at + 4 + usize::try_from(int(at)).expect("a length");
        let name = match (at, int(at + 8)) {
            (0, _) => "connect",
            (_, 3) => "exists",
            (_, 4) => "getData",
            (_, 6) => "getACL",
            (_, 9) => "sync",
            (_, 12) => "getChildren2",
            (_, 100) => "auth digest",
            (_, other) => panic!("a request of kind {other}"),
        };
        found.push(name.to_owned());
        at = end;
    }
    found
}
