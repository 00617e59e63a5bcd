//! Lines of painted words, wrapped at the terminal's width.

use super::TerminalStyle;
use anstyle::{AnsiColor, Style};
use leaseproof_model::verdict::Verdict;

/// The few ways in which words are painted; the words alone always say the same.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Bold,
    Dim,
    Good,
    Warn,
    Bad,
}

impl Paint {
    fn style(self) -> Style {
        let plain = Style::new();
        match self {
            Self::Plain => plain,
            Self::Bold => plain.bold(),
            Self::Dim => plain.dimmed(),
            Self::Good => plain.bold().fg_color(Some(AnsiColor::Green.into())),
            Self::Warn => plain.bold().fg_color(Some(AnsiColor::Yellow.into())),
            Self::Bad => plain.bold().fg_color(Some(AnsiColor::Red.into())),
        }
    }
}

/// The text so far.
pub(crate) struct Paper {
    colour: bool,
    ascii: bool,
    width: usize,
    text: String,
}

impl Paper {
    pub(crate) fn new(style: &TerminalStyle) -> Self {
        Self {
            colour: style.colour,
            ascii: style.ascii,
            // Narrower than this, wrapping does more harm than a terminal's own.
            width: style.width.max(40),
            text: String::new(),
        }
    }

    /// The mark before a scenario's name.
    pub(crate) fn mark(&self, verdict: Verdict) -> &'static str {
        match (verdict, self.ascii) {
            (Verdict::Proven, false) => "✓",
            (Verdict::Proven, true) => "+",
            (Verdict::CannotTell, _) => "?",
            (Verdict::Violated, false) => "✗",
            (Verdict::Violated, true) => "x",
        }
    }

    /// An empty line before a block, never two.
    pub(crate) fn gap_if(&mut self, wanted: bool) {
        if wanted && !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// One line; what does not fit goes on at the same indent, two further in.
    pub(crate) fn line(&mut self, indent: usize, parts: &[(Paint, &str)]) {
        self.hanging(indent, indent + 2, parts);
    }

    /// One line; what does not fit goes on at the column `hang`.
    pub(crate) fn hanging(&mut self, indent: usize, hang: usize, parts: &[(Paint, &str)]) {
        let mut column = 0;
        let mut fresh = true;
        self.pad(indent, &mut column);
        for (paint, text) in parts {
            let mut open = false;
            for word in text.split_inclusive(' ') {
                let length = self.columns(word.trim_end());
                if !fresh && column + length > self.width {
                    self.close(*paint, &mut open);
                    while self.text.ends_with(' ') {
                        self.text.pop();
                    }
                    self.text.push('\n');
                    column = 0;
                    self.pad(hang, &mut column);
                }
                if self.colour && !open && *paint != Paint::Plain {
                    self.text.push_str(&paint.style().render().to_string());
                    open = true;
                }
                self.push(word);
                column += self.columns(word);
                fresh = false;
            }
            self.close(*paint, &mut open);
        }
        while self.text.ends_with(' ') {
            self.text.pop();
        }
        self.text.push('\n');
    }

    /// One line as it is, however long: to be copied.
    pub(crate) fn verbatim(&mut self, indent: usize, text: &str) {
        let mut column = 0;
        self.pad(indent, &mut column);
        self.push(text);
        self.text.push('\n');
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }

    /// How wide a word is as it will be written.
    fn columns(&self, word: &str) -> usize {
        let wider = |c: char| match c {
            '±' if self.ascii => 2,
            '…' if self.ascii => 3,
            _ => 1,
        };
        word.chars().map(wider).sum()
    }

    fn pad(&mut self, indent: usize, column: &mut usize) {
        self.text.extend(std::iter::repeat_n(' ', indent));
        *column += indent;
    }

    fn close(&mut self, paint: Paint, open: &mut bool) {
        if *open {
            // Spaces go behind the reset, so that they can still be dropped at the line's end.
            let end = self.text.trim_end_matches(' ').len();
            self.text.insert_str(end, &paint.style().render_reset().to_string());
            *open = false;
        }
    }

    fn push(&mut self, word: &str) {
        if !self.ascii {
            self.text.push_str(word);
            return;
        }
        for c in word.chars() {
            match c {
                c if c.is_ascii() => self.text.push(c),
                '±' => self.text.push_str("+-"),
                'µ' => self.text.push('u'),
                '−' | '–' => self.text.push('-'),
                '…' => self.text.push_str("..."),
                _ => self.text.push('?'),
            }
        }
    }
}
