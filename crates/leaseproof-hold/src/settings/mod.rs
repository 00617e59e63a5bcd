//! What `hold` is asked to do: validated, before anything starts.

use crate::flaw::Flaw;
use crate::start;
use crate::timing::Timing;
use leaseproof::{Budget, BudgetError, Sound, Store};
use leaseproof_model::duration::parse_duration;
use rustix::fs::{Access, access};
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// From SIGTERM to SIGKILL where nothing else is said and the lease allows it.
const USUAL_GRACE: Duration = Duration::from_secs(5);

/// The TTL where nothing else is said.
const USUAL_TTL: Duration = Duration::from_secs(15);

/// What the command line gave.
#[derive(Clone, Default, Debug)]
pub struct Given {
    /// The store's URL.
    pub store: String,
    /// The lease key.
    pub key: String,
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// The plan whose `[budget]` counts.
    pub plan: Option<PathBuf>,
    /// TTL, such as `15s`.
    pub ttl: Option<String>,
    /// Heartbeat.
    pub heartbeat: Option<String>,
    /// The longest pause to survive.
    pub worst_pause: Option<String>,
    /// How long a renewal may take.
    pub renew_timeout: Option<String>,
    /// How far the clocks may move apart within one TTL.
    pub max_clock_drift: Option<String>,
    /// From SIGTERM to SIGKILL.
    pub grace: Option<String>,
    /// Wait for the lease for so long.
    pub timeout: Option<String>,
    /// Try once.
    pub no_wait: bool,
    /// Wait for the lease again after a loss, and start anew.
    pub restart: bool,
    /// A shell command for after a loss.
    pub on_lost: Option<String>,
    /// The name under which the store has the lease.
    pub owner: Option<String>,
    /// Share the terminal.
    pub foreground: bool,
    /// Say nothing on standard error but errors.
    pub quiet: bool,
    /// Events on standard error.
    pub json: bool,
    /// Events to this file; `-` is standard output.
    pub events: Option<PathBuf>,
}

/// Where event lines go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EventsTo {
    /// Nowhere.
    Nowhere,
    /// Standard output, between the command's own.
    Stdout,
    /// Standard error.
    Stderr,
    /// A file.
    File(PathBuf),
}

/// What `hold` is asked to do.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The store.
    pub store: Store,
    /// The lease key.
    pub key: String,
    /// The budget, asserted.
    pub budget: Sound,
    /// When the command is stopped.
    pub timing: Timing,
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// For how long the lease is waited for; none: for ever.
    pub wait: Option<Duration>,
    /// Start anew after a loss.
    pub restart: bool,
    /// A shell command for after a loss.
    pub on_lost: Option<String>,
    /// The owner's name in the store; none: the library's usual one.
    pub owner: Option<String>,
    /// The command shares the terminal.
    pub foreground: bool,
    /// Say nothing but errors.
    pub quiet: bool,
    /// Where event lines go.
    pub events: EventsTo,
    /// How it is broken, in tests.
    pub flaw: Option<Flaw>,
}

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A duration is none.
    #[error("--{name}: {says}")]
    Duration {
        /// The option.
        name: &'static str,
        /// What is wrong.
        says: String,
    },
    /// A variable of the owner contract is no number.
    #[error("{name} is {text:?}: give a whole number of milliseconds, at least 1")]
    Millis {
        /// The variable.
        name: &'static str,
        /// Its text.
        text: String,
    },
    /// The store's URL.
    #[error("{0}")]
    Store(String),
    /// The key is empty.
    #[error("the key is empty: name the lease")]
    Key,
    /// The budget.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// The budget holds, and leaves no room for stopping the command.
    #[error(
        "a margin of {margin:?} less a worst pause of {worst_pause:?} leaves less than the {slack:?} that a kill may \
         take: give a shorter --heartbeat or --worst-pause"
    )]
    Room {
        /// The margin.
        margin: Duration,
        /// The worst pause.
        worst_pause: Duration,
        /// What a kill may take.
        slack: Duration,
    },
    /// The grace is too long for the budget.
    #[error(
        "--grace {grace:?} does not fit: a pause of {worst_pause:?} (the worst) would have the command stopped. The \
         longest that fits is {longest:?}; a shorter --heartbeat or --worst-pause leaves more"
    )]
    Grace {
        /// What was asked.
        grace: Duration,
        /// The worst pause.
        worst_pause: Duration,
        /// What would do.
        longest: Duration,
    },
    /// The command isn't there, or can't be run.
    #[error("{command}: {why}")]
    Command {
        /// Its name.
        command: String,
        /// Why.
        why: &'static str,
        /// 126 or 127.
        status: u8,
    },
}

impl SettingsError {
    /// The exit status for it.
    #[must_use]
    pub fn status(&self) -> u8 {
        match self {
            Self::Command { status, .. } => *status,
            _ => crate::WRONG_CALL,
        }
    }
}

impl Settings {
    /// Validates what was given; what is missing comes from the owner contract's variables, then from what is usual.
    ///
    /// # Errors
    /// When something is wrong: nothing has been started, and no store was asked.
    pub fn new(given: Given) -> Result<Self, SettingsError> {
        Self::from(given, |name| std::env::var(name).ok().filter(|text| !text.is_empty()))
    }

    fn from(given: Given, env: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let store: Store = given
            .store
            .parse()
            .map_err(|error| SettingsError::Store(format!("{error}")))?;
        if given.key.is_empty() {
            return Err(SettingsError::Key);
        }
        let duration = |name: &'static str, text: &Option<String>| -> Result<Option<Duration>, SettingsError> {
            let parsed = text.as_deref().map(parse_duration).transpose();
            parsed.map_err(|says| SettingsError::Duration { name, says })
        };
        let budget = Self::budget(&given, store.early_slack(), &duration, &env)?;
        let mut numbers = *budget.numbers();
        numbers.early_slack = store.early_slack();
        let timing = timing(&numbers, duration("grace", &given.grace)?)?;
        let wait = if given.no_wait {
            Some(Duration::ZERO)
        } else {
            duration("timeout", &given.timeout)?
        };
        find(&given.command)?;
        let events = match given.events {
            Some(path) if path == Path::new("-") => EventsTo::Stdout,
            Some(path) => EventsTo::File(path),
            None if given.json => EventsTo::Stderr,
            None => EventsTo::Nowhere,
        };
        Ok(Self {
            store,
            key: given.key,
            budget,
            timing,
            command: given.command,
            wait,
            restart: given.restart,
            on_lost: given.on_lost,
            owner: given.owner.or_else(|| env("LEASEPROOF_OWNER")),
            foreground: given.foreground || has_terminal(),
            quiet: given.quiet,
            events,
            flaw: Flaw::from_env(),
        })
    }

    fn budget(
        given: &Given,
        early_slack: Duration,
        duration: &impl Fn(&'static str, &Option<String>) -> Result<Option<Duration>, SettingsError>,
        env: &impl Fn(&str) -> Option<String>,
    ) -> Result<Sound, SettingsError> {
        if let Some(plan) = &given.plan {
            return Ok(Budget::load(plan)?.assert()?);
        }
        let millis = |name: &'static str| -> Result<Option<Duration>, SettingsError> {
            let Some(text) = env(name) else { return Ok(None) };
            match text.trim().parse() {
                Ok(number) if number > 0 => Ok(Some(Duration::from_millis(number))),
                _ => Err(SettingsError::Millis { name, text }),
            }
        };
        let ttl_given = duration("ttl", &given.ttl)?;
        // A TTL of the command line and a heartbeat of the environment would belong to two budgets.
        let inherited = |name| if ttl_given.is_none() { millis(name) } else { Ok(None) };
        let ttl = ttl_given.or(millis("LEASEPROOF_TTL_MS")?).unwrap_or(USUAL_TTL);
        let heartbeat = duration("heartbeat", &given.heartbeat)?
            .or(inherited("LEASEPROOF_HEARTBEAT_MS")?)
            .unwrap_or(ttl / 5);
        let renew_timeout = duration("renew-timeout", &given.renew_timeout)?
            .or(inherited("LEASEPROOF_RENEW_TIMEOUT_MS")?)
            .unwrap_or(heartbeat / 5);
        let drift = duration("max-clock-drift", &given.max_clock_drift)?
            .unwrap_or_else(|| (ttl / 60).min(Duration::from_millis(50)));
        let with = |worst_pause| {
            Budget::new(ttl, heartbeat, worst_pause)
                .with_renew_timeout(renew_timeout)
                .with_max_clock_drift(drift)
        };
        if let Some(worst_pause) = duration("worst-pause", &given.worst_pause)? {
            return Ok(with(worst_pause).assert()?);
        }
        // Nobody said what pause is to be survived: half of the TTL, or what the numbers leave.
        let mut numbers = *with(Duration::ZERO).assert()?.numbers();
        numbers.early_slack = early_slack;
        let rest = numbers.margin().saturating_sub(Timing::slack_of(&numbers));
        let rest = rest.saturating_sub(Duration::from_millis(1));
        Ok(with((ttl / 2).min(rest)).assert()?)
    }
}

fn timing(numbers: &leaseproof_model::budget::Budget, grace: Option<Duration>) -> Result<Timing, SettingsError> {
    let slack = Timing::slack_of(numbers);
    let Some(longest) = Timing::longest_grace(numbers) else {
        return Err(SettingsError::Room {
            margin: numbers.margin(),
            worst_pause: numbers.worst_pause,
            slack,
        });
    };
    match grace {
        Some(grace) if grace > longest => Err(SettingsError::Grace {
            grace,
            worst_pause: numbers.worst_pause,
            longest,
        }),
        _ => Ok(Timing {
            grace: grace.unwrap_or(USUAL_GRACE).min(longest),
            slack,
            asked_grace: grace.unwrap_or(USUAL_GRACE),
        }),
    }
}

/// Whether the command can be run, before a lease is waited for.
fn find(command: &[OsString]) -> Result<(), SettingsError> {
    let wrong = |why, status| {
        let command = command
            .first()
            .map_or_else(String::new, |it| it.to_string_lossy().into_owned());
        Err(SettingsError::Command { command, why, status })
    };
    let Some(program) = command.first().filter(|it| !it.is_empty()) else {
        return wrong("no command: give one after --", crate::WRONG_CALL);
    };
    let places: Vec<PathBuf> = if Path::new(program).components().count() > 1 {
        vec![PathBuf::from(program)]
    } else {
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
        std::env::split_paths(&path)
            .map(|folder| folder.join(program))
            .collect()
    };
    if places
        .iter()
        .any(|it| it.is_file() && access(it, Access::EXEC_OK).is_ok())
    {
        Ok(())
    } else if places.iter().any(|it| it.exists()) {
        wrong(
            "it can't be executed: is it a program, with the permission to run?",
            start::NOT_EXECUTABLE,
        )
    } else {
        wrong("no such command: check its name, and PATH", start::NOT_FOUND)
    }
}

/// Whether this process is in the foreground of a terminal, so that its command should be too.
fn has_terminal() -> bool {
    tcgetpgrp(std::io::stdin()).is_ok_and(|group| group == getpgrp())
}

#[cfg(test)]
mod tests;
