//! `leaseproof diagnose`.

mod expressions;

use super::{print, print_all, wrong};
use crate::args::DiagnoseArgs;
use crate::faces::{Reading, checklist, width};
use leaseproof_check::plan::Place;
use leaseproof_diagnosis::{Asked, bundle, diagnose};
use leaseproof_evidence::bundle::Bundle;
use leaseproof_evidence::input::Input;
use leaseproof_evidence::patterns::Patterns;
use leaseproof_evidence::read_with;
use leaseproof_judge::Policy;
use leaseproof_lab::{again, plan};
use leaseproof_model::budget::Budget;
use leaseproof_model::diagnosis::Diagnosis;
use leaseproof_model::verdict::Verdict;
use leaseproof_report::terminal::{TerminalStyle, diagnosis};
use std::io::IsTerminal as _;
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
    let found = may_be_written(&args).and_then(|()| answer(&args));
    let Answer {
        diagnosis: answer,
        page,
    } = match found {
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
    let printed = print_all(&text);
    let kept = match (&args.html, page) {
        (Some(path), Some(page)) => {
            std::fs::write(path, page).map_err(|error| format!("--html: {} can't be written: {error}", path.display()))
        }
        _ => Ok(()),
    };
    let mut status = answer.verdict.exit_status();
    for says in [printed, kept].into_iter().filter_map(Result::err) {
        eprintln!("error: {says}");
        // What nobody can read is no pass.
        if status == 0 {
            status = Verdict::CannotTell.exit_status();
        }
    }
    ExitCode::from(status)
}

/// What the files come to, and the page of it, where one is asked for.
struct Answer {
    diagnosis: Diagnosis,
    page: Option<String>,
}

/// Looks before hours of reading whether the page has a place, and one that harms no evidence.
fn may_be_written(args: &DiagnoseArgs) -> Result<(), String> {
    let Some(path) = &args.html else { return Ok(()) };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let folder = folder
        .canonicalize()
        .map_err(|error| format!("--html: the folder {} can't be used: {error}", folder.display()))?;
    if path.is_dir() || path.file_name().is_none() {
        return Err(format!("--html: {} is a folder: name a file", path.display()));
    }
    let page = folder.join(path.file_name().unwrap_or_default());
    for given in args
        .files
        .iter()
        .filter_map(|given| Some((given, given.canonicalize().ok()?)))
    {
        let (given, real) = given;
        if real == page || path.canonicalize().is_ok_and(|path| path == real) {
            return Err(format!(
                "--html: {} is given as evidence, and would be lost",
                given.display()
            ));
        }
        if real.is_dir() && page.starts_with(&real) {
            return Err(format!(
                "--html: {} lies in {}, and would be read as evidence the next time: write it beside",
                path.display(),
                given.display()
            ));
        }
    }
    Ok(())
}

fn answer(args: &DiagnoseArgs) -> Result<Answer, String> {
    if let Some(run) = args.files.iter().find(|path| is_run(path)) {
        if args.files.len() > 1 {
            return Err(format!(
                "{} is a kept run of `verify`, which is judged by itself\n  give it alone: leaseproof diagnose {}",
                run.display(),
                run.display()
            ));
        }
        return of_run(run, args.html.is_some());
    }
    if let Some(absent) = args.files.iter().find(|path| path.as_os_str() != "-" && !path.exists()) {
        return Err(format!(
            "{} does not exist: give files, folders, or - for stdin",
            absent.display()
        ));
    }
    let mut options = args.options()?;
    let given = args.plan.as_deref().map(plan_of).transpose()?.unwrap_or_default();
    options.patterns = given.patterns;
    let asked = Asked {
        key: args.key.clone(),
        owner: args.owner.clone(),
        plan: given.numbers,
    };
    let reading = Reading::start(args.quiet);
    let evidence = read_with(&inputs(&args.files), &options, &mut |step| reading.tell(step));
    reading.finish();
    let timeline = leaseproof_evidence::clock::Timeline::of(&evidence, &options);
    let diagnosis = diagnose(&evidence, &timeline, &asked);
    Ok(Answer {
        page: args
            .html
            .is_some()
            .then(|| leaseproof_report::html::incident::render(&diagnosis)),
        diagnosis,
    })
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

/// A folder that `verify` has left. What `inspect` has left is evidence like any other.
fn is_run(path: &Path) -> bool {
    leaseproof_evidence::bundle::of(path) == Some(Bundle::Run)
}

/// A run has a picture of its own: the page is `verify`'s.
fn of_run(path: &Path, page: bool) -> Result<Answer, String> {
    let report = again::judge_bundle(path, &Policy::default())?;
    let histories: Vec<_> = report.histories.iter().collect();
    Ok(Answer {
        page: page.then(|| leaseproof_report::html::render(&report.verdict, &histories)),
        diagnosis: bundle::of_run(&report.verdict, &report.histories, &path.display().to_string()),
    })
}

/// What a plan says of the files.
#[derive(Default)]
struct OfPlan {
    numbers: Option<(Budget, String)>,
    patterns: Patterns,
}

fn plan_of(path: &Path) -> Result<OfPlan, String> {
    let (file, text) = plan::load(path).map_err(|error| error.to_string())?;
    // Whether the margin holds is a finding here (LP019), and no reason to refuse the files.
    let place = Place {
        path: Some(path),
        text: &text,
    };
    let patterns = expressions::of_plan(&file, &place).map_err(|error| error.to_string())?;
    let table = &file.budget;
    let said = [&table.ttl, &table.heartbeat, &table.worst_pause, &table.renew_timeout];
    // A plan that has only expressions says nothing of the numbers: the defaults are nobody's word.
    let numbers = match said.iter().any(|it| it.is_some()) {
        true => {
            let budget = place.numbers(table).map_err(|error| error.to_string())?;
            Some((budget, path.display().to_string()))
        }
        false => None,
    };
    Ok(OfPlan { numbers, patterns })
}
