//! A resource with a fence that is broken in one known way.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How it is broken.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Flaw {
    None,
    AcceptAll,
    /// Compares with the first token that it saw.
    Equality,
    ForgetOnRestart,
    FirstWriterWins,
    /// Compares as text.
    Text,
    /// Keeps tokens in a double.
    Double,
    /// Refuses an equal token.
    Strict,
    /// Says no, and writes all the same.
    Applies,
    /// Checks, and writes later.
    CheckThenAct,
    /// Never accepts anything.
    Nothing,
    /// Fails.
    Broken,
}

#[derive(Default)]
struct State {
    first: Option<u64>,
    mark: Option<u64>,
    owner: Option<String>,
    value: String,
}

/// It ends with the test's process. A file called `restart` in its folder restarts it with the next request.
pub struct Flawed {
    pub address: SocketAddr,
    pub dir: tempfile::TempDir,
}

impl Flawed {
    pub fn start(flaw: Flaw) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("it is bound");
        let state = Arc::<Mutex<State>>::default();
        let restart = dir.path().join("restart");
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (state, restart) = (Arc::clone(&state), restart.clone());
                std::thread::spawn(move || serve(&stream, flaw, &state, &restart));
            }
        });
        Self { address, dir }
    }

    pub fn restart_command(&self) -> String {
        format!("touch '{}'", self.dir.path().join("restart").display())
    }
}

fn serve(mut stream: &TcpStream, flaw: Flaw, state: &Mutex<State>, restart: &PathBuf) {
    let mut reader = BufReader::new(stream);
    let mut headers = BTreeMap::new();
    let mut first = String::new();
    if reader.read_line(&mut first).unwrap_or(0) == 0 {
        return;
    }
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length = headers
        .get("content-length")
        .map_or(0, |it| it.parse().expect("a number"));
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let value = String::from_utf8(body).expect("text");
    if std::fs::remove_file(restart).is_ok() {
        let mut state = state.lock().expect("not poisoned");
        if flaw == Flaw::ForgetOnRestart {
            state.mark = None;
        }
    }
    let answer = if first.starts_with("GET") {
        (200, state.lock().expect("not poisoned").value.clone())
    } else {
        let token = headers["fencing-token"].parse().expect("a number");
        write(flaw, state, token, &headers["lease-owner"], value)
    };
    let (status, text) = answer;
    let _ = write!(
        stream,
        "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
        text.len()
    );
}

fn write(flaw: Flaw, state: &Mutex<State>, token: u64, owner: &str, value: String) -> (u16, String) {
    let mut state_now = state.lock().expect("not poisoned");
    let mark = state_now.mark;
    let fits = match flaw {
        Flaw::AcceptAll => true,
        Flaw::Nothing => false,
        Flaw::Broken => return (500, "broken".to_owned()),
        Flaw::Equality => state_now.first.is_none_or(|first| first == token),
        Flaw::FirstWriterWins => state_now.owner.as_ref().is_none_or(|it| it == owner),
        Flaw::Text => mark.is_none_or(|mark| token.to_string() >= mark.to_string()),
        #[expect(clippy::cast_precision_loss, reason = "the flaw itself")]
        Flaw::Double => mark.is_none_or(|mark| token as f64 >= mark as f64),
        Flaw::Strict => mark.is_none_or(|mark| token > mark),
        Flaw::None | Flaw::ForgetOnRestart | Flaw::Applies | Flaw::CheckThenAct => {
            mark.is_none_or(|mark| token >= mark)
        }
    };
    if fits {
        state_now.first.get_or_insert(token);
        state_now.owner.get_or_insert(owner.to_owned());
        state_now.mark = Some(mark.map_or(token, |mark| mark.max(token)));
        if flaw == Flaw::CheckThenAct && owner == "a" {
            // Another's whole write fits in between.
            drop(state_now);
            std::thread::sleep(Duration::from_millis(50));
            state_now = state.lock().expect("not poisoned");
        }
    }
    if fits || flaw == Flaw::Applies {
        state_now.value = value;
    }
    if fits {
        (200, "{}".to_owned())
    } else {
        (409, "{\"error\":\"stale\"}".to_owned())
    }
}
