//! Who the owners are. A name in one file and a name in another are one owner only where the text says so.

use super::keys::Keys;
use leaseproof_evidence::evidence::Evidence;
use leaseproof_evidence::place::FileId;
use leaseproof_evidence::record::{Author, Record, SourceKind};
use leaseproof_evidence::says::{OwnerSays, ResourceSays, Says};
use leaseproof_model::name::Token;
use std::collections::BTreeSet;
use std::sync::Arc;

/// One owner.
#[derive(Debug, Default)]
pub struct Owner<'e> {
    /// What it is called here.
    pub name: String,
    /// The files in which it speaks.
    pub files: BTreeSet<FileId>,
    /// Its names as a holder, its sessions.
    pub ids: BTreeSet<Arc<str>>,
    /// The tokens that it says it was given.
    pub tokens: BTreeSet<Token>,
    /// Its pids.
    pub pids: BTreeSet<u32>,
    /// Its hosts.
    pub hosts: BTreeSet<Arc<str>>,
    /// Its containers.
    pub containers: BTreeSet<Arc<str>>,
    /// What it says of itself, in its order, but for other leases.
    pub says: Vec<&'e Record>,
    /// What it says of other leases: signs of its life, and no more.
    pub others: Vec<&'e Record>,
}

/// What tells two writers in one file apart.
type Writer = (FileId, Option<Arc<str>>, Option<u32>);

/// The owners, each with what it says.
#[must_use]
pub fn owners<'e>(evidence: &'e Evidence, keys: &Keys) -> Vec<Owner<'e>> {
    let mut owners: Vec<(Writer, Owner<'_>)> = Vec::new();
    for record in &evidence.records {
        if record.source != SourceKind::Owner {
            continue;
        }
        let Says::Owner(said) = &record.says else { continue };
        let place = record.author.container.clone().or_else(|| record.author.host.clone());
        let writer = (record.place.file, place, record.author.pid);
        let found = owners.iter().position(|(known, _)| *known == writer);
        let index = found.unwrap_or_else(|| {
            owners.push((writer, Owner::default()));
            owners.len() - 1
        });
        if let Some((_, owner)) = owners.get_mut(index) {
            owner.hear(record, said, keys.is_of_another(record));
        }
    }
    let owners = owners.into_iter().flat_map(|(writer, owner)| match writer {
        // A process is one writer, whatever it says.
        (_, _, Some(_)) => vec![owner],
        _ if !owner.containers.is_empty() => vec![owner],
        _ => apart(owner),
    });
    let mut owners = join(owners.collect());
    for owner in &mut owners {
        owner.name = name(owner, evidence);
    }
    if owners.is_empty() {
        owners = by_resource(evidence);
    }
    owners
}

/// Those whose lines lie between one another in what looks like one writer's.
fn apart(owner: Owner<'_>) -> Vec<Owner<'_>> {
    let Some(lines) = super::mixed::apart(&owner.says) else {
        return vec![owner];
    };
    let each = lines.into_iter().map(|lines| {
        let mut one = Owner::default();
        for record in lines {
            if let Says::Owner(said) = &record.says {
                one.hear(record, said, false);
            }
        }
        one
    });
    each.collect()
}

/// Fewer writes of one name make no owner of it.
const FEW: usize = 3;

/// Where no file of an owner is there: those whose writes the resource names. They say nothing of what they believed.
fn by_resource(evidence: &Evidence) -> Vec<Owner<'_>> {
    let mut found: Vec<(Owner<'_>, usize)> = Vec::new();
    for record in &evidence.records {
        let Says::Resource(ResourceSays::Write {
            sender: Some(sender),
            token,
            ..
        }) = &record.says
        else {
            continue;
        };
        let known = found.iter().position(|(owner, _)| owner.name == **sender);
        let index = known.unwrap_or_else(|| {
            let mut owner = Owner {
                name: sender.to_string(),
                ..Owner::default()
            };
            owner.ids.insert(Arc::clone(sender));
            found.push((owner, 0));
            found.len() - 1
        });
        if let Some((owner, writes)) = found.get_mut(index) {
            owner.tokens.extend(*token);
            *writes += 1;
        }
    }
    found.retain(|(_, writes)| *writes >= FEW);
    found.into_iter().map(|(owner, _)| owner).collect()
}

impl<'e> Owner<'e> {
    fn hear(&mut self, record: &'e Record, said: &OwnerSays, of_another: bool) {
        self.files.insert(record.place.file);
        self.pids.extend(record.author.pid);
        self.hosts.extend(record.author.host.clone());
        self.containers.extend(record.author.container.clone());
        match said {
            OwnerSays::Acquired { holder, token, .. } => {
                self.ids.extend(holder.clone());
                self.tokens.extend(token.filter(|_| !of_another));
            }
            OwnerSays::SessionOpened { session, .. } => {
                self.ids.insert(Arc::clone(session));
            }
            OwnerSays::SessionLost { session, .. } | OwnerSays::HeardNothing { session, .. } => {
                self.ids.extend(session.clone());
            }
            _ => {}
        }
        match of_another {
            true => self.others.push(record),
            false => self.says.push(record),
        }
    }

    /// Whether it is known by its writes at the resource alone.
    #[must_use]
    pub fn is_mute(&self) -> bool {
        self.says.is_empty() && self.others.is_empty()
    }

    /// Whether the store's holder, session or sender is this owner.
    #[must_use]
    pub fn is_called(&self, holder: &str) -> bool {
        let named = |id: &str| !id.is_empty() && (id == holder || has_word(holder, id) || has_word(id, holder));
        self.ids.iter().any(|id| named(id))
    }

    /// Whether a resource's name for whoever wrote is this owner's: a holder's name, or what its file is called.
    #[must_use]
    pub fn answers_to(&self, sender: &str) -> bool {
        self.is_called(sender) || self.name == sender || has_word(&self.name, sender)
    }

    /// Whether an author is this owner: `None` where nothing tells.
    #[must_use]
    pub fn is_author(&self, author: &Author) -> Option<bool> {
        if let Some(container) = &author.container {
            let same = |known: &Arc<str>| known == container || known.starts_with(&**container);
            if self.containers.iter().chain(&self.hosts).any(same)
                || self.is_called(container)
                || self.name == **container
            {
                return Some(true);
            }
            if !self.containers.is_empty() {
                return Some(false);
            }
        }
        if let Some(host) = &author.host
            && !self.hosts.is_empty()
            && !self.hosts.contains(host)
        {
            return Some(false);
        }
        if let Some(pid) = author.pid
            && self.pids.contains(&pid)
        {
            return Some(true);
        }
        None
    }
}

/// Whether `word` stands in `text` by itself.
fn has_word(text: &str, word: &str) -> bool {
    word.len() >= 2
        && text.match_indices(word).any(|(at, _)| {
            let edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
            edge(text.get(..at).and_then(|before| before.chars().next_back()))
                && edge(text.get(at + word.len()..).and_then(|after| after.chars().next()))
        })
}

/// One owner where two share a name as a holder: a log and its rotated part.
fn join(owners: Vec<Owner<'_>>) -> Vec<Owner<'_>> {
    let mut joined: Vec<Owner<'_>> = Vec::new();
    for owner in owners {
        let same = |known: &&mut Owner<'_>| known.ids.intersection(&owner.ids).next().is_some();
        if let Some(known) = joined.iter_mut().find(same) {
            known.files.extend(owner.files);
            known.ids.extend(owner.ids);
            known.tokens.extend(owner.tokens);
            known.pids.extend(owner.pids);
            known.hosts.extend(owner.hosts);
            known.containers.extend(owner.containers);
            known.says.extend(owner.says);
            known.others.extend(owner.others);
        } else {
            joined.push(owner);
        }
    }
    joined
}

fn name(owner: &Owner<'_>, evidence: &Evidence) -> String {
    if let Some(container) = owner.containers.first() {
        return container.to_string();
    }
    let holder = owner.says.iter().find_map(|record| match &record.says {
        Says::Owner(OwnerSays::Acquired { holder, .. }) => holder.clone(),
        _ => None,
    });
    if let Some(holder) = holder {
        return holder.to_string();
    }
    let file = owner.files.first().and_then(|file| evidence.file(*file));
    let stem = file.map_or("owner", |file| stem(&file.name));
    match owner.pids.first() {
        Some(pid) => format!("{stem}[{pid}]"),
        None => stem.to_owned(),
    }
}

/// `worker-a` of `logs/worker-a.log.1`.
#[must_use]
pub fn stem(name: &str) -> &str {
    let base = name.rsplit('/').next().unwrap_or(name);
    base.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or(base)
}

/// Words of a file's name that say what it is, and not whose.
const COMMON: &[&str] = &[
    "gc",
    "log",
    "owner",
    "worker",
    "app",
    "jvm",
    "stdout",
    "stderr",
    "out",
    "client",
    "runtime",
    "safepoint",
    "go",
    "node",
    "java",
    "python",
    "docker",
    "events",
    "journal",
    "messages",
    "txt",
    "json",
    "jsonl",
    "logs",
    "trace",
    "service",
    "poll",
    "freeze",
];

/// Whether a file's name shares a word with an owner's file that no other owner's has.
#[must_use]
pub fn same_name(evidence: &Evidence, file: FileId, owners: &[Owner<'_>]) -> Option<usize> {
    let words = |id: FileId| -> BTreeSet<String> {
        let name = evidence.file(id).map_or("", |file| &*file.name);
        stem(name)
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_ascii_lowercase)
            .filter(|word| !COMMON.contains(&word.as_str()))
            .collect()
    };
    let mine = words(file);
    let shares = |owner: &Owner<'_>| {
        let named: BTreeSet<String> = stem(&owner.name)
            .split(|c: char| !c.is_alphanumeric())
            .map(str::to_ascii_lowercase)
            .collect();
        owner
            .files
            .iter()
            .any(|id| *id == file || words(*id).intersection(&mine).next().is_some())
            || named.intersection(&mine).next().is_some()
    };
    let mut found = owners
        .iter()
        .enumerate()
        .filter(|(_, owner)| shares(owner))
        .map(|(index, _)| index);
    let first = found.next()?;
    found.next().is_none().then_some(first)
}
