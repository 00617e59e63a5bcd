//! `leaseproof diagnose`.

use super::{print, print_all, wrong};
use crate::args::DiagnoseArgs;
use crate::faces::{Reading, checklist, width};
use leaseproof_check::plan::Place;
use leaseproof_diagnosis::{Asked, bundle, diagnose};
use leaseproof_evidence::input::Input;
use leaseproof_evidence::read_with;
use leaseproof_judge::Policy;
use leaseproof_lab::{again, plan};
use leaseproof_model::budget::Budget;
use leaseproof_model::diagnosis::Diagnosis;
use leaseproof_model::verdict::Verdict;
use leaseproof_report::terminal::{TerminalStyle, diagnosis};
use std::fs::File;
use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Reads the files, and prints what they come to.
pub fn run(args: DiagnoseArgs) -> ExitCode {
    if args.ask {
        checklist::ask();
        return ExitCode::from(Verdict::CannotTell.exit_status());
    }
    if args.files.is_empty() && std::io::stdin().is_terminal() {
        // Nothing to read becomes the list of what to get.
        print(&checklist::text());
        return ExitCode::from(Verdict::CannotTell.exit_status());
    }
    let answer = match answer(&args) {
        Ok(answer) => answer,
        Err(says) => return wrong(&says),
    };
    let text = if args.json {
        leaseproof_report::json::render_diagnosis(&answer)
    } else {
        let style = TerminalStyle {
            colour: anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never,
            width: width(),
            ascii: false,
        };
        diagnosis::render(&answer, &style)
    };
    let mut status = answer.verdict.exit_status();
    if let Err(says) = print_all(&text) {
        eprintln!("error: {says}");
        // What nobody can read is no pass.
        status = status.max(Verdict::CannotTell.exit_status());
    }
    ExitCode::from(status)
}

fn answer(args: &DiagnoseArgs) -> Result<Diagnosis, String> {
    if let Some(run) = args.files.iter().find(|path| is_run(path)) {
        if args.files.len() > 1 {
            return Err(format!(
                "{} is a kept run of `verify`, which is judged by itself\n  give it alone: leaseproof diagnose {}",
                run.display(),
                run.display()
            ));
        }
        return of_run(run);
    }
    if let Some(absent) = args.files.iter().find(|path| path.as_os_str() != "-" && !path.exists()) {
        return Err(format!(
            "{} does not exist: give files, folders, or - for stdin",
            absent.display()
        ));
    }
    let options = args.options()?;
    let asked = Asked {
        key: args.key.clone(),
        owner: args.owner.clone(),
        plan: args.plan.as_deref().map(plan_of).transpose()?,
    };
    let reading = Reading::start(args.quiet);
    let evidence = read_with(&inputs(&args.files), &options, &mut |step| reading.tell(step));
    reading.finish();
    let timeline = leaseproof_evidence::clock::Timeline::of(&evidence, &options);
    Ok(diagnose(&evidence, &timeline, &asked))
}

fn inputs(files: &[PathBuf]) -> Vec<Input> {
    if files.is_empty() {
        return vec![Input::Stdin];
    }
    files
        .iter()
        .map(|path| match path.to_str() {
            Some("-") => Input::Stdin,
            _ => Input::Path(path.clone()),
        })
        .collect()
}

/// A folder that `verify` has left, by the first line of its record: others have an `events.jsonl`, too.
fn is_run(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path.join("events.jsonl")).and_then(|file| file.take(256).read_to_end(&mut head));
    read.is_ok() && String::from_utf8_lossy(&head).contains("leaseproof.events/")
}

fn of_run(path: &Path) -> Result<Diagnosis, String> {
    let report = again::judge_bundle(path, &Policy::default())?;
    Ok(bundle::of_run(
        &report.verdict,
        &report.histories,
        &path.display().to_string(),
    ))
}

fn plan_of(path: &Path) -> Result<(Budget, String), String> {
    let (file, text) = plan::load(path).map_err(|error| error.to_string())?;
    // Whether the margin holds is a finding here (LP019), and no reason to refuse the files.
    let place = Place {
        path: Some(path),
        text: &text,
    };
    let budget = place.numbers(&file.budget).map_err(|error| error.to_string())?;
    Ok((budget, path.display().to_string()))
}
