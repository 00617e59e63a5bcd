//! `leaseproof verify`: arguments → plan → run → faces.

use super::{print, print_all, wrong};
use crate::args::{VerifyArgs, is_plan};
use crate::faces::Live;
use crate::faces::{metrics, signals};
use leaseproof_judge::Policy;
use leaseproof_lab::again;
use leaseproof_lab::plan::{self, LinesTable, PlanFile};
use leaseproof_lab::run::{self, RunError};
use leaseproof_lab::scenarios::catalogue;
use leaseproof_lab::settings::RunSettings;
use leaseproof_lab::verdict::RunReport;
use leaseproof_model::verdict::{RunVerdict, Verdict};
use leaseproof_report::terminal::{Places, TerminalStyle};
use leaseproof_witness::WitnessFlaw;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// The plan that is used where none is named.
const STANDARD_PLAN: &str = "leaseproof.toml";

/// Runs the verb.
pub fn run(args: &VerifyArgs) -> ExitCode {
    if args.list {
        return list();
    }
    if args.init {
        return init(args.plan.as_deref().unwrap_or(Path::new(STANDARD_PLAN)));
    }
    if let Some(dir) = &args.judge {
        return judge_again(args, dir);
    }
    let plan = match plan_of(args) {
        Ok(plan) => plan,
        Err(says) => return wrong(&says),
    };
    // Found before anything starts, but left behind only by a run.
    let junit_is_new = args.junit.as_deref().is_some_and(|path| !path.exists());
    if let Some(path) = &args.junit
        && let Err(error) = std::fs::OpenOptions::new().create(true).append(true).open(path)
    {
        return wrong(&junit_error(path, &error));
    }
    if let Some(path) = &args.metrics
        && let Err(error) = metrics::can_write(path)
    {
        return wrong(&metrics::error(path, &error));
    }
    let exe = match std::env::current_exe() {
        Ok(exe) => exe,
        Err(error) => return wrong(&format!("the running program can't be found: {error}")),
    };
    let live = Live::start(args.quiet, plan.store.urls.len() + plan.store.start.len() > 1);
    let stop = signals::watch();
    let witness_flaw = match args
        .witness_flaw
        .as_deref()
        .map(|name| (name, WitnessFlaw::from_name(name)))
    {
        None => None,
        Some((_, Some(flaw))) => Some(flaw),
        Some((name, None)) => return wrong(&format!("`{name}` is no flaw of the witness")),
    };
    let settings = RunSettings {
        witness_flaw,
        plan,
        out: args.out.clone(),
        keep: args.keep,
        exe,
        stop: Arc::clone(&stop.flag),
        watcher: live.watcher(),
        html: Box::new(leaseproof_report::html::render),
        json: Box::new(leaseproof_report::json::render),
        junit: Box::new(leaseproof_report::junit::render),
    };
    let ran = run::run(settings);
    live.finish();
    // After Ctrl-Z everything is undone and ended by now, so that nothing waits while we are stopped.
    stop.suspend_if_asked();
    match ran {
        Ok(report) => show(args, &report),
        Err(RunError::Refused(says)) => {
            if let Some(path) = args.junit.as_deref().filter(|_| junit_is_new) {
                let _ = std::fs::remove_file(path);
            }
            wrong(&says)
        }
    }
}

fn junit_error(path: &Path, error: &std::io::Error) -> String {
    format!(
        "the JUnit file {} can't be written: {error}\n  name another with --junit PATH",
        path.display()
    )
}

fn plan_of(args: &VerifyArgs) -> Result<plan::Plan, String> {
    let standard = Path::new(STANDARD_PLAN);
    let path = args.plan.as_deref().or_else(|| standard.exists().then_some(standard));
    let (mut file, text) = match path {
        Some(path) => plan::load(path).map_err(|error| match is_plan(path) {
            true => error.to_string(),
            false => {
                let path = leaseproof_store::url::redact(&path.to_string_lossy());
                format!("{error}\n  the owner's command comes after `--`: leaseproof verify -- {path}")
            }
        })?,
        None => (PlanFile::default(), String::new()),
    };
    let text_of = |given: &Option<String>| given.clone().map(plan::from_command_line);
    let texts_of = |given: &[String]| given.iter().cloned().map(plan::from_command_line).collect();
    let (budget, store, verify) = (&mut file.budget, &mut file.store, &mut file.verify);
    for (given, slot) in [
        (&args.ttl, &mut budget.ttl),
        (&args.heartbeat, &mut budget.heartbeat),
        (&args.worst_pause, &mut budget.worst_pause),
        (&args.max_clock_drift, &mut budget.max_clock_drift),
        (&args.renew_timeout, &mut budget.renew_timeout),
        (&args.key, &mut store.key),
        (&args.prefix, &mut store.prefix),
        (&args.owner_key, &mut store.owner_key),
        (&args.preset, &mut file.owner.preset),
        (&args.freeze, &mut verify.freeze),
    ] {
        if given.is_some() {
            *slot = text_of(given);
        }
    }
    if let Some((first, more)) = args.store.split_first() {
        store.url = Some(plan::from_command_line(first.clone()));
        store.also = Some(texts_of(more));
    }
    if !args.start_store.is_empty() {
        store.start = Some(texts_of(&args.start_store));
    }
    for (given, slot) in [
        (&args.also_deletes, &mut store.also_deletes),
        (&args.scenario, &mut verify.scenarios),
        (&args.require, &mut verify.require),
    ] {
        if !given.is_empty() {
            *slot = Some(texts_of(given));
        }
    }
    for given in &args.env {
        let (name, value) = pair("--env", given, "NAME=VALUE")?;
        file.owner.env.insert(name.to_owned(), value.to_owned());
    }
    for given in &args.line {
        let (event, expression) = pair("--line", given, "EVENT=REGEX")?;
        let lines = file.owner.lines.get_or_insert_default();
        let slot = lines.expression(event).ok_or_else(|| {
            format!(
                "--line: `{event}` is no event: there are {}",
                LinesTable::EVENTS.join(", ")
            )
        })?;
        *slot = Some(plan::from_command_line(expression.to_owned()));
    }
    if !args.owner.is_empty() {
        file.owner.command = Some(plan::from_command_line(args.owner.clone()));
    }
    if let Some(cycles) = args.cycles {
        verify.cycles = Some(plan::from_command_line(cycles));
    }
    if let Some(jobs) = args.jobs {
        verify.jobs = Some(plan::from_command_line(jobs));
    }
    verify.seed = args.seed.or(verify.seed);
    for (given, slot) in [
        (args.require_token, &mut verify.require_token),
        (args.allow_remote, &mut verify.allow_remote),
        (args.allow_shared_store, &mut verify.allow_shared_store),
    ] {
        if given {
            *slot = Some(true);
        }
    }
    plan::resolve(&file, path, &text).map_err(|error| error.to_string())
}

fn pair<'a>(flag: &str, given: &'a str, form: &str) -> Result<(&'a str, &'a str), String> {
    given
        .split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| format!("{flag}: `{given}` is not of the form {form}"))
}

fn list() -> ExitCode {
    let mut text = String::new();
    for spec in catalogue::ALL {
        text.push_str(&format!(
            "{:<20} {}\n{:<20} a sound owner: {}\n",
            spec.id, spec.does, "", spec.sound
        ));
    }
    print(&text);
    ExitCode::SUCCESS
}

fn init(path: &Path) -> ExitCode {
    let created = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
    let written = created.and_then(|mut file| {
        use std::io::Write as _;
        file.write_all(plan::commented_plan().as_bytes())
    });
    match written {
        Ok(()) => {
            let plan = match path == Path::new(STANDARD_PLAN) {
                true => String::new(),
                false => format!(" {}", path.display()),
            };
            print(&format!(
                "wrote {}: read it, then run `leaseproof verify{plan}`\n",
                path.display()
            ));
            ExitCode::SUCCESS
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => wrong(&format!(
            "{0} is there already, and was left as it is\n  use it: leaseproof verify {0}\n  or name another: leaseproof \
             verify other.toml --init",
            path.display()
        )),
        Err(error) => wrong(&format!("{} can't be written: {error}", path.display())),
    }
}

fn judge_again(args: &VerifyArgs, dir: &Path) -> ExitCode {
    let mut policy = Policy::default();
    for name in &args.without {
        if leaseproof_model::rule::find(name).is_some() {
            policy.rules_off.insert(name.to_uppercase());
        } else {
            policy.premises_off.insert(name.clone());
        }
    }
    match again::judge_bundle(dir, &policy) {
        Ok(report) => show(args, &report),
        Err(says) => wrong(&says),
    }
}

fn show(args: &VerifyArgs, report: &RunReport) -> ExitCode {
    let text = if args.json {
        leaseproof_report::json::render(&report.verdict)
    } else {
        text_of(args, report)
    };
    let printed = print_all(&text);
    let kept = match &args.junit {
        Some(path) => std::fs::write(path, leaseproof_report::junit::render(&report.verdict))
            .map_err(|error| junit_error(path, &error)),
        None => Ok(()),
    };
    let measured = match &args.metrics {
        Some(path) => metrics::write(path, &report.verdict).map_err(|error| metrics::error(path, &error)),
        None => Ok(()),
    };
    let mut status = exit_status(&report.verdict);
    for says in [printed, kept, measured].into_iter().filter_map(Result::err) {
        eprintln!("error: {says}");
        // What nobody can read is no pass.
        if status == 0 {
            status = Verdict::CannotTell.exit_status();
        }
    }
    ExitCode::from(status)
}

fn text_of(args: &VerifyArgs, report: &RunReport) -> String {
    let style = TerminalStyle {
        colour: anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never,
        width: crate::faces::width(),
        ascii: false,
    };
    let places = Places {
        // A run that was killed has left it empty.
        report: Some(report.folder.join("report.html"))
            .filter(|path| std::fs::metadata(path).is_ok_and(|file| file.len() > 0)),
        bundle: Some(report.folder.clone()),
        plan_missing: args.plan.is_none() && !Path::new(STANDARD_PLAN).exists(),
    };
    let histories: Vec<_> = report.histories.iter().collect();
    leaseproof_report::terminal::render_with_moments(&report.verdict, &histories, &style, &places)
}

fn exit_status(verdict: &RunVerdict) -> u8 {
    verdict.verdict.exit_status()
}
