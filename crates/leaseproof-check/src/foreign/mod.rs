//! Lock settings of other systems, in our form.
//!
//! A file is flattened into settings with their lines ([`settings`], whatever its format); a system's own room picks
//! those that it knows, fills in the system's real defaults, and says what each number is in a budget. What each
//! mapping rests on is argued in docs/check.md.

mod assignments;
mod consul;
mod etcd;
mod kubernetes;
mod patroni;
mod reader;
mod redbeat;
mod redisson;
pub mod settings;
mod shedlock;
pub mod time;
mod yaml;
mod zookeeper;

use crate::given::Given;
use crate::plan::nearest;
use crate::subject::Subject;
use leaseproof_model::store::StoreFacts;
use reader::Reader;
use settings::Settings;
use std::cell::RefCell;
use std::str::FromStr;

/// What a file is.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Our own plan.
    Plan,
    /// Redisson's watchdog.
    Redisson,
    /// Leader election by client-go.
    Kubernetes,
    /// Patroni's leader key.
    Patroni,
    /// redbeat's scheduler lock.
    Redbeat,
    /// ShedLock.
    ShedLock,
    /// A Consul session.
    ConsulSession,
    /// An etcd session.
    EtcdSession,
    /// A ZooKeeper session.
    ZooKeeper,
}

impl Kind {
    /// All of them, in the order in which a file is tried.
    pub const ALL: [Self; 9] = [
        Self::Plan,
        Self::Redisson,
        Self::Kubernetes,
        Self::Patroni,
        Self::Redbeat,
        Self::ShedLock,
        Self::ConsulSession,
        Self::EtcdSession,
        Self::ZooKeeper,
    ];

    /// Its name for `--as`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Redisson => "redisson",
            Self::Kubernetes => "kubernetes",
            Self::Patroni => "patroni",
            Self::Redbeat => "redbeat",
            Self::ShedLock => "shedlock",
            Self::ConsulSession => "consul-session",
            Self::EtcdSession => "etcd-session",
            Self::ZooKeeper => "zookeeper",
        }
    }

    /// The settings that only this system has.
    fn marks(self) -> &'static [&'static str] {
        match self {
            Self::Plan => &[],
            Self::Redisson => redisson::MARKS,
            Self::Kubernetes => kubernetes::MARKS,
            Self::Patroni => patroni::MARKS,
            Self::Redbeat => redbeat::MARKS,
            Self::ShedLock => shedlock::MARKS,
            Self::ConsulSession => consul::MARKS,
            Self::EtcdSession => etcd::MARKS,
            Self::ZooKeeper => zookeeper::MARKS,
        }
    }
}

fn names() -> String {
    Kind::ALL.map(Kind::name).join(", ")
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
            let meant = nearest(text, Self::ALL.map(Self::name));
            let meant = meant.map_or_else(String::new, |it| format!(" (did you mean `{it}`?)"));
            format!("--as: `{text}` is no kind of file{meant}: there are {}", names())
        })
    }
}

/// What is judged of a file: one subject for each lease in it. `facts` says what is known of the store behind a URL.
///
/// # Errors
/// When it can't be understood, is of no known system, or has a value that is none; with file, line and remedy.
pub fn read(
    file: &str,
    text: &str,
    kind: Option<Kind>,
    given: &Given,
    facts: &dyn Fn(&str) -> Result<StoreFacts, String>,
) -> Result<Vec<Subject>, String> {
    let settings = Settings::read(file, text)?;
    let kind = match kind {
        Some(kind) => kind,
        None => recognise(file, &settings)?,
    };
    let reader = Reader {
        file,
        text,
        kind: kind.name(),
        settings: &settings,
        given,
        facts,
        unread: RefCell::default(),
    };
    let mut subjects = match kind {
        Kind::Plan => {
            return Err(format!(
                "{file}: a plan is TOML, and has its own reader: name it leaseproof.toml"
            ));
        }
        Kind::Redisson => vec![redisson::read(&reader)?],
        Kind::Kubernetes => vec![kubernetes::read(&reader)?],
        Kind::Patroni => vec![patroni::read(&reader)?],
        Kind::Redbeat => vec![redbeat::read(&reader)?],
        Kind::ShedLock => shedlock::read(&reader)?,
        Kind::ConsulSession => vec![consul::read(&reader)?],
        Kind::EtcdSession => vec![etcd::read(&reader)?],
        Kind::ZooKeeper => vec![zookeeper::read(&reader)?],
    };
    for subject in &mut subjects {
        given.over(subject);
        subject.unread = reader.why_unread(kind.marks(), subject);
    }
    Ok(subjects)
}

/// The system whose marks are in the settings.
fn recognise(file: &str, settings: &Settings) -> Result<Kind, String> {
    let found: Vec<Kind> = Kind::ALL
        .into_iter()
        .filter(|kind| kind.marks().iter().any(|mark| settings.find(&[mark]).next().is_some()))
        .collect();
    match &found[..] {
        [kind] => Ok(*kind),
        [] => Err(format!(
            "{file}: no lock settings of a known system are in it\n  say what it is: --as one of {}",
            names()
        )),
        [first, second, ..] => Err(format!(
            "{file}: it has settings of {} and of {}\n  say which to check: --as {} or --as {}",
            first.name(),
            second.name(),
            first.name(),
            second.name()
        )),
    }
}
