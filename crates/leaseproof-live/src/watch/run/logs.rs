//! Owners whose logs are followed.

use super::{PULSE, Shared};
use crate::watch::belief::Report;
use crate::watch::board::Place;
use crate::watch::settings::{LeaseSettings, Settings, SourceSettings};
use crate::watch::sources::log::LogReader;
use crate::watch::sources::tail::Tail;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::moment::Moment;
use leaseproof_proc::clock::boot_now;
use std::path::Path;
use std::time::Duration;

/// The logs under watch.
pub(super) struct Logs {
    logs: Vec<OneLog>,
    settings: Settings,
    pause: Duration,
}

struct OneLog {
    place: Place,
    /// The lease's key: a line that names another is of another lease.
    key: Vec<u8>,
    /// Several leases have this log: a line that names no key is of nobody knows which.
    shared: bool,
    tail: Tail,
    reader: LogReader,
    /// When it was last seen to have nothing more.
    looked: BootNanos,
}

impl Logs {
    pub(super) fn new(settings: &Settings, places: &[Place]) -> Option<Self> {
        let of_another = |lease: &LeaseSettings, path: &Path| {
            let has = |it: &LeaseSettings| match it.owner.as_ref().map(|owner| &owner.source) {
                Some(SourceSettings::Log(other)) => other == path,
                _ => false,
            };
            settings.leases.iter().any(|it| it.key != lease.key && has(it))
        };
        let logs: Vec<OneLog> = places
            .iter()
            .zip(&settings.leases)
            .filter_map(|(place, lease)| match &lease.owner.as_ref()?.source {
                SourceSettings::Log(path) => Some(OneLog {
                    place: *place,
                    key: lease.key.bytes().to_vec(),
                    shared: of_another(lease, path),
                    tail: Tail::new(path),
                    reader: LogReader::default(),
                    looked: BootNanos(0),
                }),
                SourceSettings::Endpoint { .. } => None,
            })
            .collect();
        let pause = if logs.len() > 50 { settings.interval } else { PULSE };
        (!logs.is_empty()).then(|| Self {
            logs,
            settings: settings.clone(),
            pause: pause.min(Duration::from_secs(1)),
        })
    }

    /// Follows them until it is to end.
    pub(super) fn follow(mut self, shared: &Shared) {
        while !shared.stopped() {
            for log in &mut self.logs {
                log.look(shared, &self.settings);
            }
            let dropped = self.logs.iter().map(|log| log.tail.dropped).sum();
            shared.board().own.log_dropped = dropped;
            std::thread::sleep(self.pause);
        }
    }
}

impl OneLog {
    fn look(&mut self, shared: &Shared, settings: &Settings) {
        let asked = boot_now();
        let looked = match self.tail.look() {
            Ok(looked) => looked,
            Err(error) => {
                shared.board().belief_failed(self.place, &error.to_string());
                return;
            }
        };
        if looked.restarted {
            self.reader.restart();
        }
        let earliest = if looked.old { BootNanos(0) } else { self.looked };
        let arrived = Moment::between(earliest, boot_now());
        self.looked = asked;
        let reports: Vec<Report> = looked
            .lines
            .iter()
            .filter(|line| is_of(line, &self.key, self.shared))
            .filter_map(|line| self.reader.line(&(settings.read_line)(line)?, arrived))
            .collect();
        if reports.is_empty() {
            return;
        }
        let mut notices = Vec::new();
        {
            let mut board = shared.board();
            for report in reports {
                board.reported(self.place, report, &mut notices);
            }
        }
        shared.tell(notices);
    }
}

/// Whether a line may be about the lease: event lines name their key.
fn is_of(line: &str, key: &[u8], shared: bool) -> bool {
    let document: Option<serde_json::Value> = serde_json::from_str(line).ok();
    match document.as_ref().and_then(|document| document.get("key")?.as_str()) {
        Some(named) if shared => named.as_bytes() == key,
        // A client may put a prefix before its key.
        Some(named) => key.ends_with(named.as_bytes()) || named.as_bytes().ends_with(key),
        None => !shared,
    }
}

#[cfg(test)]
mod tests {
    use super::is_of;

    #[test]
    fn lines_of_two_leases_in_one_log() {
        let named = |key: &str| format!("{{\"lease\":\"renewed\",\"key\":\"{key}\",\"token\":3}}");
        assert!(is_of(&named("jobs/a"), b"jobs/a", true));
        assert!(!is_of(&named("jobs/b"), b"jobs/a", true));
        assert!(!is_of(&named("jobs/b"), b"jobs/a", false));
        assert!(is_of("renewed", b"jobs/a", false));
        assert!(!is_of("renewed", b"jobs/a", true));
        assert!(!is_of("{\"lease\":\"renewed\"}", b"jobs/a", true));
    }
}
