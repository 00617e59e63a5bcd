//! Two suspects and one lease.

use crate::owner::Owner;
use crate::redis_server::{RedisServer, skip};
use crate::rig::Room;

const KEY: &str = "canary/suspects";

/// Redis ties no connection to a key: what each sends tells, as far as it goes.
#[test]
fn who_sent_nothing_since_the_last_renewal_hardly_holds() {
    let server = match RedisServer::start() {
        Ok(server) => server,
        Err(why) => return skip("who_sent_nothing_since_the_last_renewal_hardly_holds", &why),
    };
    let room = Room::new();
    let url = server.url();
    let holder = Owner::start(&room, &url, KEY, 30_000, 300);
    let other = Owner::start(&room, &url, "canary/elsewhere", 60_000, 20_000);
    let (holder, other) = (holder.pid().to_string(), other.pid().to_string());
    let look = |more: &[&str]| {
        let fixed = ["inspect", &url, KEY, "--for", "2s", "--quiet"];
        let ran = room.run(&[&fixed[..], more].concat());
        ran.no_panic();
        ran
    };
    let json = look(&["--json", "--owner-pid", &other, "--owner-pid", &holder]).json();
    assert_eq!(json["owner"]["process"]["pid"].to_string(), holder, "{json:#}");
    let says = json["others"][0]["holds"]["says"]
        .as_str()
        .expect("a reason")
        .to_owned();
    assert!(says.contains("hardly: it has sent nothing to the store for"), "{says}");
    // It is no certainty, and that is said.
    let missing = json["first"]["missing"].to_string();
    assert!(
        missing.contains("which of the processes that were named holds the lease"),
        "{missing}"
    );
    let text = look(&["--owner-pid", &other, "--owner-pid", &holder]).stdout;
    let place = |pid: &str| text.find(&format!("owner's process {pid}")).expect("a section");
    assert!(place(&holder) < place(&other), "{text}");
    assert_eq!(text.matches("  holds it ").count(), 2, "{text}");
}
