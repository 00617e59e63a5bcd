//! Developer commands: truth, torture, bench.
fn main() {}
