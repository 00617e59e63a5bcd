//! Where one member of a server lives: its folder, its ports, its secret, and whom it runs as.

use std::io;
use std::os::unix::fs::{DirBuilderExt as _, chown};
use std::path::{Path, PathBuf};

/// The user and the group that everybody has.
const NOBODY: u32 = 65_534;

/// Where a server listens.
#[derive(Copy, Clone, Debug)]
pub struct Ports {
    /// For its clients.
    pub client: u16,
    /// For others of its kind.
    pub peer: u16,
    /// The same, where there are two ways.
    pub more: u16,
}

/// The room of one member, for its recipe.
#[derive(Copy, Clone, Debug)]
pub struct Room<'a> {
    /// The program.
    pub program: &'a Path,
    pub(super) place: &'a Place,
    /// Which of the members, from 0.
    pub number: usize,
    /// The ports of all.
    pub members: &'a [Ports],
    /// What a client of the store must know, where it asks for a password.
    pub secret: &'a str,
}

/// A folder, and whose it is.
#[derive(Clone, Debug)]
pub struct Place {
    dir: PathBuf,
    /// Whether it is handed over to a user without rights, as which the server runs.
    unprivileged: bool,
    /// Whether it lies outside of the run's folder, and has to be removed by itself.
    away: bool,
}

impl Place {
    /// Where a server is to live: in the run's folder. One that refuses to run as root needs another where we
    /// are root, since nobody else may enter that.
    pub fn choose(dir: &Path, never_root: bool) -> Self {
        let unprivileged = never_root && rustix::process::geteuid().is_root();
        if !unprivileged {
            return Self {
                dir: dir.to_owned(),
                unprivileged,
                away: false,
            };
        }
        let name: Vec<String> = dir
            .components()
            .rev()
            .take(4)
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .collect();
        let name: Vec<&str> = name.iter().rev().map(String::as_str).collect();
        Self {
            dir: std::env::temp_dir().join(format!("leaseproof-{}", name.join("-"))),
            unprivileged,
            away: true,
        }
    }

    /// Its folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether nobody else removes it.
    pub fn is_away(&self) -> bool {
        self.away
    }

    /// Makes it, with the folder of the data in it.
    ///
    /// # Errors
    /// As the system says.
    pub fn make(&self) -> io::Result<()> {
        let mut make = std::fs::DirBuilder::new();
        make.mode(0o700);
        if self.away {
            // Whoever was there first would own what is in it.
            make.create(&self.dir)?;
        } else {
            std::fs::create_dir_all(&self.dir)?;
        }
        self.hand_over(&self.dir)?;
        self.make_data()
    }

    /// Makes the folder of the data, where it is not there.
    ///
    /// # Errors
    /// As the system says.
    pub fn make_data(&self) -> io::Result<()> {
        let data = self.dir.join("data");
        if !data.is_dir() {
            std::fs::DirBuilder::new().mode(0o700).create(&data)?;
            self.hand_over(&data)?;
        }
        Ok(())
    }

    /// Gives a file to whom the server runs as.
    ///
    /// # Errors
    /// As the system says.
    pub fn hand_over(&self, path: &Path) -> io::Result<()> {
        match self.unprivileged {
            true => chown(path, Some(NOBODY), Some(NOBODY)),
            false => Ok(()),
        }
    }

    /// The words before a command of the server, so that it runs as whom it should.
    pub fn user_words(&self) -> Vec<String> {
        let words: &[&str] = match self.unprivileged {
            true => &[
                "setpriv",
                "--reuid",
                "65534",
                "--regid",
                "65534",
                "--clear-groups",
                "--",
            ],
            false => &[],
        };
        words.iter().map(|&word| word.to_owned()).collect()
    }
}

impl Room<'_> {
    /// The program, as a word of a command.
    #[must_use]
    pub fn program(&self) -> String {
        self.program.display().to_string()
    }

    /// Its own folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.place.dir()
    }

    /// The folder of its data.
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.place.dir().join("data")
    }

    /// The same, as a word of a command.
    #[must_use]
    pub fn data(&self) -> String {
        self.data_dir().display().to_string()
    }

    /// Its ports.
    #[must_use]
    pub fn ports(&self) -> Ports {
        self.members[self.number]
    }

    /// The ports of the others.
    pub fn others(&self) -> impl Iterator<Item = Ports> + '_ {
        let others = self
            .members
            .iter()
            .enumerate()
            .filter(|(number, _)| *number != self.number);
        others.map(|(_, ports)| *ports)
    }

    /// Whether it is the only one.
    #[must_use]
    pub fn alone(&self) -> bool {
        self.members.len() == 1
    }

    /// Gives a file to whom the server runs as.
    ///
    /// # Errors
    /// As the system says.
    pub fn hand_over(&self, path: &Path) -> io::Result<()> {
        self.place.hand_over(path)
    }
}
