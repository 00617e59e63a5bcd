//! A plan that is wrong: file, line, column, what would be right; refused before anything starts.

use crate::rig::{PROGRAM, Room};

#[test]
fn plan_bad() {
    for (plan, needles) in [
        (
            "[budget]\nttl = \"3s\"\nhartbeat = \"1s\"",
            &["plan.toml:3:1: unknown field `hartbeat`", "did you mean `heartbeat`?"][..],
        ),
        (
            "[stor]\nurl = \"redis://:geheim@127.0.0.1\"",
            &["plan.toml:1:2: unknown field `stor`", "did you mean `store`?"],
        ),
        (
            "[budget]\nttl = \"3\"",
            &["plan.toml:2:7: ttl: `3` has no unit: write `3ms` or `3s`"],
        ),
        ("[budget]\nttl = 3000", &["plan.toml:2:7:", "write \"3000ms\""]),
        (
            "[budget]\nttl = \"3 parsecs\"",
            &["plan.toml:2:7:", "is no unit of time"],
        ),
        (
            "[budget]\nttl = \"3s\"\nheartbeat = \"3s\"",
            &["plan.toml:3:13: heartbeat: 3s is not below the TTL of 3s"],
        ),
        (
            "[budget]\nheartbeat = \"0s\"",
            &["plan.toml:2:13: heartbeat:", "too short"],
        ),
        (
            "[budget]\nttl = \"3s\"\nheartbeat = \"2s\"",
            &[
                "plan.toml:3:13: LP019 budget-invalid: the margin is 750ms",
                "the smallest change that passes: heartbeat = \"1249ms\"",
            ],
        ),
        (
            "[budget]\nworst_pause = \"4s\"",
            &["plan.toml:2:15: LP019", "the worst pause itself must get shorter"],
        ),
        (
            "[owner]\ncommand = \"python3 worker.py\"",
            &["plan.toml:2:11: command: write a list: [\"python3\", \"worker.py\"]"],
        ),
        (
            "[owner]\ncommand = [\"sleep\", 3]",
            &["plan.toml:2:21:", "write a text in quotes: \"3\""],
        ),
        (
            "[verify]\nscenarios = \"reset,blackhole\"",
            &["plan.toml:2:13: scenarios: write a list: [\"reset\", \"blackhole\"]"],
        ),
        (
            "[verify]\ncycles = \"3\"",
            &["plan.toml:2:10: cycles: write a whole number without quotes: 3"],
        ),
        (
            "[verify]\njobs = \"many\"",
            &["plan.toml:2:8: jobs: write a whole number, such as 3"],
        ),
        (
            "[verify]\nseed = 1.5",
            &["plan.toml:2:8: seed: write a whole number, such as 3"],
        ),
        (
            "[verify]\nseed = -1",
            &["plan.toml:2:8: seed: write a whole number, such as 3"],
        ),
        (
            "[verify]\nrequire_token = \"true\"",
            &["plan.toml:2:17: require_token: write true or false without quotes: true"],
        ),
        (
            "[verify]\nrequire_token = 1",
            &["plan.toml:2:17: require_token: write true or false"],
        ),
        ("budget = 3", &["plan.toml:1:10: budget: write a table: [budget]"]),
        ("[budget\n", &["plan.toml:1:8: unclosed table"]),
        ("[store]\nurl = \"redis://:geheim@127.0.0.1", &["plan.toml:2:"]),
        ("[store]\nurl = [\"redis://:geheim@127.0.0.1\"]", &["plan.toml:2:7:"]),
        (
            "[store]\nkey = \"other/demo\"",
            &[
                "plan.toml:2:7: store.key: `other/demo` is not below the canary prefix `canary/`",
                "use `canary/NAME`",
            ],
        ),
        ("[store]\nprefix = \"\"", &["plan.toml:2:10: store.prefix: it is empty"]),
        (
            "[store]\nowner_key = \"lock\"",
            &["plan.toml:2:13: store.owner_key: `lock` has no {key} in it"],
        ),
        (
            "[store]\nalso_deletes = [\"{key}:x\", \"all\"]",
            &["plan.toml:2:28: store.also_deletes: `all` has no {key}"],
        ),
        (
            "[store]\nurl = \"mysql://x\"",
            &["mysql is no store", "give sqlite:PATH"],
        ),
        (
            "[owner]\npreset = \"redlok\"",
            &["plan.toml:2:10: owner.preset: `redlok` is no preset (did you mean `redlock`?): there are"],
        ),
        ("[owner]\ncommand = []", &["plan.toml:2:11: owner.command: it is empty"]),
        ("[owner]\ncommand = [\"./nope\"]", &["the owner `./nope` is not there"]),
        (
            "[owner.lines]\nacquired = \"got (\"",
            &[
                "plan.toml:2:12: owner.lines.acquired: the regular expression `got (` is wrong: unclosed group",
                "unclosed group",
            ],
        ),
        (
            "[verify]\nscenarios = [\"all\",\n  \"pause-over-tl\"]",
            &["plan.toml:3:3: `pause-over-tl` is no scenario (did you mean `pause-over-ttl`?)"],
        ),
        ("[verify]\nscenarios = []", &["verify.scenarios: it is empty"]),
        (
            "[verify]\nrequire = [\"nope\"]",
            &["plan.toml:2:12: `nope` is no scenario: `leaseproof verify --list` shows them"],
        ),
        (
            "[verify]\ncycles = 0",
            &["plan.toml:2:10: verify.cycles: 0 is not between 1 and 10000"],
        ),
        (
            "[verify]\njobs = 0",
            &["plan.toml:2:8: verify.jobs: 0 is not between 1 and"],
        ),
        (
            "[verify]\nfreeze = \"ice\"",
            &["plan.toml:2:10: verify.freeze: `ice` is none of sigstop, cgroup, auto"],
        ),
    ] {
        let room = Room::new();
        room.write("plan.toml", plan);
        let before = room.files();
        let ran = room.run(&["verify", "plan.toml"]);
        ran.refused(needles);
        assert!(!ran.stderr.contains("geheim"), "a password is shown: {ran:#?}");
        assert_eq!(room.files(), before, "{plan}");
    }
}

#[test]
fn plan_missing_bad() {
    let room = Room::new();
    room.run(&["verify", "nope.toml"]).refused(&[
        "the plan nope.toml can't be read: No such file",
        "--init` writes a commented plan",
    ]);
    std::fs::write(room.path().join("bytes.toml"), b"\xff\xfe[budget]").expect("a file");
    room.run(&["verify", "bytes.toml"]).refused(&["bytes.toml", "UTF-8"]);
}

/// The plan that `--init` writes runs as it is, and is never overwritten.
#[test]
fn init_ok() {
    let room = Room::new();
    let ran = room.run(&["verify", "--init"]);
    ran.proven();
    assert!(ran.stdout.contains("wrote leaseproof.toml"), "{ran:#?}");
    let written = std::fs::read_to_string(room.path().join("leaseproof.toml")).expect("the plan");
    room.run(&["verify", "--scenario", "clean-release", "--cycles", "1"])
        .proven();
    room.run(&["verify", "--init"])
        .refused(&["leaseproof.toml is there already, and was left as it is"]);
    let now = std::fs::read_to_string(room.path().join("leaseproof.toml")).expect("the plan");
    assert_eq!(written, now);
    let ran = room.run(&["verify", "other.toml", "--init"]);
    assert!(
        ran.stdout
            .contains("wrote other.toml: read it, then run `leaseproof verify other.toml`"),
        "{ran:#?}"
    );
    room.run(&["verify", "--init", "sub/other.toml"])
        .refused(&["sub/other.toml can't be written"]);
}

/// A relative command is seen from the current folder, also when the plan is elsewhere.
#[test]
fn relative_command_ok() {
    let room = Room::new();
    room.script("worker.sh", &format!("exec {PROGRAM} owner"));
    room.write("plans/plan.toml", "[owner]\ncommand = [\"./worker.sh\"]\n");
    let arguments: Vec<&str> = ["plans/plan.toml"].into_iter().collect();
    let ran = room.quick_proven(&arguments);
    assert!(ran.stdout.contains("proven"), "{ran:#?}");
    room.nothing_left(&["worker.sh", "plans"]);
}
