//! Lanes to SVG, by hand: small, linkable, readable without colour and without scripts.

use crate::html::frame::{AXIS, Frame, LETTER, Label, Text, colour_class};
use crate::html::lane::{Lane, Span, SpanKind};
use crate::html::marks::{marks, thinning};
use crate::html::scale::Scale;
use crate::words;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::EventId;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;

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
    let heights: Vec<f64> = lanes.iter().map(|it| it.height).collect();
    let mut frame = Frame::new(of.scale.width, &heights, of.id, of.title, Some(of.description));
    frame.ticks(of.scale.ticks(of.zero), of.scale.width - 40.0);
    let (apart, left_out) = thinning(lanes, of);
    let mut top = AXIS;
    for lane in lanes {
        let _ = write!(frame.svg, "<g transform=\"translate(0 {top})\">");
        spans(&mut frame.svg, lane, of);
        marks(&mut frame.svg, lane, of, apart);
        frame.svg.push_str("</g>");
        top += lane.height;
    }
    if let Some((at, text)) = &of.flag {
        frame.flag(of.scale.x(*at), text);
    }
    let (width, height) = (frame.width, frame.height);
    let rows = lanes
        .iter()
        .map(|it| Label::new(&it.label, &it.sub, it.height, it.colour));
    Chart {
        svg: frame.end(),
        labels: std::iter::once(Label::of_axis("time")).chain(rows).collect(),
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
        let colour = colour_class(span.colour);
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
