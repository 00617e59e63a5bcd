//! The page of an incident, as text: what must hold without a browser.

use leaseproof_model::diagnosis::{Cited, Diagnosis, Mark, Part, PartKind, Party, Picture, Span, StoryLane};
use leaseproof_report::html::incident;
use std::collections::BTreeSet;

/// What `diagnose --json` said of a real incident.
fn sample() -> Diagnosis {
    serde_json::from_str(include_str!("sample/diagnosis.json")).expect("the document reads")
}

fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let start = format!(" {attribute}=\"");
    page.split(&start)
        .skip(1)
        .filter_map(|rest| rest.split_once('"'))
        .map(|(value, _)| value)
        .collect()
}

fn section<'a>(page: &'a str, label: &str) -> &'a str {
    let start = format!("<section class=\"card\" aria-label=\"{label}\">");
    let rest = page
        .split(&*start)
        .nth(1)
        .unwrap_or_else(|| panic!("no section {label}"));
    rest.split("</section>").next().unwrap()
}

/// The page without what never changes, and of a few lines only: a snapshot is there to be read.
#[test]
fn the_page_of_a_real_incident() {
    let mut it = sample();
    it.lanes
        .retain(|lane| lane.file.starts_with("worker-a") || lane.file.starts_with("docker"));
    it.lanes.iter_mut().for_each(|lane| lane.marks.truncate(4));
    it.picture.lanes.iter_mut().for_each(|lane| lane.parts.truncate(5));
    it.breach.broken.truncate(1);
    it.causes.truncate(2);
    let page = incident::render(&it);
    let (head, rest) = page.split_once("<style>").unwrap();
    let (_, rest) = rest.split_once("</style>").unwrap();
    let (body, _) = rest.split_once("<script>").unwrap();
    insta::assert_snapshot!(format!("{head}{}", body.replace("><", ">\n<")));
}

#[test]
fn every_link_leads_somewhere_ok() {
    let page = incident::render(&sample());
    let ids = values(&page, "id");
    let unique: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), unique.len(), "an id is given twice");
    let links: Vec<&str> = values(&page, "href").into_iter().filter(|it| *it != "data:,").collect();
    assert!(links.len() > 50);
    let dead: Vec<&&str> = links.iter().filter(|link| !unique.contains(&link[1..])).collect();
    assert!(dead.is_empty(), "dead links: {dead:?}");
}

#[test]
fn every_line_that_the_answer_names_is_there_and_leads_there_ok() {
    let sample = sample();
    let page = incident::render(&sample);
    let lines = section(&page, "lines");
    let of_causes = sample
        .causes
        .iter()
        .flat_map(|it| it.evidence.iter().chain(&it.against));
    let cited: Vec<&Cited> = sample
        .breach
        .broken
        .iter()
        .flat_map(|it| &it.evidence)
        .chain(of_causes)
        .collect();
    assert!(cited.len() > 20);
    for line in cited {
        let place = format!(">{}:{}<", line.file, line.line).replace('/', "&#x2f;");
        assert!(lines.contains(&place), "{place} has no row");
    }
}

#[test]
fn the_answer_is_there_in_its_order_ok() {
    let sample = sample();
    let page = incident::render(&sample);
    let mut from = 0;
    for wanted in [
        ">violated<",
        "The loss:",
        "First cause: certain",
        "class=\"grant",
        "class=\"frozen",
        "class=\"belief",
        "class=\"flagline\"",
        "class=\"accused\"",
        "LP001 two-believers",
        "1. stopped-from-outside",
        "What to do, and what not to do",
        "Missing, what would decide most first",
        "class=\"command\"",
        "covered by",
        "That the answer names",
    ] {
        let at = page[from..].find(wanted);
        from += at.unwrap_or_else(|| panic!("{wanted} is not there, or before its place"));
    }
}

#[test]
fn nothing_comes_from_a_network_ok() {
    let page = incident::render(&sample());
    for word in [
        "http:",
        "https:",
        "url(//",
        "@import",
        "<link rel=\"stylesheet\"",
        " src=",
    ] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn hostile_text_never_becomes_markup_bad() {
    let evil =
        "</title></svg></script><script>alert(1)</script><img src=x onerror=alert(1)>\" onload=\"x\u{202e}\u{1b}[2J";
    let mut it = sample();
    let cited = |lines: &mut Vec<Cited>| {
        for line in lines {
            line.text = evil.to_owned();
            line.file = format!("{evil}/{}", line.file);
            line.why = Some(evil.to_owned());
        }
    };
    it.key = Some(evil.to_owned());
    it.loss = Some(evil.to_owned());
    it.breach.says = evil.to_owned();
    it.notes.push(evil.to_owned());
    for broken in &mut it.breach.broken {
        broken.says = evil.to_owned();
        broken.rule = evil.to_owned();
        cited(&mut broken.evidence);
    }
    for cause in &mut it.causes {
        cause.id = evil.to_owned();
        cause.says = evil.to_owned();
        cause.next = evil.to_owned();
        cited(&mut cause.evidence);
        cited(&mut cause.against);
    }
    for missing in &mut it.missing {
        missing.how = evil.to_owned();
    }
    for lane in &mut it.lanes {
        lane.file = format!("{evil}/{}", lane.file);
        lane.clock = evil.to_owned();
        lane.owner = Some(evil.to_owned());
        for mark in &mut lane.marks {
            mark.says = evil.to_owned();
            mark.kind = evil.to_owned();
        }
    }
    for lane in &mut it.picture.lanes {
        lane.name = evil.to_owned();
        for part in &mut lane.parts {
            part.says = evil.to_owned();
            part.owner = Some(evil.to_owned());
            cited(&mut part.lines);
        }
    }
    let page = incident::render(&it);
    assert!(!page.contains("<img"));
    assert!(!page.contains("<script>alert"));
    assert!(!page.contains("\" onload=\""));
    assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}'));
    assert_eq!(page.matches("</script>").count(), 1);
    assert_eq!(page.matches("</title></svg>").count(), 0);
}

fn span(at: i64) -> Span {
    Span {
        earliest: at,
        latest: at + 1_000_000,
    }
}

#[test]
fn huge_evidence_stays_small_and_says_what_is_left_out_ok() {
    let mut it = sample();
    let at = it.picture.window.expect("a window").earliest;
    let pattern = it
        .lanes
        .iter()
        .find(|lane| lane.marks.len() > 20)
        .expect("a lane")
        .clone();
    for file in 0..300 {
        let mut lane = pattern.clone();
        lane.file = format!("logs/worker-{file}.log");
        lane.marks = (0..400_u64)
            .map(|line| Mark {
                line,
                when: span(at + i64::try_from(line).unwrap() * 10_000_000_000),
                until: None,
                kind: "owner renewed".to_owned(),
                says: "x".repeat(240),
            })
            .collect();
        it.lanes.push(lane);
        it.picture.lanes.push(StoryLane {
            party: Party::Owner,
            name: format!("worker-{file}"),
            parts: vec![Part {
                kind: PartKind::Renewed,
                owner: Some(format!("worker-{file}")),
                when: span(at),
                until: None,
                says: "renewed".to_owned(),
                lines: Vec::new(),
            }],
            left_out: 7,
        });
    }
    let page = incident::render(&it);
    assert!(page.len() < 4_000_000, "{} bytes", page.len());
    for wanted in [
        "lines that are farthest from the loss are left out",
        "signs are not drawn",
        "files without a row of their own",
        "owners without a row of their own",
        "farthest from the loss are not drawn",
    ] {
        assert!(page.contains(wanted), "{wanted}");
    }
    let lines = section(&page, "lines");
    for line in it.causes.iter().flat_map(|it| &it.evidence) {
        let place = format!(">{}:{}<", line.file, line.line).replace('/', "&#x2f;");
        assert!(lines.contains(&place), "{place} has no row");
    }
}

#[test]
fn what_is_not_known_of_a_moment_is_drawn() {
    let mut it = sample();
    let bands = |it: &Diagnosis| incident::render(it).matches("class=\"may").count();
    let second = |when: &mut Span| when.latest = when.earliest;
    let before = bands(&it);
    for mark in it.lanes.iter_mut().flat_map(|lane| &mut lane.marks) {
        second(&mut mark.when);
    }
    for part in it.picture.lanes.iter_mut().flat_map(|lane| &mut lane.parts) {
        second(&mut part.when);
    }
    // One is the legend's.
    assert_eq!(bands(&it), 1);
    assert!(before > 10, "{before}");
}

#[test]
fn an_answer_without_any_moment_has_no_picture_and_says_so() {
    let mut it = sample();
    it.picture = Picture::default();
    it.lanes.iter_mut().for_each(|lane| lane.marks.clear());
    let page = incident::render(&it);
    assert!(page.contains("No line has a moment that can be laid on a time line."));
    assert!(!page.contains("<figure"));
}
