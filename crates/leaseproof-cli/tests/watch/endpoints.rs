//! Owners that are asked over HTTP: metrics, JSON and the library's export; and one that does not answer.

use crate::rig::{Rig, until};
use leaseproof_store::{StoreUrl, open_administrator};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// An endpoint of an owner; it can be made to say nothing.
struct Endpoint {
    address: String,
    body: Arc<Mutex<String>>,
    silent: Arc<AtomicBool>,
}

impl Endpoint {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let (body, silent) = (Arc::new(Mutex::new(String::new())), Arc::new(AtomicBool::new(false)));
        let (text, quiet) = (Arc::clone(&body), Arc::clone(&silent));
        std::thread::spawn(move || {
            let mut kept = Vec::new();
            for mut stream in listener.incoming().flatten() {
                let _ = stream.read(&mut [0; 4096]);
                if quiet.load(Ordering::Relaxed) {
                    // Like a stopped process: the connection is there, and nothing comes.
                    kept.push(stream);
                    continue;
                }
                let text = text.lock().expect("no panic before").clone();
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    text.len()
                );
                let _ = stream.write_all((head + &text).as_bytes());
            }
        });
        Self { address, body, silent }
    }

    fn says(&self, body: &str) {
        *self.body.lock().expect("no panic before") = body.to_owned();
    }
}

#[test]
fn an_owner_over_http() {
    let key = "jobs/http";
    for (owner, holds, free) in [
        (
            "metrics = \"http://ADDRESS/metrics\", holds = 'held{job=\"x\"}', token = \"token\"",
            "held{job=\"y\"} 0\nheld{job=\"x\"} 1\ntoken 1\n",
            "held{job=\"x\"} 0\n",
        ),
        (
            "json = \"http://ADDRESS/lease?x=1\", holds = \"/held\", token = \"/token\"",
            "{\"held\":true,\"token\":1}",
            "{\"held\":false}",
        ),
        (
            "export = \"http://ADDRESS/metrics\"",
            "leaseproof_lease_held{key=\"jobs/http\"} 1\nleaseproof_lease_token{key=\"jobs/http\"} 1\n",
            "leaseproof_lease_held{key=\"jobs/http\"} 0\n",
        ),
    ] {
        let rig = Rig::new(None);
        let url: StoreUrl = rig.store.parse().expect("a URL");
        let mut store = open_administrator(&url, Duration::from_secs(5)).expect("the store");
        store
            .steal(key, "me", Duration::from_secs(60))
            .value
            .expect("it is given");
        let endpoint = Endpoint::start();
        endpoint.says(holds);
        let plan = rig.path().join("http.toml");
        let text = format!(
            "[store]\nurl = \"{}\"\n[watch]\ninterval = \"100ms\"\nlisten = \"127.0.0.1:0\"\n[[watch.lease]]\nkey = \
             \"{key}\"\nname = \"x\"\nowner = {{ {} }}\n",
            rig.store,
            owner.replace("ADDRESS", &endpoint.address)
        );
        std::fs::write(&plan, text).expect("a file");
        let monitor = rig.monitor(&plan);
        let series = |name: &str| monitor.series(&format!("leaseproof_watch_{name}{{lease=\"x\"}}"));
        until("both agree", || {
            (series("belief_holds")? == 1.0 && series("divergence_seconds")? == 0.0).then_some(())
        });
        store.delete(key);
        until("it diverges", || (series("divergence_seconds")? > 0.0).then_some(()));
        endpoint.silent.store(true, Ordering::Relaxed);
        until("unknown", || (series("belief_known")? == 0.0).then_some(()));
        assert_eq!(series("divergence_seconds"), None, "what is not known has no sample");
        endpoint.says(free);
        endpoint.silent.store(false, Ordering::Relaxed);
        until("it gave up", || (series("divergence_seconds")? == 0.0).then_some(()));
        endpoint.says("<html>");
        until("another answers there", || {
            (series("belief_known")? == 0.0).then_some(())
        });
        assert_eq!(monitor.end().0.code(), Some(1));
    }
}
