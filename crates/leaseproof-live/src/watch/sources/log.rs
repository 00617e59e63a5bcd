//! What an owner's log lines say about its belief, and when it said so. Pure.

use crate::watch::belief::{Claim, Report};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{OwnerEvent, Said};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::Token;
use std::time::Duration;

/// A line may lie in a buffer for so long before it is written. A boot clock further behind than this
/// is that of another host.
const BUFFERED: Duration = Duration::from_secs(3600);

/// One log, read line by line.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LogReader {
    token: Option<Token>,
    since: Option<Moment>,
    /// When the line before this one arrived: what a line says happened after that.
    before: Option<BootNanos>,
}

impl LogReader {
    /// Takes in one line, which was written within `arrived`; from zero on where it was there before
    /// the log was first looked at.
    pub fn line(&mut self, said: &Said, arrived: Moment) -> Option<Report> {
        let old = arrived.earliest == BootNanos(0);
        let own = said
            .boot
            .filter(|boot| *boot <= arrived.latest && boot.plus(BUFFERED) >= arrived.earliest);
        let at = match own {
            Some(boot) => Moment::exact(boot),
            // The owner may have been stopped between deciding and writing: all that is certain is
            // that it had written the line before.
            None => Moment::between(
                self.before.unwrap_or(arrived.earliest).min(arrived.latest),
                arrived.latest,
            ),
        };
        self.before = (!old).then_some(arrived.earliest);
        let claim = match said.event {
            OwnerEvent::Acquired => {
                self.token = said.token;
                self.since = Some(at);
                Claim::Holds
            }
            OwnerEvent::Renewed | OwnerEvent::Write => Claim::Holds,
            OwnerEvent::Released => Claim::Released,
            OwnerEvent::Lost | OwnerEvent::WriteRefused | OwnerEvent::Waiting => Claim::Free,
            // It runs, and does not say what it makes of it.
            OwnerEvent::RenewSent | OwnerEvent::RenewFailed => return None,
        };
        let token = said.token.or(self.token).filter(|_| claim != Claim::Free);
        if claim != Claim::Holds {
            (self.token, self.since) = (None, None);
        }
        if old && own.is_none() {
            // Nobody knows how old it is.
            return None;
        }
        Some(Report {
            at,
            claim,
            token,
            since: self.since,
        })
    }

    /// The log was begun anew.
    pub fn restart(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(event: OwnerEvent, boot: Option<u64>, token: Option<u64>) -> Said {
        Said {
            event,
            token: token.map(Token),
            boot: boot.map(BootNanos),
            wall_ns: None,
            valid_until: None,
            thread: None,
            grant: None,
            attempt: None,
            reason: None,
            definite: None,
        }
    }

    fn within(earliest: u64, latest: u64) -> Moment {
        Moment::between(BootNanos(earliest), BootNanos(latest))
    }

    #[test]
    fn a_line_with_its_own_time_is_exact_and_keeps_the_token() {
        let mut log = LogReader::default();
        let first = log.line(&said(OwnerEvent::Acquired, Some(50), Some(7)), within(0, 100));
        assert_eq!(first.expect("a report").at, Moment::exact(BootNanos(50)));
        let next = log
            .line(&said(OwnerEvent::Renewed, Some(150), None), within(100, 200))
            .expect("a report");
        assert_eq!(
            (next.at, next.token, next.since),
            (
                Moment::exact(BootNanos(150)),
                Some(Token(7)),
                Some(Moment::exact(BootNanos(50)))
            )
        );
        assert_eq!(
            log.line(&said(OwnerEvent::RenewFailed, Some(160), None), within(100, 200)),
            None
        );
        let lost = log.line(&said(OwnerEvent::Lost, Some(170), Some(7)), within(100, 200));
        let lost = lost.expect("a report");
        assert_eq!((lost.claim, lost.token), (Claim::Free, None));
    }

    #[test]
    fn a_line_without_a_time_may_be_as_old_as_the_line_before_it() {
        let mut log = LogReader::default();
        assert_eq!(log.line(&said(OwnerEvent::Acquired, None, None), within(0, 100)), None);
        let first = log.line(&said(OwnerEvent::Renewed, None, None), within(100, 200));
        assert_eq!(first.expect("a report").at, within(100, 200));
        let late = log.line(&said(OwnerEvent::Write, None, None), within(900, 1000));
        assert_eq!(late.expect("a report").at, within(100, 1000));
        let next = log.line(&said(OwnerEvent::Write, None, None), within(1000, 1100));
        assert_eq!(next.expect("a report").at, within(900, 1100));
    }

    #[test]
    fn a_time_from_the_future_is_another_hosts() {
        let mut log = LogReader::default();
        let report = log.line(&said(OwnerEvent::Renewed, Some(500), None), within(100, 200));
        assert_eq!(report.expect("a report").at, within(100, 200));
    }
}
