//! Lanes to SVG, by hand: small, linkable, readable without colour and without scripts.

use crate::html::lane::{Lane, Span, SpanKind};
use crate::html::marks::{marks, thinning};
use crate::html::scale::Scale;
use crate::visible::visible;
use crate::words;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::EventId;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

const AXIS: f64 = 24.0;
/// The average width of a letter at the picture's font size; a little too wide rather than too narrow.
pub(crate) const LETTER: f64 = 6.4;

/// A drawn picture.
#[derive(Serialize)]
pub(crate) struct Chart {
    pub(crate) svg: String,
    pub(crate) labels: Vec<Label>,
    /// What is not drawn as it was, in words.
    pub(crate) note: Option<String>,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// The label of a lane; it stays in place when the picture is scrolled.
#[derive(Serialize)]
pub(crate) struct Label {
    label: String,
    sub: String,
    height: f64,
    colour: Option<usize>,
}

/// What a picture is of.
pub(crate) struct Subject<'a> {
    pub(crate) scale: Scale,
    pub(crate) zero: BootNanos,
    /// Unique on the page: ids inside the SVG begin with it.
    pub(crate) id: &'a str,
    /// The anchors of the record's events begin with it.
    pub(crate) anchor: &'a str,
    pub(crate) title: &'a str,
    pub(crate) description: &'a str,
    /// The first violation: a line across all lanes.
    pub(crate) flag: Option<(BootNanos, String)>,
    /// The events that have a row to link to.
    pub(crate) rows: &'a BTreeSet<EventId>,
    /// How many routine marks may be drawn.
    pub(crate) most_marks: usize,
}

/// Draws the lanes.
pub(crate) fn chart(lanes: &[Lane], of: &Subject<'_>) -> Chart {
    let lanes: Vec<&Lane> = lanes.iter().filter(|it| !it.may_be_left_out(&of.scale)).collect();
    let lanes = lanes.as_slice();
    let height = AXIS + lanes.iter().map(|it| it.height).sum::<f64>() + 2.0;
    let width = of.scale.width;
    let mut svg = String::new();
    let _ = write!(
        svg,
        "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"group\" \
         aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>",
        Text(of.title),
        Text(of.description),
        id = of.id,
    );
    let mut top = AXIS;
    for (number, lane) in lanes.iter().enumerate() {
        let _ = write!(
            svg,
            "<rect class=\"row{}\" y=\"{top}\" width=\"{width}\" height=\"{}\"/>",
            number % 2,
            lane.height
        );
        top += lane.height;
    }
    axis(&mut svg, of, height);
    let (apart, left_out) = thinning(lanes, of);
    let mut top = AXIS;
    for lane in lanes {
        let _ = write!(svg, "<g transform=\"translate(0 {top})\">");
        spans(&mut svg, lane, of);
        marks(&mut svg, lane, of, apart);
        svg.push_str("</g>");
        top += lane.height;
    }
    flag(&mut svg, of, height);
    svg.push_str("</svg>");
    Chart {
        svg,
        labels: labels(lanes),
        note: (left_out > 0).then(|| {
            let (marks, lie) = if left_out == 1 {
                ("1 routine mark is", "it lies")
            } else {
                (&*format!("{left_out} routine marks are"), "each lies")
            };
            format!(
                "Cut: {marks} not drawn, since {lie} within {} of another of its kind. No time is cut out, and every \
                 mark that a finding names is drawn.",
                words::count(apart as usize, "pixel")
            )
        }),
        width,
        height,
    }
}

fn labels(lanes: &[&Lane]) -> Vec<Label> {
    let axis = Label {
        label: "time".to_owned(),
        sub: String::new(),
        height: AXIS,
        colour: None,
    };
    let rows = lanes.iter().map(|it| Label {
        label: it.label.clone(),
        sub: it.sub.clone(),
        height: it.height,
        colour: it.colour.map(palette),
    });
    std::iter::once(axis).chain(rows).collect()
}

/// The number of an owner's colour; there are six, and the words always tell as well.
pub(crate) fn palette(colour: usize) -> usize {
    colour % 6
}

fn axis(svg: &mut String, of: &Subject<'_>, height: f64) {
    let mut lines = String::new();
    for (x, text) in of.scale.ticks(of.zero) {
        let _ = write!(lines, "M{x:.1} 16V{height}");
        let anchor = if x > of.scale.width - 40.0 { "end" } else { "start" };
        let x = if anchor == "end" { x - 3.0 } else { x + 3.0 };
        let _ = write!(
            svg,
            "<text class=\"tick\" x=\"{x:.1}\" y=\"14\" text-anchor=\"{anchor}\">{text}</text>"
        );
    }
    let _ = write!(svg, "<path class=\"grid\" d=\"{lines}\"/>");
}

fn flag(svg: &mut String, of: &Subject<'_>, height: f64) {
    let Some((at, text)) = &of.flag else { return };
    let x = of.scale.x(*at);
    if !(0.0..=of.scale.width).contains(&x) {
        return;
    }
    let text = visible(text);
    let wide = text.chars().count() as f64 * LETTER + 10.0;
    let left = if x + wide > of.scale.width { x - wide } else { x };
    let _ = write!(
        svg,
        "<path class=\"flagline\" d=\"M{x:.1} 2V{height}\"/><rect class=\"flag\" x=\"{left:.1}\" y=\"2\" \
         width=\"{wide:.1}\" height=\"17\" rx=\"2\"/><text class=\"flagtext\" x=\"{:.1}\" y=\"15\">{}</text>",
        left + 5.0,
        Text(&text),
    );
}

fn spans(svg: &mut String, lane: &Lane, of: &Subject<'_>) {
    // Frozen spans lie below, so that what was said or written in them stays readable.
    let mut order: Vec<&Span> = lane.spans.iter().collect();
    order.sort_by_key(|it| it.kind != SpanKind::Frozen);
    for span in order {
        let Some((x, wide)) = of.scale.clip(span.from, span.to) else {
            continue;
        };
        let class = match span.kind {
            SpanKind::Cycle => "cycle",
            SpanKind::Life => "life",
            SpanKind::Belief => "belief",
            SpanKind::Frozen => "frozen",
            SpanKind::Grant => "grant",
            SpanKind::Unsure => "unsure",
            SpanKind::Fault => "fault",
            SpanKind::Covered => "covered",
        };
        let colour = span.colour.map(|it| format!(" o{}", palette(it))).unwrap_or_default();
        open_link(svg, of, span.event);
        let _ = write!(
            svg,
            "<rect class=\"{class}{colour}\" x=\"{x:.1}\" y=\"{}\" width=\"{wide:.1}\" height=\"{}\">\
             <title>{}</title></rect>",
            span.top,
            span.height,
            Text(&span.title)
        );
        let needed = span.text.chars().count() as f64 * LETTER + 8.0;
        if !span.text.is_empty() && wide >= needed {
            let y = if span.kind == SpanKind::Frozen {
                span.height - 6.0
            } else {
                span.top + span.height / 2.0 + 4.0
            };
            let _ = write!(
                svg,
                "<text class=\"in {class}t\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
                x + 5.0,
                Text(&span.text)
            );
        }
        close_link(svg, of, span.event);
    }
}

pub(crate) fn open_link(svg: &mut String, of: &Subject<'_>, event: Option<EventId>) {
    match event.filter(|id| of.rows.contains(id)) {
        Some(id) => {
            let _ = write!(svg, "<a href=\"#{}{id}\">", of.anchor);
        }
        None => svg.push_str("<g>"),
    }
}

pub(crate) fn close_link(svg: &mut String, of: &Subject<'_>, event: Option<EventId>) {
    svg.push_str(if event.is_some_and(|id| of.rows.contains(&id)) {
        "</a>"
    } else {
        "</g>"
    });
}

/// Text in XML: nothing in it can become markup.
pub(crate) struct Text<'a>(pub(crate) &'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in visible(self.0).chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                _ => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
