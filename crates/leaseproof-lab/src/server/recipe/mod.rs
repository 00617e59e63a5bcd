//! How each store's server is started by hand: what to run, where it keeps its data, how it is reached.
//!
//! A recipe is for one member; a store of several members runs it once for each.

#[cfg(feature = "consul")]
mod consul;
#[cfg(feature = "etcd")]
mod etcd;
#[cfg(feature = "postgres")]
mod postgres;
mod redis;
mod redis_sentinel;
#[cfg(feature = "zookeeper")]
mod zookeeper;

use super::room::Room;
use std::io;
use std::path::PathBuf;

/// A server that can be started.
#[derive(Debug)]
pub struct Recipe {
    /// The store's kind, as `--start-store` takes it.
    pub kind: &'static str,
    /// A variable that names the program, where it is not in PATH.
    pub variable: &'static str,
    /// The program.
    pub program: &'static str,
    /// A folder of versions, each with the program in its `bin`, where a distribution has one.
    pub versions: Option<&'static str>,
    /// How many members a store of it can have, at the most.
    pub most: usize,
    /// How it is put together, where it is several processes of more than one sort.
    pub whole: Option<Whole>,
    /// Whether it refuses to run as root.
    pub never_root: bool,
    /// Whether it ends leases by a clock that the shim can step.
    pub steppable: bool,
    /// Writes what a start needs: configuration, secrets.
    pub write: fn(&Room<'_>) -> io::Result<()>,
    /// The command that makes the data, before the first start on an empty folder; none: the server does.
    pub make: fn(&Room<'_>) -> Option<Vec<String>>,
    /// The command that runs it.
    pub run: fn(&Room<'_>) -> Vec<String>,
    /// What is left to do once it answers.
    pub settle: fn(&Room<'_>),
    /// The URL of members at these places, each `host:port`, with the secret of the store.
    pub url: fn(&[String], &str) -> String,
}

/// A store that is always so many processes, of which some watch the others.
#[derive(Copy, Clone, Debug)]
pub struct Whole {
    /// How many there are.
    pub members: usize,
    /// The first so many can lead; the others watch them.
    pub leads: usize,
    /// The URL of the member of this number at this place.
    pub url: fn(usize, &str) -> String,
}

/// All of them.
pub const ALL: &[Recipe] = &[
    redis::RECIPE,
    redis_sentinel::RECIPE,
    #[cfg(feature = "postgres")]
    postgres::RECIPE,
    #[cfg(feature = "etcd")]
    etcd::RECIPE,
    #[cfg(feature = "zookeeper")]
    zookeeper::RECIPE,
    #[cfg(feature = "consul")]
    consul::RECIPE,
];

/// One of one kind, or several members: `etcd`, `etcd:3`.
#[derive(Copy, Clone, Debug)]
pub struct Wanted {
    /// Of what.
    pub recipe: &'static Recipe,
    /// How many.
    pub members: usize,
}

impl Wanted {
    /// As people write it.
    ///
    /// # Errors
    /// What is wrong with it, and what there is.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (kind, members) = text.split_once(':').unwrap_or((text, "1"));
        let recipe = ALL.iter().find(|recipe| recipe.kind == kind).ok_or_else(|| {
            let known: Vec<&str> = ALL.iter().map(|recipe| recipe.kind).collect();
            format!(
                "`{text}` is no store that leaseproof can start: there are {}",
                known.join(", ")
            )
        })?;
        if let Some(whole) = recipe.whole {
            return match text == kind {
                true => Ok(Self {
                    recipe,
                    members: whole.members,
                }),
                false => Err(format!(
                    "`{text}`: a store of {kind} is started as a whole: write {kind}"
                )),
            };
        }
        let members = members
            .parse()
            .ok()
            .filter(|members| (1..=recipe.most).contains(members));
        members
            // Two have no more quorum than one, once one of them stands still.
            .filter(|members| members % 2 == 1)
            .map(|members| Self { recipe, members })
            .ok_or_else(|| match recipe.most {
                1 => format!("`{text}`: a store of {kind} is started as one server: write {kind}"),
                most => format!("`{text}`: write {kind}, or an odd number of members up to {most}, as {kind}:3"),
            })
    }

    /// As people write it.
    #[must_use]
    pub fn name(&self) -> String {
        match self.members {
            1 => self.recipe.kind.to_owned(),
            _ if self.recipe.whole.is_some() => self.recipe.kind.to_owned(),
            members => format!("{}:{members}", self.recipe.kind),
        }
    }
}

impl Recipe {
    /// Where its program is.
    ///
    /// # Errors
    /// What was looked for, and how to say where it is.
    pub fn find(&self) -> Result<PathBuf, String> {
        if let Some(path) = std::env::var_os(self.variable).map(PathBuf::from) {
            return match path.is_file() {
                true => Ok(path),
                false => Err(format!(
                    "{} names {}, which is not there",
                    self.variable,
                    path.display()
                )),
            };
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path)
            .chain(self.newest_first())
            .map(|dir| dir.join(self.program))
            .find(|path| path.is_file())
            .ok_or_else(|| {
                format!(
                    "{} is not in PATH: install it, or name it by {}=PATH",
                    self.program, self.variable
                )
            })
    }

    fn newest_first(&self) -> Vec<PathBuf> {
        let versions = self.versions.map(std::fs::read_dir).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = versions.flatten().map(|version| version.path().join("bin")).collect();
        folders.sort();
        folders.reverse();
        folders
    }
}

/// For servers that need nothing written.
fn nothing(_: &Room<'_>) -> io::Result<()> {
    Ok(())
}

/// For servers that make their data themselves.
fn by_itself(_: &Room<'_>) -> Option<Vec<String>> {
    None
}

/// For servers of which nothing is left to do.
fn settled(_: &Room<'_>) {}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_ok() {
        for (text, members, name) in [
            ("redis", 1, "redis"),
            ("etcd:3", 3, "etcd:3"),
            ("zookeeper:1", 1, "zookeeper"),
            ("redis-sentinel", 6, "redis-sentinel"),
        ] {
            let wanted = Wanted::parse(text).expect(text);
            assert_eq!((wanted.members, wanted.name().as_str()), (members, name));
        }
    }

    #[test]
    fn members_bad() {
        for (text, part) in [
            ("mysql", "no store that leaseproof can start"),
            ("redis:3", "as one server"),
            ("redis-sentinel:3", "as a whole"),
            ("etcd:2", "odd number"),
            ("etcd:0", "odd number"),
            ("etcd:x", "odd number"),
            ("etcd:99", "odd number"),
        ] {
            let error = Wanted::parse(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
