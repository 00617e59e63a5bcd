//! What is missing, what would decide most first, each with the exact read-only command that gets it.

use crate::story::Story;
use crate::story::stop::{How, Who};
use leaseproof_evidence::clock::{Aligned, Basis};
use leaseproof_evidence::record::SourceKind;
use leaseproof_model::diagnosis::{Breach, Cause, Confidence, Missing};

/// What is missing.
#[must_use]
pub fn missing(story: &Story<'_>, breach: &Breach, causes: &[Cause]) -> Vec<Missing> {
    let mut missing = Vec::new();
    let mut add = |what: &str, how: String| {
        missing.push(Missing {
            what: what.to_owned(),
            how,
        });
    };
    let key = story.keys.asked.as_deref().unwrap_or("KEY");
    let has = |kind: SourceKind| story.of(kind).next().is_some();
    if breach.covered.store.is_empty() {
        for (what, how) in store_commands(story, key) {
            add(what, how);
        }
    }
    if !has(SourceKind::Owner) {
        add(
            "what each owner believed: acquired, renewed, lost, its writes",
            "journalctl -u SERVICE -o json --since '1 hour ago' > owner.json      # or: kubectl logs POD --timestamps, docker logs -t NAME".to_owned(),
        );
    }
    let explained = causes.iter().any(|cause| {
        cause.confidence == Confidence::Certain
            && cause.boundary != leaseproof_model::diagnosis::Boundary::Configuration
    });
    let unsure_stop = story
        .stops
        .iter()
        .any(|stop| stop.who != Who::Store && matches!(stop.how, How::Gap { .. } | How::WokeLate { .. }))
        || causes.iter().any(|cause| cause.id == "stopped-inside-collection");
    let outside = story.stops.iter().any(crate::story::stop::Stop::is_from_outside);
    if unsure_stop && !outside {
        add(
            "who stopped the process: the container engine's and the kernel's own records of that span",
            "docker events --since 1h --until 0s --format '{{json .}}' > docker-events.jsonl; journalctl -k -o json --since '1 hour ago' > kernel.json; \
             cat /sys/fs/cgroup/GROUP/cgroup.events /sys/fs/cgroup/GROUP/cgroup.stat.local /sys/fs/cgroup/GROUP/cpu.stat"
                .to_owned(),
        );
    }
    if !explained && !has(SourceKind::Runtime) {
        add(
            "whether the runtime stopped the program itself",
            "jcmd PID VM.log list        # names the file of the collector's log; for the next time: -Xlog:gc*,safepoint:file=gc.log:time,uptime,pid".to_owned(),
        );
    }
    if !has(SourceKind::Resource) {
        add(
            "which writes the resource took, with which token and when: nothing else proves harm, or its absence",
            "the access log of the resource or of the proxy before it, for the span of the incident".to_owned(),
        );
    }
    if !explained && !has(SourceKind::Network) {
        add(
            "whether the connection to the store lived (on the owner's host; only while it still does)",
            "ss -tinop state established > sockets.txt".to_owned(),
        );
    }
    clocks(story, &mut missing);
    if story.numbers.heartbeat.is_none() || story.numbers.ttl.is_none() {
        missing.push(Missing {
            what: "the numbers: TTL, heartbeat, renewal time-out, worst pause".to_owned(),
            how: "leaseproof diagnose FILES… --plan leaseproof.toml".to_owned(),
        });
    }
    missing
}

/// The store's own view, by the store that the files speak of.
fn store_commands(story: &Story<'_>, key: &str) -> Vec<(&'static str, String)> {
    let formats: Vec<String> = story
        .evidence
        .files
        .iter()
        .flat_map(|file| file.formats.keys().map(|it| it.to_ascii_lowercase()))
        .collect();
    let speaks = |word: &str| {
        formats.iter().any(|format| format.contains(word))
            || story.evidence.files.iter().any(|file| file.name.contains(word))
    };
    let what = "whom the store granted the lease, and when that ended: before anybody restarts anything";
    let mut commands = Vec::new();
    if speaks("redis") || speaks("redlock") || speaks("redisson") {
        commands.push((what, "cp -r $(redis-cli CONFIG GET dir | tail -1)/appendonlydir appendonlydir     # PXAT deadlines; needs appendonly yes".to_owned()));
        commands.push(("the lease as it is now", format!("redis-cli GET {key}; redis-cli PEXPIRETIME {key}; redis-cli INFO replication; redis-cli CONFIG GET slowlog-log-slower-than")));
    }
    if speaks("zookeeper") || speaks("curator") || speaks("kazoo") {
        commands.push((what, "grep -E 'Expiring session|Established session|Invalid session|Detected pause' zookeeper.log > zk-sessions.log".to_owned()));
        commands.push((
            "the sessions as they are now",
            "echo dump | nc HOST 2181; echo cons | nc HOST 2181; echo mntr | nc HOST 2181".to_owned(),
        ));
    }
    if speaks("etcd") {
        commands.push((what, format!("etcdctl get {key} --prefix -w json; etcdctl watch {key} --prefix --rev REVISION -w json     # from a revision before the incident")));
    }
    if speaks("consul") {
        commands.push((
            what,
            format!("curl -s http://127.0.0.1:8500/v1/kv/{key}; curl -s http://127.0.0.1:8500/v1/session/list"),
        ));
    }
    if commands.is_empty() {
        commands.push((what, format!("leaseproof inspect URL {key} --save incident")));
    }
    commands
}

fn clocks(story: &Story<'_>, missing: &mut Vec<Missing>) {
    let assumed: Vec<String> = story
        .evidence
        .files
        .iter()
        .filter(|file| {
            file.stamps.is_some() && (file.clock.zone == Basis::Assumed || file.clock.year == Basis::Assumed)
        })
        .map(|file| file.name.to_string())
        .collect();
    if !assumed.is_empty() {
        missing.push(Missing {
            what: format!("the zone of the stamps in {}", assumed.join(", ")),
            how: "date +%Z on that host, then --tz".to_owned(),
        });
    }
    let loose: Vec<String> = story
        .evidence
        .files
        .iter()
        .filter(|file| file.stamps.is_some() && file.clock.aligned == Aligned::Not)
        .map(|file| file.name.to_string())
        .collect();
    if !loose.is_empty() {
        missing.push(Missing {
            what: format!("when the process began, which dates {}", loose.join(", ")),
            how: "ps -o lstart= -p PID      # while it still lives; or its first line in the service's log".to_owned(),
        });
    }
    let hosts: std::collections::BTreeSet<&str> = story
        .evidence
        .files
        .iter()
        .filter_map(|file| file.clock.host.as_deref())
        .collect();
    if hosts.len() > 1 && story.timeline.offsets.is_empty() {
        missing.push(Missing {
            what: "how far the hosts' clocks are apart".to_owned(),
            how: "chronyc tracking      # on each host; or --offset HOST=+12ms±3ms".to_owned(),
        });
    }
}
