//! What every picture has: an axis of time above, striped rows below, labels that stay, and the flag of what was broken first.

use crate::visible::visible;
use serde::Serialize;
use std::fmt::{self, Write as _};

/// The height of the axis.
pub(crate) const AXIS: f64 = 24.0;
/// The average width of a letter at the picture's font size; a little too wide rather than too narrow.
pub(crate) const LETTER: f64 = 6.4;
/// How much wider the letters of a flag are: they are bold.
const BOLD: f64 = 1.15;

/// The label of a row; it stays in place when the picture is scrolled.
#[derive(Serialize)]
pub(crate) struct Label {
    label: String,
    sub: String,
    height: f64,
    colour: Option<usize>,
}

impl Label {
    pub(crate) fn new(label: &str, sub: &str, height: f64, colour: Option<usize>) -> Self {
        Self {
            label: label.to_owned(),
            sub: sub.to_owned(),
            height,
            colour: colour.map(palette),
        }
    }

    /// That of the axis.
    pub(crate) fn of_axis(label: &str) -> Self {
        Self::new(label, "", AXIS, None)
    }
}

/// A picture that is being drawn.
pub(crate) struct Frame {
    pub(crate) svg: String,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Frame {
    /// Begins one with rows of these heights. `id`: unique on the page.
    pub(crate) fn new(width: f64, heights: &[f64], id: &str, title: &str, description: Option<&str>) -> Self {
        let height = AXIS + heights.iter().sum::<f64>() + 2.0;
        let described = description.map_or_else(String::new, |_| format!(" {id}-d"));
        let mut svg = format!(
            "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"group\" \
             aria-labelledby=\"{id}-t{described}\"><title id=\"{id}-t\">{}</title>",
            Text(title),
        );
        if let Some(description) = description {
            let _ = write!(svg, "<desc id=\"{id}-d\">{}</desc>", Text(description));
        }
        let mut top = AXIS;
        for (number, height) in heights.iter().enumerate() {
            let _ = write!(
                svg,
                "<rect class=\"row{}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/>",
                number % 2,
            );
            top += height;
        }
        Self { svg, width, height }
    }

    /// The ticks, each with its text; one that would lie over its neighbour's is left out. Near the right end, from `end` on,
    /// the text stands before its tick.
    pub(crate) fn ticks(&mut self, ticks: impl IntoIterator<Item = (f64, String)>, end: f64) {
        let mut lines = String::new();
        let mut free_from = 0.0;
        for (x, text) in ticks {
            let _ = write!(lines, "M{x:.1} 16V{}", self.height);
            let wide = text.len() as f64 * LETTER;
            let (x, anchor) = if x > end { (x - 3.0, "end") } else { (x + 3.0, "start") };
            if anchor == "end" && x - wide < free_from {
                continue;
            }
            free_from = x + wide;
            let _ = write!(
                self.svg,
                "<text class=\"tick\" x=\"{x:.1}\" y=\"14\" text-anchor=\"{anchor}\">{text}</text>"
            );
        }
        let _ = write!(self.svg, "<path class=\"grid\" d=\"{lines}\"/>");
    }

    /// A line across all rows, with its words, if it lies in the picture.
    pub(crate) fn flag(&mut self, x: f64, text: &str) {
        if !(0.0..=self.width).contains(&x) {
            return;
        }
        let wide = visible(text).chars().count() as f64 * LETTER * BOLD + 10.0;
        let left = if x + wide > self.width { x - wide } else { x };
        let _ = write!(
            self.svg,
            "<path class=\"flagline\" d=\"M{x:.1} 2V{}\"/><rect class=\"flag\" x=\"{left:.1}\" y=\"2\" \
             width=\"{wide:.1}\" height=\"17\" rx=\"2\"/><text class=\"flagtext\" x=\"{:.1}\" y=\"15\">{}</text>",
            self.height,
            left + 5.0,
            Text(text),
        );
    }

    /// The whole picture.
    pub(crate) fn end(mut self) -> String {
        self.svg.push_str("</svg>");
        self.svg
    }
}

/// The number of an owner's colour; there are six, and the words always tell as well.
fn palette(colour: usize) -> usize {
    colour % 6
}

/// The class of that colour, after others.
pub(crate) fn colour_class(colour: Option<usize>) -> String {
    colour.map(|it| format!(" o{}", palette(it))).unwrap_or_default()
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
