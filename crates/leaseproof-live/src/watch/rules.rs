//! The alert rules for Prometheus, with the plan's numbers in them: `watch --rules`.

use leaseproof_model::budget::Budget;
use std::fmt::Write as _;
use std::time::Duration;

/// What the rules depend on.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct RuleNumbers {
    /// The plan's budget.
    pub budget: Budget,
    /// How often each lease is read.
    pub interval: Duration,
    /// From which share of the TTL on a divergence is an alert.
    pub alert_share: f64,
}

struct Alert {
    name: &'static str,
    expr: String,
    hold: &'static str,
    severity: &'static str,
    summary: &'static str,
    todo: &'static str,
}

/// The rules as a file of Prometheus.
#[must_use]
pub fn render(numbers: &RuleNumbers) -> String {
    let mut text =
        "# Made by `leaseproof watch --rules`; the numbers are those of the plan. METRICS.md explains each.\n\
                    groups:\n"
            .to_owned();
    for (group, alerts) in [("leaseproof-watch", watch(numbers)), ("leaseproof-verify", verify())] {
        // Writing to a String can't fail.
        let _ = writeln!(text, "  - name: {group}\n    rules:");
        for alert in alerts {
            let _ = writeln!(
                text,
                "      - alert: {}\n        expr: {}\n        for: {}\n        labels:\n          severity: {}\n        \
                 annotations:\n          summary: {}\n          description: {}",
                alert.name,
                quoted(&alert.expr),
                alert.hold,
                alert.severity,
                quoted(alert.summary),
                quoted(alert.todo),
            );
        }
    }
    text
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A number of seconds as people write it: doubles have digits that nobody meant.
fn plain(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}

fn watch(numbers: &RuleNumbers) -> Vec<Alert> {
    let budget = &numbers.budget;
    let diverged = budget.ttl.as_secs_f64() * numbers.alert_share;
    let overdue = (budget.heartbeat * 2 + budget.renew_timeout).as_secs_f64();
    let silent = (numbers.interval * 10).max(Duration::from_secs(15)).as_secs_f64();
    let blind = (numbers.interval * 5).max(Duration::from_secs(5)).as_secs_f64();
    let alert = |name, expr: String, hold, severity, summary, todo| Alert {
        name,
        expr,
        hold,
        severity,
        summary,
        todo,
    };
    vec![
        alert(
            "LeaseDivergence",
            format!("leaseproof_watch_divergence_worst_seconds > {}", plain(diverged)),
            "0s",
            "critical",
            "{{ $labels.lease }}: the owner believed to hold the lease {{ $value | humanizeDuration }} after it had ended",
            "Two owners may act at once. Stop the owner, then run leaseproof verify on it: silent-retention (LP004).",
        ),
        alert(
            "LeaseFenceWentBack",
            "increase(leaseproof_watch_fence_back_total[10m]) > 0".to_owned(),
            "0s",
            "critical",
            "{{ $labels.lease }}: a grant has a token that is not greater than an earlier one",
            "The resource can't tell old writes from new ones. Was the store restored, flushed or failed over? LP003.",
        ),
        alert(
            "LeaseWithoutTtl",
            "leaseproof_watch_without_ttl == 1".to_owned(),
            "30s",
            "critical",
            "{{ $labels.lease }}: the lease is held and never ends by itself",
            "If its owner dies nobody gets it any more. Acquire with a TTL in one step (LP012).",
        ),
        alert(
            "LeaseMarginGone",
            "leaseproof_watch_margin_used_worst_ratio >= 1 or increase(leaseproof_watch_lapses_total[5m]) > 0"
                .to_owned(),
            "0s",
            "critical",
            "{{ $labels.lease }}: no renewal for longer than the budget's margin bears",
            "The owner was paused, or its renewals were lost, for longer than the plan allows. LP007.",
        ),
        alert(
            "LeaseMarginHalfUsed",
            "leaseproof_watch_margin_used_worst_ratio > 0.5".to_owned(),
            "0s",
            "warning",
            "{{ $labels.lease }}: {{ $value | humanizePercentage }} of the margin was used without a renewal",
            "The next pause of this length and a little more loses the lease. Look at pauses, throttling, the network.",
        ),
        alert(
            "LeaseTtlDiffers",
            "leaseproof_watch_ttl_differs == 1".to_owned(),
            "1m",
            "warning",
            "{{ $labels.lease }}: the TTL in force is not the plan's",
            "What the plan's margin bears is not what this lease bears. Correct the owner's TTL or the plan: LP022.",
        ),
        alert(
            "LeaseNotRenewed",
            format!("leaseproof_watch_renewal_age_seconds > {}", plain(overdue)),
            "0s",
            "warning",
            "{{ $labels.lease }}: two heartbeats and more without a renewal",
            "Is the owner running? Does it reach the store? leaseproof inspect shows both sides.",
        ),
        alert(
            "LeaseFree",
            "leaseproof_watch_held == 0".to_owned(),
            "1m",
            "warning",
            "{{ $labels.lease }}: nobody holds the lease",
            "No owner runs, or none reaches the store. Where a lease is taken only now and then, silence this alert.",
        ),
        alert(
            "LeaseHeldByBeliefAlone",
            "leaseproof_watch_belief_holds == 1 and leaseproof_watch_held == 0".to_owned(),
            // An acquisition between two readings looks like this until the second of them.
            "2m",
            "critical",
            "{{ $labels.lease }}: the owner believes to hold the lease, and the store shows nobody",
            "Nobody knows since when: stop the owner before another acquires. Or the plan names another key than the owner's.",
        ),
        alert(
            "LeaseBeliefUnknown",
            "leaseproof_watch_belief_known == 0".to_owned(),
            "2m",
            "warning",
            "{{ $labels.lease }}: what the owner believes can't be read",
            "A paused owner says nothing; a wrong address or file says nothing either. Until then divergence is unknown.",
        ),
        alert(
            "LeaseUnreadable",
            "leaseproof_watch_unreadable == 1".to_owned(),
            "1m",
            "warning",
            "{{ $labels.lease }}: the key can't be read as a lease",
            "Another program uses the key, the plan names the wrong one, or this user may not read it.",
        ),
        alert(
            "LeaseStoreUnreachable",
            "leaseproof_watch_store_up == 0".to_owned(),
            "15s",
            "critical",
            "the monitor can't read the store",
            "If the owners can't either, they lose their leases within one TTL. Or it answers, and this user may look no more.",
        ),
        alert(
            "LeaseStoreIsReplica",
            "leaseproof_watch_store_may_be_behind == 1".to_owned(),
            "1m",
            "warning",
            "the monitor reads a replica, which may be behind",
            "Give watch the URL of the primary: a replica shows grants that are over, and not yet those that are there.",
        ),
        alert(
            "LeaseStoreClockStepped",
            "increase(leaseproof_watch_store_clock_steps_total[10m]) > 0".to_owned(),
            "0s",
            "warning",
            "the store's clock stepped, and with it the end of every lease",
            "Let its clock be slewed, never stepped (LP018).",
        ),
        alert(
            "LeaseMonitorBlind",
            format!(
                "time() - leaseproof_watch_last_round_timestamp_seconds > {} or \
                 increase(leaseproof_watch_blind_seconds_total[5m]) > {}",
                plain(silent),
                plain(blind)
            ),
            "0s",
            "critical",
            "the lease monitor did not look",
            "It was paused, starved or can't reach the store: nothing is known about the leases from that time.",
        ),
        alert(
            "LeaseMonitorLate",
            "increase(leaseproof_watch_rounds_missed_total[5m]) > increase(leaseproof_watch_rounds_total[5m])"
                .to_owned(),
            "0s",
            "warning",
            "the lease monitor makes fewer than half of the rounds that are due",
            "Rounds take longer than the interval: raise it, watch fewer leases, or give the monitor and the store more CPU.",
        ),
        alert(
            "LeaseMonitorGone",
            "absent(leaseproof_watch_rounds_total)".to_owned(),
            "1m",
            "critical",
            "the lease monitor is not scraped",
            "Start it, or correct the scrape configuration: silence is no good news.",
        ),
        alert(
            "LeasesLeftOut",
            "leaseproof_watch_leases_left_out > 0".to_owned(),
            "5m",
            "warning",
            "{{ $value }} leases or more are not under watch",
            "Raise max in the plan, or name the leases that matter.",
        ),
    ]
}

/// About the periodic pause test, where its metrics are collected (`verify --metrics FILE`).
fn verify() -> Vec<Alert> {
    let alert = |name, expr: &str, severity, summary, todo| Alert {
        name,
        expr: expr.to_owned(),
        hold: "0s",
        severity,
        summary,
        todo,
    };
    vec![
        alert(
            "LeasePauseTestViolated",
            "leaseproof_verify_verdict == 1",
            "critical",
            "the periodic pause test shows a violation",
            "leaseproof_verify_findings names the rules; leaseproof explain CODE says what to do.",
        ),
        alert(
            "LeasePauseTestCannotTell",
            "leaseproof_verify_verdict == 3",
            "warning",
            "the periodic pause test could not tell",
            "Its report names the premise that was missing.",
        ),
        alert(
            "LeasePauseTestStale",
            "time() - leaseproof_verify_finished_timestamp_seconds > 2 * 86400",
            "warning",
            "the periodic pause test has not run for two days",
            "Look at its timer or CronJob.",
        ),
    ]
}
