//! Late acts, joined: one finding a rule for all that an owner did on one lost grant in one cycle.

use crate::timeline::{Act, ActKind, By, Standing, Timeline};
use crate::words::{count, ms};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::EventId;
use leaseproof_model::moment::Moment;
use leaseproof_model::truth::Truth;

/// Acts of one owner on one grant that was due, in one cycle.
#[derive(Clone, Debug)]
pub(crate) struct LateRun {
    pub(crate) owner: usize,
    pub(crate) grant: usize,
    pub(crate) cycle: u32,
    pub(crate) certainty: Truth,
    /// Places in the owner's acts.
    pub(crate) acts: Vec<usize>,
}

impl LateRun {
    /// All of them, by owner and time. Acts that may be late count only where none surely is.
    pub(crate) fn all(timeline: &Timeline<'_>) -> Vec<Self> {
        let mut runs: Vec<Self> = Vec::new();
        for (owner, it) in timeline.owners.iter().enumerate() {
            let mut open: Vec<Self> = Vec::new();
            for (place, act) in it.acts.iter().enumerate() {
                let (grant, certainty) = match act.standing {
                    Standing::Late(grant) => (grant, Truth::Yes),
                    Standing::MayBeLate(grant) => (grant, Truth::CannotTell),
                    _ => continue,
                };
                let cycle = act.event.cycle;
                match open.last_mut().filter(|run| run.grant == grant && run.cycle == cycle) {
                    Some(run) if run.certainty == certainty => run.acts.push(place),
                    Some(run) if certainty.is_yes() => {
                        run.certainty = certainty;
                        run.acts = vec![place];
                    }
                    Some(_) => {}
                    None => open.push(Self {
                        owner,
                        grant,
                        cycle,
                        certainty,
                        acts: vec![place],
                    }),
                }
            }
            runs.append(&mut open);
        }
        runs
    }

    pub(crate) fn acts<'t, 'h>(&self, timeline: &'t Timeline<'h>) -> impl Iterator<Item = &'t Act<'h>> {
        self.acts.iter().map(|place| &timeline.owners[self.owner].acts[*place])
    }

    pub(crate) fn first<'t, 'h>(&self, timeline: &'t Timeline<'h>) -> &'t Act<'h> {
        &timeline.owners[self.owner].acts[self.acts[0]]
    }

    pub(crate) fn last<'t, 'h>(&self, timeline: &'t Timeline<'h>) -> &'t Act<'h> {
        &timeline.owners[self.owner].acts[self.acts[self.acts.len() - 1]]
    }

    /// From when these acts are charged.
    pub(crate) fn due(&self, timeline: &Timeline<'_>) -> Moment {
        let grant = &timeline.grants[self.grant];
        let due = match self.first(timeline).kind {
            ActKind::Renewed => grant.due,
            ActKind::Write | ActKind::SaidWrite => grant.due_for_writes,
        };
        due.unwrap_or(Moment::exact(BootNanos(0)))
    }

    /// "3 writes and 1 renewal claimed, the first 250.0 ms and the last 900.0 ms after the lease was due".
    pub(crate) fn says(&self, timeline: &Timeline<'_>) -> String {
        let writes = self.acts(timeline).filter(|act| act.kind != ActKind::Renewed).count();
        let claims = self.acts.len() - writes;
        let what = match (writes, claims) {
            (0, n) => format!("claimed {}", count(n, "renewal")),
            (n, 0) => format!("began {}", count(n, "write")),
            (n, m) => format!("began {} and claimed {}", count(n, "write"), count(m, "renewal")),
        };
        let due = self.due(timeline);
        let after = |act: &Act<'_>| ms(act.at.earliest.since(due.latest));
        if self.acts.len() == 1 {
            format!("{what} {} after the lease was due", after(self.first(timeline)))
        } else {
            let (first, last) = (after(self.first(timeline)), after(self.last(timeline)));
            format!("{what}, the first {first} and the last {last} after the lease was due")
        }
    }

    /// The readings that show the grant and its end, and the acts.
    pub(crate) fn evidence(&self, timeline: &Timeline<'_>) -> Vec<EventId> {
        let grant = &timeline.grants[self.grant];
        let mut ids = vec![grant.first.id];
        ids.extend(grant.extensions.last().map(|change| change.event));
        ids.extend(grant.end.map(|end| end.event));
        ids.extend(self.acts(timeline).take(4).map(|act| act.event.id));
        ids.push(self.last(timeline).event.id);
        ids
    }

    /// The act came after that grant had begun. On a grant that was revived the store again shows this
    /// owner: then the other's must still stand for two to believe.
    pub(crate) fn is_beside(&self, timeline: &Timeline<'_>, next: usize, act: &Act<'_>) -> bool {
        let grant = &timeline.grants[next];
        let mine = &timeline.owners[self.owner].grants;
        let begun = mine.partition_point(|index| timeline.grants[*index].begin.earliest <= act.at.latest);
        let revived = begun.checked_sub(1).is_some_and(|last| {
            let last = &timeline.grants[mine[last]];
            last.is_revival() && last.may_cover(act.at)
        });
        grant.begin.latest < act.at.earliest && (!revived || grant.surely_covers(act.at))
    }

    /// The next grant that began surely before one of these acts, and the first such act. The answer
    /// is "cannot tell" where the grant may be this owner's own.
    pub(crate) fn successor<'t, 'h>(&self, timeline: &'t Timeline<'h>) -> Option<(usize, &'t Act<'h>, Truth)> {
        let next = timeline.successor(self.grant, self.owner)?;
        let grant = &timeline.grants[next];
        let act = self.acts(timeline).find(|act| self.is_beside(timeline, next, act))?;
        let known = match grant.by {
            By::Unknown if !timeline.owners[self.owner].surely_idle(grant.begin) => Truth::CannotTell,
            _ => self.certainty,
        };
        Some((next, act, known))
    }
}
