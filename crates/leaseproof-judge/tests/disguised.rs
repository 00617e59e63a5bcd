//! What looks like something else: a sound owner in a flawed one's clothes, and a flawed owner in a sound
//! one's. Each flaw shows by its rule alone; where nothing decides, nothing is proven.

mod story;

use leaseproof_judge::{Policy, judge};
use leaseproof_model::event::{OwnerEvent, What};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::Token;
use leaseproof_model::scenario::ScenarioId;
use leaseproof_model::verdict::Verdict;
use std::time::Duration;
use story::flaws::{late, over_ttl};
use story::pauses::{self, EXPIRY, THAW};
use story::{Story, accusations, at};

/// The fault, its rule, the record that comes close and is sound, and the one that shows it.
type Pair = (&'static str, &'static str, fn() -> Story, fn() -> Story);

const PAIRS: &[Pair] = &[
    (
        "holder-of-a-host-called-lab",
        "LP004",
        || held_as("lab-pc-3:", pauses::over_ttl()),
        || held_as("lab-pc-3:", late()),
    ),
    (
        "holder-that-hides-an-owner",
        "LP004",
        || held_as("db-a1:", pauses::over_ttl()),
        || held_as("db-a1:", late()),
    ),
    (
        "holder-that-begins-like-an-owner",
        "LP004",
        || held_as("a1-box:", pauses::over_ttl()),
        || held_as("a1-box:", late()),
    ),
    (
        "holder-that-begins-like-the-successor",
        "LP004",
        || held_as("b1-box:", pauses::over_ttl()),
        || held_as("b1-box:", late()),
    ),
    (
        "requests-that-arrived-as-one",
        "LP004",
        || after_thaw(4, 0.0, true),
        || after_thaw(4, 1.0, true),
    ),
    (
        "as-many-connections-as-threads",
        "LP004",
        || after_thaw(3, 1.0, false),
        late,
    ),
    (
        "writes-after-its-own-release",
        "LP004",
        || over_ttl(|s| _ = s.wrote(3307.0, "b1", 2)),
        || over_ttl(|s| _ = s.wrote(3320.0, "b1", 2)),
    ),
    ("constant-token", "LP003", pauses::over_ttl, || constant(u64::MAX)),
    ("constant-token-of-three-writes", "LP003", pauses::over_ttl, || {
        constant(3)
    }),
    (
        "a-token-that-another-grant-has-passed",
        "LP003",
        || incarnation_kept(3),
        || incarnation_kept(1),
    ),
    (
        "neighbour-s-token",
        "LP002",
        || over_ttl(|s| _ = s.wrote(2500.0, "b1", 2)),
        || over_ttl(|s| _ = s.wrote(2500.0, "b1", 1)),
    ),
    (
        "tokens-counted-elsewhere",
        "LP002",
        || counted_elsewhere(2215.0),
        || counted_elsewhere(2700.0),
    ),
    (
        "one-act-on-a-free-key",
        "LP021",
        || on_a_free_key(1, 1, 2),
        || on_a_free_key(1, 1, 1),
    ),
    (
        "one-act-as-the-store-lost-its-data",
        "LP021",
        || on_a_free_key(5, 0, 1),
        || on_a_free_key(5, 5, 5),
    ),
    (
        "one-act-within-the-look-before",
        "LP021",
        || looked_at_long(2, 2),
        || on_a_free_key(1, 2, 2),
    ),
];

/// What nothing decides: neither proven nor held against anybody.
type Undecided = (&'static str, fn() -> Story);

const UNDECIDED: &[Undecided] = &[
    ("claims-without-writes", claims_only),
    ("late-writes-to-a-url-that-another-names-itself-at", || {
        borrowed_url(late())
    }),
    ("writes-without-a-grant-to-a-borrowed-url", || {
        borrowed_url(on_a_free_key(1, 1, 1))
    }),
    ("a-late-write-whose-first-bytes-came-in-time", || {
        over_ttl(|s| {
            s.wrote_with(THAW + 400.0, "a1", 1, |write| {
                write.begun = Some(Moment::exact(at(790.0)));
                write.connection = 70;
            });
        })
    }),
    ("a-write-with-a-token-that-a-hidden-grant-may-have-had", || {
        let mut s = pauses::within_margin();
        s.each(|event| match &mut event.what {
            What::Reading(reading) => {
                reading.counter = reading.counter.map(|it| Token(it.0 + 4));
                if let Some(held) = &mut reading.held {
                    held.token = held.token.map(|it| Token(it.0 + 4));
                }
            }
            What::Said(said) => said.token = said.token.map(|it| Token(it.0 + 4)),
            What::Write(write) => write.token = write.token.map(|it| Token(it.0 + 4)),
            _ => {}
        });
        s.started(5.0, "b1").wrote(600.0, "b1", 4);
        s
    }),
    ("more-writes-after-the-thaw-than-threads", || after_thaw(6, 1.0, false)),
    ("a-write-after-the-release-that-a-late-rig-may-have-delayed", || {
        over_ttl(|s| {
            s.wrote(3320.0, "b1", 2);
            let (by, what) = (Duration::from_millis(100), "sampling the store".to_owned());
            s.note(3300.0, What::RigLate { by, what });
        })
    }),
];

/// The holders' values are these words and something random.
fn held_as(words: &str, mut s: Story) -> Story {
    s.each(|event| {
        if let What::Reading(reading) = &mut event.what
            && let Some(held) = &mut reading.held
        {
            let process = if held.token == Some(Token(2)) { "4f0c" } else { "91e7" };
            held.holder = format!("{words}{process}").into();
        }
    });
    s
}

/// Each write says that it is from the other owner than the one whose URL it came to.
fn borrowed_url(mut s: Story) -> Story {
    s.each(|event| {
        let from = event.owner.as_ref().map(|owner| match owner.as_str() {
            "a1" => "b1",
            _ => "a1",
        });
        if let What::Write(write) = &mut event.what {
            write.claims_owner = from.map(str::to_owned);
        }
    });
    s
}

/// Right after the thaw some writes of `a1`, so far apart, on one connection or each on its own.
fn after_thaw(writes: u32, apart: f64, kept: bool) -> Story {
    over_ttl(|s| {
        for place in 0..writes {
            s.wrote_with(THAW + 2.0 + apart * f64::from(place), "a1", 1, |write| {
                write.connection = 70 + if kept { 0 } else { u64::from(place) };
            });
        }
    })
}

/// Writes carry token 1 whatever their grant has: all, or so many of the last grant, which has no others.
fn constant(last: u64) -> Story {
    over_ttl(|s| {
        if last == u64::MAX {
            s.each(|event| {
                if let What::Write(write) = &mut event.what {
                    write.token = Some(Token(1));
                }
            });
            return;
        }
        s.without(|event| matches!(event.what, What::Write(_)) && event.at.earliest > at(3330.0));
        for place in 0..u32::try_from(last).expect("a small number") {
            s.wrote(3340.0 + 50.0 * f64::from(place), "a1", 1);
        }
    })
}

/// The store has the holder again under a new token, and its owner renewed, as it says, the grant that had
/// ended: it never acquired. It writes with this token.
fn incarnation_kept(token: u64) -> Story {
    over_ttl(|s| {
        // Who held it in between wrote nothing and said nothing of its token: only the store shows it.
        s.without(|event| matches!(&event.what, What::Write(write) if write.token == Some(Token(2))));
        s.each(|event| {
            if let What::Said(said) = &mut event.what {
                said.token = said.token.filter(|&token| token != Token(2));
            }
        });
        s.each(|event| match &mut event.what {
            What::Reading(reading) => {
                if let Some(held) = reading.held.as_mut().filter(|held| held.token == Some(Token(3))) {
                    held.holder = "a1#1".into();
                }
            }
            What::Said(said) if said.token == Some(Token(3)) => {
                said.token = Some(Token(token));
                if said.event == OwnerEvent::Acquired && token < 3 {
                    said.event = OwnerEvent::Renewed;
                }
            }
            What::Write(write) if write.token == Some(Token(3)) => write.token = Some(Token(token)),
            _ => {}
        });
    })
}

/// The owners' tokens come from elsewhere and the lab counts its own, from 1: a write of `a1` with its
/// first token comes then.
fn counted_elsewhere(ms: f64) -> Story {
    let mut s = pauses::and_gone();
    s.each(|event| {
        if let What::Reading(reading) = &mut event.what {
            reading.counter = (event.at.earliest > at(1799.0)).then_some(Token(1));
            if let Some(held) = &mut reading.held {
                held.token = held.holder.as_str().starts_with("lab").then_some(Token(1));
            }
        }
    });
    s.wrote_with(ms, "a1", 1, |write| write.connection = 77);
    s
}

/// `a1` held with this token and released; a write of `b1`, which never acquired, between two looks that
/// show these counters.
fn on_a_free_key(token: u64, before: u64, after: u64) -> Story {
    let mut s = Story::new(ScenarioId::PauseUncontested, &[]);
    s.free(0.0).started(1.0, "a1").started(2.0, "b1");
    s.granted(50.0, "a1#1", token).acquired(50.0, "a1", token);
    s.works(60.0, 290.0, "a1", token);
    s.said(295.0, "a1", OwnerEvent::Released).free(300.0).free(380.0);
    s.free(395.0).wrote(400.0, "b1", 0).free(405.0).watched(0.0, 500.0);
    for (ms, counter) in [(380.0, before), (395.0, before), (405.0, after)] {
        s.each(|event| {
            if let What::Reading(reading) = &mut event.what
                && event.at.earliest == at(ms)
            {
                reading.counter = Some(Token(counter));
            }
        });
    }
    s
}

/// The same, and the look before was asked before the write and answered after it.
fn looked_at_long(before: u64, after: u64) -> Story {
    let mut s = on_a_free_key(1, before, after);
    s.each(|event| {
        if let What::Reading(reading) = &mut event.what {
            if event.at.earliest == at(395.0) {
                event.at = Moment::between(at(395.0), at(402.0));
            } else if event.at.earliest == at(380.0) {
                reading.counter = Some(Token(1));
            }
        }
    });
    s
}

/// The owners say that they write, and the witness sees nothing of it.
fn claims_only() -> Story {
    let mut s = pauses::over_ttl();
    s.without(|event| matches!(event.what, What::Write(_)));
    for (from, until, owner) in [(110, 800, "a1"), (EXPIRY as u32 + 25, 3300, "b1"), (3340, 3600, "a1")] {
        for ms in (from..until).step_by(50) {
            s.said(f64::from(ms), owner, OwnerEvent::Write);
        }
    }
    s
}

#[test]
fn each_flaw_shows_by_its_rule_and_what_comes_close_does_not() {
    let mut wrong = Vec::new();
    for (name, rule, sound, flawed) in PAIRS {
        let (sound, flawed) = (sound().history(), flawed().history());
        let off = Policy {
            rules_off: [(*rule).to_owned()].into(),
            ..Policy::default()
        };
        let shown = |history, policy: &Policy| {
            let judged = judge(history, None, policy);
            let sure = judged
                .findings
                .iter()
                .any(|it| it.rule == *rule && it.certainty.is_yes());
            (sure, judged)
        };
        let (accused, judged) = shown(&sound, &Policy::default());
        let any = accusations(&judged).into_iter().any(|code| !code.ends_with('?'));
        if accused || any {
            wrong.push(format!("{name}-ok: {:#?}", judged.findings));
        }
        let (seen, judged) = shown(&flawed, &Policy::default());
        if !seen || judged.verdict != Verdict::Violated {
            wrong.push(format!("{name}-bad: {} {:#?}", judged.verdict, judged.findings));
        }
        if shown(&flawed, &off).0 {
            wrong.push(format!("{name}-bad shows {rule}, which is off"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_nothing_decides_is_neither_proven_nor_held_against_anybody() {
    let mut wrong = Vec::new();
    for (name, story) in UNDECIDED {
        let judged = story().judged();
        let sure = accusations(&judged).iter().any(|code| !code.ends_with('?'));
        if sure || judged.verdict != Verdict::CannotTell {
            wrong.push(format!("{name}: {} {:#?}", judged.verdict, judged.findings));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
