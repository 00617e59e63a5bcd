//! One file a verb.

mod check;
mod diagnose;
mod explain;
#[cfg(feature = "gate")]
mod gate;
mod hold;
mod inspect;
mod owner;
mod shell;
mod undo;
mod verify;
mod watch;

use crate::args::{Args, Verb};
use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

/// The call or the plan is wrong.
pub const WRONG_CALL: u8 = 2;

/// Runs the verb.
pub fn dispatch(args: Args) -> ExitCode {
    match args.verb {
        Verb::Verify(args) => verify::run(&args),
        Verb::Check(args) => check::run(&args),
        Verb::Inspect(args) => inspect::run(*args),
        Verb::Diagnose(args) => diagnose::run(*args),
        Verb::Watch(args) => watch::run(&args),
        Verb::Hold(args) => hold::run(*args),
        #[cfg(feature = "gate")]
        Verb::Gate(args) => gate::run(*args),
        Verb::Owner(args) => owner::run(args),
        Verb::Explain { code } => explain::run(code.as_deref()),
        Verb::Undo { out, store } => undo::run(&out, store.as_deref()),
        Verb::Completions { shell } => shell::completions(shell),
        Verb::Man { dir } => shell::man(&dir),
    }
}

/// Prints one clear error and gives back exit status 2.
pub fn wrong(says: &str) -> ExitCode {
    anstream::eprintln!(
        "{}error:{} {says}",
        anstyle::AnsiColor::Red.on_default().bold(),
        anstyle::Reset
    );
    ExitCode::from(WRONG_CALL)
}

/// Prints to stdout; a reader that went away (`| head`) is no error.
pub fn print(text: &str) {
    if let Err(says) = print_all(text) {
        eprintln!("error: {says}");
    }
}

/// Prints to stdout, and says when what was printed is lost (a full disk).
pub fn print_all(text: &str) -> Result<(), String> {
    let mut out = anstream::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(format!("stdout can't be written: {error}")),
        _ => Ok(()),
    }
}
