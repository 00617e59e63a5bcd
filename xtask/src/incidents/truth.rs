//! What is known of an incident, since we made it: what `diagnose` is measured by.

use super::draw::{Draw, Herring, Part, Style};
use super::fault::Proof;
use super::look::Seen;
use super::resource::Write;
use super::scene::{Played, lost, taken_over};
use super::table::{Answer, By, Fault, Needs};
use super::words::iso;
use serde::{Deserialize, Serialize};

/// One incident's truth, as `truth.toml`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Truth {
    pub id: String,
    /// Whose client it was.
    pub by: By,
    pub kind: String,
    pub client: String,
    pub store: String,
    /// What may be said of it by a verdict.
    pub verdicts: Vec<String>,
    /// Nothing that an operator could have is missing, and no zone is off untold.
    pub full: bool,
    /// What was taken away: owner, store, runtime, resource, plan, zone.
    pub missing: Vec<String>,
    /// What looks like a cause and is none.
    pub false_suspects: Vec<String>,
    /// The right answers for the fault: any of them.
    pub fault: Vec<Answer>,
    /// The right answers for what is wrong with the client, where it acted late.
    pub client_fault: Vec<Answer>,
    /// What is true besides, and wrong to nobody who says it.
    pub also: Vec<Answer>,
    pub breach: Breach,
    pub story: Story,
}

/// Whether there was a breach.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Breach {
    /// The first owner wrote after its grant was another's.
    pub acted_late: bool,
    /// So many such writes.
    pub late_writes: usize,
    /// So many of them were accepted after a write of the next owner.
    pub stale_accepted: usize,
    /// Nobody took over, and the first owner wrote so often after its grant had gone, without acquiring anew: the store shows
    /// no more than that, and from when on it is charged depends on what its owner could know.
    #[serde(default)]
    pub after_loss: usize,
    /// So many of its writes lie in a span in which our own look at the store was late, and its grant ended or was taken
    /// over somewhere in it: nobody knows whether they came before or after.
    #[serde(default)]
    pub untold: usize,
    /// No more than the one that was under way at the thaw.
    pub straddling_only: bool,
    /// The tokens of the grants, where there are any, in their order.
    pub tokens: Vec<u64>,
}

/// What happened when, in UTC.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Story {
    pub begin: String,
    pub end: String,
    pub fault: String,
    pub fault_from: Option<String>,
    pub fault_until: Option<String>,
    /// By whose word the fault is known.
    pub fault_by: Option<String>,
    pub lost_at: Option<String>,
    pub taken_over_at: Option<String>,
    /// How the owners' log was written, and in which zone (minutes east of UTC).
    pub style: String,
    pub zone: i32,
    pub ttl_ms: u64,
    pub heartbeat_ms: u64,
    pub fenced: bool,
}

impl Truth {
    /// Of a played incident.
    ///
    /// # Errors
    /// When what the kind needs did not happen.
    pub fn of(played: &Played) -> Result<Self, String> {
        let draw = &played.draw;
        let breach = breach(played);
        let over = taken_over(&played.seen);
        let gone = lost(&played.seen);
        let holds = match draw.kind.needs {
            Needs::TakenOver => over.is_some(),
            Needs::Lost => gone.is_some(),
            Needs::Kept => gone.is_none(),
            Needs::LateAct => breach.acted_late,
        };
        if !holds {
            return Err(format!("{:?} did not come about", draw.kind.needs));
        }
        let at = |ns: i64| iso(ns, 0);
        let proof: Option<&Proof> = played.proof.as_ref();
        let acted = breach.acted_late && !breach.straddling_only;
        Ok(Self {
            id: draw.name(),
            by: draw.client.by,
            kind: draw.kind.name.clone(),
            client: draw.client.name.clone(),
            store: draw.store.clone(),
            verdicts: verdicts(draw, &breach),
            full: draw.full(),
            missing: missing(draw),
            false_suspects: suspects(draw),
            fault: draw.kind.truth.clone(),
            client_fault: if acted { draw.client.truth.clone() } else { Vec::new() },
            also: also(draw, &breach),
            story: Story {
                begin: at(played.began_ns),
                end: at(played.ended_ns),
                fault: serde_json::to_value(draw.kind.fault)
                    .ok()
                    .and_then(|it| it.as_str().map(str::to_owned))
                    .unwrap_or_default(),
                fault_from: proof.map(|it| at(it.from_ns)),
                fault_until: proof.map(|it| at(it.until_ns)),
                fault_by: proof.map(|it| it.by.clone()),
                lost_at: gone.map(|it| at(it.latest)),
                taken_over_at: over.map(|it| at(it.latest)),
                style: format!("{:?}", draw.style).to_lowercase(),
                zone: draw.zone,
                ttl_ms: draw.ttl_ms,
                heartbeat_ms: draw.heartbeat_ms,
                fenced: draw.fenced,
            },
            breach,
        })
    }
}

/// A look that comes this much after the one before (ns) leaves the order of what lies between open: looks usually come every
/// few hundredths of a second, and a write within that is under way.
const LATE_LOOK: i64 = 100_000_000;

/// The first owner's writes in the span in which a change must lie, where the look that shows it came late.
fn untold(writes: &[Write], change: &Seen) -> usize {
    if change.latest - change.earliest < LATE_LOOK {
        return 0;
    }
    let within = |it: &&Write| it.owner == "worker-a" && it.wall_ns > change.earliest && it.wall_ns <= change.latest;
    writes.iter().filter(within).count()
}

fn breach(played: &Played) -> Breach {
    let mut breach = Breach {
        tokens: played.seen.iter().filter_map(|it| it.token).collect(),
        ..Breach::default()
    };
    breach.tokens.dedup();
    // An owner's grants are known by its word `acquired`, which the store's own word must bear out.
    let grants: Vec<(&str, i64)> = played
        .events
        .iter()
        .filter(|(_, _, said)| said.get("lease").and_then(|it| it.as_str()) == Some("acquired"))
        .map(|(owner, at, _)| (owner.as_str(), *at))
        .collect();
    let Some(over) = taken_over(&played.seen) else {
        let Some(gone) = lost(&played.seen) else { return breach };
        let again = grants
            .iter()
            .filter(|(owner, at)| *owner == "worker-a" && *at > gone.earliest)
            .map(|(_, at)| *at)
            .min();
        breach.after_loss = played
            .writes
            .iter()
            .filter(|it| it.owner == "worker-a" && it.wall_ns > gone.latest && again.is_none_or(|at| it.wall_ns < at))
            .count();
        breach.untold = untold(&played.writes, gone);
        return breach;
    };
    breach.untold = untold(&played.writes, over);
    let next_wrote = played
        .writes
        .iter()
        .find(|it| it.owner != "worker-a" && it.wall_ns >= over.earliest)
        .map(|it| it.wall_ns);
    // Up to when the first owner was none again. Its word may come before the look that shows it, and whoever the look shows
    // is then the first owner itself.
    let end = lost(&played.seen).map_or(over.earliest, |it| it.earliest);
    let again = grants
        .iter()
        .filter(|(owner, at)| *owner == "worker-a" && *at > end)
        .map(|(_, at)| *at)
        .min();
    let late: Vec<_> = played
        .writes
        .iter()
        .filter(|it| it.owner == "worker-a" && it.wall_ns > over.latest && again.is_none_or(|at| it.wall_ns < at))
        .collect();
    breach.late_writes = late.len();
    breach.acted_late = !late.is_empty();
    breach.straddling_only = late.len() == 1;
    breach.stale_accepted = late
        .iter()
        .filter(|it| it.accepted && next_wrote.is_some_and(|at| it.wall_ns > at))
        .count();
    breach
}

fn verdicts(draw: &Draw, breach: &Breach) -> Vec<String> {
    let words: &[&str] = match (breach.acted_late, breach.straddling_only) {
        (true, true) => &["violated", "proven", "cannot-tell"],
        (true, false) => &["violated"],
        // A budget that does not hold, and a lock that is no lock, are violations by themselves.
        (false, _)
            if matches!(
                draw.kind.fault,
                Fault::BriefStop | Fault::HeldWrite | Fault::StopAndGone
            ) =>
        {
            &["violated", "proven", "cannot-tell"]
        }
        (false, _) if draw.kind.needs == Needs::LateAct => &["violated"],
        (false, _) if breach.after_loss > 0 || breach.untold > 0 => &["violated", "proven", "cannot-tell"],
        // What the store did to the lease: its tokens may go back (LP003).
        (false, _)
            if matches!(
                draw.kind.fault,
                Fault::StoreRestartEmpty | Fault::Failover | Fault::Evict | Fault::Steal
            ) =>
        {
            &["violated", "proven", "cannot-tell"]
        }
        (false, _) => &["proven", "cannot-tell"],
    };
    words.iter().map(|&word| word.to_owned()).collect()
}

fn missing(draw: &Draw) -> Vec<String> {
    let mut missing = Vec::new();
    missing.extend(draw.missing.map(|part| {
        match part {
            Part::Owner => "owner",
            Part::Store => "store",
            Part::Runtime => "runtime",
            Part::Resource => "resource",
        }
        .to_owned()
    }));
    if !draw.plan {
        missing.push("plan".to_owned());
    }
    if draw.zone_hidden() {
        missing.push("zone".to_owned());
    }
    missing
}

fn suspects(draw: &Draw) -> Vec<String> {
    let herring = draw.herring.map(|it| {
        match it {
            Herring::Collections => "another JVM's collections",
            Herring::Chronyd => "a line of chronyd (made by hand)",
            Herring::SlowCommand => "a slow command of somebody else",
        }
        .to_owned()
    });
    draw.kind.false_suspect.clone().into_iter().chain(herring).collect()
}

fn also(draw: &Draw, breach: &Breach) -> Vec<Answer> {
    let mut also = Vec::new();
    let mut say = |rule: &str, boundaries: &[&str]| {
        also.extend(boundaries.iter().map(|it| Answer(rule.to_owned(), (*it).to_owned())));
    };
    if breach.after_loss + breach.untold > 1 {
        say("LP004", &["lock-client"]);
    }
    if breach.acted_late || breach.untold > 0 {
        for rule in ["LP001", "LP004"] {
            say(rule, &["lock-client"]);
        }
    }
    if breach.stale_accepted > 0 {
        say("LP002", &["lock-client", "resource"]);
    }
    if !draw.fenced {
        say("LP024", &["resource", "configuration", "lock-client"]);
    }
    let fault = draw.kind.fault;
    if matches!(
        fault,
        Fault::StoreRestartEmpty | Fault::Failover | Fault::Evict | Fault::Steal
    ) {
        say("LP003", &["store"]);
    }
    if matches!(
        fault,
        Fault::StoreStop | Fault::Failover | Fault::Blackhole | Fault::IdleDrop | Fault::Kill | Fault::Oom
    ) {
        // It was away for longer than the numbers allow.
        say("LP007", &["configuration"]);
    }
    if fault == Fault::Failover {
        say("LP025", &["store"]);
        say("LP023", &["store"]);
    }
    // What is missing may always be said.
    for boundary in [
        "lock-client",
        "runtime",
        "store",
        "network",
        "resource",
        "configuration",
    ] {
        say("LP020", &[boundary]);
        say("LP022", &[boundary]);
    }
    if matches!(draw.style, Style::Pino) && draw.client.name == "redlock" {
        say("LP016", &["lock-client"]);
    }
    also
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writes() -> Vec<Write> {
        let at = [1_000, 1_100, 1_200, 1_300, 1_400];
        at.map(|ms| Write {
            owner: "worker-a".to_owned(),
            wall_ns: ms * 1_000_000,
            token: None,
            accepted: true,
            peer: ([127, 0, 0, 1], 1).into(),
        })
        .into()
    }

    fn gone(earliest: i64, latest: i64) -> Seen {
        Seen {
            earliest: earliest * 1_000_000,
            latest: latest * 1_000_000,
            holder: None,
            token: None,
        }
    }

    #[test]
    fn writes_under_a_prompt_look_ok() {
        assert_eq!(untold(&writes(), &gone(1_190, 1_215)), 0);
    }

    /// An incident of seed 2026: the look came 0.8 s late, and the truth said that nobody wrote late, which nobody knew.
    #[test]
    fn writes_under_a_late_look_bad() {
        assert_eq!(untold(&writes(), &gone(1_050, 1_350)), 3);
    }
}
