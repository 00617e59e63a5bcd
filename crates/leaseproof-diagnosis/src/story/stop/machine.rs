//! A machine that slept, or stood still.

use super::{How, Stop, Who, ends};
use crate::story::Story;
use leaseproof_evidence::place::FileId;
use leaseproof_evidence::record::Record;
use leaseproof_evidence::says::{MachineSays, Says};
use std::collections::BTreeMap;
use std::time::Duration;

pub fn machine<'e>(story: &Story<'e>, stops: &mut Vec<Stop<'e>>) {
    let mut asleep: BTreeMap<FileId, &'e Record> = BTreeMap::new();
    for record in &story.evidence.records {
        let Says::Machine(said) = &record.says else { continue };
        let file = record.place.file;
        let mut stalled = |lasted: Duration, what: String| {
            let (began, ended) = ends(story, record, lasted);
            stops.push(Stop {
                who: Who::Machine,
                how: How::MachineStalled { what },
                began,
                ended,
                took: lasted,
                lines: vec![record],
                file,
            });
        };
        match said {
            MachineSays::SoftLockup { lasted, idle, .. } => stalled(
                *lasted,
                if *idle {
                    "an idle CPU was stuck: the virtual CPU itself was not run".to_owned()
                } else {
                    "a CPU was stuck".to_owned()
                },
            ),
            MachineSays::TimersLate { lasted, .. } => {
                stalled(
                    *lasted,
                    "the kernel's own timers did not run: the machine stood still".to_owned(),
                );
            }
            MachineSays::NodeUnwell {
                lasted: Some(lasted),
                what,
            } => stalled(*lasted, what.to_string()),
            MachineSays::SuspendEntry => {
                asleep.insert(file, record);
            }
            MachineSays::SuspendExit => {
                if let Some(entry) = asleep.remove(&file) {
                    let (began, ended) = (story.at(entry), story.at(record));
                    let took = began.zip(ended).map_or(Duration::ZERO, |(began, ended)| {
                        Duration::from_nanos(ended.middle().saturating_sub(began.middle()).max(0).unsigned_abs())
                    });
                    stops.push(Stop {
                        who: Who::Machine,
                        how: How::Suspended,
                        began,
                        ended,
                        took,
                        lines: vec![entry, record],
                        file,
                    });
                }
            }
            _ => {}
        }
    }
}
