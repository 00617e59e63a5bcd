//! What no server of ours can be made to do: answers that were recorded elsewhere, by a server that only repeats them.

#![cfg(feature = "etcd")]

use leaseproof_judge::{Policy, judge};
use leaseproof_model::budget::Budget;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Event, EventId, Held, OwnerEvent, Reading, Said, Source, What, Write as Written};
use leaseproof_model::finding::Subject;
use leaseproof_model::history::History;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{OwnerName, ProcessId, Token};
use leaseproof_model::rule::Class;
use leaseproof_model::scenario::{Ask, ScenarioId, WitnessMode};
use leaseproof_model::verdict::ScenarioVerdict;
use leaseproof_store::{Observe, open_observer};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// A header of etcd 3.4.23's.
const HEADER: &str = r#""header":{"cluster_id":"16669793395648480238","member_id":"1767428333833140196","revision":"2","raft_term":"2"}"#;

/// `canary/x`, held under the lease 77.
const HELD: &str = r#""kvs":[{"key":"Y2FuYXJ5L3g=","create_revision":"2","mod_revision":"2","version":"1","value":"YSM1ZiMzMDAw","lease":"77"}],"count":"1""#;

/// The lease is not there any more.
const NO_LEASE: i64 = i64::MIN;

/// Answers each request by its path, with the remaining TTLs in turn, the last for ever; a port.
fn repeats(ttls: &'static [i64]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(stream, ttls);
        }
    });
    port
}

fn answer(stream: TcpStream, ttls: &[i64]) {
    let mut asked = 0;
    let mut reader = BufReader::new(stream);
    loop {
        let (mut path, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
            if line.is_empty() {
                break;
            }
            if path.is_empty() {
                path = line.split(' ').nth(1).unwrap_or_default().to_owned();
            }
        }
        reader.read_exact(&mut vec![0; length]).expect("a body");
        let body = match path.as_str() {
            "/v3/maintenance/status" => format!(r#"{{{HEADER},"version":"3.4.23","leader":"1767428333833140196"}}"#),
            "/v3/kv/range" => format!("{{{HEADER},{HELD}}}"),
            "/v3/lease/timetolive" => {
                let ttl = ttls[asked.min(ttls.len() - 1)];
                asked += 1;
                match ttl {
                    // Of a lease that it does not know it shows no granted TTL.
                    NO_LEASE => format!(r#"{{{HEADER},"ID":"77","TTL":"-1"}}"#),
                    ttl => format!(r#"{{{HEADER},"ID":"77","TTL":"{ttl}","grantedTTL":"3"}}"#),
                }
            }
            other => panic!("nobody asks for {other}"),
        };
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        reader.get_mut().write_all(answer.as_bytes()).expect("it listens");
    }
}

/// The clock of an etcd 3.4 was stepped back by an hour after the grant: what is left reads far below zero, and the
/// key and its lease live.
#[test]
fn a_ttl_below_zero_is_no_expiry_while_the_key_is_there() {
    let url = format!("etcd://127.0.0.1:{}", repeats(&[2, 2, -3597]));
    let mut observer = open_observer(&url.parse().expect("a URL"), Duration::from_secs(10)).expect("it answers");
    for _ in 0..4 {
        let (_, reading) = observer.read("canary/x").expect("a reading");
        let held = reading.held.expect("it is held while the key is there");
        assert!(!held.expired && !held.write_lock, "{held:?}");
        assert_eq!(held.token, Some(Token(2)));
    }
}

/// The lease is gone at the leader, and the key is there: the one alone is no expiry.
#[test]
fn a_key_that_outlives_its_lease_is_held() {
    let url = format!("etcd://127.0.0.1:{}", repeats(&[2, 2, NO_LEASE]));
    let mut observer = open_observer(&url.parse().expect("a URL"), Duration::from_secs(10)).expect("it answers");
    for _ in 0..3 {
        let (_, reading) = observer.read("canary/x").expect("a reading");
        let held = reading.held.expect("it is held while the key is there");
        assert!(!held.expired, "{held:?}");
    }
}

/// What is made of it: the clock's step is said, the store's, and nobody is accused who goes on with a lease that lives.
#[test]
fn a_ttl_far_below_zero_is_a_step_of_the_store_s_clock() {
    let judged = judged_while_held(&[2, 2, -3597]);
    let steps: Vec<_> = judged.findings.iter().filter(|it| it.rule == "LP018").collect();
    let [step] = &steps[..] else { panic!("{judged:#?}") };
    assert_eq!(step.subject, Subject::Store);
    assert!(step.certainty.is_yes() && step.says.contains("no expiry"), "{step:#?}");
    assert_eq!(accusations(&judged), Vec::<&str>::new(), "{judged:#?}");
}

/// A lease that is over for a second is one that the leader has yet to revoke.
#[test]
fn a_ttl_a_little_below_zero_is_no_step() {
    let judged = judged_while_held(&[2, 2, -1]);
    assert!(judged.findings.iter().all(|it| it.rule != "LP018"), "{judged:#?}");
}

fn accusations(judged: &ScenarioVerdict) -> Vec<&str> {
    let accuses = |class| matches!(class, Class::Breach | Class::Availability);
    let found = judged.findings.iter().filter(|it| accuses(it.class));
    found.map(|it| it.rule.as_str()).collect()
}

/// The record of an owner that holds the key throughout, and writes after each look, until a second after the expiry
/// that the first look showed.
fn judged_while_held(ttls: &'static [i64]) -> ScenarioVerdict {
    let url = format!("etcd://127.0.0.1:{}", repeats(ttls));
    let mut observer = open_observer(&url.parse().expect("a URL"), Duration::from_secs(10)).expect("it answers");
    let mut record = Record::default();
    let first = record.look(&mut *observer);
    let owner = Some(OwnerName::from("a"));
    let began = first.at;
    let process = ProcessId {
        pid: 41,
        start_ticks: 7,
    };
    let started = What::Started {
        process,
        slot: "a".to_owned(),
        restart: false,
    };
    record.add(Source::Process, owner.clone(), began, started);
    record.add(
        Source::Lab,
        None,
        began,
        What::CycleBegan {
            target: "a".into(),
            successor: None,
            witness: WitnessMode::Record,
        },
    );
    record.add(Source::Owner, owner.clone(), began, What::Said(acquired(began.latest)));
    let until = first
        .held
        .expires
        .expect("an expiry")
        .latest
        .plus(Duration::from_secs(1));
    let mut now = began.latest;
    while now < until {
        let look = record.look(&mut *observer);
        now = look.at.latest;
        record.add(
            Source::Witness,
            owner.clone(),
            look.at,
            What::Write(written(record.writes)),
        );
        record.writes += 1;
        std::thread::sleep(Duration::from_millis(50));
    }
    let history = History {
        ask: ask(&*observer),
        events: record.events,
        complete: true,
        took_ms: 4000,
    };
    judge(&history, None, &Policy::default())
}

struct Look {
    at: Moment,
    held: Held,
}

#[derive(Default)]
struct Record {
    events: Vec<Event>,
    writes: u64,
}

impl Record {
    fn add(&mut self, source: Source, owner: Option<OwnerName>, at: Moment, what: What) {
        let number = self.events.len() as u64 + 1;
        self.events.push(Event {
            id: EventId(number),
            source,
            seq: number,
            at,
            stamp: None,
            cycle: 1,
            owner,
            what,
            raw: None,
        });
    }

    fn look(&mut self, observer: &mut dyn Observe) -> Look {
        let (at, reading): (Moment, Reading) = observer.read("canary/x").expect("a reading");
        let held = reading.held.clone().expect("it is held while the key is there");
        self.add(Source::Store, None, at, What::Reading(reading));
        Look { at, held }
    }
}

fn acquired(at: BootNanos) -> Said {
    Said {
        event: OwnerEvent::Acquired,
        token: Some(Token(2)),
        boot: Some(at),
        wall_ns: None,
        valid_until: None,
        thread: None,
        grant: None,
        attempt: None,
        reason: None,
        definite: None,
    }
}

fn written(before: u64) -> Written {
    Written {
        serial: before + 1,
        connection: 1,
        token: Some(Token(2)),
        bad_token: None,
        accepted: true,
        highest: Some(Token(2)),
        mode: WitnessMode::Record,
        claims_owner: None,
        begun: None,
        arrived: None,
        replay: false,
    }
}

fn ask(observer: &dyn Observe) -> Ask {
    Ask {
        scenario: ScenarioId::StoreClock,
        store: observer.facts().clone(),
        budget: Budget {
            ttl: Duration::from_secs(3),
            heartbeat: Duration::from_secs(1),
            worst_pause: Duration::from_secs(1),
            max_clock_drift: Duration::from_millis(50),
            renew_timeout: Duration::from_millis(200),
            early_slack: Duration::ZERO,
        },
        key: "canary/x".to_owned(),
        cycles: 1,
        premises: Vec::new(),
        availability: false,
        witness: WitnessMode::Record,
        require_token: false,
        store_shows_token: true,
        twin: false,
    }
}
