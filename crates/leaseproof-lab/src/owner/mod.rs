//! Who is judged: any program, started anew by a supervisor's rules, its output read as events.

mod command;
mod lines;
mod name;
mod output;
mod secrets;
mod slot;

pub use command::Placeholders;
pub use lines::{LinePatterns, parse_line};
pub use name::RunMark;
pub use slot::{OwnerSeat, Seating};
