//! The marks of a lane as SVG: routine ones many in one path, the others each by itself with its link.

use crate::html::draw::{Subject, close_link, open_link};
use crate::html::frame::{LETTER, Text, colour_class};
use crate::html::lane::{Lane, Mark, MarkKind};
use std::collections::BTreeMap;
use std::fmt::Write as _;

fn inside(mark: &Mark, of: &Subject<'_>) -> bool {
    mark.at.latest >= of.scale.from && mark.at.earliest <= of.scale.to
}

fn is_plain(mark: &Mark) -> bool {
    mark.kind.is_routine() && !mark.named && !mark.accused
}

/// Where the routine marks of each kind and colour lie.
type Places = BTreeMap<(MarkKind, Option<usize>), Vec<(f64, f64)>>;

/// Routine marks of one kind and colour, thinned to one in `apart` pixels.
fn plain(lane: &Lane, of: &Subject<'_>, apart: f64) -> (Places, usize) {
    let mut kept = Places::new();
    let mut left_out = 0;
    for mark in lane.marks.iter().filter(|it| is_plain(it) && inside(it, of)) {
        let x = of.scale.middle(mark.at);
        let of_kind = kept.entry((mark.kind, mark.colour)).or_default();
        if of_kind.last().is_some_and(|(last, y)| x - last < apart && *y == mark.y) {
            left_out += 1;
        } else {
            of_kind.push((x, mark.y));
        }
    }
    (kept, left_out)
}

/// How far apart routine marks must be so that no more than the allowed number is drawn.
pub(crate) fn thinning(lanes: &[&Lane], of: &Subject<'_>) -> (f64, usize) {
    let mut apart = 1.0;
    loop {
        let (mut drawn, mut left_out) = (0, 0);
        for lane in lanes {
            let (kept, out) = plain(lane, of, apart);
            drawn += kept.values().map(Vec::len).sum::<usize>();
            left_out += out;
        }
        if drawn <= of.most_marks || apart > of.scale.width {
            return (apart, left_out);
        }
        apart *= 2.0;
    }
}

pub(crate) fn marks(svg: &mut String, lane: &Lane, of: &Subject<'_>, apart: f64) {
    for ((kind, colour), places) in plain(lane, of, apart).0 {
        let mut path = String::new();
        for (x, y) in &places {
            routine_shape(&mut path, kind, *x, *y);
        }
        let colour = colour_class(colour);
        let (class, word) = class_and_word(kind);
        let _ = write!(
            svg,
            "<path class=\"{class}{colour}\" d=\"{path}\"><title>{word}: {} drawn</title></path>",
            places.len()
        );
    }
    let mut single: Vec<&Mark> = lane.marks.iter().filter(|it| !is_plain(it) && inside(it, of)).collect();
    single.sort_by_key(|it| (it.accused, it.at.latest));
    let mut written_to: BTreeMap<u64, f64> = BTreeMap::new();
    for mark in single.iter().filter(|it| !it.accused) {
        one(svg, mark, of);
        text(svg, mark, of, &mut written_to);
    }
    for mark in single.iter().filter(|it| it.accused) {
        one(svg, mark, of);
    }
}

fn class_and_word(kind: MarkKind) -> (&'static str, &'static str) {
    match kind {
        MarkKind::Accepted => ("acc", "write accepted"),
        MarkKind::Rejected => ("rej", "write rejected"),
        MarkKind::Straddling => ("strad", "straddling write"),
        MarkKind::Acquired => ("acq", "acquired"),
        MarkKind::Renewed => ("ren", "renewed"),
        MarkKind::Failed => ("fail", "renewal failed"),
        MarkKind::Lost => ("lost", "lost"),
        MarkKind::Released => ("rel", "released"),
        MarkKind::Refused => ("refu", "refused to write"),
        MarkKind::Waiting => ("wait", "waiting"),
        MarkKind::Reading => ("read", "reading of the store"),
        MarkKind::Wire => ("wire", "traffic to the store"),
        MarkKind::Other => ("other", "event"),
    }
}

fn routine_shape(path: &mut String, kind: MarkKind, x: f64, y: f64) {
    let _ = match kind {
        MarkKind::Accepted => write!(path, "M{x:.1} {}v14", y - 7.0),
        MarkKind::Renewed => write!(path, "M{x:.1} {}v6", y - 3.0),
        MarkKind::Reading => write!(path, "M{x:.1} {}v5", y - 2.5),
        MarkKind::Wire => write!(path, "M{x:.1} {}v3", y - 1.5),
        MarkKind::Refused => write!(path, "M{:.1} {y}h4", x - 2.0),
        _ => write!(path, "M{x:.1} {}v4", y - 2.0),
    };
}

fn one(svg: &mut String, mark: &Mark, of: &Subject<'_>) {
    let x = of.scale.middle(mark.at);
    let y = mark.y;
    let colour = colour_class(mark.colour);
    let (class, _) = class_and_word(mark.kind);
    open_link(svg, of, Some(mark.event));
    let _ = write!(
        svg,
        "<g class=\"mark\"><title>{} {}</title>",
        mark.event,
        Text(&mark.title)
    );
    let half = (of.scale.x(mark.at.latest) - of.scale.x(mark.at.earliest)) / 2.0;
    if half > 3.0 && (mark.named || mark.accused) {
        let _ = write!(
            svg,
            "<path class=\"whisker\" d=\"M{:.1} {y}h{:.1}\"/>",
            x - half,
            half * 2.0
        );
    }
    if mark.accused {
        let _ = write!(
            svg,
            "<path class=\"accused\" d=\"M{x:.1} {}l7 9l-7 9l-7 -9z\"/>",
            y - 9.0
        );
    } else {
        let _ = match mark.kind {
            MarkKind::Rejected | MarkKind::Failed => {
                write!(
                    svg,
                    "<path class=\"{class}{colour}\" d=\"M{:.1} {}l8 8m0 -8l-8 8\"/>",
                    x - 4.0,
                    y - 4.0
                )
            }
            MarkKind::Straddling => {
                write!(
                    svg,
                    "<path class=\"{class}{colour}\" d=\"M{x:.1} {}l5 7l-5 7l-5 -7z\"/>",
                    y - 7.0
                )
            }
            MarkKind::Acquired => {
                write!(
                    svg,
                    "<path class=\"{class}{colour}\" d=\"M{x:.1} {}l5 9h-10z\"/>",
                    y - 5.0
                )
            }
            MarkKind::Lost => {
                write!(
                    svg,
                    "<path class=\"{class}{colour}\" d=\"M{x:.1} {}l5 -9h-10z\"/>",
                    y + 4.0
                )
            }
            MarkKind::Released | MarkKind::Other => {
                write!(
                    svg,
                    "<circle class=\"{class}{colour}\" cx=\"{x:.1}\" cy=\"{y}\" r=\"4\"/>"
                )
            }
            kind => {
                let mut path = String::new();
                routine_shape(&mut path, kind, x, y);
                write!(svg, "<path class=\"{class}{colour}\" d=\"{path}\"/>")
            }
        };
        if mark.named {
            let _ = write!(svg, "<circle class=\"ring\" cx=\"{x:.1}\" cy=\"{y}\" r=\"8\"/>");
        }
    }
    svg.push_str("</g>");
    close_link(svg, of, Some(mark.event));
}

/// The word next to a mark, where no other word of its line is in the way.
fn text(svg: &mut String, mark: &Mark, of: &Subject<'_>, written_to: &mut BTreeMap<u64, f64>) {
    if mark.text.is_empty() {
        return;
    }
    let x = of.scale.middle(mark.at) + 7.0;
    let wide = mark.text.chars().count() as f64 * LETTER;
    let free_from = written_to.entry(mark.y.to_bits()).or_insert(0.0);
    if x < *free_from || x + wide > of.scale.width {
        return;
    }
    *free_from = x + wide + 10.0;
    let _ = write!(
        svg,
        "<text class=\"by\" x=\"{x:.1}\" y=\"{}\">{}</text>",
        mark.y + 4.0,
        Text(&mark.text)
    );
}
