//! Expressions of the plan for logs that nothing else reads.

use super::{out, run};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Two owners and a resource whose words are nobody else's.
fn write_logs(dir: &Path) {
    let a = "2026-11-30T10:00:00.000Z [a] Spindel gekapert #1\n\
             2026-11-30T10:00:01.000Z [a] Spindel noch mein\n\
             2026-11-30T10:00:09.000Z [a] Spindel futsch: zu spaet\n";
    let b = "2026-11-30T10:00:05.000Z [b] Spindel gekapert #2\n2026-11-30T10:00:06.000Z [b] Spindel noch mein\n";
    let resource = "2026-11-30T10:00:00.500Z PUT /spindel fence=1 -> 200\n\
                    2026-11-30T10:00:05.500Z PUT /spindel fence=2 -> 200\n\
                    2026-11-30T10:00:08.000Z PUT /spindel fence=1 -> 200\n\
                    2026-11-30T10:00:08.500Z PUT /spindel fence=1 -> 409\n";
    for (name, text) in [("worker-a.log", a), ("worker-b.log", b), ("store.log", resource)] {
        fs::write(dir.join(name), text).unwrap();
    }
}

const OWNER: &str = r"[diagnose.owner]
acquired = 'gekapert #(?P<token>\d+)'
renewed = 'noch mein'
lost = 'futsch: (?P<reason>.*)'
";

fn diagnosis(dir: &Path, plan: &str) -> Value {
    fs::write(dir.join("leaseproof.toml"), plan).unwrap();
    let args = [
        "diagnose",
        "worker-a.log",
        "worker-b.log",
        "store.log",
        "--plan",
        "leaseproof.toml",
        "--json",
    ];
    let output = run(dir, &args, "");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

fn rules(document: &Value) -> Vec<&str> {
    let broken = document["breach"]["broken"].as_array().unwrap();
    broken.iter().filter_map(|it| it["rule"].as_str()).collect()
}

#[test]
fn a_log_in_its_own_words_is_read_ok() {
    let dir = tempfile::tempdir().unwrap();
    write_logs(dir.path());
    let resource = r"[diagnose.resource]
write = 'fence=(?P<token>\d+) -> (?P<status>\d+)'
";
    let document = diagnosis(dir.path(), &format!("{OWNER}{resource}"));
    assert!(rules(&document).contains(&"LP002"), "{document}");
    let broken = document["breach"]["broken"].as_array().unwrap();
    let stale = broken.iter().find(|it| it["rule"] == "LP002").unwrap()["evidence"].to_string();
    assert!(stale.contains("10:00:08.000Z") && !stale.contains("409"), "{stale}");
    let owner = document["lanes"][0]["marks"].to_string();
    for kind in ["owner acquired", "owner renewed", "owner lost"] {
        assert!(owner.contains(kind), "{owner}");
    }
    // A plan without numbers says nothing of them: the defaults are nobody's word.
    let missing = document["missing"].to_string();
    assert!(missing.contains("the numbers: TTL"), "{missing}");
}

#[test]
fn what_verify_reads_an_owner_with_is_taken_too_ok() {
    let dir = tempfile::tempdir().unwrap();
    write_logs(dir.path());
    let plan = r"[owner.lines]
acquired = 'gekapert #(?P<token>\d+)'
lost = 'nothing like it'
[diagnose.owner]
lost = 'futsch'
";
    let document = diagnosis(dir.path(), plan);
    let owner = document["lanes"][0]["marks"].to_string();
    assert!(
        owner.contains("owner acquired") && owner.contains("owner lost"),
        "{owner}"
    );
}

#[test]
fn the_tokens_place_in_json_lines_ok() {
    let dir = tempfile::tempdir().unwrap();
    write_logs(dir.path());
    let line = |second: u32, token: u32| {
        format!("{{\"time\":\"2026-11-30T10:00:0{second}.000Z\",\"lease\":{{\"nr\":{token}}},\"status\":200}}\n")
    };
    let lines = format!("{}{}{}", line(1, 1), line(5, 2), line(8, 1));
    fs::write(dir.path().join("store.log"), lines).unwrap();
    let with = format!("{OWNER}[diagnose.resource]\ntoken_path = \"$.lease.nr\"\n");
    assert!(rules(&diagnosis(dir.path(), &with)).contains(&"LP002"));
    assert_eq!(rules(&diagnosis(dir.path(), OWNER)), Vec::<&str>::new());
}

#[test]
fn wrong_expressions_are_refused_with_their_place_bad() {
    let dir = tempfile::tempdir().unwrap();
    write_logs(dir.path());
    for (plan, says) in [
        (
            "[diagnose.owner]\nacquired = 'got (?P<token>\\d+'\n",
            r"leaseproof.toml:2:17: diagnose.owner.acquired: the regular expression `got (?P<token>\d+` is wrong: unclosed group",
        ),
        (
            "[budget]\nttl = \"3s\"\n\n[diagnose.resource]\nwrite = \"x[\"\n",
            "leaseproof.toml:5:11: diagnose.resource.write: ",
        ),
        (
            "[diagnose.owner]\nlost = '''\nfine\nnot)fine'''\n",
            "leaseproof.toml:4:4: diagnose.owner.lost: ",
        ),
        (
            "[diagnose.owner]\nlost = \"\\\\d(\"\n",
            r"leaseproof.toml:2:12: diagnose.owner.lost: the regular expression `\d(` is wrong: unclosed group",
        ),
        // Written with escapes, so that no letter of it can be pointed at: its begin is named.
        (
            "[diagnose.owner]\nlost = \"a\\u0028\"\n",
            "leaseproof.toml:2:8: diagnose.owner.lost: the regular expression `a(` is wrong: unclosed group",
        ),
        (
            "[owner.lines]\nlost = 'ab('\n",
            "leaseproof.toml:2:11: owner.lines.lost: ",
        ),
        (
            "[diagnose.owner]\nacquired = 'got (?P<tokn>\\d+)'\n",
            "leaseproof.toml:2:21: diagnose.owner.acquired: nobody reads the group `tokn`: did you mean `token`?",
        ),
        ("[diagnose.owner]\nacquird = 'x'\n", "did you mean `acquired`?"),
    ] {
        fs::write(dir.path().join("leaseproof.toml"), plan).unwrap();
        let output = run(
            dir.path(),
            &["diagnose", "worker-a.log", "--plan", "leaseproof.toml"],
            "",
        );
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{plan}: {error}{}", out(&output));
        assert!(error.contains(says), "{plan}: {error}");
    }
}
