//! Rows to SVG. A moment is an interval: what is not known of it is drawn as wide as it is.

use super::axis::Axis;
use super::lanes::{Bar, Dot, Row, Shape, Sign};
use crate::html::frame::{AXIS, Frame, LETTER, Label, Text, colour_class};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The most signs of one picture that nothing names.
const MOST: usize = 3000;
/// From how many pixels on it is drawn that a moment is not known better.
const SEEN: f64 = 3.0;

/// A drawn picture.
#[derive(Serialize)]
pub(crate) struct Chart {
    svg: String,
    labels: Vec<Label>,
    pub(crate) notes: Vec<String>,
}

/// What a picture is of.
pub(crate) struct Subject<'a> {
    pub(crate) axis: Axis,
    /// Unique on the page.
    pub(crate) id: &'a str,
    pub(crate) title: &'a str,
    /// Where the first promise was broken: a line across all rows.
    pub(crate) flag: Option<(i64, String)>,
}

/// Draws the rows that have something in the window.
pub(crate) fn chart(rows: &[Row], of: &Subject<'_>) -> Chart {
    let shown: Vec<&Row> = rows.iter().filter(|row| shows(row, &of.axis)).collect();
    let heights: Vec<f64> = shown.iter().map(|row| row.height).collect();
    let mut frame = Frame::new(of.axis.width, &heights, of.id, of.title, None);
    frame.ticks(of.axis.ticks(), of.axis.width - 80.0);
    let svg = &mut frame.svg;
    let (apart, left_out) = thinning(&shown, &of.axis);
    let mut top = AXIS;
    for row in &shown {
        let _ = write!(svg, "<g transform=\"translate(0 {top})\">");
        // What stood still lies below, so that what was said in it stays readable.
        let mut order: Vec<&Bar> = row.bars.iter().collect();
        order.sort_by_key(|it| match it.shape {
            Shape::Silence => 0,
            Shape::Stop => 1,
            Shape::Grant | Shape::Belief => 2,
        });
        let told = row.bars.iter().any(|it| it.shape == Shape::Stop && !it.text.is_empty());
        let mut written: Vec<(f64, f64, f64)> = Vec::new();
        for it in order.into_iter().filter(|it| is_shown(it, &of.axis)) {
            bar(svg, it, &of.axis);
            // Beside a stop that somebody tells of, the silence that it made needs no words.
            if it.shape != Shape::Silence || !told {
                text(svg, it, &of.axis, &mut written);
            }
            close_link(svg, it.anchor.as_ref());
        }
        let mut kept = kept(row, &of.axis, apart).0;
        kept.sort_by_key(|it| (it.accused, it.named));
        kept.into_iter().for_each(|it| dot(svg, it, &of.axis));
        svg.push_str("</g>");
        top += row.height;
    }
    if let Some((at, text)) = &of.flag {
        frame.flag(of.axis.x(*at), text);
    }
    let mut notes = Vec::new();
    if left_out > 0 {
        notes.push(format!(
            "{left_out} signs are not drawn, since each lies within {apart:.0} pixels of another of its kind; \
             all that the answer names are."
        ));
    }
    let elsewhere: Vec<&str> = rows
        .iter()
        .filter(|row| row.of_file && !shows(row, &of.axis))
        .map(|row| row.label.as_str())
        .collect();
    if !elsewhere.is_empty() {
        let (some, more) = elsewhere.split_at(elsewhere.len().min(8));
        let more = (!more.is_empty()).then(|| format!(" and {} more", more.len()));
        notes.push(format!(
            "Nothing in this window: {}{}.",
            some.join(", "),
            more.unwrap_or_default()
        ));
    }
    let labels = shown
        .iter()
        .map(|row| Label::new(&row.label, &row.sub, row.height, row.colour));
    Chart {
        svg: frame.end(),
        labels: std::iter::once(Label::of_axis("UTC")).chain(labels).collect(),
        notes,
    }
}

fn is_shown(bar: &Bar, axis: &Axis) -> bool {
    axis.shows(bar.when.earliest, bar.until.map_or(i64::MAX, |until| until.latest))
}

fn shows(row: &Row, axis: &Axis) -> bool {
    row.bars.iter().any(|bar| is_shown(bar, axis))
        || row
            .dots
            .iter()
            .any(|dot| axis.shows(dot.when.earliest, dot.when.latest))
}

/// The signs of a row that are drawn, and how many are not: those that nothing names stand apart.
fn kept<'r>(row: &'r Row, axis: &Axis, apart: f64) -> (Vec<&'r Dot>, usize) {
    let mut last: BTreeMap<(Sign, Option<usize>, bool), f64> = BTreeMap::new();
    let mut order: Vec<&Dot> = row
        .dots
        .iter()
        .filter(|dot| axis.shows(dot.when.earliest, dot.when.latest))
        .collect();
    order.sort_by_key(|dot| dot.when.earliest);
    let all = order.len();
    order.retain(|dot| {
        let x = axis.middle(dot.when);
        let before = last.entry((dot.sign, dot.colour, dot.y > 30.0)).or_insert(f64::MIN);
        let keeps = dot.named || dot.accused || x - *before >= apart;
        if keeps {
            *before = x;
        }
        keeps
    });
    let left_out = all - order.len();
    (order, left_out)
}

fn thinning(rows: &[&Row], axis: &Axis) -> (f64, usize) {
    let mut apart = 1.0;
    loop {
        let (mut drawn, mut left_out) = (0, 0);
        for row in rows {
            let (kept, without) = kept(row, axis, apart);
            drawn += kept.len();
            left_out += without;
        }
        if drawn <= MOST || apart > axis.width {
            return (apart, left_out);
        }
        apart *= 2.0;
    }
}

fn open_link(svg: &mut String, anchor: Option<&String>, title: &str) {
    let _ = match anchor {
        Some(anchor) => write!(svg, "<a href=\"#{anchor}\">"),
        None => write!(svg, "<g>"),
    };
    let _ = write!(svg, "<title>{}</title>", Text(title));
}

fn close_link(svg: &mut String, anchor: Option<&String>) {
    svg.push_str(if anchor.is_some() { "</a>" } else { "</g>" });
}

fn bar(svg: &mut String, bar: &Bar, axis: &Axis) {
    let (class, edge) = match bar.shape {
        Shape::Grant => ("grant", "unsure"),
        Shape::Belief => ("belief", "edge"),
        Shape::Stop => ("frozen", "edge"),
        Shape::Silence => ("silence", "edge"),
    };
    let colour = colour_class(bar.colour);
    // Surely from the latest begin to the earliest end; perhaps from the earliest to the latest.
    let sure = bar.until.map_or(axis.to, |until| until.earliest);
    let perhaps = bar.until.map_or(axis.to, |until| until.latest);
    open_link(svg, bar.anchor.as_ref(), &bar.title);
    let mut rect = |class: &str, from: i64, to: i64, least: f64| {
        if let Some((x, wide)) = axis.clip(from, to).filter(|(_, wide)| *wide >= least) {
            let _ = write!(
                svg,
                "<rect class=\"{class}{colour}\" x=\"{x:.1}\" y=\"{}\" width=\"{wide:.1}\" height=\"{}\"/>",
                bar.top, bar.height
            );
        }
    };
    // Where the end is not known at all, what is beyond the begin is not sure.
    let sure_class = if bar.until.is_none() { "unsure" } else { class };
    if sure >= bar.when.latest {
        rect(sure_class, bar.when.latest, sure, 0.0);
        rect(edge, bar.when.earliest, bar.when.latest, SEEN);
        if bar.until.is_some() {
            rect(edge, sure, perhaps, SEEN);
        }
    } else {
        rect(edge, bar.when.earliest, perhaps, 0.0);
    }
}

/// The word in a bar, where it fits and no other is in the way. `written`: from, to and height of those that are there.
fn text(svg: &mut String, bar: &Bar, axis: &Axis, written: &mut Vec<(f64, f64, f64)>) {
    let end = bar.until.map_or(axis.to, |until| until.earliest);
    let Some((x, wide)) = axis.clip(bar.when.latest.min(end), end) else {
        return;
    };
    let needed = bar.text.chars().count() as f64 * LETTER + 8.0;
    let (y, class) = match bar.shape {
        Shape::Stop => (bar.top + bar.height - 5.0, "frozent"),
        Shape::Silence => (bar.top + bar.height - 5.0, "silencet"),
        _ if bar.until.is_none() => (bar.top + bar.height / 2.0 + 4.0, "opent"),
        _ => (bar.top + bar.height / 2.0 + 4.0, "grantt"),
    };
    let taken = |(from, to, at): &(f64, f64, f64)| *from < x + needed && x < *to && (at - y).abs() < 10.0;
    if bar.text.is_empty() || wide < needed || written.iter().any(taken) {
        return;
    }
    written.push((x, x + needed, y));
    let _ = write!(
        svg,
        "<text class=\"in {class}\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
        x + 5.0,
        Text(&bar.text)
    );
}

fn dot(svg: &mut String, dot: &Dot, axis: &Axis) {
    let (x, y) = (axis.middle(dot.when), dot.y);
    let colour = colour_class(dot.colour);
    open_link(svg, dot.anchor.as_ref(), &dot.title);
    if let Some((from, wide)) = axis
        .clip(dot.when.earliest, dot.when.latest)
        .filter(|(_, wide)| *wide >= SEEN)
    {
        let _ = write!(
            svg,
            "<rect class=\"may{colour}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{wide:.1}\" height=\"10\"/>",
            y - 5.0
        );
    }
    // A sign is thin: what can be hit with a finger is wider.
    let _ = write!(
        svg,
        "<rect class=\"hit\" x=\"{:.1}\" y=\"{:.1}\" width=\"6\" height=\"18\"/>",
        x - 3.0,
        y - 9.0
    );
    if dot.accused {
        let _ = write!(
            svg,
            "<path class=\"accused\" d=\"M{x:.1} {}l6 8l-6 8l-6 -8z\"/>",
            y - 8.0
        );
        close_link(svg, dot.anchor.as_ref());
        return;
    }
    let _ = match dot.sign {
        Sign::Acquired => write!(svg, "<path class=\"acq{colour}\" d=\"M{x:.1} {}l5 9h-10z\"/>", y - 5.0),
        Sign::Lost => write!(
            svg,
            "<path class=\"lost{colour}\" d=\"M{x:.1} {}l5 -9h-10z\"/>",
            y + 4.0
        ),
        Sign::Released => write!(svg, "<circle class=\"rel{colour}\" cx=\"{x:.1}\" cy=\"{y}\" r=\"4\"/>"),
        Sign::Failed | Sign::Refused => write!(
            svg,
            "<path class=\"fail{colour}\" d=\"M{:.1} {}l8 8m0 -8l-8 8\"/>",
            x - 4.0,
            y - 4.0
        ),
        Sign::Renewed => write!(svg, "<path class=\"ren{colour}\" d=\"M{x:.1} {}v8\"/>", y - 4.0),
        Sign::Write => write!(svg, "<path class=\"acc{colour}\" d=\"M{x:.1} {}v14\"/>", y - 7.0),
        Sign::Waiting => write!(svg, "<path class=\"wait{colour}\" d=\"M{x:.1} {}v5\"/>", y - 2.5),
        Sign::Other => write!(
            svg,
            "<circle class=\"other{colour}\" cx=\"{x:.1}\" cy=\"{y}\" r=\"2.5\"/>"
        ),
    };
    if dot.named {
        let _ = write!(svg, "<circle class=\"ring\" cx=\"{x:.1}\" cy=\"{y}\" r=\"8\"/>");
    }
    close_link(svg, dot.anchor.as_ref());
}
