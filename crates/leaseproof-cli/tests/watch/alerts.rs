//! A flawed owner and a sound one are paused past their TTL: the alert fires for the flawed one, after its
//! thaw and not before, and never for the sound one. The ten-minute version is `cargo xtask watch soak`.

use crate::etcd_server::EtcdServer;
use crate::postgres_server::PostgresServer;
use crate::prometheus::{Prometheus, program};
use crate::redis_server::{self, RedisServer};
use crate::rig::{PROGRAM, Rig, until};
use rustix::process::Signal;
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Stdio};

#[test]
fn the_alert_fires_for_the_flawed_owner_alone_on_sqlite() {
    alert_fires("the_alert_fires_for_the_flawed_owner_alone_on_sqlite", None);
}

#[test]
fn the_alert_fires_for_the_flawed_owner_alone_on_redis() {
    let test = "the_alert_fires_for_the_flawed_owner_alone_on_redis";
    match RedisServer::start() {
        Ok(server) => alert_fires(test, Some(&server.url())),
        Err(why) => redis_server::skip(test, &why),
    }
}

/// There a grant ends by the server's own clock and log, and the divergence is no matter of one file.
#[test]
fn the_alert_fires_for_the_flawed_owner_alone_on_etcd() {
    let test = "the_alert_fires_for_the_flawed_owner_alone_on_etcd";
    match EtcdServer::start() {
        Ok(server) => alert_fires(test, Some(&server.url())),
        Err(why) => redis_server::skip(test, &why),
    }
}

#[test]
fn the_alert_fires_for_the_flawed_owner_alone_on_postgres() {
    let test = "the_alert_fires_for_the_flawed_owner_alone_on_postgres";
    match PostgresServer::start() {
        Ok(server) => alert_fires(test, Some(&server.url())),
        Err(why) => redis_server::skip(test, &why),
    }
}

fn rules(plan: &std::path::Path) -> String {
    let output = Command::new(PROGRAM).arg("watch").arg(plan).arg("--rules").output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

fn alert_fires(test: &str, store: Option<&str>) {
    if program("LEASEPROOF_PROMETHEUS", "prometheus").is_none() {
        return redis_server::skip(test, "no prometheus here");
    }
    let rig = Rig::new(store);
    let flawed = rig.owner("flawed", &["--flaw", "silent-retain"]);
    let sound = rig.owner("sound", &[]);
    let plan = rig.plan(&["flawed", "sound"]);
    let monitor = rig.monitor(&plan);
    let prometheus = Prometheus::start(rig.path(), &monitor.address, &rules(&plan)).expect("it was there");
    for lease in ["flawed", "sound"] {
        until("both sides are seen", || {
            let held = prometheus.series("held", lease)?;
            let known = prometheus.series("belief_known", lease)?;
            (held == 1.0 && known == 1.0).then_some(())
        });
    }
    flawed.signal(Signal::STOP);
    sound.signal(Signal::STOP);
    for lease in ["flawed", "sound"] {
        until("the lease ends, and the belief is not known", || {
            let held = prometheus.series("held", lease)?;
            let known = prometheus.series("belief_known", lease)?;
            (held == 0.0 && known == 0.0).then_some(())
        });
        // Unknown: there is no sample, and nothing to alert on.
        assert_eq!(prometheus.series("divergence_worst_seconds", lease), Some(0.0));
    }
    assert_eq!(prometheus.firing("LeaseDivergence"), Vec::<String>::new());
    flawed.signal(Signal::CONT);
    sound.signal(Signal::CONT);
    until("the alert fires", || {
        let firing = prometheus.firing("LeaseDivergence");
        firing.contains(&"flawed".to_owned()).then_some(())
    });
    until("the sound owner holds again", || {
        let held = prometheus.series("held", "sound")?;
        let holds = prometheus.series("belief_holds", "sound")?;
        (held == 1.0 && holds == 1.0).then_some(())
    });
    assert_eq!(prometheus.firing("LeaseDivergence"), ["flawed"]);
    assert_eq!(prometheus.series("divergence_worst_seconds", "sound"), Some(0.0));
    let (status, lines) = monitor.end();
    assert_eq!(status.code(), Some(1), "{lines:#?}");
    let told: Vec<_> = lines.iter().filter(|line| line.contains("DIVERGED")).collect();
    assert!(told.iter().all(|line| line.contains("jobs/flawed")), "{lines:#?}");
    assert!(!told.is_empty(), "{lines:#?}");
    // Both let their leases lapse, and that is told of both.
    for lease in ["jobs/flawed", "jobs/sound"] {
        let lapsed = |line: &&String| line.contains("LAPSED") && line.contains(lease);
        assert!(lines.iter().any(|line| lapsed(&line)), "{lease}: {lines:#?}");
    }
}

#[test]
fn promtool_accepts_the_rules_and_the_pages() {
    let test = "promtool_accepts_the_rules_and_the_pages";
    let Some(promtool) = program("LEASEPROOF_PROMTOOL", "promtool") else {
        return redis_server::skip(test, "no promtool here");
    };
    let rig = Rig::new(None);
    let owner = rig.owner("sound", &[]);
    let plan = rig.plan(&["sound"]);
    let file = rig.path().join("rules.yml");
    std::fs::write(&file, rules(&plan)).expect("a file");
    let output = Command::new(&promtool).args(["check", "rules"]).arg(&file).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{output:?}");
    // What the dashboard asks is understood, too: as rules that only record.
    let output = Command::new(PROGRAM)
        .args(["watch", "--dashboard"])
        .output()
        .expect("it runs");
    let dashboard: Value = serde_json::from_slice(&output.stdout).expect("a JSON document");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().expect("targets"));
    let records = targets
        .enumerate()
        .map(|(at, target)| format!("      - {{ record: 'x{at}', expr: {} }}\n", target["expr"]));
    let text = "groups:\n  - name: x\n    rules:\n".to_owned() + &records.collect::<String>();
    std::fs::write(&file, &text).expect("a file");
    let output = Command::new(&promtool).args(["check", "rules"]).arg(&file).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{output:?}\n{text}");
    let monitor = rig.monitor(&plan);
    until("a round", || {
        monitor.series("leaseproof_watch_last_round_timestamp_seconds")
    });
    accepts(&promtool, &monitor.page());
    drop(monitor);
    drop(owner);
    // The verdict of a run that is over at once.
    let prom = rig.path().join("leaseproof.prom");
    let quick = "--ttl 1s --heartbeat 250ms --worst-pause 400ms --renew-timeout 150ms --cycles 1 --quiet \
                 --scenario clean-release";
    let output = Command::new(PROGRAM)
        .arg("verify")
        .args(quick.split_whitespace())
        .arg("--metrics")
        .arg(&prom)
        .current_dir(rig.path())
        .output()
        .expect("it runs");
    let text = std::fs::read_to_string(&prom).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let verdict = format!(
        "\nleaseproof_verify_verdict {}\n",
        output.status.code().expect("it exits")
    );
    assert!(text.contains(&verdict), "{text}");
    assert!(text.contains("leaseproof_verify_scenario_verdict{scenario=\"clean-release\",store=\"sqlite\"}"));
    let left: Vec<_> = std::fs::read_dir(rig.path())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains(".part"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
    accepts(&promtool, &text);
}

/// The rule about rounds that are missed, on series that are made up: more missed than made, and fewer.
#[test]
fn promtool_fires_for_a_monitor_that_is_late_alone() {
    let Some(promtool) = program("LEASEPROOF_PROMTOOL", "promtool") else {
        return redis_server::skip("promtool_fires_for_a_monitor_that_is_late_alone", "no promtool here");
    };
    let rig = Rig::new(None);
    std::fs::write(rig.path().join("rules.yml"), rules(&rig.plan(&["sound"]))).expect("a file");
    for (missed, fires) in [(0, false), (30, false), (90, true)] {
        let expected = match fires {
            true => {
                "\n          - exp_labels: { severity: warning }\n            exp_annotations:\n              summary: the lease \
                 monitor makes fewer than half of the rounds that are due\n              description: 'Rounds take longer than \
                 the interval: raise it, watch fewer leases, or give the monitor and the store more CPU.'"
            }
            false => " []",
        };
        let text = format!(
            "rule_files: [rules.yml]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n      - {{ series: \
             leaseproof_watch_rounds_total, values: '0+60x10' }}\n      - {{ series: leaseproof_watch_rounds_missed_total, \
             values: '0+{missed}x10' }}\n    alert_rule_test:\n      - eval_time: 8m\n        alertname: \
             LeaseMonitorLate\n        exp_alerts:{expected}\n"
        );
        let file = rig.path().join("late.yml");
        std::fs::write(&file, &text).expect("a file");
        let output = Command::new(&promtool).args(["test", "rules"]).arg(&file).output();
        let output = output.expect("it runs");
        assert!(output.status.success(), "{missed}: {output:?}\n{text}");
    }
}

/// The rule about a TTL that is not the plan's, on series that are made up: for a minute, and no sample is no alert.
#[test]
fn promtool_fires_for_a_ttl_that_differs_alone() {
    let Some(promtool) = program("LEASEPROOF_PROMTOOL", "promtool") else {
        return redis_server::skip("promtool_fires_for_a_ttl_that_differs_alone", "no promtool here");
    };
    let rig = Rig::new(None);
    std::fs::write(rig.path().join("rules.yml"), rules(&rig.plan(&["sound"]))).expect("a file");
    for (values, fires) in [("0x10", false), ("_x10", false), ("0x6 1x2 0x2", false), ("1x10", true)] {
        let expected = match fires {
            true => {
                "\n          - exp_labels: { severity: warning, lease: sound }\n            exp_annotations:\n              \
                 summary: \"sound: the TTL in force is not the plan's\"\n              description: \"What the plan's margin \
                 bears is not what this lease bears. Correct the owner's TTL or the plan: LP022.\""
            }
            false => " []",
        };
        let text = format!(
            "rule_files: [rules.yml]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n      - {{ series: \
             'leaseproof_watch_ttl_differs{{lease=\"sound\"}}', values: '{values}' }}\n    alert_rule_test:\n      - \
             eval_time: 10m\n        alertname: LeaseTtlDiffers\n        exp_alerts:{expected}\n"
        );
        let file = rig.path().join("differs.yml");
        std::fs::write(&file, &text).expect("a file");
        let output = Command::new(&promtool).args(["test", "rules"]).arg(&file).output();
        let output = output.expect("it runs");
        assert!(output.status.success(), "{values}: {output:?}\n{text}");
    }
}

fn accepts(promtool: &str, page: &str) {
    let mut child = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(page.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}\n{page}");
}
