//! The files that an operator would have, written to the incident's folder.

use super::draw::{Draw, Herring, Part};
use super::scene::Played;
use super::truth::Truth;
use super::words::{access_line, iso};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::Command;

/// What the caller of `diagnose` knows and says: `calls/ID.toml`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Call {
    /// `--key`, as the store has it
    pub key: String,
    /// `--plan`, in the incident's folder.
    pub plan: Option<String>,
    /// `--year`
    pub year: Option<i16>,
    /// `--tz FILE=ZONE`, for files whose stamps have none.
    #[serde(default)]
    pub zones: Vec<Zone>,
}

/// A file's zone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Zone {
    pub file: String,
    pub zone: String,
}

/// Writes it below `out`: `cases/ID/…`, `calls/ID.toml`, `truth/ID.toml`.
///
/// # Errors
/// What can't be written.
pub fn write(played: &Played, truth: &Truth, out: &Path) -> Result<(), String> {
    let draw = &played.draw;
    let folder = out.join("cases").join(&truth.id);
    let _ = std::fs::remove_dir_all(&folder);
    for path in [&folder, &out.join("calls"), &out.join("truth")] {
        std::fs::create_dir_all(path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let parts = [
        (Part::Owner, &played.owners),
        (Part::Store, &played.store),
        (Part::Runtime, &played.runtime),
    ];
    let kept = parts.into_iter().filter(|(part, _)| draw.missing != Some(*part));
    let mut files: Vec<(String, Vec<u8>)> = kept.flat_map(|(_, from)| from.clone()).collect();
    files.extend(played.other.clone());
    if draw.missing != Some(Part::Resource) {
        let lines = played
            .writes
            .iter()
            .map(|it| access_line(it, draw.access, &draw.key) + "\n");
        files.push(("storage-access.log".to_owned(), lines.collect::<String>().into_bytes()));
    }
    if draw.herring == Some(Herring::Chronyd) {
        files.push(("chronyd.log".to_owned(), chronyd(played.fault_at_ns).into_bytes()));
    }
    if draw.plan {
        files.push(("leaseproof.toml".to_owned(), plan(draw).into_bytes()));
    }
    files.retain(|(_, bytes)| !bytes.is_empty());
    for (name, bytes) in &files {
        put(&folder.join(name), bytes)?;
        if draw.compressed
            && (name.ends_with("monitor.txt") || name == "storage-access.log" || name.ends_with("gc.log"))
        {
            let done = Command::new("gzip").arg("-f").arg(folder.join(name)).status();
            done.map_err(|error| format!("gzip: {error}"))?;
        }
    }
    let owners = ["worker-a.log", "worker-b.log"]
        .into_iter()
        .filter(|name| folder.join(name).is_file());
    let (sign, east) = (if draw.zone < 0 { '-' } else { '+' }, draw.zone.abs());
    let zone = format!("{sign}{:02}:{:02}", east / 60, east % 60);
    let call = Call {
        key: draw.store_key(),
        plan: draw.plan.then(|| "leaseproof.toml".to_owned()),
        year: if draw.no_year() {
            iso(played.began_ns, 0).get(..4).and_then(|it| it.parse().ok())
        } else {
            None
        },
        zones: match draw.zone != 0 && draw.zone_told {
            true => owners
                .map(|file| Zone {
                    file: file.to_owned(),
                    zone: zone.clone(),
                })
                .collect(),
            false => Vec::new(),
        },
    };
    let text = |it: Result<String, toml::ser::Error>| it.map_err(|error| error.to_string());
    put(
        &out.join("calls").join(format!("{}.toml", truth.id)),
        text(toml::to_string(&call))?.as_bytes(),
    )?;
    put(
        &out.join("truth").join(format!("{}.toml", truth.id)),
        text(toml::to_string(truth))?.as_bytes(),
    )
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// Lines that mean nothing: made by hand, since no clock may be touched here.
fn chronyd(at_ns: i64) -> String {
    let at = |s: i64| {
        iso(at_ns + s * 1_000_000_000, 0)
            .get(..19)
            .unwrap_or_default()
            .to_owned()
            + "Z"
    };
    format!(
        "{} chronyd exiting\n{} chronyd version 4.3 starting\n{} Selected source 192.0.2.17\n",
        at(-4000),
        at(-3999),
        at(-1)
    )
}

/// The plan that the application was configured by, with the words of its log.
fn plan(draw: &Draw) -> String {
    let timeout = (draw.heartbeat_ms / 4).min(200);
    let margin = draw.ttl_ms.saturating_sub(draw.heartbeat_ms + timeout + 50);
    let pause = if margin > 300 { margin - 200 } else { 500 };
    let store = match draw.store.as_str() {
        "redis" => "redis://redis.internal:6379",
        "redis-sentinel" => "redis+sentinel://sentinel.internal:26379/orders-cache",
        "etcd" => "etcd://etcd.internal:2379",
        _ => "zookeeper://zookeeper.internal:2181",
    };
    let recipe = if draw.client.recipe { "?recipe=lock" } else { "" };
    let owner_key = draw
        .client
        .key
        .as_ref()
        .map_or(String::new(), |form| format!("owner_key = \"{form}\"\n"));
    format!(
        "[budget]\nttl = \"{}ms\"\nheartbeat = \"{}ms\"\nworst_pause = \"{pause}ms\"\nmax_clock_drift = \"50ms\"\n\
         renew_timeout = \"{timeout}ms\"\n\n[store]\nurl = \"{store}{recipe}\"\nprefix = \"locks/\"\nkey = \"{}\"\n{owner_key}",
        draw.ttl_ms, draw.heartbeat_ms, draw.key
    )
}
