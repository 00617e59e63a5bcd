//! What the template shows, in the order of the answer.

use super::axis::{Axis, date, moment};
use super::draw::{Chart, Subject, chart};
use super::lanes::{Row as Lane, rows};
use super::lines::{Lines, OfFile, Row};
use crate::html::page::{CSS, JS, JS_HASH};
use crate::visible::visible;
use crate::words;
use leaseproof_model::diagnosis::{BreachSeen, Cause, Cited, Confidence, Diagnosis, Seen, Span};
use leaseproof_model::verdict::Verdict;
use serde::Serialize;

/// The most lines that are shown under one cause; the table below has all.
const LINES: usize = 24;

#[derive(Serialize)]
pub(crate) struct Page {
    verdict: &'static str,
    tone: &'static str,
    says: String,
    loss: Option<String>,
    key: Option<String>,
    version: &'static str,
    folder: Option<String>,
    first: Option<First>,
    figures: Vec<Figure>,
    no_picture: bool,
    broken: Vec<Broken>,
    causes: Vec<CauseView>,
    missing: Vec<(String, String)>,
    notes: Vec<String>,
    covered: Vec<(&'static str, Vec<String>)>,
    named: Vec<Row>,
    rest: Vec<OfFile>,
    left_out: usize,
    files: Vec<File>,
    css: &'static str,
    js: &'static str,
    script_hash: &'static str,
}

/// The first cause, at the top.
#[derive(Serialize)]
struct First {
    confidence: String,
    says: String,
    boundary: String,
    next: String,
    not: String,
}

#[derive(Serialize)]
struct Figure {
    id: &'static str,
    caption: String,
    chart: Chart,
}

#[derive(Serialize)]
struct Broken {
    rule: String,
    name: String,
    tone: &'static str,
    seen: String,
    says: String,
    lines: Vec<LineView>,
    more: usize,
}

#[derive(Serialize)]
struct CauseView {
    rank: u32,
    id: String,
    rule: String,
    confidence: String,
    tone: &'static str,
    boundary: String,
    says: String,
    lines: Vec<LineView>,
    more: usize,
    against: Vec<LineView>,
    more_against: usize,
    next: String,
    not: String,
}

#[derive(Serialize)]
struct LineView {
    place: String,
    href: Option<String>,
    text: String,
    why: Option<String>,
}

#[derive(Serialize)]
struct File {
    file: String,
    formats: String,
    owner: String,
    clock: String,
    lost: u64,
}

/// Builds the page.
pub(crate) fn page(diagnosis: &Diagnosis, folder: Option<String>) -> Page {
    let lines = Lines::of(diagnosis);
    let laid = rows(diagnosis, &lines);
    let figures = figures(diagnosis, &laid.rows, &laid.notes);
    let broken = diagnosis.breach.broken.iter().map(|it| broken(it, &lines)).collect();
    let causes: Vec<CauseView> = diagnosis.causes.iter().map(|it| cause(it, &lines)).collect();
    let covered = &diagnosis.breach.covered;
    let names = |files: &[String]| files.iter().map(|it| shown(it)).collect::<Vec<_>>();
    Page {
        verdict: verdict(diagnosis),
        tone: match diagnosis.verdict {
            Verdict::Proven => "good",
            Verdict::CannotTell => "open",
            Verdict::Violated => "bad",
        },
        says: shown(&diagnosis.breach.says),
        loss: diagnosis.loss.as_deref().map(shown),
        key: diagnosis.key.as_deref().map(shown),
        version: env!("CARGO_PKG_VERSION"),
        folder: folder.as_deref().map(shown),
        first: diagnosis.causes.first().map(first),
        no_picture: figures.is_empty(),
        figures,
        broken,
        causes,
        missing: diagnosis
            .missing
            .iter()
            .map(|it| (shown(&it.what), shown(&it.how)))
            .collect(),
        notes: diagnosis.notes.iter().map(|it| shown(it)).collect(),
        covered: vec![
            ("owner", names(&covered.owner)),
            ("store", names(&covered.store)),
            ("resource", names(&covered.resource)),
        ],
        left_out: lines.left_out,
        named: lines.named,
        rest: lines.rest,
        files: diagnosis.lanes.iter().map(|lane| file(diagnosis, lane)).collect(),
        css: CSS,
        js: JS,
        script_hash: JS_HASH,
    }
}

fn shown(text: &str) -> String {
    visible(text).into_owned()
}

fn verdict(diagnosis: &Diagnosis) -> &'static str {
    match (diagnosis.verdict, diagnosis.breach.seen) {
        (Verdict::Proven, _) => "nothing wrong",
        (Verdict::CannotTell, Seen::Possibly) => "possibly violated",
        (other, _) => other.as_str(),
    }
}

fn first(cause: &Cause) -> First {
    First {
        confidence: cause.confidence.to_string(),
        says: shown(&cause.says),
        boundary: cause.boundary.to_string(),
        next: shown(&cause.next),
        not: shown(&cause.not),
    }
}

fn broken(it: &BreachSeen, lines: &Lines) -> Broken {
    let (shown_lines, more) = views(&it.evidence, lines);
    Broken {
        rule: shown(&it.rule),
        name: shown(&it.name),
        tone: if it.seen == Seen::Certainly { "bad" } else { "open" },
        seen: match it.when {
            Some(when) => format!("{}, {} UTC", it.seen, moment(when)),
            None => it.seen.to_string(),
        },
        says: shown(&it.says),
        lines: shown_lines,
        more,
    }
}

fn cause(it: &Cause, lines: &Lines) -> CauseView {
    let (speak_for, more) = views(&it.evidence, lines);
    let (against, more_against) = views(&it.against, lines);
    CauseView {
        rank: it.rank,
        id: shown(&it.id),
        rule: shown(&it.rule),
        confidence: it.confidence.to_string(),
        tone: match it.confidence {
            Confidence::Certain => "bad",
            Confidence::Likely => "open",
            Confidence::Possible => "plain",
        },
        boundary: it.boundary.to_string(),
        says: shown(&it.says),
        lines: speak_for,
        more,
        against,
        more_against,
        next: shown(&it.next),
        not: shown(&it.not),
    }
}

fn views(cited: &[Cited], lines: &Lines) -> (Vec<LineView>, usize) {
    let view = |it: &Cited| LineView {
        place: format!("{}:{}", visible(&it.file), it.line),
        href: lines.anchor(&it.file, it.line).map(str::to_owned),
        text: shown(&it.text),
        why: it.why.as_deref().map(shown),
    };
    let views = cited.iter().take(LINES).map(view).collect();
    (views, cited.len().saturating_sub(LINES))
}

fn file(diagnosis: &Diagnosis, lane: &leaseproof_model::diagnosis::Lane) -> File {
    let lost = diagnosis.not_understood.iter().find(|it| it.file == lane.file);
    File {
        file: shown(&lane.file),
        formats: if lane.formats.is_empty() {
            "not recognised".to_owned()
        } else {
            shown(&lane.formats.join(", "))
        },
        owner: lane.owner.as_deref().map(shown).unwrap_or_default(),
        clock: shown(&lane.clock),
        lost: lost.map_or(0, |it| it.lines),
    }
}

/// A close-up of the loss and the whole, or the whole alone where there is no more to it.
fn figures(diagnosis: &Diagnosis, lanes: &[Lane], notes: &[String]) -> Vec<Figure> {
    let Some(all) = extent(lanes) else {
        return Vec::new();
    };
    let flag = flag(diagnosis);
    let mut figures = Vec::new();
    let mut add = |id: &'static str, axis: Axis, caption: String, more: &[String]| {
        let of = Subject {
            axis,
            id,
            title: &caption,
            flag: flag.clone(),
        };
        let mut chart = chart(lanes, &of);
        chart.notes.extend_from_slice(more);
        figures.push(Figure { id, caption, chart });
    };
    let whole = Axis::whole(all.earliest, all.latest);
    let close = diagnosis.picture.window.map(|window| {
        let pad = window.latest.saturating_sub(window.earliest).max(1_000_000_000) / 5;
        Axis::window(
            window.earliest.saturating_sub(pad).max(all.earliest),
            window.latest.saturating_add(pad).min(all.latest),
        )
    });
    if let Some(close) = close.filter(|it| it.length() < whole.length() / 3 * 2) {
        let caption = format!(
            "Around the loss: {} from {} on. The whole is below.",
            length(close.length()),
            date(close.from)
        );
        add("close-up", close, caption, &[]);
    }
    let caption = format!(
        "All that the files date: {} from {} on; nothing is cut out of the time.",
        length(whole.length()),
        date(whole.from)
    );
    add("whole", whole, caption, notes);
    figures
}

fn length(nanos: i64) -> String {
    let seconds = nanos / 1_000_000_000;
    match seconds {
        172_800.. => format!("{} days", seconds / 86_400),
        7200.. => format!("{} h", seconds / 3600),
        600.. => format!("{} min", seconds / 60),
        _ => words::span(std::time::Duration::from_nanos(nanos.unsigned_abs())),
    }
}

/// From the first moment of all rows to the last.
fn extent(lanes: &[Lane]) -> Option<Span> {
    let of_bars = lanes.iter().flat_map(|lane| &lane.bars);
    let of_bars = of_bars.flat_map(|bar| [Some(bar.when), bar.until]).flatten();
    let of_dots = lanes.iter().flat_map(|lane| &lane.dots).map(|dot| dot.when);
    of_bars.chain(of_dots).reduce(|a, b| Span {
        earliest: a.earliest.min(b.earliest),
        latest: a.latest.max(b.latest),
    })
}

/// The first moment at which a promise was broken: a certain one before a possible one.
fn flag(diagnosis: &Diagnosis) -> Option<(i64, String)> {
    let dated = diagnosis.breach.broken.iter().filter_map(|it| Some((it, it.when?)));
    let (it, when) = dated.min_by_key(|(it, when)| (it.seen != Seen::Certainly, when.earliest))?;
    let middle = when
        .earliest
        .saturating_add(when.latest.saturating_sub(when.earliest) / 2);
    Some((middle, format!("{} {}", visible(&it.rule), moment(when))))
}
