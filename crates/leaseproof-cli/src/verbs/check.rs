//! `leaseproof check`: arguments → files → judged → faces.

use super::{print_all, wrong};
use crate::args::{CheckArgs, Format};
use anstream::ColorChoice;
use leaseproof_check::foreign::{self, Kind};
use leaseproof_check::report::{Document, Judged, Refused};
use leaseproof_check::subject::Subject;
use leaseproof_check::{Demands, Given, Measured, faces, from_plan, gc_log, judge, meter, plan};
use leaseproof_model::store::StoreFacts;
use leaseproof_store::StoreUrl;
use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// The plan that is checked where nothing is named.
const STANDARD_PLAN: &str = "leaseproof.toml";

/// How long a store may take to answer, with --ask.
const PATIENCE: Duration = Duration::from_secs(3);

/// The most that a file of settings has.
const MOST_BYTES: u64 = 4 << 20;

/// Runs the verb.
pub fn run(args: &CheckArgs) -> ExitCode {
    if args.schema {
        return finish(leaseproof_check::PLAN_SCHEMA, 0);
    }
    let asked = match Asked::of(args) {
        Ok(asked) => asked,
        Err(says) => return wrong(&says),
    };
    let standard = [PathBuf::from(STANDARD_PLAN)];
    let files = if args.files.is_empty() {
        &standard[..]
    } else {
        &args.files
    };
    let (mut leases, mut refused) = (Vec::new(), Vec::new());
    for file in files {
        match asked.judge(file) {
            Ok(judged) => leases.extend(judged),
            Err(says) => refused.push(Refused {
                file: shown(file),
                says,
            }),
        }
    }
    let document = Document::of(leases, refused);
    for refused in &document.refused {
        wrong(&refused.says);
    }
    finish(&text(args, &document), document.exit_status())
}

fn finish(text: &str, status: u8) -> ExitCode {
    match print_all(text) {
        Ok(()) => ExitCode::from(status),
        // What nobody can read is no pass.
        Err(says) => {
            eprintln!("error: {says}");
            ExitCode::from(status.max(3))
        }
    }
}

fn text(args: &CheckArgs, document: &Document) -> String {
    if args.json {
        return faces::json(document);
    }
    let style = faces::Style {
        colour: anstream::AutoStream::choice(&std::io::stdout()) != ColorChoice::Never,
    };
    let github = std::env::var("GITHUB_ACTIONS").is_ok_and(|value| value == "true");
    match args.format {
        _ if args.explain => faces::explain(document, style),
        Format::Human => faces::human(document, style),
        Format::Lines => faces::lines(document),
        Format::Github => faces::github(document),
        Format::Auto if github => faces::github(document),
        Format::Auto if std::io::stdout().is_terminal() => faces::human(document, style),
        Format::Auto => faces::lines(document),
    }
}

/// The call, understood.
struct Asked {
    kind: Option<Kind>,
    given: Given,
    measured: Option<Measured>,
    demands: Demands,
    ask: bool,
}

impl Asked {
    fn of(args: &CheckArgs) -> Result<Self, String> {
        let duration = |flag: &str, text: &Option<String>| match text {
            None => Ok(None),
            Some(text) => plan::parse_duration(text)
                .map(Some)
                .map_err(|says| format!("{flag}: {says}")),
        };
        let store = args.store.as_deref().map(|url| facts(url, args.ask)).transpose()?;
        Ok(Self {
            kind: args.kind.as_deref().map(str::parse).transpose()?,
            given: Given {
                ttl: duration("--ttl", &args.ttl)?,
                heartbeat: duration("--heartbeat", &args.heartbeat)?,
                worst_pause: duration("--worst-pause", &args.worst_pause)?,
                max_clock_drift: duration("--max-clock-drift", &args.max_clock_drift)?,
                renew_timeout: duration("--renew-timeout", &args.renew_timeout)?,
                longest_run: duration("--longest-run", &args.longest_run)?,
                store,
            },
            measured: measured(duration("--observed", &args.observed)?, args)?,
            demands: Demands {
                renewals: args.renewals,
            },
            ask: args.ask,
        })
    }

    fn judge(&self, file: &Path) -> Result<Vec<Judged>, String> {
        let subjects = self.subjects(file)?;
        let judged = subjects
            .iter()
            .map(|subject| judge(subject, self.measured.as_ref(), self.demands));
        Ok(judged.collect())
    }

    fn subjects(&self, file: &Path) -> Result<Vec<Subject>, String> {
        let known = |url: &str| facts(url, self.ask);
        let is_plan = match self.kind {
            Some(kind) => kind == Kind::Plan,
            None => file.extension().is_some_and(|it| it == "toml"),
        };
        if is_plan {
            let (plan, text) = plan::load(file, leaseproof_store::url::redact).map_err(|error| error.to_string())?;
            return from_plan(&plan, file, &text, &self.given, &known).map_err(|error| error.to_string());
        }
        // The store of a system is known by its kind alone: there is no URL that could be asked.
        foreign::read(&shown(file), &read(file)?, self.kind, &self.given, &|url| {
            facts(url, false)
        })
    }
}

fn shown(file: &Path) -> String {
    match file.to_str() {
        Some("-") => "stdin".to_owned(),
        _ => leaseproof_store::url::redact(&file.to_string_lossy()),
    }
}

fn read(file: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let got = match file.to_str() {
        Some("-") => std::io::stdin().lock().take(MOST_BYTES + 1).read_to_end(&mut bytes),
        _ => std::fs::File::open(file).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes)),
    };
    let shown = shown(file);
    got.map_err(|error| format!("{shown} can't be read: {error}\n  name a plan, or a file with a system's settings"))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!(
            "{shown} has more than 4 MiB: name a file with a system's settings"
        ));
    }
    String::from_utf8(bytes).map_err(|_| format!("{shown} is no text (UTF-8): name a file with a system's settings"))
}

fn facts(url: &str, ask: bool) -> Result<StoreFacts, String> {
    let url: StoreUrl = url
        .parse()
        .map_err(|error: leaseproof_store::StoreError| error.to_string())?;
    match ask {
        true => leaseproof_store::facts(&url, PATIENCE).map_err(|error| error.to_string()),
        false => Ok(leaseproof_store::usual_facts(&url)),
    }
}

/// The longest pause of all that was named.
fn measured(observed: Option<Duration>, args: &CheckArgs) -> Result<Option<Measured>, String> {
    let mut all: Vec<Measured> = observed
        .map(|pause| Measured {
            pause,
            from: "--observed".to_owned(),
        })
        .into_iter()
        .collect();
    for log in &args.gc_log {
        let seen = gc_log::read(log)?;
        all.push(Measured {
            pause: seen.longest,
            from: format!("{}:{}, the longest of {}", log.display(), seen.line, seen.count),
        });
    }
    for page in &args.meter {
        let (pause, line) = meter::read(page)?;
        all.push(Measured {
            pause,
            from: format!("{}:{line}, by the library's meter", page.display()),
        });
    }
    // The first of equals.
    Ok(all.into_iter().rev().max_by_key(|seen| seen.pause))
}
