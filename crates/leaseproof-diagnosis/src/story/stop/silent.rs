//! Gaps: in a file that usually has more to say, and in everything that an owner does.

use super::{How, SHORTEST, Stop, Who, whose};
use crate::story::Story;
use leaseproof_evidence::evidence::Gap;
use leaseproof_evidence::place::FileId;
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{OwnerSays, Says};
use std::time::Duration;

/// Gaps that are wide for their own file. They say "did not run, or had nothing to say".
pub fn gaps<'e>(story: &Story<'e>, stops: &mut Vec<Stop<'e>>) {
    for (index, file) in story.evidence.files.iter().enumerate() {
        let id = FileId(u32::try_from(index).unwrap_or(u32::MAX));
        let kinds = [SourceKind::Runtime, SourceKind::Owner, SourceKind::Store];
        let Some(kind) = kinds
            .into_iter()
            .find(|kind| story.evidence.of(id).any(|record| record.source == *kind))
        else {
            continue;
        };
        let usual = file.gaps.p99.max(file.gaps.median * 3);
        for gap in &file.gaps.widest {
            let wide = gap.took >= SHORTEST && file.gaps.count >= 8 && gap.took > file.gaps.median * 5;
            // An owner that logs each renewal has few lines, and a habit all the same.
            let few = kind == SourceKind::Owner
                && (4..8).contains(&file.gaps.count)
                && gap.took > file.gaps.median * 3
                && gap.took > Duration::from_secs(1);
            // The widest itself is among the hundredth part in a short file.
            let odd = gap.took > usual || (file.gaps.count < 200 && gap.took > file.gaps.median * 5);
            if (wide && odd) || few {
                stops.extend(gap_of(story, id, kind, gap, file.gaps.median));
            }
        }
    }
}

fn gap_of<'e>(story: &Story<'e>, file: FileId, kind: SourceKind, gap: &Gap, usual: Duration) -> Option<Stop<'e>> {
    let record = |place| story.evidence.of(file).find(|record| record.place == place);
    let lines: Vec<&'e Record> = [record(gap.from), record(gap.to)].into_iter().flatten().collect();
    let author = lines.last().map(|record| record.author.clone()).unwrap_or_default();
    let who = match kind {
        SourceKind::Store => Who::Store,
        // Where several speak, a gap of the file is nobody's own.
        SourceKind::Owner if shared(story, file) => return None,
        SourceKind::Owner => story
            .owners
            .iter()
            .position(|owner| owner.files.contains(&file))
            .map_or(Who::Unknown, Who::Owner),
        _ => whose(story, file, &author),
    };
    let idle = lines.first().is_some_and(|record| has_nothing_to_say(record));
    // A store that did something meanwhile, by any of its files, did not stand still.
    let worked = kind == SourceKind::Store
        && gap.wall.is_some_and(|(from, to)| {
            story.of(SourceKind::Store).any(|record| {
                story
                    .at(record)
                    .is_some_and(|at| from.latest < at.earliest && at.latest < to.earliest)
            })
        });
    if idle || worked {
        return None;
    }
    Some(Stop {
        who,
        how: How::Gap { usual },
        began: gap.wall.map(|(from, _)| from),
        ended: gap.wall.map(|(_, to)| to),
        took: gap.took,
        lines,
        file,
    })
}

/// Spans in which an owner that writes often gave no sign at all: nothing at the resource, nothing in its own log. The
/// widest of each.
pub fn no_sign<'e>(story: &Story<'e>, stops: &mut Vec<Stop<'e>>) {
    for index in 0..story.owners.len() {
        let writes = story
            .acts
            .iter()
            .filter(|act| act.owner == Some(index) && matches!(act.kind, crate::story::act::ActKind::WriteSeen(_)));
        let speaks_beside_others = story
            .owners
            .get(index)
            .is_some_and(|owner| owner.says.len() >= 8 && owner.files.iter().any(|file| shared(story, *file)));
        if writes.count() < 8 && !speaks_beside_others {
            continue;
        }
        let mut signs: Vec<(i64, &'e Record)> = crate::story::fit::signs_of(story, index)
            .filter_map(|record| Some((story.at(record)?.middle(), record)))
            .collect();
        signs.sort_by_key(|(at, record)| (*at, record.place));
        let mut apart: Vec<(i64, &'e Record, &'e Record)> = signs
            .windows(2)
            .filter_map(|pair| match pair {
                [(from, before), (to, after)] => Some((to.saturating_sub(*from), *before, *after)),
                _ => None,
            })
            .filter(|(_, before, _)| !has_nothing_to_say(before))
            .collect();
        apart.sort_by_key(|(apart, ..)| *apart);
        let (Some((median, ..)), Some((widest, before, after))) = (apart.get(apart.len() / 2), apart.last()) else {
            continue;
        };
        let took = Duration::from_nanos(widest.max(&0).unsigned_abs());
        let usual = Duration::from_nanos(median.max(&0).unsigned_abs());
        if took >= SHORTEST && took > usual * 5 {
            stops.push(Stop {
                who: Who::Owner(index),
                how: How::Gap { usual },
                began: story.at(before),
                ended: story.at(after),
                took,
                lines: vec![before, after],
                file: before.place.file,
            });
        }
    }
}

/// Several owners speak in the file.
fn shared(story: &Story<'_>, file: FileId) -> bool {
    let speak = story.owners.iter().filter(|owner| owner.files.contains(&file));
    speak.count() > 1
}

/// Who holds nothing has nothing to say.
fn has_nothing_to_say(record: &Record) -> bool {
    matches!(
        record.says,
        Says::Owner(
            OwnerSays::Waiting { .. }
                | OwnerSays::Released { .. }
                | OwnerSays::Lost { .. }
                | OwnerSays::SessionLost { .. }
                | OwnerSays::WriteRefused { .. }
        )
    )
}
