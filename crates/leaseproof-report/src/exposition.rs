//! Prometheus's text format: what a scrape reads, and the node exporter's textfile collector.
//!
//! By hand, since it is a page of text: the official client speaks OpenMetrics, which the textfile
//! collector does not read as meant, and keeps a series for ever, which leases that come and go must not.

use std::fmt::Write as _;

/// What a family's numbers mean.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It goes up and down.
    Gauge,
    /// It goes up, and begins anew at zero when the process does.
    Counter,
}

impl Kind {
    /// The word of the format.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Counter => "counter",
        }
    }
}

/// The media type of a page.
pub const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A page in the making.
#[derive(Debug, Default)]
pub struct Page(String);

impl Page {
    /// An empty page.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a family; its samples follow.
    pub fn family(&mut self, name: &str, kind: Kind, help: &str) {
        self.0.push_str("# HELP ");
        self.0.push_str(name);
        self.0.push(' ');
        for c in help.chars() {
            match c {
                '\\' => self.0.push_str("\\\\"),
                '\n' => self.0.push_str("\\n"),
                other => self.0.push(other),
            }
        }
        // Writing to a String can't fail, here and below.
        let _ = writeln!(self.0, "\n# TYPE {name} {}", kind.as_str());
    }

    /// One sample.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.0.push_str(name);
        for (at, (label, text)) in labels.iter().enumerate() {
            self.0.push(if at == 0 { '{' } else { ',' });
            self.0.push_str(label);
            self.0.push_str("=\"");
            for c in text.chars() {
                match c {
                    '\\' => self.0.push_str("\\\\"),
                    '"' => self.0.push_str("\\\""),
                    '\n' => self.0.push_str("\\n"),
                    other => self.0.push(other),
                }
            }
            self.0.push('"');
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        if value.is_nan() {
            self.0.push_str(" NaN\n");
        } else if value.is_infinite() {
            self.0.push_str(if value > 0.0 { " +Inf\n" } else { " -Inf\n" });
        } else {
            let _ = writeln!(self.0, " {value}");
        }
    }

    /// The text.
    #[must_use]
    pub fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_reads_as_the_format_says() {
        let mut page = Page::new();
        page.family("x_total", Kind::Counter, "one\ntwo \\");
        page.sample("x_total", &[], 3.0);
        page.sample("x_total", &[("key", "a\"b\\c\nd"), ("n", "")], 0.25);
        page.sample("x_total", &[], f64::INFINITY);
        assert_eq!(
            page.finish(),
            "# HELP x_total one\\ntwo \\\\\n# TYPE x_total counter\nx_total 3\n\
             x_total{key=\"a\\\"b\\\\c\\nd\",n=\"\"} 0.25\nx_total +Inf\n"
        );
    }
}
