//! What is inferred from a span's readings, against what was.

#[allow(dead_code, reason = "each test program uses a part of this fixture")]
#[path = "../sim/mod.rs"]
mod sim;

mod against_a_plan;
mod answered;
mod named;
mod seen;
mod shown_in_part;
mod whole_seconds;
