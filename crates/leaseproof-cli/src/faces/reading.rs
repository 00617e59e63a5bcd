//! What people see while files are read: a live line on a terminal, nothing elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use leaseproof_evidence::Progress;
use std::io::IsTerminal as _;

/// The line.
pub struct Reading {
    bar: Option<ProgressBar>,
}

impl Reading {
    /// Starts it.
    pub fn start(quiet: bool) -> Self {
        let bar = (std::io::stderr().is_terminal() && !quiet).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
            if let Ok(style) = ProgressStyle::with_template("  {spinner} {wide_msg} {eta}") {
                bar.set_style(style);
            }
            bar
        });
        Self { bar }
    }

    /// Shows how far it is.
    pub fn tell(&self, step: &Progress) {
        let Some(bar) = &self.bar else { return };
        let mib = |bytes: u64| bytes >> 20;
        if let Some(of) = step.of {
            bar.set_length(of);
            bar.set_position(step.read);
            bar.set_message(format!("{}: {} of {} MiB", step.file, mib(step.read), mib(of)));
        } else {
            bar.set_message(format!("{}: {} MiB", step.file, mib(step.read)));
        }
    }

    /// Clears the line.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
