//! `leaseproof inspect`.

use super::{print_all, wrong};
use crate::args::InspectArgs;
use crate::faces::Span;
use leaseproof_lab::plan;
use leaseproof_live::inspect::settings::{LONGEST_MONITOR, LONGEST_SPAN, standard_span};
use leaseproof_live::inspect::{self, PlanGiven, Settings};
use leaseproof_model::verdict::Verdict;
use leaseproof_report::terminal::{TerminalStyle, inspection};
use leaseproof_store::StoreUrl;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Looks, and prints what was seen.
pub fn run(args: InspectArgs) -> ExitCode {
    let (json, quiet) = (args.json, args.quiet);
    let stop = Arc::new(AtomicBool::new(false));
    let live = Span::start(quiet);
    let looked = settings(args, &stop, &live).and_then(|settings| {
        for signal in [SIGINT, SIGTERM] {
            // The first ends the span and the answer is given; the second ends at once.
            let _ = signal_hook::flag::register_conditional_default(signal, Arc::clone(&stop));
            let _ = signal_hook::flag::register(signal, Arc::clone(&stop));
        }
        inspect::run(&settings).map_err(|refused| refused.to_string())
    });
    live.finish();
    let seen = match looked {
        Ok(seen) => seen,
        Err(says) => return wrong(&says),
    };
    let text = if json {
        leaseproof_report::json::render_inspection(&seen)
    } else {
        let style = TerminalStyle {
            colour: anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never,
            width: crate::faces::width(),
            ascii: false,
        };
        inspection::render(&seen, &style)
    };
    let mut status = seen.verdict.exit_status();
    if let Err(says) = print_all(&text) {
        eprintln!("error: {says}");
        // What nobody can read is no pass.
        status = status.max(Verdict::CannotTell.exit_status());
    }
    ExitCode::from(status)
}

fn settings(args: InspectArgs, stop: &Arc<AtomicBool>, live: &Span) -> Result<Settings, String> {
    let url: StoreUrl = args
        .url
        .parse()
        .map_err(|error: leaseproof_store::StoreError| error.to_string())?;
    let key = match (args.key, &args.key_hex) {
        (Some(key), _) => key.into_vec(),
        (None, Some(hex)) => plan::key_from_hex(hex).map_err(|says| format!("--key-hex: {says}"))?,
        (None, None) => return Err("the key is missing: leaseproof inspect URL KEY".to_owned()),
    };
    if key.is_empty() {
        return Err("the key is empty: give the lease's key, as the store has it".to_owned());
    }
    let plan = args.plan.as_deref().map(plan_of).transpose()?;
    let span = match &args.span {
        None => standard_span(plan.as_ref()),
        Some(text) => within("--for", text, Duration::from_millis(100), LONGEST_SPAN)?,
    };
    let timeout = within(
        "--timeout",
        &args.timeout,
        Duration::from_millis(10),
        Duration::from_secs(60),
    )?;
    let monitor = match &args.monitor {
        None => None,
        Some(text) => {
            named_as_non_production(&url, args.non_production.as_deref())?;
            Some(within("--monitor", text, Duration::from_millis(100), LONGEST_MONITOR)?)
        }
    };
    Ok(Settings {
        url,
        key,
        span,
        timeout,
        plan,
        owner_pids: args.owner_pid,
        monitor,
        save: args.save,
        stop: Arc::clone(stop),
        progress: live.watcher(),
    })
}

fn plan_of(path: &Path) -> Result<PlanGiven, String> {
    let (file, text) = plan::load(path).map_err(|error| error.to_string())?;
    let plan = plan::resolve(&file, Some(path), &text).map_err(|error| error.to_string())?;
    Ok(PlanGiven {
        path: path.display().to_string(),
        budget: plan.budget,
    })
}

fn within(flag: &str, text: &str, least: Duration, most: Duration) -> Result<Duration, String> {
    let span = plan::parse_duration(text).map_err(|says| format!("{flag}: {says}"))?;
    if (least..=most).contains(&span) {
        return Ok(span);
    }
    Err(format!("{flag}: {span:?} is not between {least:?} and {most:?}"))
}

/// MONITOR costs a server much of its throughput: its name, typed once more, is the word for it.
fn named_as_non_production(url: &StoreUrl, named: Option<&str>) -> Result<(), String> {
    let places = url.places();
    let [(host, port)] = &places[..] else {
        return match url.path() {
            Some(_) => Ok(()),
            None => Err(format!(
                "--monitor: MONITOR shows one server, and {url} is of several\n  look at the one that has the key: \
                 leaseproof inspect redis://HOST:PORT KEY --monitor …"
            )),
        };
    };
    let place = format!("{host}:{port}");
    match named {
        Some(named) if named == place => Ok(()),
        _ => Err(format!(
            "--monitor: MONITOR slows a server down, and {place} is not named as one that is not in production\n  if it is \
             none, add --non-production {place}"
        )),
    }
}
