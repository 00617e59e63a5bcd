//! The evidence, kept before anything is judged and before anybody restarts anything: a folder of mode
//! 0700, its files 0600. No file holds a password or a stored value.

use super::sample::Sample;
use leaseproof_model::event::{Event, EventId, Source, What};
use leaseproof_model::history::{EVENTS_SCHEMA, Header, Line};
use leaseproof_model::inspect::Inspection;
use serde::Serialize;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The folder, or nothing where none was asked for.
pub(super) struct Keep {
    folder: Option<(PathBuf, BufWriter<File>)>,
    failed: Option<String>,
    ids: u64,
    seq: u64,
}

impl Keep {
    /// Makes the folder, which must not be there or be empty, and the record's first line.
    pub(super) fn start(folder: Option<&Path>, key: &str) -> Result<Self, String> {
        let mut keep = Self {
            folder: None,
            failed: None,
            ids: 0,
            seq: 0,
        };
        let Some(folder) = folder else { return Ok(keep) };
        let fail = |error: io::Error| {
            format!(
                "the evidence can't be kept in {}: {error}\n  name another folder with --save DIR",
                folder.display()
            )
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(fail)?;
        if std::fs::read_dir(folder).map_err(fail)?.next().is_some() {
            return Err(format!(
                "the folder {} is not empty, and evidence is never overwritten\n  name another with --save DIR",
                folder.display()
            ));
        }
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).map_err(fail)?;
        let file = create(&folder.join("events.jsonl")).map_err(fail)?;
        keep.folder = Some((folder.to_owned(), BufWriter::new(file)));
        keep.line(&Line::Header(Header {
            schema: EVENTS_SCHEMA.to_owned(),
            run: Header::LOOK.to_owned(),
            seed: 0,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            scenarios: Vec::new(),
            stores: Vec::new(),
            require: Vec::new(),
            key: Some(key.to_owned()),
        }));
        Ok(keep)
    }

    /// The next reading's number, kept or not.
    pub(super) fn id(&mut self) -> EventId {
        self.ids += 1;
        EventId(self.ids)
    }

    /// Keeps a reading at once: what comes next may be a crash.
    pub(super) fn reading(&mut self, sample: &Sample) {
        let Ok(reading) = &sample.seen else {
            return self.note(&format!("reading {} failed", sample.id), sample.seen.as_ref().err());
        };
        self.seq += 1;
        let event = Event {
            id: sample.id,
            source: Source::Store,
            seq: self.seq,
            at: sample.at,
            stamp: Some(sample.stamp),
            cycle: 0,
            owner: None,
            what: What::Reading(reading.clone()),
            raw: None,
        };
        self.line(&Line::Event { run: 1, event });
    }

    fn note(&mut self, what: &str, why: Option<&String>) {
        if let Some((folder, _)) = &self.folder {
            let text = format!("{what}: {}\n", why.map_or("", |it| it));
            let written = OpenOptions::new()
                .create(true)
                .append(true)
                .mode(0o600)
                .open(folder.join("failures.txt"))
                .and_then(|mut file| file.write_all(text.as_bytes()));
            self.failed(written);
        }
    }

    fn line(&mut self, line: &Line) {
        if let Some((_, out)) = &mut self.folder {
            let written = serde_json::to_writer(&mut *out, line)
                .map_err(io::Error::from)
                .and_then(|()| out.write_all(b"\n"))
                .and_then(|()| out.flush());
            self.failed(written);
        }
    }

    /// Keeps one document as it is seen.
    pub(super) fn document(&mut self, name: &str, content: &impl Serialize) {
        if let Some((folder, _)) = &self.folder {
            let written = serde_json::to_vec_pretty(content)
                .map_err(io::Error::from)
                .and_then(|text| create(&folder.join(name))?.write_all(&text));
            self.failed(written);
        }
    }

    /// Keeps the answer. Says where, or why the evidence is not whole.
    pub(super) fn finish(mut self, inspection: &mut Inspection) -> Result<(), String> {
        inspection.saved = self.folder.as_ref().map(|(folder, _)| folder.display().to_string());
        let copy = inspection.clone();
        self.document("inspect.json", &copy);
        match self.failed {
            None => Ok(()),
            Some(why) => Err(format!("the evidence is not whole: {why}")),
        }
    }

    fn failed(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.failed.get_or_insert_with(|| error.to_string());
        }
    }
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)
}
