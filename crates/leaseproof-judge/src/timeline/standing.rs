//! What each act rests on: a grant in force, one that was due, or none. This is where an owner is
//! charged, and where a straddling act is told from a late one.

use super::act::{Act, ActKind, Standing};
use super::coverage::StoreCoverage;
use super::grant::{By, EndKind, Grant};
use super::owner::{Owner, Saying};
use super::reach::Reach;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::OwnerEvent;
use leaseproof_model::moment::Moment;
use leaseproof_model::truth::Truth;
use std::collections::{HashMap, HashSet};

/// How many acts of one connection after *due* may still straddle: the first may have been sent
/// before, and the second was sent after its answer; a third follows an act that itself began after.
const STRADDLING_OF_A_CONNECTION: u32 = 2;

/// Gives each act of `owner` its standing.
pub(crate) fn stand(owner: &mut Owner<'_>, grants: &[Grant<'_>], store: &StoreCoverage, reach: &Reach) {
    let mut acts = std::mem::take(&mut owner.acts);
    let writes = Ledger::new(owner, grants, |grant| grant.due_for_writes);
    let claims = Ledger::new(owner, grants, |grant| grant.due);
    let hidden = Hidden::new(owner, grants);
    let mut trail = Trail::new(owner, grants);
    for act in &mut acts {
        let ledger = if act.kind == ActKind::Renewed { &claims } else { &writes };
        act.standing = trail.standing(act, owner, ledger, &hidden, grants, store, reach);
    }
    owner.acts = acts;
}

/// The grants of one owner by their begin, with the one that was due last among each and those before.
struct Ledger {
    begins: Vec<BootNanos>,
    last: Vec<(usize, Option<Moment>)>,
}

impl Ledger {
    fn new(owner: &Owner<'_>, grants: &[Grant<'_>], due: impl Fn(&Grant<'_>) -> Option<Moment>) -> Self {
        let mut begins = Vec::with_capacity(owner.grants.len());
        let mut last: Vec<(usize, Option<Moment>)> = Vec::with_capacity(owner.grants.len());
        // A grant that its holder revived was not acquired anew: acts on it rest on the one before.
        for index in owner.grants.iter().filter(|index| !grants[**index].is_revival()) {
            let grant = &grants[*index];
            let before = begins.last().copied().unwrap_or(BootNanos(0));
            begins.push(grant.begin.earliest.max(before));
            let this = (*index, due(grant));
            let latest = match last.last() {
                Some(before) if ends(before.1) > ends(this.1) => *before,
                _ => this,
            };
            last.push(latest);
        }
        Self { begins, last }
    }

    /// The grant that was due last among those that may have begun by `at`.
    fn at(&self, at: Moment) -> Option<(usize, Option<Moment>)> {
        match self.begins.partition_point(|begin| *begin <= at.latest) {
            0 => None,
            n => Some(self.last[n - 1]),
        }
    }
}

fn ends(due: Option<Moment>) -> BootNanos {
    due.map_or(BootNanos(u64::MAX), |due| due.latest)
}

/// Grants that belong to nobody known and may be this owner's.
struct Hidden {
    spans: Vec<(BootNanos, BootNanos)>,
    latest_end: Vec<BootNanos>,
}

impl Hidden {
    fn new(owner: &Owner<'_>, grants: &[Grant<'_>]) -> Self {
        let mut spans = Vec::new();
        let mut latest_end = Vec::new();
        let mut latest = BootNanos(0);
        for grant in grants
            .iter()
            .filter(|grant| grant.by == By::Unknown && !owner.surely_idle(grant.begin))
        {
            let end = ends(grant.lasts_until());
            latest = latest.max(end);
            spans.push((grant.begin.earliest, end));
            latest_end.push(latest);
        }
        Self { spans, latest_end }
    }

    fn may_cover(&self, at: Moment) -> bool {
        match self.spans.partition_point(|span| span.0 <= at.latest) {
            0 => false,
            n => self.latest_end[n - 1] >= at.earliest,
        }
    }
}

/// It carries a greater token than that grant had: it rests on another one, which no look shows.
fn names_a_later_one(grant: &Grant<'_>, act: &Act<'_>) -> bool {
    let had = grant.token.or(grant.said_token.map(|(token, _)| token));
    had.is_some() && act.token > had
}

/// What came on one connection after a grant was due.
#[derive(Copy, Clone)]
struct Sent {
    grant: usize,
    acts: u32,
    refused: bool,
    /// When the last of them arrived.
    at: Moment,
}

/// What came before an act: on its connection, of its thread, since the thaw.
struct Trail<'h> {
    /// Acts surely after *due* by connection; the grant, how many, whether one was refused.
    connections: HashMap<u64, Sent>,
    /// Writes after *due* that may straddle, by grant.
    straddling: HashMap<usize, u32>,
    /// Acts surely after *due* by thread.
    threads: HashMap<&'h str, usize>,
    /// Refusals that threads were told, and `acquired` that no grant answers.
    refusals: Vec<(&'h str, Moment)>,
    ghosts: Vec<Moment>,
    last_claim: Option<BootNanos>,
    told: usize,
    refused: HashMap<&'h str, Moment>,
}

impl<'h> Trail<'h> {
    fn new(owner: &Owner<'h>, grants: &[Grant<'_>]) -> Self {
        let answered: HashSet<_> = owner
            .grants
            .iter()
            .filter_map(|index| grants[*index].acquired.map(|it| it.id))
            .collect();
        let is_ghost = |saying: &&Saying<'_>| saying.is(OwnerEvent::Acquired) && !answered.contains(&saying.event.id);
        let tells = |saying: &&Saying<'_>| {
            saying.is_definite_refusal() || matches!(saying.said.event, OwnerEvent::Lost | OwnerEvent::WriteRefused)
        };
        Self {
            connections: HashMap::new(),
            straddling: HashMap::new(),
            threads: HashMap::new(),
            refusals: owner
                .said
                .iter()
                .filter(tells)
                .filter_map(|saying| Some((saying.said.thread.as_deref()?, saying.at)))
                .collect(),
            ghosts: owner.said.iter().filter(is_ghost).map(|saying| saying.at).collect(),
            last_claim: None,
            told: 0,
            refused: HashMap::new(),
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "each is one noun of the question, and the caller has them at hand"
    )]
    fn standing(
        &mut self,
        act: &Act<'h>,
        owner: &Owner<'_>,
        ledger: &Ledger,
        hidden: &Hidden,
        grants: &[Grant<'_>],
        store: &StoreCoverage,
        reach: &Reach,
    ) -> Standing {
        while let Some((thread, at)) = self.refusals.get(self.told).filter(|it| it.1.latest <= act.at.earliest) {
            self.refused.insert(thread, *at);
            self.told += 1;
        }
        let claimed_before = self.last_claim;
        if act.write.is_none() {
            self.last_claim = Some(act.at.earliest);
        }
        let Some((index, due)) = ledger.at(act.at) else {
            return Standing::Ungranted;
        };
        let Some(due) = due else {
            return Standing::Granted(index);
        };
        let far = reach.exceeded(owner, due, act.at, act.event.cycle);
        if due.latest >= act.at.earliest {
            let granted = due.earliest > act.at.latest || far == Truth::No || hidden.may_cover(act.at);
            return if granted {
                Standing::Granted(index)
            } else {
                Standing::MayBeLate(index)
            };
        }
        if self.claims_another(due, act.at) || names_a_later_one(&grants[index], act) {
            return Standing::Ungranted;
        }
        // The work ends before the lease is released: nothing straddles what its owner itself ended.
        // A busy machine may have delivered late what was sent before.
        let released = match grants[index].end {
            Some(end) if end.kind == EndKind::Released && reach.rig_was_late(act.event.cycle) => Truth::CannotTell,
            Some(end) if end.kind == EndKind::Released => Truth::Yes,
            _ => Truth::No,
        };
        let late = self.cannot_straddle(act, owner, (index, due), far, released, claimed_before);
        // "Nothing extended it since" holds only where the store was watched since its last change.
        let grant = &grants[index];
        let last_change = grant.extensions.last().map_or(grant.begin, |change| change.at);
        if !store.covers(last_change.latest, act.at.latest) {
            return Standing::Unwatched(index);
        }
        let known = !hidden.may_cover(act.at) && act.says_from.is_none();
        match late {
            Truth::Yes if known => Standing::Late(index),
            Truth::No => Standing::Straddling(index),
            _ => Standing::MayBeLate(index),
        }
    }

    /// Since *due* it said that it acquired, and no grant answers to that.
    fn claims_another(&self, due: Moment, at: Moment) -> bool {
        let from = self.ghosts.partition_point(|ghost| ghost.latest <= due.latest);
        self.ghosts.get(from).is_some_and(|ghost| ghost.earliest <= at.latest)
    }

    /// The act is surely after *due*; whether it is also known not to straddle. Notes it down.
    fn cannot_straddle(
        &mut self,
        act: &Act<'h>,
        owner: &Owner<'_>,
        (grant, due): (usize, Moment),
        far: Truth,
        released: Truth,
        claimed_before: Option<BootNanos>,
    ) -> Truth {
        let mut late = far;
        if let Some((_, write)) = act.write {
            let fresh = Sent {
                grant,
                acts: 0,
                refused: false,
                at: act.at,
            };
            let seen = self.connections.entry(write.connection).or_insert(fresh);
            if seen.grant != grant {
                *seen = fresh;
            }
            // Requests that were sent in one go arrive as one, and were checked as one.
            if seen.acts > 0 && act.at == seen.at {
                return late;
            }
            if seen.acts >= STRADDLING_OF_A_CONNECTION || seen.refused {
                late = Truth::Yes;
            }
            late = late.or(released);
            seen.acts += 1;
            seen.refused |= !write.accepted;
            seen.at = act.at;
            if late == Truth::No {
                // Each thread has one at most. Tasks may be more than threads, so that this proves nothing.
                let straddling = self.straddling.entry(grant).or_insert(0);
                *straddling += 1;
                if owner
                    .threads_at(act.at.latest)
                    .is_some_and(|threads| *straddling > threads.max(STRADDLING_OF_A_CONNECTION))
                {
                    late = Truth::CannotTell;
                }
            }
            return late;
        }
        let first_since_thaw = owner
            .thaw_before(act.at.latest)
            .is_some_and(|thaw| claimed_before.is_none_or(|claim| claim < thaw.latest));
        match act.thread {
            Some(thread) => {
                let refused = self.refused.get(thread).is_some_and(|at| at.earliest > due.latest);
                let before = self.threads.insert(thread, grant);
                late = Truth::from(refused || before == Some(grant));
            }
            None if first_since_thaw => late = Truth::No,
            None => {}
        }
        late
    }
}
