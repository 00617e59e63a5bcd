//! The rules, one a file. Each looks at the same facts and returns its findings.

mod late;
mod lp001;
mod lp002;
mod lp003;
mod lp004;
mod lp005;
mod lp006;
mod lp007;
mod lp008;
mod lp009;
mod lp010;
mod lp011;
mod lp012;
mod lp013;
mod lp014;
mod lp015;
mod lp016;
mod lp017;
mod lp018;
mod lp019;
mod lp020;
mod lp021;
mod lp022;
mod lp024;
mod lp026;

pub(crate) use late::LateRun;

use crate::Policy;
use crate::timeline::{Owner, Timeline};
use leaseproof_model::event::EventId;
use leaseproof_model::finding::Finding;
use leaseproof_model::rule::Class;

/// The most events that one finding names: enough to see, few enough to read.
const EVIDENCE: usize = 12;

/// What the rules look at.
pub(crate) struct Facts<'t, 'h> {
    pub(crate) timeline: &'t Timeline<'h>,
    /// Acts that are charged to their owners, joined by owner, grant and cycle.
    pub(crate) late: Vec<LateRun>,
    /// The unstepped twin's, in a clock scenario.
    pub(crate) twin: Option<&'t Facts<'t, 'h>>,
}

impl<'t, 'h> Facts<'t, 'h> {
    pub(crate) fn new(timeline: &'t Timeline<'h>, twin: Option<&'t Facts<'t, 'h>>) -> Self {
        Self {
            timeline,
            late: LateRun::all(timeline),
            twin,
        }
    }
}

type Judge = fn(&Facts<'_, '_>) -> Vec<Finding>;

/// The rules that look at the record alone.
const RULES: &[(&str, Judge)] = &[
    ("LP001", lp001::judge),
    ("LP002", lp002::judge),
    ("LP003", lp003::judge),
    ("LP004", lp004::judge),
    ("LP005", lp005::judge),
    ("LP006", lp006::judge),
    ("LP008", lp008::judge),
    ("LP009", lp009::judge),
    ("LP010", lp010::judge),
    ("LP011", lp011::judge),
    ("LP012", lp012::judge),
    ("LP014", lp014::judge),
    ("LP015", lp015::judge),
    ("LP016", lp016::judge),
    ("LP017", lp017::judge),
    ("LP018", lp018::judge),
    ("LP019", lp019::judge),
    ("LP020", lp020::judge),
    ("LP021", lp021::judge),
    ("LP022", lp022::judge),
    ("LP024", lp024::judge),
    ("LP026", lp026::judge),
];

/// A rule that explains: it looks at what was found, and at the cycles whose lease was lost although
/// availability was asked about.
type Explain = fn(&Facts<'_, '_>, &[Finding], &[u32]) -> Vec<Finding>;

const CAUSES: &[(&str, Explain)] = &[("LP007", lp007::explain), ("LP013", lp013::explain)];

/// What the rules in force find, worst first.
pub(crate) fn findings(facts: &Facts<'_, '_>, lost: &[u32], policy: &Policy) -> Vec<Finding> {
    let on = |code: &str| !policy.rules_off.contains(code);
    let mut found: Vec<Finding> = RULES
        .iter()
        .filter(|(code, _)| on(code))
        .flat_map(|(_, judge)| judge(facts))
        .collect();
    let causes: Vec<Finding> = CAUSES
        .iter()
        .filter(|(code, _)| on(code))
        .flat_map(|(_, explain)| explain(facts, &found, lost))
        .collect();
    found.extend(causes);
    if on("LP016") {
        let unexplained = lp016::unexplained(facts, &found, lost);
        found.extend(unexplained);
    }
    found.sort_by(|a, b| (rank(a), a.cycle, &a.rule, &a.owner).cmp(&(rank(b), b.cycle, &b.rule, &b.owner)));
    found
}

fn rank(finding: &Finding) -> (Class, bool) {
    (finding.class, !finding.certainty.is_yes())
}

/// The finding, said of an owner.
fn of(owner: &Owner<'_>, mut finding: Finding) -> Finding {
    finding.owner = Some(owner.name.as_str().to_owned());
    finding
}

/// Events in order, none twice, not more than people read.
fn evidence(ids: impl IntoIterator<Item = EventId>) -> Vec<EventId> {
    let mut ids: Vec<EventId> = ids.into_iter().collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.len() > EVIDENCE {
        let last = ids[ids.len() - 1];
        ids.truncate(EVIDENCE - 1);
        ids.push(last);
    }
    ids
}
