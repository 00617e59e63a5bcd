//! `leaseproof watch`: arguments → plan → monitor → lines.

use super::{print, print_all, wrong};
use crate::args::WatchArgs;
use leaseproof_lab::owner::parse_line;
use leaseproof_lab::plan::{self, BeliefSource, PlanFile, WatchLeaseTable, WatchOwner, WatchPlan};
use leaseproof_live::mend::mend;
use leaseproof_live::watch::key::Key;
use leaseproof_live::watch::lease::Change;
use leaseproof_live::watch::notices::Notice;
use leaseproof_live::watch::rules::RuleNumbers;
use leaseproof_live::watch::run::{self, Monitor, WatchError};
use leaseproof_live::watch::settings::{LeaseSettings, OwnerSettings, PrefixSettings, Settings, SourceSettings};
use leaseproof_live::watch::sources::pointer::ReadPointers;
use leaseproof_live::watch::sources::series::{EXPORT_HOLDS, EXPORT_TOKEN, ReadSeries, Selector};
use leaseproof_live::watch::{dashboard, notices, rules};
use leaseproof_model::verdict::Verdict;
use leaseproof_report::counted::counted;
use leaseproof_store::{StoreError, StoreUrl};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The plan that is used where none is named.
const STANDARD_PLAN: &str = "leaseproof.toml";

/// So many changes in a minute are told one by one, and so many of what is wrong; the metrics have them all.
const CHANGES: u32 = 60;
const WRONGS: u32 = 600;

/// Runs the verb.
pub fn run(args: &WatchArgs) -> ExitCode {
    if args.dashboard {
        print(&dashboard::render());
        return ExitCode::SUCCESS;
    }
    let settings = match settings_of(args) {
        Ok(settings) => settings,
        Err(says) => return wrong(&says),
    };
    if args.rules {
        let numbers = RuleNumbers {
            budget: settings.budget,
            interval: settings.interval,
            alert_share: settings.alert_share,
        };
        return match print_all(&rules::render(&numbers)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(says) => wrong(&says),
        };
    }
    let span = match args.span.as_deref().map(plan::parse_duration).transpose() {
        Ok(span) => span,
        Err(says) => return wrong(&format!("--for: {says}")),
    };
    if args.tui && !cfg!(feature = "tui") {
        return wrong(
            "this build has no terminal view\n  cargo install leaseproof-cli --features tui\n  or leave --tui out: \
             what happens is told line by line",
        );
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if let Err(error) = signal_hook::flag::register(signal, Arc::clone(&stop)) {
            return wrong(&format!("failed to take over signals: {error}"));
        }
    }
    let monitor = match run::start(&settings) {
        Ok(monitor) => monitor,
        Err(WatchError::Store(error)) => {
            let next = match (mend(&error), &error) {
                (Some(next), _) => next,
                (None, StoreError::Unreachable { .. }) => "\n  start it, or name another with --store URL",
                (None, _) => "",
            };
            return wrong(&format!("{error}{next}"));
        }
        Err(error) => return wrong(&error.to_string()),
    };
    if !args.quiet && !args.tui {
        print(&opening(&settings, &monitor));
    }
    let until = span.and_then(|span| Instant::now().checked_add(span));
    if args.tui {
        if let Err(says) = view(&monitor, &stop, until) {
            eprintln!("error: {says}");
        }
    } else {
        tell(&monitor, &stop, until, args.quiet);
    }
    let (verdict, says) = closing(&monitor);
    monitor.stop();
    if !args.quiet {
        print(&format!("{says}\n"));
    }
    ExitCode::from(verdict.exit_status())
}

#[cfg(feature = "tui")]
fn view(monitor: &Monitor, stop: &AtomicBool, until: Option<Instant>) -> Result<(), String> {
    leaseproof_live::watch::tui::show(monitor, stop, until).map_err(|error| format!("the terminal: {error}"))
}

#[cfg(not(feature = "tui"))]
fn view(_: &Monitor, _: &AtomicBool, _: Option<Instant>) -> Result<(), String> {
    Ok(())
}

/// Tells what happens, until it is to end.
fn tell(monitor: &Monitor, stop: &AtomicBool, until: Option<Instant>, quiet: bool) {
    let (mut minute, mut changes, mut wrongs, mut untold) = (Instant::now(), 0, 0, 0_u64);
    while !stop.load(Ordering::Relaxed) && until.is_none_or(|until| Instant::now() < until) {
        let notice = monitor.notice(Duration::from_millis(100));
        if minute.elapsed() > Duration::from_secs(60) {
            if untold > 0 && !quiet {
                print(&format!("{untold} more in a minute: the metrics have them\n"));
            }
            (minute, changes, wrongs, untold) = (Instant::now(), 0, 0, 0);
        }
        let Some(notice) = notice else { continue };
        let ordinary = matches!(
            &notice,
            Notice::Changed {
                change: Change::NewHolder { .. },
                ..
            }
        );
        let (told, bound) = if ordinary {
            (&mut changes, CHANGES)
        } else {
            (&mut wrongs, WRONGS)
        };
        if *told >= bound {
            untold += 1;
        } else if !quiet {
            *told += 1;
            print(&format!("{}  {}\n", now(), notices::line(&notice)));
        }
    }
}

/// The wall time, in UTC, to the second.
fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn opening(settings: &Settings, monitor: &Monitor) -> String {
    let (leases, unlabelled) = {
        let board = monitor.board();
        (
            board.len(),
            board.iter().filter(|(_, entry)| entry.label.is_none()).count(),
        )
    };
    let others = match unlabelled {
        0 => String::new(),
        count => format!(", {count} of them together as `other`"),
    };
    format!(
        "watching {} of {} every {:?}{others}\nmetrics: http://{}/metrics\n",
        counted(leases as u64, "lease"),
        settings.store,
        settings.interval,
        monitor.address,
    )
}

/// What it came to, for whoever lets it run for a while.
fn closing(monitor: &Monitor) -> (Verdict, String) {
    let reasons = monitor.untold();
    let board = monitor.board();
    let own = &board.own;
    if own.findings > 0 {
        return (
            Verdict::Violated,
            format!("violated: {}", counted(own.findings, "finding")),
        );
    }
    if reasons.is_empty() {
        let due = match own.missed {
            0 => String::new(),
            missed => format!(" ({} were due)", own.rounds + missed),
        };
        let says = format!(
            "nothing wrong in {}{due} over {}",
            counted(own.rounds, "round"),
            counted(board.len() as u64, "lease")
        );
        return (Verdict::Proven, says);
    }
    let lines: Vec<String> = reasons.iter().map(|it| format!("cannot tell: {it}")).collect();
    (Verdict::CannotTell, lines.join("\n"))
}

fn settings_of(args: &WatchArgs) -> Result<Settings, String> {
    let standard = Path::new(STANDARD_PLAN);
    let path = args.plan.as_deref().or_else(|| standard.exists().then_some(standard));
    let (mut file, text) = match path {
        Some(path) => plan::load(path).map_err(|error| error.to_string())?,
        None => (PlanFile::default(), String::new()),
    };
    for (given, slot) in [
        (&args.store, &mut file.store.url),
        (&args.ttl, &mut file.budget.ttl),
        (&args.heartbeat, &mut file.budget.heartbeat),
        (&args.worst_pause, &mut file.budget.worst_pause),
        (&args.renew_timeout, &mut file.budget.renew_timeout),
        (&args.interval, &mut file.watch.interval),
        (&args.listen, &mut file.watch.listen),
    ] {
        if given.is_some() {
            *slot = given.clone().map(plan::from_command_line);
        }
    }
    if args.store.is_some() {
        // It names the one store to look at.
        (file.store.also, file.store.start) = (None, None);
    }
    let keys = args.key.iter().map(|key| WatchLeaseTable {
        key: Some(plan::from_command_line(key.clone())),
        ..WatchLeaseTable::default()
    });
    for hex in &args.key_hex {
        plan::key_from_hex(hex).map_err(|says| format!("--key-hex: {says}"))?;
    }
    let hexes = args.key_hex.iter().map(|key| WatchLeaseTable {
        key_hex: Some(plan::from_command_line(key.clone())),
        ..WatchLeaseTable::default()
    });
    let prefixes = args.prefix.iter().map(|prefix| WatchLeaseTable {
        prefix: Some(plan::from_command_line(prefix.clone())),
        ..WatchLeaseTable::default()
    });
    file.watch
        .lease
        .extend(keys.chain(hexes).chain(prefixes).map(plan::from_command_line));
    let check = |series: &str| Selector::parse(series).map(|_| ());
    let plan = plan::resolve_watch(&file, path, &text, &check).map_err(|error| error.to_string())?;
    to_settings(plan)
}

fn to_settings(plan: WatchPlan) -> Result<Settings, String> {
    let store: StoreUrl = plan.url.parse().map_err(|error| format!("{error}"))?;
    let leases = plan.leases.into_iter().map(|lease| {
        let owner = lease.owner.map(|owner| owner_of(owner, &lease.key)).transpose()?;
        Ok(LeaseSettings {
            key: Key::from(&*lease.key),
            label: lease.label,
            owner,
        })
    });
    let leases = leases.collect::<Result<_, String>>()?;
    let prefixes = plan.prefixes.into_iter().map(|it| PrefixSettings {
        prefix: it.prefix,
        max: it.max,
    });
    let patterns = plan.patterns;
    Ok(Settings {
        store,
        budget: plan.budget,
        interval: plan.interval,
        timeout: Duration::from_secs(2).max(plan.interval),
        listen: plan.listen,
        labels: plan.labels,
        window: plan.worst_window,
        alert_share: plan.alert_share,
        rescan: plan.rescan,
        leases,
        prefixes: prefixes.collect(),
        read_line: Arc::new(move |line| parse_line(line, &patterns)),
    })
}

fn owner_of(owner: WatchOwner, key: &[u8]) -> Result<OwnerSettings, String> {
    let source = match owner.source {
        BeliefSource::Log(path) => SourceSettings::Log(path),
        BeliefSource::Metrics { url, holds, token } => SourceSettings::Endpoint {
            url,
            reader: Arc::new(ReadSeries {
                holds: Selector::parse(&holds)?,
                token: token.as_deref().map(Selector::parse).transpose()?,
            }),
        },
        BeliefSource::Json { url, holds, token } => SourceSettings::Endpoint {
            url,
            reader: Arc::new(ReadPointers { holds, token }),
        },
        BeliefSource::Export { url } => {
            let key = std::str::from_utf8(key).map_err(|_| {
                "watch.lease.owner: export tells leases by keys that are text, and key_hex is none: use metrics"
                    .to_owned()
            })?;
            SourceSettings::Endpoint {
                url,
                reader: Arc::new(ReadSeries {
                    holds: Selector::of_key(EXPORT_HOLDS, key),
                    token: Some(Selector::of_key(EXPORT_TOKEN, key)),
                }),
            }
        }
    };
    Ok(OwnerSettings {
        name: owner.name,
        source,
    })
}
