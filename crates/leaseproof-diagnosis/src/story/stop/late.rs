//! What clients and stores say of their own lateness.

use super::{How, SHORTEST, Stop, Who, ends};
use crate::story::Story;
use leaseproof_evidence::place::FileId;
use leaseproof_evidence::says::{OwnerSays, Says, StoreSays};
use std::collections::BTreeMap;
use std::time::Duration;

/// What clients and stores say of their own lateness.
pub fn words<'e>(story: &Story<'e>, stops: &mut Vec<Stop<'e>>) {
    let mut timeout: BTreeMap<FileId, Duration> = BTreeMap::new();
    for record in &story.evidence.records {
        let file = record.place.file;
        match &record.says {
            Says::Owner(OwnerSays::SessionOpened {
                timeout: Some(given), ..
            }) => {
                timeout.insert(file, *given);
            }
            Says::Owner(OwnerSays::HeardNothing { lasted, .. }) => {
                // A client that runs gives up at two thirds of its time-out: more than that, and it did not run.
                let Some(timeout) = timeout.get(&file) else { continue };
                let patience = *timeout * 2 / 3;
                if *lasted > patience + SHORTEST {
                    let (began, ended) = ends(story, record, lasted.saturating_sub(patience));
                    let (first, _) = ends(story, record, *lasted);
                    stops.push(Stop {
                        who: Who::Owner(story.owners.iter().position(|owner| owner.files.contains(&file)).unwrap_or(0)),
                        how: How::WokeLate {
                            what: format!(
                                "it heard nothing for {}, and one that runs gives up after {} of a time-out of {}: it did not run itself",
                                crate::words::span(*lasted),
                                crate::words::span(patience),
                                crate::words::span(*timeout)
                            ),
                        },
                        began: first.zip(began).map(|(first, began)| first.hull(began)),
                        ended,
                        took: lasted.saturating_sub(patience),
                        lines: vec![record],
                        file,
                    });
                }
            }
            Says::Store(StoreSays::Unheard { took, clients, usual }) => {
                let (began, ended) = ends(story, record, *took);
                stops.push(Stop {
                    who: Who::Store,
                    how: How::Unheard {
                        clients: *clients,
                        usual: *usual,
                    },
                    began,
                    ended,
                    took: *took,
                    lines: vec![record],
                    file,
                });
            }
            Says::Store(StoreSays::Unanswered { took, what }) => {
                let (began, ended) = ends(story, record, *took);
                stops.push(Stop {
                    who: Who::Store,
                    how: How::Unanswered { what: what.to_string() },
                    began,
                    ended,
                    took: *took,
                    lines: vec![record],
                    file,
                });
            }
            Says::Store(StoreSays::Stalled { took: Some(took), what }) => {
                let (began, ended) = ends(story, record, *took);
                stops.push(Stop {
                    who: Who::Store,
                    how: How::StoreLate { what: what.to_string() },
                    began,
                    ended,
                    took: *took,
                    lines: vec![record],
                    file,
                });
            }
            _ => {}
        }
    }
}
