//! What a server that did not start said last that tells why: not its stack, and not what it says each time.

use serde_json::Value;

/// What the system itself says: it is the cause, whoever passed it on.
const CAUSES: [&str; 7] = [
    "no space left on device",
    "permission denied",
    "read-only file system",
    "disk quota exceeded",
    "operation not permitted",
    "input/output error",
    "address already in use",
];

/// The words of a server that gives up.
const GIVES_UP: [&str; 8] = [
    "panic:",
    "fatal",
    "error",
    "failed",
    "could not",
    "cannot",
    "can't",
    "exception",
];

/// More of one line is nothing that people read.
const LONGEST: usize = 400;

/// The last line of a log that tells why, or its last three; nothing of an empty one.
pub(super) fn of_log(log: &str) -> Option<String> {
    // What follows is the stack, to the end.
    let told = log.split("\ngoroutine ").next().unwrap_or(log);
    let lines: Vec<String> = told
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("at ") && !line.starts_with("... "))
        .map(plain)
        .collect();
    let last_with = |words: &[&str]| {
        lines.iter().rfind(|line| {
            let line = line.to_lowercase();
            words.iter().any(|word| line.contains(word))
        })
    };
    let why = last_with(&CAUSES).or_else(|| last_with(&GIVES_UP)).cloned();
    let words = why.unwrap_or_else(|| lines[lines.len().saturating_sub(3)..].join(" | "));
    let short: String = words.chars().take(LONGEST).collect();
    (!short.is_empty()).then_some(short)
}

/// What to do about it, where that is known.
pub(super) fn remedy(words: &str) -> &'static str {
    let words = words.to_lowercase();
    let of_folder = ["no space left", "permission denied", "read-only file", "quota"];
    match of_folder.iter().any(|it| words.contains(it)) {
        true => "\n  its data lie in the run's folder: make room there, or name another with --out DIR",
        false => "",
    }
}

/// A line of JSON as its message and its error.
fn plain(line: &str) -> String {
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(line) else {
        return line.to_owned();
    };
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let told: Vec<&str> = [text("msg"), text("error")].into_iter().flatten().collect();
    match told.is_empty() {
        true => line.to_owned(),
        false => told.join(": "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ends of real logs, of servers that started on a full disk.
    #[test]
    fn the_cause_ok() {
        for (log, why) in [
            (
                "2026-11-30 14:21:41.641515 I | embed: advertise client URLs = http://127.0.0.1:39011\n\
                 2026-11-30 14:21:41.642135 C | etcdserver: create wal error: no space left on device\n\
                 panic: create wal error: no space left on device\n\ngoroutine 1 [running]:\n\
                 github.com/coreos/pkg/capnslog.(*PackageLogger).Panicf(0x0?, {0x102c2dd?, 0x1a?})\n\
                 \tgithub.com/coreos/pkg/capnslog/pkg_logger.go:83 +0xbb\nmain.main()\n\
                 \tgo.etcd.io/etcd/main.go:28 +0x17\n",
                "panic: create wal error: no space left on device",
            ),
            (
                "2026-11-30T14:21:41.784Z [ERROR] agent: Error starting agent: error=\"Failed to start Raft: write \
                 /tmp/raft.db: no space left on device\"\n2026-11-30T14:21:41.784Z [INFO]  agent: Exit code: code=1\n",
                "2026-11-30T14:21:41.784Z [ERROR] agent: Error starting agent: error=\"Failed to start Raft: write \
                 /tmp/raft.db: no space left on device\"",
            ),
            (
                "{\"level\":\"info\",\"msg\":\"opened\"}\n{\"level\":\"fatal\",\"msg\":\"discovery failed\",\
                 \"error\":\"mkdir /data: permission denied\",\"stacktrace\":\"go.etcd.io/etcd/main.go:40\"}\n",
                "discovery failed: mkdir /data: permission denied",
            ),
            (
                "java.io.IOException: No space left on device\n\tat java.base/java.io.FileOutputStream.write\n\
                 \t... 5 more\nUnexpected exception, exiting abnormally\n",
                "java.io.IOException: No space left on device",
            ),
            (
                "FATAL:  lock file exists\nHINT:  Is another running?\n",
                "FATAL:  lock file exists",
            ),
            ("one\ntwo\nthree\nfour\n", "two | three | four"),
        ] {
            assert_eq!(of_log(log).as_deref(), Some(why));
        }
        assert_eq!(of_log("\n"), None);
    }

    #[test]
    fn a_full_disk_has_a_remedy() {
        assert!(remedy("panic: create wal error: no space left on device").contains("--out DIR"));
        assert_eq!(remedy("FATAL: lock file exists"), "");
    }
}
