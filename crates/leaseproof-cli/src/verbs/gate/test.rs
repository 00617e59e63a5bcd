//! `leaseproof gate test`.

use super::super::print_all;
use crate::args::gate::{TargetArgs, TestArgs};
use leaseproof_gate::contract::command::CommandTarget;
use leaseproof_gate::contract::http::HttpTarget;
use leaseproof_gate::contract::redis::{FUNCTION, GET, RedisTarget, words};
use leaseproof_gate::contract::sql::SqlTarget;
use leaseproof_gate::contract::{self, Plan, Target, Template, scratch_key};
use leaseproof_gate::http::methods;
use leaseproof_gate::token::GREATEST;
use leaseproof_lab::plan::parse_duration;
use leaseproof_model::verdict::Verdict;
use std::process::ExitCode;
use std::time::Duration;

/// Tests a fence, and prints what was seen.
pub fn run(args: TestArgs) -> Result<ExitCode, String> {
    let duration = |flag: &str, text: &str| parse_duration(text).map_err(|says| format!("{flag}: {says}"));
    let patience = duration("--patience", &args.patience)?;
    if args.from > GREATEST.0 / 4 {
        return Err(format!("--from: {} leaves no room for greater tokens", args.from));
    }
    if args.rounds == 0 {
        return Err("--rounds: a fence that was never raced for is not tested: give 1 or more".to_owned());
    }
    let own_key = args.key.is_none();
    let key = args.key.unwrap_or_else(scratch_key);
    let (target, by_key) = target(args.target, &key, patience)?;
    let plan = Plan {
        large: args.large || (own_key && by_key),
        key,
        from: args.from,
        restart: args.restart_command,
        restart_patience: duration("--restart-patience", &args.restart_patience)?,
        rounds: args.rounds,
    };
    let report = contract::run(&*target, &plan);
    let text = if args.json {
        let mut text = serde_json::to_string_pretty(&report).map_err(|error| error.to_string())?;
        text.push('\n');
        text
    } else {
        report.text()
    };
    let mut status = report.verdict.exit_status();
    if let Err(says) = print_all(&text) {
        eprintln!("error: {says}");
        // What nobody can read is no pass.
        status = status.max(Verdict::CannotTell.exit_status());
    }
    Ok(ExitCode::from(status))
}

/// The resource, and whether what is written to is this run's own.
fn target(args: TargetArgs, key: &str, patience: Duration) -> Result<(Box<dyn Target>, bool), String> {
    let filled = |text: &str| Template::new(text, key);
    let given = |text: Option<String>| text.map(|text| Template::new(&text, key));
    Ok(match args {
        TargetArgs::Http {
            urls,
            method,
            header,
            body,
            read,
            refused,
        } => {
            let method = methods(&method).map_err(|says| format!("--method: {says}"))?;
            let urls: Vec<Template> = urls.iter().map(|url| filled(url)).collect();
            if let Some(url) = urls.iter().find(|url| !url.has("http://")) {
                return Err(format!(
                    "`{}` is no http://HOST/… URL: put TLS behind a local proxy",
                    url.plain()
                ));
            }
            let refused: Result<Vec<_>, _> = refused.into_iter().map(TryInto::try_into).collect();
            let by_key = urls.iter().all(|url| url.has("{key}"));
            let target = HttpTarget {
                urls,
                method: method.into_iter().next().ok_or("--method: none is given")?,
                header: header
                    .parse()
                    .map_err(|_| format!("--header: `{header}` is no name of a header"))?,
                body: filled(&body),
                read: given(read),
                refused: refused.map_err(|_| "--refused: use statuses such as 409,412".to_owned())?,
                patience,
            };
            (Box::new(target), by_key)
        }
        TargetArgs::Sql { url, statement, read } => {
            let write = with_token("the statement", filled(&statement))?;
            let by_key = write.has("{key}");
            let target = SqlTarget {
                place: url.parse()?,
                write,
                read: given(read),
                patience,
            };
            (Box::new(target), by_key)
        }
        TargetArgs::Redis { url, command, read } => {
            let read = read.or_else(|| command.is_none().then(|| GET.to_owned()));
            let command = command.unwrap_or_else(|| FUNCTION.to_owned());
            let by_key = with_token("the command", filled(&command))?.has("{key}");
            let target = RedisTarget {
                url,
                command: words(&command, key),
                read: read.map(|text| words(&text, key)),
                patience,
            };
            (Box::new(target), by_key)
        }
        TargetArgs::Command { command, read } => {
            let write = with_token("the command", filled(&command))?;
            let by_key = write.has("{key}");
            let target = CommandTarget {
                write,
                read: given(read),
            };
            (Box::new(target), by_key)
        }
    })
}

/// A template without a token would test nothing.
fn with_token(what: &str, template: Template) -> Result<Template, String> {
    if template.has("{token}") {
        Ok(template)
    } else {
        Err(format!("{what} has no {{token}} in it: `{}`", template.plain()))
    }
}
