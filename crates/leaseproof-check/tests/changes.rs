//! Every advised change, followed, makes the check pass; one step less of it does not.
#![cfg(feature = "foreign")]

use leaseproof_check::foreign::{self, Kind};
use leaseproof_check::plan::PlanFile;
use leaseproof_check::report::{Answer, Change, Judged};
use leaseproof_check::{Demands, Given, Measured, from_plan, judge};
use leaseproof_model::store::StoreFacts;
use std::path::Path;
use std::time::Duration;

fn facts(url: &str) -> Result<StoreFacts, String> {
    let kind = url.split(':').next().unwrap_or_default();
    let second = Duration::from_secs(1);
    Ok(StoreFacts {
        early_slack: Duration::from_millis(u64::from(kind == "redis")),
        late_bound: second,
        ttl_floor: (kind == "etcd").then_some(second * 2),
        ttl_ceiling: (kind == "etcd").then_some(second * 9),
        ttl_step: if kind == "etcd" { second } else { Duration::ZERO },
        ..StoreFacts::of(kind)
    })
}

/// One file, and what it is held against.
#[derive(Clone, Debug)]
struct Case {
    kind: Option<Kind>,
    text: String,
    pause: u64,
    observed: Option<u64>,
    renewals: Option<u32>,
}

impl Case {
    fn judged(&self) -> Judged {
        self.try_judged().expect("a plan that can be read")
    }

    /// None where the reader of plans refuses it: a heartbeat that is not below the TTL.
    fn try_judged(&self) -> Option<Judged> {
        let measured = self.observed.map(|pause| Measured {
            pause: Duration::from_millis(pause),
            from: "gc.log:7".to_owned(),
        });
        let given = Given {
            worst_pause: Some(Duration::from_millis(self.pause)).filter(|_| self.kind.is_some()),
            longest_run: Some(Duration::from_secs(20)),
            ..Given::default()
        };
        let subjects = match self.kind {
            Some(_) => foreign::read("f", &self.text, self.kind, &given, &facts).expect(&self.text),
            None => {
                let file: PlanFile = toml::from_str(&self.text).expect(&self.text);
                from_plan(&file, Path::new("plan.toml"), &self.text, &Given::default(), &facts).ok()?
            }
        };
        let demands = Demands {
            renewals: self.renewals,
        };
        Some(judge(&subjects[0], measured.as_ref(), demands))
    }

    fn fails(&self) -> bool {
        self.try_judged()
            .is_none_or(|judged| judged.verdict == Answer::DoesNotHold)
    }

    /// The same with this setting, `key = value` or `key: value`, in the place of its line.
    fn with(&self, setting: &str) -> Self {
        let (key, _) = cut(setting);
        let lines = self.text.lines().map(|line| match cut(line).0 == key {
            true => setting,
            false => line,
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        assert!(text.contains(setting), "{setting} is nowhere in {text}");
        Self { text, ..self.clone() }
    }

    fn with_pause(&self, pause: u64) -> Self {
        let shorter = Self {
            pause: self.pause.min(pause),
            observed: self.observed.map(|seen| seen.min(pause)),
            ..self.clone()
        };
        match self.kind {
            Some(_) => shorter,
            None => shorter.with(&format!("worst_pause = \"{}ms\"", shorter.pause)),
        }
    }

    fn line(&self, key: &str) -> String {
        let mut lines = self.text.lines().filter(|line| cut(line).0 == key);
        lines.next().expect(key).to_owned()
    }
}

/// The key, and what follows it.
fn cut(setting: &str) -> (&str, &str) {
    let end = setting.find([':', '=', ' ']).unwrap_or(setting.len());
    setting.split_at(end)
}

/// The number of a setting in its unit, and what stands before and after it; whole seconds with a unit as milliseconds.
fn number(setting: &str) -> (String, i64, String) {
    let (key, rest) = cut(setting);
    let start = rest.find(|c: char| c.is_ascii_digit()).expect(setting);
    let (before, rest) = rest.split_at(start);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, after) = rest.split_at(end);
    let value: i64 = digits.parse().expect(setting);
    match after.strip_prefix('s') {
        Some(after) => (format!("{key}{before}"), value * 1000, format!("ms{after}")),
        None => (format!("{key}{before}"), value, after.to_owned()),
    }
}

/// The setting one step nearer to what it was.
fn less(setting: &str, was: &str, step: i64) -> String {
    let (before, value, after) = number(setting);
    let was = number(was).1;
    let next = match value > was {
        true => (value - step).max(was),
        false => (value + step).min(was),
    };
    format!("{before}{next}{after}")
}

fn check(case: &Case, change: &Change, step: i64) {
    if change.key == "the pause itself" {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole milliseconds"
        )]
        let to = change.to_ms as u64;
        assert!(!case.with_pause(to).fails(), "{case:?} {change:?}");
        assert!(
            case.with_pause(to + 1).fails(),
            "{case:?} {change:?}: a longer one passes"
        );
        return;
    }
    let settings: Vec<&str> = change.write.split(" and ").collect();
    let all = settings.iter().fold(case.clone(), |case, setting| case.with(setting));
    assert!(
        !all.fails(),
        "{change:?} does not pass: {case:?} {:#?}",
        all.judged().checks
    );
    for setting in &settings {
        let step = if cut(setting).0.eq_ignore_ascii_case("ttl") || case.kind.is_some() {
            step
        } else {
            1
        };
        let less = less(setting, &case.line(cut(setting).0), step);
        assert!(all.with(&less).fails(), "{change:?}: {less} would do: {case:?}");
    }
}

/// Numbers that look like chance, and are the same in each run.
struct Draw(u64);

impl Draw {
    fn of(&mut self, from: u64, to: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        from + (self.0 >> 33) % (to - from + 1)
    }

    fn demand(&mut self) -> Option<u32> {
        [None, None, Some(1), Some(3)][usize::try_from(self.of(0, 3)).expect("small")]
    }
}

/// Judges `many` drawn cases; gives back how many changes were followed.
fn follow(many: u64, step: i64, draw: impl Fn(&mut Draw) -> Case) -> usize {
    let mut followed = 0;
    for seed in 0..many {
        let case = draw(&mut Draw(seed * 7919 + 1));
        let changes = case.try_judged().map_or_else(Vec::new, |judged| judged.changes);
        for change in &changes {
            check(&case, change, step);
            followed += 1;
        }
    }
    followed
}

fn plan(draw: &mut Draw) -> Case {
    let pause = draw.of(1, 3000);
    let mut text = format!(
        "[budget]\nttl = \"{}ms\"\nheartbeat = \"{}ms\"\nrenew_timeout = \"{}ms\"\nworst_pause = \"{pause}ms\"\n[store]\nurl \
         = \"{}:\"\n",
        draw.of(1000, 12_000),
        draw.of(50, 990),
        draw.of(10, 900),
        ["redis", "etcd"][usize::from(draw.of(0, 3) == 0)],
    );
    text.push_str("[connection]\n");
    for key in ["idle_timeout", "pool_max_idle", "user_timeout", "keepalive"] {
        if draw.of(0, 3) == 0 {
            text.push_str(&format!("{key} = \"{}ms\"\n", draw.of(20, 1500)));
        }
    }
    Case {
        kind: None,
        text,
        pause,
        observed: (draw.of(0, 2) == 0).then(|| draw.of(1, 4000)),
        renewals: draw.demand(),
    }
}

#[test]
fn plans_ok() {
    let followed = follow(400, 1, |draw| {
        let mut case = plan(draw);
        // An etcd's TTL goes by seconds: a case of its own below.
        case.text = case.text.replace("etcd:", "redis:");
        case
    });
    assert!(followed > 300, "{followed}");
}

#[test]
fn a_plan_on_a_store_with_steps_ok() {
    let followed = follow(200, 1000, |draw| {
        let mut case = plan(draw);
        case.text = case
            .text
            .replace("redis:", "etcd:")
            .replace("heartbeat = \"", "heartbeat = \"2");
        case.text = case.text.replace("renew_timeout = \"", "renew_timeout = \"1");
        case
    });
    assert!(followed > 50, "{followed}");
}

/// Whether a single setting passes at all, and which value is nearest, by trying every one.
#[test]
fn no_nearer_value_ok() {
    for seed in 0..6 {
        let draw = &mut Draw(seed * 104_729 + 5);
        let (heartbeat, timeout, pause) = (draw.of(40, 120), draw.of(15, 130), draw.of(5, 60));
        let text = format!(
            "[budget]\nttl = \"{}ms\"\nheartbeat = \"{heartbeat}ms\"\nrenew_timeout = \"{timeout}ms\"\nmax_clock_drift = \
             \"5ms\"\nworst_pause = \"{pause}ms\"\n[connection]\npool_max_idle = \"{}ms\"\nidle_timeout = \"{}ms\"\n",
            draw.of(130, 280),
            draw.of(20, 90),
            draw.of(30, 120)
        );
        let case = Case {
            kind: None,
            text,
            pause,
            observed: None,
            renewals: draw.demand(),
        };
        if !case.fails() {
            continue;
        }
        let changes = case.judged().changes;
        for (key, now) in [("heartbeat", heartbeat), ("renew_timeout", timeout)] {
            let nearest = (10..now)
                .rev()
                .chain(now + 1..400)
                .find(|to| !case.with(&format!("{key} = \"{to}ms\"")).fails());
            let advised = changes.iter().find(|change| change.key == key);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "whole milliseconds"
            )]
            let advised = advised.map(|change| change.to_ms as u64);
            assert_eq!(advised, nearest, "{key}: {case:?} {changes:?}");
        }
    }
}

#[test]
fn systems_ok() {
    type Text = fn(&mut Draw) -> String;
    let systems: [(Kind, i64, Text); 8] = [
        (Kind::Redisson, 1, |draw| {
            format!(
                "timeout: {}\nlockWatchdogTimeout: {}\n",
                draw.of(100, 4000),
                draw.of(1000, 9000)
            )
        }),
        (Kind::Kubernetes, 1, |draw| {
            format!(
                "leaseDuration: {}ms\nrenewDeadline: {}ms\nretryPeriod: {}ms\n",
                draw.of(4000, 15_000),
                draw.of(1000, 14_000),
                draw.of(600, 8000)
            )
        }),
        (Kind::Patroni, 1, |draw| {
            format!(
                "ttl: {}\nloop_wait: {}\nretry_timeout: {}\n",
                draw.of(18, 40),
                draw.of(1, 20),
                draw.of(2, 15)
            )
        }),
        (Kind::Redbeat, 1, |draw| {
            format!(
                "redbeat_lock_timeout = {}\nbeat_max_loop_interval = {}\n",
                draw.of(5, 60),
                draw.of(1, 90)
            )
        }),
        (Kind::ShedLock, 1, |draw| {
            format!("lockAtMostFor = \"PT{}S\"\n", draw.of(5, 30))
        }),
        (Kind::ConsulSession, 1000, |draw| {
            format!("TTL: {}s\nLockDelay: 15s\n", draw.of(5, 20))
        }),
        (Kind::EtcdSession, 1, |draw| format!("ttl = {}\n", draw.of(1, 8))),
        (Kind::ZooKeeper, 2000, |draw| {
            format!("tickTime: 2000\nsessionTimeout: {}\n", draw.of(1, 12) * 2000)
        }),
    ];
    for (kind, step, text) in systems {
        let followed = follow(60, step, |draw| Case {
            kind: Some(kind),
            text: text(draw),
            pause: draw.of(1, 9000),
            observed: None,
            renewals: draw.demand(),
        });
        assert!(followed > 15, "{kind:?}: {followed}");
    }
}
