//! Stamps that count from some begin, laid on the wall clock through anchors.

use super::Aligned;
use crate::evidence::{Anchor, Evidence, Problem, ProblemKind};
use crate::options::Options;
use crate::place::{FileId, Place};
use crate::read::rule;
use crate::when::{Domain, Interval, When};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Oscillators go apart by at most this, in parts of a million, where nothing slews them more.
const DRIFT_PPM: i64 = 500;
/// The kernel log's clock is not CLOCK_MONOTONIC, and has been seen this far from it.
const PRINTK_APART: Duration = Duration::from_millis(20);

/// What lays a file's counted stamps on the wall clock.
struct Basis {
    anchors: Vec<Anchor>,
    /// Whether the texts say that it is the same clock.
    sure: bool,
}

/// Gives each record its moment on its writer's wall clock, as far as that is known.
pub(crate) fn align(evidence: &mut Evidence, options: &Options) {
    offsets_name_files(evidence, options);
    hosts(evidence);
    unknown_offsets(evidence, options);
    unknown_files(evidence, options);
    let anchors = std::mem::take(&mut evidence.anchors);
    let named: BTreeSet<Arc<str>> = evidence
        .files
        .iter()
        .filter_map(|file| file.clock.host.clone())
        .collect();
    let mut bases = Vec::new();
    for (index, file) in evidence.files.iter().enumerate() {
        let id = FileId(u32::try_from(index).unwrap_or(u32::MAX));
        let Some((first, _)) = file.stamps else {
            bases.push(None);
            continue;
        };
        let own: Vec<Anchor> = anchors
            .iter()
            .filter(|anchor| anchor.place.file == id)
            .cloned()
            .collect();
        let basis = if !own.is_empty() {
            Some(Basis {
                anchors: own,
                sure: true,
            })
        } else if first.domain == Domain::Wall {
            None
        } else if first.domain == Domain::Proc {
            began(options, &file.name, id)
        } else {
            of_others(evidence, &anchors, file.clock.host.as_ref(), &named, first.domain)
        };
        bases.push(basis);
    }
    let mut errors: Vec<Option<Duration>> = vec![None; evidence.files.len()];
    for record in &mut evidence.records {
        let Some(when) = record.when else { continue };
        let index = record.place.file.0 as usize;
        record.wall = match bases.get(index) {
            _ if when.domain == Domain::Wall => Some(when.span),
            Some(Some(basis)) => on_wall(when, record.place, basis),
            _ => None,
        };
        if when.domain != Domain::Wall
            && let (Some(wall), Some(error)) = (record.wall, errors.get_mut(index))
        {
            let own = wall.uncertainty();
            *error = Some(error.map_or(own, |known| known.max(own)));
        }
    }
    for (index, file) in evidence.files.iter_mut().enumerate() {
        let id = FileId(u32::try_from(index).unwrap_or(u32::MAX));
        let basis = bases.get(index).and_then(Option::as_ref);
        let wall_of = |when: When, line: u64| match basis {
            _ if when.domain == Domain::Wall => Some(when.span),
            Some(basis) => on_wall(when, Place { file: id, line }, basis),
            None => None,
        };
        for gap in &mut file.gaps.widest {
            gap.wall = wall_of(gap.began, gap.from.line).zip(wall_of(gap.ended, gap.to.line));
        }
        let Some((first, last)) = file.stamps else { continue };
        if file.covers.is_none() {
            file.covers = wall_of(first, 0)
                .zip(wall_of(last, u64::MAX))
                .map(|(first, last)| first.hull(last));
        }
        let error = errors.get(index).copied().flatten().unwrap_or_default() / 2;
        file.clock.aligned = match (first.domain, basis) {
            (Domain::Wall, _) => Aligned::Wall,
            (_, Some(basis)) if basis.sure => Aligned::Anchored { error },
            (_, Some(_)) => Aligned::Assumed { error },
            (_, None) => Aligned::Not,
        };
        let says = match &file.clock.aligned {
            Aligned::Not => format!(
                "{} counts its time from {}, and nothing says when that was: only lengths and the order of its own lines are used",
                file.name,
                match first.domain {
                    Domain::Proc => "the start of its process (give --began FILE=TIME)",
                    _ => "the machine's boot (give a journal as JSON of the same boot, which has both clocks)",
                }
            ),
            Aligned::Assumed { .. } => format!(
                "{} is laid on the timeline by another file's two clocks, as if both were of one machine and one boot: nothing in it says so",
                file.name
            ),
            Aligned::Wall | Aligned::Anchored { .. } => continue,
        };
        evidence.problems.push(Problem {
            file: Some(id),
            line: None,
            says,
            kind: ProblemKind::NotAligned,
        });
    }
    evidence.anchors = anchors;
}

/// An offset may name a file: it is then a host of its own, unless the user said which.
fn offsets_name_files(evidence: &mut Evidence, options: &Options) {
    for file in evidence.files.iter_mut().filter(|file| file.clock.host.is_none()) {
        let given = options
            .offsets
            .iter()
            .find(|offset| is_path_end(&file.name, &offset.host));
        file.clock.host = given.map(|offset| Arc::from(offset.host.as_str()));
    }
}

/// Whether a name is the end of a path, in whole parts.
fn is_path_end(path: &str, name: &str) -> bool {
    path.strip_suffix(name)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

/// What is said of a file that was not given would be left out in silence, too.
fn unknown_files(evidence: &mut Evidence, options: &Options) {
    let unknown = options
        .files
        .iter()
        .filter(|rule| !evidence.files.iter().any(|file| file.name.ends_with(&rule.name)));
    let problems: Vec<Problem> = unknown
        .map(|rule| Problem {
            file: None,
            line: None,
            says: format!("no file is called {}: what was given for it was not used", rule.name),
            kind: ProblemKind::Other,
        })
        .collect();
    evidence.problems.extend(problems);
}

/// An offset that is nobody's would be left out in silence.
fn unknown_offsets(evidence: &mut Evidence, options: &Options) {
    for offset in &options.offsets {
        let named = |host: Option<&Arc<str>>| host.is_some_and(|host| **host == *offset.host);
        let files = evidence.files.iter().any(|file| named(file.clock.host.as_ref()));
        if files || evidence.records.iter().any(|record| named(record.author.host.as_ref())) {
            continue;
        }
        evidence.problems.push(Problem {
            file: None,
            line: None,
            says: format!(
                "--offset {}: no file is called so, and no line names such a host: it was not used",
                offset.host
            ),
            kind: ProblemKind::Other,
        });
    }
}

/// A file's host is the one that all its lines name.
fn hosts(evidence: &mut Evidence) {
    for (index, file) in evidence.files.iter_mut().enumerate() {
        if file.clock.host.is_some() {
            continue;
        }
        let mut hosts = evidence
            .records
            .iter()
            .filter(|record| record.place.file.0 as usize == index)
            .filter_map(|record| record.author.host.as_ref());
        if let Some(first) = hosts.next()
            && hosts.all(|host| host == first)
        {
            file.clock.host = Some(Arc::clone(first));
        }
    }
}

/// The user said when the process began.
fn began(options: &Options, name: &str, file: FileId) -> Option<Basis> {
    let at = rule(options, name)?.began?;
    let exact = |domain, at| When {
        domain,
        span: Interval::exact(at),
        resolution: Duration::from_nanos(1),
    };
    let anchor = Anchor {
        place: Place { file, line: 0 },
        one: exact(Domain::Wall, at),
        other: exact(Domain::Proc, 0),
    };
    Some(Basis {
        anchors: vec![anchor],
        sure: true,
    })
}

/// Anchors of other files: of the same host, or, where no host is named at all or one only, of that.
fn of_others(
    evidence: &Evidence,
    anchors: &[Anchor],
    host: Option<&Arc<str>>,
    named: &BTreeSet<Arc<str>>,
    domain: Domain,
) -> Option<Basis> {
    let fits = |anchor: &&Anchor| match (anchor.other.domain, domain) {
        (one, other) if one == other => true,
        (Domain::Mono, Domain::Printk) | (Domain::Printk, Domain::Mono) => true,
        _ => false,
    };
    let host_of = |anchor: &Anchor| {
        evidence
            .file(anchor.place.file)
            .and_then(|file| file.clock.host.clone())
    };
    let same: Vec<Anchor> = anchors
        .iter()
        .filter(fits)
        .filter(|anchor| host.is_some() && host_of(anchor).as_ref() == host)
        .cloned()
        .collect();
    if !same.is_empty() {
        return Some(Basis {
            anchors: same,
            sure: true,
        });
    }
    if host.is_some() || named.len() > 1 {
        return None;
    }
    let all: Vec<Anchor> = anchors.iter().filter(fits).cloned().collect();
    (!all.is_empty()).then_some(Basis {
        anchors: all,
        sure: false,
    })
}

/// A counted stamp on the wall clock: by the nearest anchor, in its own file by lines, else by the count.
fn on_wall(when: When, place: Place, basis: &Basis) -> Option<Interval> {
    let nearest = basis
        .anchors
        .iter()
        .filter(|anchor| anchor.other.domain != Domain::Wall)
        .min_by_key(|anchor| {
            let apart = anchor.other.span.middle().abs_diff(when.span.middle());
            // Of one file the nearer line is of the same process; counts may begin anew.
            let lines = if anchor.place.file == place.file {
                anchor.place.line.abs_diff(place.line)
            } else {
                0
            };
            (lines, apart)
        })?;
    let (wall, counted) = (nearest.one.span, nearest.other.span);
    let earliest = wall
        .earliest
        .saturating_add(when.span.earliest.saturating_sub(counted.latest));
    let latest = wall
        .latest
        .saturating_add(when.span.latest.saturating_sub(counted.earliest));
    let apart = when.span.middle().saturating_sub(counted.middle()).saturating_abs();
    let drift = Duration::from_nanos((apart / 1_000_000).saturating_mul(DRIFT_PPM).unsigned_abs());
    let other = if nearest.other.domain == when.domain {
        Duration::ZERO
    } else {
        PRINTK_APART
    };
    Some(Interval { earliest, latest }.widened(drift + other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(domain: Domain, at: i64) -> When {
        When {
            domain,
            span: Interval::exact(at),
            resolution: Duration::from_nanos(1),
        }
    }

    #[test]
    fn the_nearest_anchor_counts_ok() {
        let place = |line| Place { file: FileId(0), line };
        let anchor = |line, wall, mono| Anchor {
            place: place(line),
            one: at(Domain::Wall, wall),
            other: at(Domain::Mono, mono),
        };
        let basis = Basis {
            // The wall clock was stepped by 100 between the two.
            anchors: vec![anchor(1, 1000, 0), anchor(5, 1200, 100)],
            sure: true,
        };
        assert_eq!(
            on_wall(at(Domain::Mono, 10), place(2), &basis),
            Some(Interval::exact(1010))
        );
        assert_eq!(
            on_wall(at(Domain::Mono, 110), place(6), &basis),
            Some(Interval::exact(1210))
        );
        let printk = on_wall(at(Domain::Printk, 110), place(6), &basis).expect("an interval");
        assert_eq!(
            printk.uncertainty().as_nanos(),
            2 * u128::try_from(crate::when::nanos(PRINTK_APART)).expect("positive")
        );
    }

    #[test]
    fn no_anchor_bad() {
        let basis = Basis {
            anchors: Vec::new(),
            sure: true,
        };
        let place = Place {
            file: FileId(0),
            line: 1,
        };
        assert_eq!(on_wall(at(Domain::Proc, 10), place, &basis), None);
    }
}
