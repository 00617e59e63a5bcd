//! A live line per scenario on a terminal; plain lines elsewhere. All on stderr: stdout is the verdict's.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use leaseproof_lab::progress::{Progress, Watcher};
use leaseproof_model::scenario::ScenarioId;
use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The running picture.
pub struct Live {
    inner: Arc<Inner>,
}

/// The live line of each scenario on each store.
type Lines = BTreeMap<(String, ScenarioId), ProgressBar>;

struct Inner {
    quiet: bool,
    several_stores: bool,
    started: Instant,
    bars: Option<(MultiProgress, Mutex<Lines>)>,
}

impl Live {
    /// Starts it.
    pub fn start(quiet: bool, several_stores: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bars = (terminal && !quiet).then(|| {
            let bars = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            (bars, Mutex::new(BTreeMap::new()))
        });
        Self {
            inner: Arc::new(Inner {
                quiet,
                several_stores,
                started: Instant::now(),
                bars,
            }),
        }
    }

    /// Where the runner sends its progress.
    pub fn watcher(&self) -> Arc<Watcher> {
        let inner = Arc::clone(&self.inner);
        Arc::new(move |step| inner.take(step))
    }

    /// Clears the live lines.
    pub fn finish(&self) {
        if let Some((bars, _)) = &self.inner.bars {
            let _ = bars.clear();
        }
    }
}

impl Inner {
    fn take(&self, step: Progress) {
        if self.quiet {
            return;
        }
        match &self.bars {
            Some((bars, lines)) => self.draw(bars, lines, step),
            None => self.plain(&step),
        }
    }

    /// What stands at the begin of a line.
    fn name(&self, store: &str, id: ScenarioId) -> String {
        if self.several_stores {
            format!("{store:<12} {id:<20}")
        } else {
            format!("{id:<20}")
        }
    }

    fn draw(&self, bars: &MultiProgress, lines: &Mutex<Lines>, step: Progress) {
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        match step {
            Progress::Started { id, store } => {
                let bar = bars.add(ProgressBar::new_spinner());
                if let Ok(style) = ProgressStyle::with_template("  {spinner} {prefix} {elapsed:>4} {wide_msg}") {
                    bar.set_style(style);
                }
                bar.set_prefix(self.name(&store, id));
                bar.enable_steady_tick(std::time::Duration::from_millis(250));
                lines.insert((store, id), bar);
            }
            Progress::Step { id, store, cycle, step } => {
                if let Some(bar) = lines.get(&(store, id)) {
                    bar.set_message(format!("cycle {} of {}: {step}", cycle.0, cycle.1));
                }
            }
            Progress::Ended(verdict) => {
                if let Some(bar) = lines.remove(&(verdict.store.clone(), verdict.id)) {
                    bar.finish_and_clear();
                }
                let held = format!("{}/{} cycles", verdict.cycles_held, verdict.cycles);
                let _ = bars.println(format!(
                    "  {} {:<11} {held}, {:.1} s",
                    self.name(&verdict.store, verdict.id),
                    verdict.verdict,
                    seconds(verdict.took_ms)
                ));
            }
            Progress::NotOffered(it) => {
                if let Some(bar) = lines.remove(&(it.store.clone(), it.id)) {
                    bar.finish_and_clear();
                }
                let _ = bars.println(format!("  {} not offered", self.name(&it.store, it.id)));
            }
        }
    }

    fn plain(&self, step: &Progress) {
        let at = self.started.elapsed().as_secs_f64();
        match step {
            Progress::Started { .. } | Progress::Step { .. } => {}
            Progress::Ended(verdict) => {
                eprintln!(
                    "[{at:5.1} s] {} {:<11} {}/{} cycles",
                    self.name(&verdict.store, verdict.id),
                    verdict.verdict,
                    verdict.cycles_held,
                    verdict.cycles
                );
            }
            Progress::NotOffered(it) => {
                eprintln!("[{at:5.1} s] {} not offered: {}", self.name(&it.store, it.id), it.why);
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds of one run")]
fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}
