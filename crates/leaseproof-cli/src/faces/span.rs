//! What people see while readings are taken: a live line on a terminal, one plain line elsewhere. All on
//! stderr: stdout is the answer's.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use leaseproof_live::inspect::settings::Progress;
use std::cell::Cell;
use std::io::IsTerminal as _;
use std::rc::Rc;

/// The line.
pub struct Span {
    bar: Option<ProgressBar>,
    quiet: bool,
}

impl Span {
    /// Starts it.
    pub fn start(quiet: bool) -> Self {
        let bar = (std::io::stderr().is_terminal() && !quiet).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
            if let Ok(style) = ProgressStyle::with_template("  {spinner} {wide_msg}") {
                bar.set_style(style);
            }
            bar
        });
        Self { bar, quiet }
    }

    /// Where the progress is sent.
    pub fn watcher(&self) -> Box<dyn Fn(&Progress)> {
        let (bar, quiet) = (self.bar.clone(), self.quiet);
        let told = Rc::new(Cell::new(false));
        Box::new(move |step| match (&bar, step) {
            (Some(bar), step) => {
                bar.set_message(words(step));
                bar.tick();
            }
            (None, Progress::Monitoring(span)) if !quiet => eprintln!("watching the server for {span:?}"),
            (None, Progress::Reading { span, .. }) if !quiet && !told.replace(true) => {
                eprintln!("reading the lease for {span:?}");
            }
            _ => {}
        })
    }

    /// Clears the line.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn words(step: &Progress) -> String {
    match step {
        Progress::Monitoring(span) => format!("watching the server for {span:?}"),
        Progress::Reading {
            passed,
            span,
            readings,
            renewals,
        } => format!(
            "{:.1} of {:.1} s: {readings} readings, {renewals} renewals",
            passed.as_secs_f64(),
            span.as_secs_f64()
        ),
    }
}
