//! Who is judged: any program, started anew by a supervisor's rules, its output read as events.

mod command;
mod lines;
mod output;
mod secrets;
mod slot;

pub use command::Placeholders;
pub use lines::{LinePatterns, parse_line};
pub use slot::{OwnerSeat, Seating};
