//! A relay in front of a server.

use super::*;

/// A relay in front of a server: it notes the paths that are asked for, and can cut the answers to one.
pub struct Relay {
    pub port: u16,
    pub paths: Arc<Mutex<Vec<String>>>,
    pub cut: Arc<Mutex<Option<String>>>,
}

impl Relay {
    pub fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let relay = Self {
            port: listener.local_addr().expect("an address").port(),
            paths: Arc::default(),
            cut: Arc::default(),
        };
        let (paths, cut) = (Arc::clone(&relay.paths), Arc::clone(&relay.cut));
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(("127.0.0.1", port)).expect("the server is there");
                let (paths, cut) = (Arc::clone(&paths), Arc::clone(&cut));
                let cutting = Arc::new(AtomicBool::new(false));
                let begin = Arc::clone(&cutting);
                let (from, to) = (client.try_clone().expect("a copy"), server.try_clone().expect("a copy"));
                std::thread::spawn(move || {
                    pass(from, to, |bytes| {
                        let text = String::from_utf8_lossy(bytes);
                        if let Some(path) = text.strip_prefix("POST ").and_then(|it| it.split(' ').next()) {
                            paths.lock().expect("no panic").push(path.to_owned());
                            let cut = cut.lock().expect("no panic");
                            begin.store(cut.as_deref() == Some(path), Ordering::SeqCst);
                        }
                        bytes.len()
                    });
                });
                std::thread::spawn(move || {
                    pass(server, client, |bytes| {
                        if cutting.load(Ordering::SeqCst) {
                            40
                        } else {
                            bytes.len()
                        }
                    });
                });
            }
        });
        relay
    }

    pub fn url(&self) -> StoreUrl {
        url(&format!("etcd://127.0.0.1:{}", self.port))
    }

    pub fn cut(&self, path: Option<&str>) {
        *self.cut.lock().expect("no panic") = path.map(str::to_owned);
    }
}

/// Passes bytes on, as many as `judge` says of each piece; a piece that is cut is the last.
fn pass(mut from: TcpStream, mut to: TcpStream, judge: impl Fn(&[u8]) -> usize) {
    let mut bytes = [0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let share = judge(&bytes[..count]).min(count);
        if to.write_all(&bytes[..share]).is_err() || share < count {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
