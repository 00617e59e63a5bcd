//! The evidence, file by file, as a picture needs it.

use crate::redact::shown;
use crate::story::Story;
use crate::story::owner::same_name;
use crate::words::{document, span};
use leaseproof_evidence::clock::Aligned;
use leaseproof_evidence::place::FileId;
use leaseproof_evidence::record::Record;
use leaseproof_evidence::says::{MachineSays, OwnerSays, ProcessSays, RuntimeSays, Says, StoreSays};
use leaseproof_evidence::when::{StampMeans, nanos};
use leaseproof_model::diagnosis::{Lane, Mark};
use std::time::Duration;

/// The most marks of one lane: those that last longest, and those nearest to the loss, are kept.
const MOST: usize = 400;

/// The lanes.
#[must_use]
pub fn lanes(story: &Story<'_>) -> Vec<Lane> {
    story
        .evidence
        .files
        .iter()
        .zip(0_u32..)
        .map(|(file, number)| {
            let id = FileId(number);
            Lane {
                file: file.name.to_string(),
                formats: file.formats.keys().map(ToString::to_string).collect(),
                owner: owner(story, id),
                clock: match &file.clock.aligned {
                    Aligned::Wall => "wall".to_owned(),
                    Aligned::Anchored { error } => format!("anchored ±{}", span(*error)),
                    Aligned::Assumed { error } => format!("assumed, ±{}", span(*error)),
                    Aligned::Not => "not aligned".to_owned(),
                },
                marks: marks(story, id),
            }
        })
        .collect()
}

fn owner(story: &Story<'_>, id: FileId) -> Option<String> {
    let mut speaks = story
        .owners
        .iter()
        .enumerate()
        .filter(|(_, owner)| owner.files.contains(&id))
        .map(|(index, _)| index);
    let index = match (speaks.next(), speaks.next()) {
        (Some(index), None) => Some(index),
        (Some(_), Some(_)) => None,
        _ => same_name(story.evidence, id, &story.owners),
    };
    index.map(|index| story.owner_name(Some(index)))
}

fn marks(story: &Story<'_>, id: FileId) -> Vec<Mark> {
    let mut marks: Vec<(Duration, Mark)> = story
        .evidence
        .of(id)
        .filter(|record| matters(record))
        .filter_map(|record| {
            let at = story.at(record)?;
            let took = lasted(record);
            let (when, until) = match (took, record.means) {
                (None, _) => (at, None),
                (Some(took), StampMeans::Start) => (at, Some(at.shifted(nanos(took)))),
                (Some(took), _) => (at.shifted(-nanos(took)), Some(at)),
            };
            let mark = Mark {
                line: record.place.line,
                when: document(when),
                until: until.map(document),
                kind: record.says.name().to_owned(),
                says: shown(&record.raw),
            };
            Some((took.unwrap_or_default(), mark))
        })
        .collect();
    if marks.len() > MOST {
        let near = story
            .loss
            .as_ref()
            .and_then(|loss| loss.window(story))
            .map(|window| window.middle());
        marks.sort_by_key(|(took, mark)| {
            (
                std::cmp::Reverse(*took),
                near.map(|near| (mark.when.earliest - near).abs()),
            )
        });
        marks.truncate(MOST);
        marks.sort_by_key(|(_, mark)| mark.line);
    }
    marks.into_iter().map(|(_, mark)| mark).collect()
}

/// Not every one of ten thousand short collections.
fn matters(record: &Record) -> bool {
    match &record.says {
        Says::Runtime(RuntimeSays::Stop { took, .. }) => *took >= Duration::from_millis(50),
        Says::Runtime(
            RuntimeSays::WokeLate { .. } | RuntimeSays::SafepointTimeout { .. } | RuntimeSays::LinesLost { .. },
        ) => true,
        Says::Runtime(_) | Says::Anchor { .. } | Says::Setting(_) => false,
        _ => true,
    }
}

fn lasted(record: &Record) -> Option<Duration> {
    Some(match &record.says {
        Says::Runtime(RuntimeSays::Stop { took, .. }) => *took,
        Says::Runtime(RuntimeSays::WokeLate { by }) => *by,
        Says::Process(ProcessSays::PausedFor { took, .. }) => *took,
        Says::Machine(MachineSays::SoftLockup { lasted, .. } | MachineSays::TimersLate { lasted, .. }) => *lasted,
        Says::Machine(MachineSays::NodeUnwell { lasted, .. }) => (*lasted)?,
        Says::Owner(OwnerSays::HeardNothing { lasted, .. }) => *lasted,
        Says::Store(StoreSays::Stalled { took, .. } | StoreSays::Persistence { took, .. }) => (*took)?,
        Says::Store(StoreSays::SlowCommand { took, .. }) => *took,
        _ => return None,
    })
}
