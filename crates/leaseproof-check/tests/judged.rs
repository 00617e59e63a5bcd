//! A plan's budget, judged: tables of plans and what is said of them.

use leaseproof_check::plan::{self, PlanFile};
use leaseproof_check::report::{Answer, Judged};
use leaseproof_check::{Demands, Given, Measured, from_plan, judge};
use leaseproof_model::store::{StoreClock, StoreFacts};
use std::path::Path;
use std::time::Duration;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A store with a slack of 1 ms, TTLs of 2 s to 60 s in whole seconds.
fn facts(url: &str) -> Result<StoreFacts, String> {
    let bounded = url.starts_with("bounded");
    Ok(StoreFacts {
        early_slack: if bounded { ms(1) } else { ms(0) },
        late_bound: ms(10),
        late_ttls: u32::from(bounded),
        ttl_floor: bounded.then_some(ms(2000)),
        ttl_ceiling: bounded.then_some(ms(60_000)),
        clock: if bounded {
            StoreClock::ServerWall
        } else {
            StoreClock::Boot
        },
        exact_moments: true,
        ttl_step: if bounded { ms(1000) } else { ms(0) },
        ..StoreFacts::of("store")
    })
}

fn judged(text: &str, observed: Option<u64>, renewals: Option<u32>) -> Judged {
    let file: PlanFile = toml::from_str(text).expect(text);
    let subjects = from_plan(&file, Path::new("plan.toml"), text, &Given::default(), &facts).expect(text);
    let measured = observed.map(|pause| Measured {
        pause: ms(pause),
        from: "gc.log:7".to_owned(),
    });
    judge(&subjects[0], measured.as_ref(), Demands { renewals })
}

/// `id: says; remedy` of what does not simply hold.
fn said(judged: &Judged) -> String {
    let open = judged.checks.iter().filter(|check| check.answer != Answer::Holds);
    open.map(|check| {
        format!(
            "{}: {}; {}\n",
            check.id,
            check.says,
            check.remedy.as_deref().unwrap_or("-")
        )
    })
    .collect()
}

const PLAIN: &str = "[budget]\nttl = \"3s\"\nheartbeat = \"1s\"\nworst_pause = \"1500ms\"\n";

#[test]
fn plans_ok() {
    for (more, observed, renewals, margin, may) in [
        ("", None, None, 1750.0, 1),
        ("", Some(1500), Some(1), 1750.0, 1),
        ("[store]\nurl = \"bounded:\"\n", None, None, 1749.0, 1),
        (
            "[connection]\nidle_timeout = \"5s\"\npool_max_idle = \"4s\"\nuser_timeout = \"500ms\"\nkeepalive = \"200ms\"\n",
            None,
            None,
            1750.0,
            1,
        ),
        ("[connection]\npool_max_idle = \"900ms\"\n", None, None, 1750.0, 1),
    ] {
        let judged = judged(&format!("{PLAIN}{more}"), observed, renewals);
        assert_eq!(
            (judged.verdict, said(&judged)),
            (Answer::Holds, String::new()),
            "{more}"
        );
        assert_eq!(
            (judged.margin_ms, judged.renewals_that_may_fail),
            (margin, Some(may)),
            "{more}"
        );
        assert!(judged.changes.is_empty());
    }
}

#[test]
fn plans_bad() {
    use Answer::{CannotTell, DoesNotHold, Holds};
    for (text, observed, renewals, verdict, needles) in [
        (
            "[budget]\nttl = \"3s\"\nheartbeat = \"2s\"\nworst_pause = \"1500ms\"\n".to_owned(),
            None,
            None,
            DoesNotHold,
            &["margin: the margin is 750ms (ttl 3s - heartbeat 2s", "heartbeat = \"1249ms\"", "one failed renewal"][..],
        ),
        (
            "[budget]\nworst_pause = \"4s\"\n".to_owned(),
            None,
            None,
            DoesNotHold,
            &["a worst pause of 1.749s or less (no heartbeat alone would be short enough)"],
        ),
        (
            "[budget]\nttl = \"1s\"\nheartbeat = \"500ms\"\nrenew_timeout = \"900ms\"\nworst_pause = \"60ms\"".to_owned(),
            None,
            None,
            DoesNotHold,
            &["there is no margin: 450ms are missing", "renew-timeout:",
                "renew_timeout = \"389ms\" (no heartbeat alone"],
        ),
        ("[budget]\nttl = \"3s\"\n".to_owned(), None, None, CannotTell, &["what pause it must survive is not said"]),
        (PLAIN.to_owned(), Some(1501), None, DoesNotHold, &["assumes a worst pause of 1.5s, and 1.501s was seen (gc.log:7); the margin", "\"1501ms\""]),
        (PLAIN.to_owned(), Some(2300), None, DoesNotHold, &["longer than the margin of 1.75s", "margin: the margin is 1.75s", "worst_pause = \"2300ms\" and heartbeat = \"449ms\""]),
        (PLAIN.to_owned(), None, Some(2), DoesNotHold, &["renewals: one renewal may fail", "demanded: 2"]),
        (format!("{PLAIN}[connection]\nidle_timeout = \"1s\"\n"), None, None, DoesNotHold, &["idle-timeout:", "each renewal meets a dead connection"]),
        (format!("{PLAIN}[connection]\nidle_timeout = \"1s\"\nkeepalive = \"300ms\"\n"), None, None, Holds, &["only keepalives"]),
        (format!("{PLAIN}[connection]\nidle_timeout = \"2s\"\npool_max_idle = \"3s\"\n"), None, None, DoesNotHold, &["pool-max-idle:", "below 1s"]),
        (format!("{PLAIN}[connection]\npool_max_idle = \"3s\"\n"), None, None, Holds, &["whether anything drops it"]),
        (format!("{PLAIN}[connection]\nkeepalive = \"60s\"\n"), None, None, Holds, &["are never sent"]),
        (format!("{PLAIN}[connection]\nuser_timeout = \"1750ms\"\n"), None, None, DoesNotHold, &["user-timeout:", "below 1.75s"]),
        (
            "[budget]\nttl = \"1s\"\nheartbeat = \"500ms\"\nworst_pause = \"700ms\"\n[store]\nurl = \"bounded:\"".to_owned(),
            None,
            None,
            Holds,
            &["granted-ttl: store grants no TTL below 2s"],
        ),
        (
            "[budget]\nttl = \"2500ms\"\nworst_pause = \"700ms\"\nmax_clock_drift = \"0s\"\n[store]\nurl = \"bounded:\"".to_owned(),
            None,
            None,
            Holds,
            &["granted-ttl: store grants TTLs in steps of 1s: 3s is in force", "clock-drift: store ends a lease by its wall clock"],
        ),
        (
            "[budget]\nttl = \"90s\"\nworst_pause = \"700ms\"\n[store]\nurl = \"bounded:\"".to_owned(),
            None,
            None,
            DoesNotHold,
            &["granted-ttl: store grants no TTL above 60s"],
        ),
    ] {
        let judged = judged(&text, observed, renewals);
        let said = said(&judged);
        assert_eq!(judged.verdict, verdict, "{text}{said}");
        for needle in needles {
            assert!(said.contains(needle), "{needle:?} is missing:\n{text}\n{said}");
        }
    }
}

/// Each store that the plan names has its say.
#[test]
fn stores_ok() {
    let text = format!("{PLAIN}[store]\nurl = \"plain:\"\nalso = [\"bounded:\"]\nstart = [\"etcd:3\"]\n");
    let file: PlanFile = toml::from_str(&text).expect("a plan");
    let subjects = from_plan(&file, Path::new("plan.toml"), &text, &Given::default(), &facts).expect("subjects");
    let margins: Vec<f64> = subjects
        .iter()
        .map(|it| judge(it, None, Demands::default()).margin_ms)
        .collect();
    assert_eq!(margins, [1750.0, 1749.0, 1750.0]);
    assert!(subjects.iter().all(|it| it.name.as_deref() == Some("on store")));
}

#[test]
fn a_file_that_is_not_there_bad() {
    let says = plan::load(Path::new("nope.toml"), str::to_owned)
        .expect_err("no file")
        .to_string();
    assert!(says.contains("the plan nope.toml can't be read"), "{says}");
}
