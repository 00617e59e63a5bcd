//! The page, as text: what must hold without a browser.

mod sample;

use leaseproof_model::event::{EventId, Source};
use leaseproof_model::history::History;
use leaseproof_model::rule::Class;
use leaseproof_model::scenario::ScenarioId;
use leaseproof_model::verdict::Verdict;
use leaseproof_report::html;
use std::collections::BTreeSet;

fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let start = format!(" {attribute}=\"");
    page.split(&start)
        .skip(1)
        .filter_map(|rest| rest.split_once('"'))
        .map(|(value, _)| value)
        .collect()
}

fn page() -> String {
    let sample = sample::sample();
    html::render(&sample.run, &sample.histories())
}

#[test]
fn every_link_leads_somewhere_ok() {
    let page = page();
    let ids = values(&page, "id");
    let unique: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), unique.len(), "an id is given twice");
    let links: Vec<&str> = values(&page, "href").into_iter().filter(|it| *it != "data:,").collect();
    assert!(links.len() > 50);
    let folded: Vec<&&str> = links.iter().filter(|link| !unique.contains(&link[1..])).collect();
    assert!(folded.is_empty(), "dead links: {folded:?}");
}

#[test]
fn every_event_that_a_finding_names_has_its_row_ok() {
    let sample = sample::sample();
    let page = html::render(&sample.run, &sample.histories());
    for (number, scenario) in (1..).zip(&sample.run.scenarios) {
        for id in scenario.findings.iter().flat_map(|it| &it.evidence) {
            assert!(
                page.contains(&format!("<tr id=\"s{number}-{id}\"")),
                "{id} of {}",
                scenario.id
            );
        }
    }
}

#[test]
fn the_first_violation_is_told_and_marked_ok() {
    let page = page();
    assert!(page.contains("b1 wrote with token 42"));
    assert!(page.contains("The store had the lease granted to a1, token 43,"));
    assert!(page.contains("class=\"flagline\""));
}

#[test]
fn a_finding_that_did_not_move_the_verdict_accuses_nobody_ok() {
    let mut sample = sample::sample();
    let mut false_loss = sample.run.scenarios[0].findings[0].clone();
    false_loss.class = Class::Availability;
    sample.run.scenarios[0].findings = vec![false_loss];
    sample.run.scenarios[0].verdict = Verdict::Proven;
    sample.run.scenarios[0].safety = Verdict::Proven;
    sample.run.verdict = Verdict::CannotTell;
    let page = html::render(&sample.run, &sample.histories());
    assert!(!page.contains("First violation"));
    assert!(!page.contains("class=\"flagline\""));
}

#[test]
fn nothing_comes_from_a_network_ok() {
    let page = page();
    for word in [
        "http:",
        "https:",
        "url(//",
        "@import",
        "<link rel=\"stylesheet\"",
        " src=",
    ] {
        // The hostile key holds src= as text, inside an escaped tag.
        let shown = page.replace("img src=x onerror", "");
        assert!(!shown.contains(word), "{word}");
    }
}

#[test]
fn hostile_names_never_become_markup_bad() {
    let page = page();
    assert!(!page.contains("<img"));
    assert!(page.contains("&lt;&#x2f;script&gt;&lt;img") || page.contains("&lt;/script&gt;&lt;img"));
    assert_eq!(page.matches("</script>").count(), 2);
}

#[test]
fn hostile_owners_findings_and_output_never_become_markup_bad() {
    let mut sample = sample::sample();
    let evil = "</title></svg></script><img src=x onerror=alert(1)>\u{202e}";
    for history in &mut sample.histories {
        for event in &mut history.events {
            if event.owner.as_ref().is_some_and(|it| it.as_str() == "b1") {
                event.owner = Some(evil.into());
                event.raw = Some(evil.to_owned());
            }
        }
    }
    sample.run.run = evil.to_owned();
    sample.run.scenarios[0].store = "sqlite".to_owned();
    sample.run.scenarios[0].findings[0].owner = Some(evil.to_owned());
    sample.run.scenarios[0].findings[0].says = evil.to_owned();
    sample.run.scenarios[0].measures.insert(evil.to_owned(), 1.0);
    sample.run.not_offered[0].why = evil.to_owned();
    let page = html::render(&sample.run, &sample.histories());
    assert!(!page.contains("<img"));
    assert_eq!(page.matches("</script>").count(), 2);
    let shown = page.split("<script type=").next().unwrap();
    assert!(!shown.contains('\u{202e}'));
}

#[test]
fn a_scenario_without_a_record_says_so_bad() {
    let page = html::render(&sample::sample().run, &[]);
    assert!(page.contains("The record of this scenario was not given to the report"));
}

/// 20 scenarios of 6,000 events each.
fn large() -> (leaseproof_model::verdict::RunVerdict, Vec<History>) {
    let sample = sample::sample();
    let (mut run, pattern) = (sample.run, &sample.histories[1]);
    let bad = run.scenarios[0].clone();
    run.scenarios.clear();
    let mut histories = Vec::new();
    for id in ScenarioId::ALL.iter().take(20) {
        let mut history = pattern.clone();
        history.ask.scenario = *id;
        let mut next = history.events.iter().map(|it| it.id.0).max().unwrap();
        let routine: Vec<_> = history
            .events
            .iter()
            .filter(|it| matches!(it.source, Source::Witness | Source::Store))
            .cloned()
            .collect();
        for event in routine.iter().cycle().take(6000 - history.events.len()) {
            next += 1;
            let mut event = event.clone();
            event.id = EventId(next);
            event.at = event.at.plus(std::time::Duration::from_micros(next * 7));
            event.raw = Some("x".repeat(200));
            history.events.push(event);
        }
        let mut scenario = bad.clone();
        scenario.id = *id;
        run.scenarios.push(scenario);
        histories.push(history);
    }
    (run, histories)
}

#[test]
fn a_large_run_stays_small_and_says_what_it_cut_ok() {
    let (run, histories) = large();
    let page = html::render(&run, &histories.iter().collect::<Vec<_>>());
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    assert!(page.contains("Cut: "));
    for (number, scenario) in (1..).zip(&run.scenarios) {
        for id in scenario.findings.iter().flat_map(|it| &it.evidence) {
            assert!(page.contains(&format!("<tr id=\"s{number}-{id}\"")));
        }
    }
}

#[test]
fn the_banner_says_the_findings_own_sentence_and_the_pause_ok() {
    let sample = sample::sample();
    let page = html::render(&sample.run, &sample.histories());
    let banner = page
        .split("id=\"first-violation\"")
        .nth(1)
        .and_then(|it| it.split("</header>").next())
        .unwrap();
    assert!(
        banner.contains("b1 acted 6 times, up to 530.0 ms after it ran again"),
        "{banner}"
    );
    assert!(banner.contains("LP004"));
    assert!(banner.contains("b1 was frozen for 2.97 s"), "{banner}");
    assert!(banner.contains("its lease ended at +"));
}

#[test]
fn a_straddling_write_is_marked_only_where_the_judge_counted_one() {
    let mut sample = sample::sample();
    let marks = |sample: &sample::Sample| {
        let page = html::render(&sample.run, &sample.histories());
        page.matches("no violation by itself</title>").count()
    };
    for scenario in &mut sample.run.scenarios {
        scenario.measures.insert("straddling_writes".to_owned(), 0.0);
    }
    assert_eq!(marks(&sample), 0);
    // The first late write of the sample, had the judge found it to straddle.
    let scenario = &mut sample.run.scenarios[0];
    let late = scenario.findings[1].evidence[1];
    scenario
        .findings
        .iter_mut()
        .for_each(|it| it.evidence.retain(|id| *id != late));
    assert_eq!(marks(&sample), 0);
    sample.run.scenarios[0]
        .measures
        .insert("straddling_writes".to_owned(), 1.0);
    assert!(marks(&sample) > 0);
}

#[test]
fn broken_scenarios_are_read_first_ok() {
    let mut sample = sample::sample();
    sample.run.scenarios.reverse();
    let page = html::render(&sample.run, &sample.histories());
    let table = page.split("class=\"summary\"").nth(1).unwrap();
    assert!(table.find("pause-over-ttl</a>").unwrap() < table.find("key-stolen</a>").unwrap());
    assert!(table.find("key-stolen</a>").unwrap() < table.find("pause-uncontested</a>").unwrap());
}

#[test]
fn the_head_says_which_run_this_is_ok() {
    let head = page();
    let head = head.split("</header>").next().unwrap();
    for wanted in [
        concat!("leaseproof ", env!("CARGO_PKG_VERSION")),
        "seed 7",
        "worst pause",
        "20261130-031502-7f3a",
    ] {
        assert!(head.contains(wanted), "{wanted}");
    }
}

#[test]
fn a_restart_that_never_acted_is_drawn_in_its_slots_lane() {
    use leaseproof_model::event::{Event, What};
    use leaseproof_model::name::{OwnerName, ProcessId};
    let started = |event: &Event, id: u64, owner: &str, restart: bool| Event {
        id: EventId(id),
        owner: Some(OwnerName::from(owner)),
        source: Source::Process,
        what: What::Started {
            process: ProcessId { pid: 7, start_ticks: 7 },
            slot: "a".to_owned(),
            restart,
        },
        ..event.clone()
    };
    let mut sample = sample::sample();
    let history = sample
        .histories
        .iter_mut()
        .find(|it| it.ask.scenario == sample.run.scenarios[0].id)
        .unwrap();
    let last = history.events.last().unwrap().clone();
    let first = history.events.first().unwrap().clone();
    history.events.insert(0, started(&first, 900_001, "a1", false));
    history.events.push(started(&last, 900_002, "a9", true));
    let page = html::render(&sample.run, &sample.histories());
    assert!(page.contains("writes + a9"));
    assert!(!page.contains(">a9</b>"));
}

/// Each scenario has a clock of its own: what is early on one is not the first on all.
#[test]
fn the_banner_shows_a_breach_before_a_loss_without_need_ok() {
    let mut sample = sample::sample();
    let mut loss = sample.run.scenarios[0].findings[0].clone();
    let other = sample.run.scenarios.remove(1);
    sample.run.scenarios.insert(0, other);
    let other = &mut sample.run.scenarios[0];
    let history = sample.histories.iter().find(|it| it.ask.scenario == other.id).unwrap();
    let early = history.events.iter().find(|it| it.owner.is_some()).unwrap();
    loss.class = Class::Availability;
    loss.owner = early.owner.as_ref().map(|it| it.as_str().to_owned());
    loss.says = "it gave up without need".to_owned();
    loss.evidence = vec![early.id];
    other.verdict = Verdict::Violated;
    other.availability = Some(Verdict::Violated);
    other.findings = vec![loss];
    let page = html::render(&sample.run, &sample.histories());
    let banner = page.split("id=\"first-violation\"").nth(1).unwrap();
    let banner = banner.split("</header>").next().unwrap();
    assert!(banner.contains("b1 acted 6 times"), "{banner}");
    assert!(!banner.contains("without need"), "{banner}");
}
