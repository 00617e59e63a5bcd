//! What people see while it runs, and how they stop it.

pub mod checklist;
mod live;
pub mod metrics;
mod reading;
pub mod signals;
mod span;

pub use live::Live;
pub use reading::Reading;
pub use span::Span;

/// The width of the terminal, or a width that reads well in a file.
pub fn width() -> usize {
    rustix::termios::tcgetwinsize(std::io::stdout()).map_or(100, |size| usize::from(size.ws_col).clamp(40, 120))
}
