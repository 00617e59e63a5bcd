//! The first ten minutes, as a list or as questions.

use leaseproof_diagnosis::checklist::{NOT_YET, STEPS, Step};
use std::io::{BufRead as _, Write as _};

/// The whole list.
pub fn text() -> String {
    let mut text =
        String::from("no files were given: the first ten minutes of an incident, what is lost first comes first\n");
    for (step, number) in STEPS.iter().zip(1..) {
        text.push_str(&format!("\n{number}. {}\n", step.ask));
        text.push_str(&commands(step));
    }
    text.push_str("\nnot yet:\n");
    for it in NOT_YET {
        text.push_str(&format!("  don't {it}\n"));
    }
    text.push_str("\nthen: leaseproof diagnose FILES…    (leaseproof diagnose --ask goes through these one by one)\n");
    text
}

fn commands(step: &Step) -> String {
    let mut text = String::new();
    for command in step.get {
        text.push_str(&format!("     {command}\n"));
    }
    text.push_str(&format!("   {}\n", step.why));
    text
}

/// Asks them one by one; the end of the input ends it.
pub fn ask() {
    let mut answers = std::io::stdin().lock();
    let mut out = anstream::stdout();
    let mut say = |text: &str| out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok();
    let mut got = 0;
    for (step, number) in STEPS.iter().zip(1..) {
        if !say(&format!("{number}/{} {} [y/n/q] ", STEPS.len(), step.ask)) {
            return;
        }
        let mut answer = String::new();
        match answers.read_line(&mut answer) {
            Ok(0) | Err(_) => {
                say("\n");
                break;
            }
            Ok(_) => {}
        }
        match answer.trim().chars().next() {
            Some('q' | 'Q') => break,
            // Who is not sure looks, too.
            Some('n' | 'N') => {
                say("\n");
            }
            _ => {
                got += 1;
                if !say(&format!("{}\n", commands(step))) {
                    return;
                }
            }
        }
    }
    let rest: String = NOT_YET.iter().map(|it| format!("  don't {it}\n")).collect();
    say(&format!("not yet:\n{rest}"));
    if got > 0 {
        say("\nwith what you have got: leaseproof diagnose FILES…\n");
    }
}
