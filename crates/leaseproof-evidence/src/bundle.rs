//! Folders that leaseproof itself has left, known by the first line of their record and not by their names: others have
//! an `events.jsonl`, too.

use leaseproof_model::history::{EVENTS_SCHEMA, Header, Line};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

/// What a folder is.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Bundle {
    /// A kept run of `verify`: its events go to the judge as they are.
    Run,
    /// What `inspect --save` has left: evidence like any other.
    Look,
}

/// What a folder is, if it is one of these.
#[must_use]
pub fn of(folder: &Path) -> Option<Bundle> {
    let file = File::open(folder.join("events.jsonl")).ok()?;
    let mut head = Vec::new();
    BufReader::new(file).take(1 << 20).read_until(b'\n', &mut head).ok()?;
    if let Ok(Line::Header(Header { schema, run, .. })) = serde_json::from_slice(&head)
        && schema == EVENTS_SCHEMA
    {
        return Some(if run == Header::LOOK { Bundle::Look } else { Bundle::Run });
    }
    // One of another version, or whose first line is damaged, is still a run: the judge says so.
    String::from_utf8_lossy(&head)
        .contains("leaseproof.events/")
        .then_some(Bundle::Run)
}
