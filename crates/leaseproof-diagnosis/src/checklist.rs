//! The first ten minutes of an incident, where there are no files yet: what to get first, and why.

/// One step.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The question that a person can answer.
    pub ask: &'static str,
    /// What to do: read-only.
    pub get: &'static [&'static str],
    /// Why now.
    pub why: &'static str,
}

/// The steps, in order: what is lost first comes first.
pub const STEPS: &[Step] = &[
    Step {
        ask: "Is the lease still in use, or contended right now?",
        get: &["leaseproof inspect URL KEY --save incident"],
        why: "the store's view is gone with the next restart; nothing else shows who was granted what",
    },
    Step {
        ask: "Does the suspected owner's process still live?",
        get: &[
            "leaseproof inspect URL KEY --owner-pid PID      # on its host: stopped, frozen, throttled?",
            "cat /proc/PID/status /proc/PID/wchan; cat /proc/PID/cgroup",
            "ss -tinop | grep -A1 PID > sockets.txt",
        ],
        why: "a stopped process shows it only while it is stopped, and its sockets go with it",
    },
    Step {
        ask: "Does it run in a container?",
        get: &[
            "docker events --since 1h --until 0s --format '{{json .}}' > docker-events.jsonl",
            "kubectl get events -A -o json > events.json; kubectl logs POD --timestamps > owner.log",
            "cat /sys/fs/cgroup/GROUP/{cgroup.events,cgroup.stat.local,cpu.stat,memory.events}",
        ],
        why: "pauses, kills and throttling are told only there, and the engine forgets them",
    },
    Step {
        ask: "Which store is it, and did it move?",
        get: &[
            "redis: cp -r …/appendonlydir .; redis-cli INFO > info.txt; cp redis.log sentinel.log .; redis-cli CONFIG GET slowlog-log-slower-than",
            "etcd: etcdctl endpoint status -w json --cluster; etcdctl watch KEY --prefix --rev REVISION -w json; journalctl -u etcd -o json",
            "ZooKeeper: the server's log; echo cons | nc HOST 2181; echo dump | nc HOST 2181",
            "Consul: curl -s …/v1/kv/KEY; curl -s …/v1/session/list; the agent's log",
        ],
        why: "a failover, a restart or a store that stood still looks like an owner's fault in the owner's log",
    },
    Step {
        ask: "Has the owner a runtime with a log of its own?",
        get: &[
            "the GC and safepoint log, with time stamps: gc.log and its rotated parts",
            "GODEBUG=gctrace=1 or --trace-gc output, if it was on",
        ],
        why: "the most common suspect, and the most common false one",
    },
    Step {
        ask: "Which writes did the resource take?",
        get: &["its own log with the tokens, or the access log of the proxy before it"],
        why: "nothing else proves harm, or its absence",
    },
    Step {
        ask: "Can the hosts' clocks be compared?",
        get: &[
            "chronyc tracking > chronyc-HOST.txt; journalctl -o json -u chronyd -k > clock.json      # on each host",
        ],
        why: "without it, two lines of two hosts have no order",
    },
];

/// What is tempting now, and wrong.
pub const NOT_YET: &[&str] = &[
    "restart anything before the store's view is saved",
    "raise the TTL",
    "delete the lock",
    "believe an owner's \"renewed\" or \"released\" without the store's record",
    "take the slow log's silence as proof that nobody renewed",
    "capture packets of a process that is stopped",
];
