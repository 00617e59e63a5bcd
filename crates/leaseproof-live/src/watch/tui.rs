//! The terminal view: the leases live, worst first. Ends on `q`, Ctrl-C, or when it is asked to.

use super::belief::Claim;
use super::board::{Board, Entry};
use super::notices;
use super::page::badness;
use super::run::Monitor;
use leaseproof_model::clock::BootNanos;
use leaseproof_proc::clock::boot_now;
use leaseproof_report::visible::visible;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Row, Table};
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often it is drawn.
const EACH: Duration = Duration::from_millis(500);

/// More rows than any terminal has.
const ROWS: usize = 500;

/// How many of the last notices are kept.
const NOTICES: usize = 5;

/// Shows it until the user or somebody else ends it.
///
/// # Errors
/// When the terminal can't be drawn on or read.
pub fn show(monitor: &Monitor, stop: &AtomicBool, until: Option<Instant>) -> io::Result<()> {
    let mut terminal = ratatui::try_init()?;
    let mut told = VecDeque::new();
    let done = loop {
        if stop.load(Ordering::Relaxed) || until.is_some_and(|until| Instant::now() >= until) {
            break Ok(());
        }
        while let Some(notice) = monitor.notice(Duration::ZERO) {
            told.push_front(notices::line(&notice));
            told.truncate(NOTICES);
        }
        let (head, rows) = {
            let board = monitor.board();
            let now = boot_now();
            (head(&board), rows(&board, now))
        };
        if let Err(error) = terminal.draw(|frame| draw(frame, &head, &rows, &told)) {
            break Err(error);
        }
        match asked_to_end() {
            Ok(true) => break Ok(()),
            Ok(false) => {}
            Err(error) => break Err(error),
        }
    };
    ratatui::restore();
    done
}

fn asked_to_end() -> io::Result<bool> {
    if !event::poll(EACH)? {
        return Ok(false);
    }
    Ok(match event::read()? {
        Event::Key(key) => {
            let interrupt = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
            interrupt || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
        }
        _ => false,
    })
}

fn head(board: &Board) -> String {
    let up = if board.store.up { "up" } else { "NO ANSWER" };
    format!(
        "{} leases on {} {} ({up})  round {:.2} s  own lag {:.0} ms  blind {:.1} s  q ends",
        board.len(),
        board.store.kind,
        board.store.version,
        board.own.round.as_secs_f64(),
        board.own.lag.as_secs_f64() * 1000.0,
        board.own.blind.as_secs_f64(),
    )
}

/// One lease as cells, and whether it is bad.
type Cells = ([String; 7], bool);

/// The worst first; where none is worse, by key.
fn rows(board: &Board, now: BootNanos) -> Vec<Cells> {
    let mut all: Vec<(f64, &Entry)> = board.iter().map(|(_, it)| (badness(it, board, now), it)).collect();
    all.sort_by(|(a, x), (b, y)| b.total_cmp(a).then_with(|| x.key.cmp(&y.key)));
    all.truncate(ROWS);
    all.into_iter()
        .map(|(bad, entry)| (cells(entry, board, now), bad >= 0.5))
        .collect()
}

fn cells(entry: &Entry, board: &Board, now: BootNanos) -> [String; 7] {
    let seconds = |value: Option<f64>| value.map_or_else(|| "?".to_owned(), |value| format!("{value:.1} s"));
    let lease = &entry.lease;
    let holder = match (&lease.unreadable, &lease.grant) {
        (Some(why), _) => visible(why).into_owned(),
        (None, Some(grant)) => visible(grant.holder.as_str()).into_owned(),
        (None, None) if lease.looked.is_none() => "?".to_owned(),
        (None, None) => "free".to_owned(),
    };
    let token = lease
        .grant
        .as_ref()
        .and_then(|it| it.token)
        .map_or_else(String::new, |it| it.to_string());
    let (believes, diverged) = match &entry.belief {
        None => (String::new(), String::new()),
        Some(belief) => match belief.known(now, lease, &board.terms) {
            None => ("unknown".to_owned(), "?".to_owned()),
            Some(report) => {
                let claim = if report.claim == Claim::Holds {
                    "holds"
                } else {
                    "does not"
                };
                let by = belief.divergence(now, lease, &board.terms).map(|it| it.as_secs_f64());
                (claim.to_owned(), seconds(by))
            }
        },
    };
    [
        visible(&entry.key.shown()).into_owned(),
        holder,
        token,
        lease
            .grant
            .as_ref()
            .map_or_else(String::new, |_| seconds(lease.ttl_left(now))),
        lease
            .grant
            .as_ref()
            .map_or_else(String::new, |_| seconds(lease.renewed_ago().map(|it| it.as_secs_f64()))),
        believes,
        diverged,
    ]
}

fn draw(frame: &mut Frame<'_>, head: &str, rows: &[Cells], told: &VecDeque<String>) {
    let told_height = u16::try_from(told.len()).unwrap_or(0);
    let [top, middle, bottom] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(2),
        Constraint::Length(told_height),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(head), top);
    let widths = [
        Constraint::Fill(3),
        Constraint::Fill(3),
        Constraint::Length(8),
        Constraint::Length(9),
        Constraint::Length(9),
        Constraint::Length(9),
        Constraint::Length(9),
    ];
    let red = Style::default().fg(Color::Red).add_modifier(Modifier::BOLD);
    let lines = rows.iter().map(|(cells, bad)| {
        let row = Row::new(cells.iter().map(String::as_str));
        if *bad { row.style(red) } else { row }
    });
    let names = ["lease", "holder", "token", "TTL left", "renewed", "owner", "diverged"];
    let header = Row::new(names).style(Style::default().add_modifier(Modifier::BOLD));
    frame.render_widget(Table::new(lines, widths).header(header), middle);
    let lines: Vec<Line<'_>> = told.iter().map(|line| Line::from(line.as_str())).collect();
    frame.render_widget(Paragraph::new(lines), bottom);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    #[test]
    fn it_fits_a_small_terminal() {
        let cells = |key: &str| [key, "me#1", "41", "2.1 s", "0.9 s", "holds", "0.0 s"].map(str::to_owned);
        let rows = [(cells("jobs/a"), true), (cells("jobs/b"), false)];
        for (width, height) in [(80, 10), (40, 4), (10, 3), (1, 1)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
            let told = VecDeque::from(["a: DIVERGED".to_owned()]);
            terminal
                .draw(|frame| draw(frame, "2 leases", &rows, &told))
                .expect("drawn");
        }
    }
}
