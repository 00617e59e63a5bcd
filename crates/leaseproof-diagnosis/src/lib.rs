//! From the records of an incident to its cause. Pure: reads no clock, does no I/O.
//!
//! - [`story`]: the records joined: owners, grants, acts, stops, numbers, and the one loss that is to be explained
//! - [`breach()`]: was there a breach, by the same definitions as the rules of `verify`
//! - [`causes`]: which causes fit, a cause a file, each with what speaks for and against it
//! - [`missing`]: what would decide most, and the read-only command that gets it
//! - [`advice`]: the safe fix, and the tempting mistake
//! - [`bundle`]: a run of `verify` in the same form: its verdict is the judge's
//! - [`checklist`]: the first ten minutes, where there are no files yet

pub mod advice;
mod asked;
mod breach;
pub mod bundle;
pub mod causes;
pub mod checklist;
mod lanes;
pub mod missing;
mod notes;
mod picture;
mod redact;
pub mod story;
mod words;
mod zones;

pub use asked::Asked;
pub use breach::breach;

use leaseproof_evidence::clock::Timeline;
use leaseproof_evidence::evidence::Evidence;
use leaseproof_model::diagnosis::{Breach, Cited, Confidence, DIAGNOSIS_SCHEMA, Diagnosis, NotUnderstood, Seen};
use leaseproof_model::verdict::Verdict;
use story::Story;

/// What the evidence comes to.
#[must_use]
pub fn diagnose(evidence: &Evidence, timeline: &Timeline, asked: &Asked) -> Diagnosis {
    let zones = zones::fitted(evidence);
    let story = Story::new(
        zones.as_ref().map_or(evidence, |(evidence, _)| evidence),
        timeline,
        asked,
    );
    let mut breach = breach(&story);
    let mut causes = match story.keys.is_nowhere {
        true => Vec::new(),
        false => causes::causes(&story, &breach),
    };
    let mut notes = notes::notes(&story);
    if let Some((evidence, moved)) = &zones {
        // What hangs on a guess is not certain.
        for cause in &mut causes {
            cause.confidence = cause.confidence.max(Confidence::Likely);
        }
        doubt(&mut breach);
        notes.insert(0, zones::note(evidence, moved));
    }
    Diagnosis {
        schema: DIAGNOSIS_SCHEMA.to_owned(),
        key: story.keys.asked.clone(),
        verdict: match breach.seen {
            Seen::Certainly => Verdict::Violated,
            Seen::NoneSeen => Verdict::Proven,
            Seen::Possibly | Seen::CannotTell => Verdict::CannotTell,
        },
        boundary: causes.first().map(|cause| cause.boundary),
        loss: words::loss(&story),
        missing: missing::missing(&story, &breach, &causes),
        notes,
        lanes: lanes::lanes(&story),
        picture: picture::picture(&story, &breach),
        not_understood: not_understood(&story),
        breach,
        causes,
    }
}

/// A breach that is put together of several files' lines, and the absence of one, hang on the zones that were guessed.
fn doubt(breach: &mut Breach) {
    for it in &mut breach.broken {
        let several = it
            .evidence
            .iter()
            .any(|line| it.evidence.first().is_some_and(|first| first.file != line.file));
        it.seen = if several { it.seen.max(Seen::Possibly) } else { it.seen };
    }
    breach.broken.sort_by_key(|it| it.seen);
    let still = breach.broken.first().is_some_and(|it| it.seen == Seen::Certainly);
    let (seen, says) = match (breach.seen, breach.broken.first()) {
        (Seen::Certainly, Some(first)) if still => (Seen::Certainly, first.says.clone()),
        (Seen::Certainly, Some(first)) => (
            Seen::Possibly,
            format!(
                "it may be that {}, if the zones are right that were guessed",
                first.says
            ),
        ),
        (Seen::NoneSeen, _) => (
            Seen::CannotTell,
            format!("{}, if the zones are right that were guessed", breach.says),
        ),
        _ => return,
    };
    (breach.seen, breach.says) = (seen, says);
}

fn not_understood(story: &Story<'_>) -> Vec<NotUnderstood> {
    let some = story.evidence.files.iter().filter(|file| file.not_understood > 0);
    some.map(|file| NotUnderstood {
        file: file.name.to_string(),
        lines: file.not_understood,
        examples: file
            .examples
            .iter()
            .map(|(line, text)| Cited {
                file: file.name.to_string(),
                line: *line,
                text: redact::shown(text),
                why: None,
            })
            .collect(),
    })
    .collect()
}
