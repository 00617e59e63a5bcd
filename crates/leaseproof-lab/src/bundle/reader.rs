//! Reads a kept bundle, so that a later release can judge it again.

use leaseproof_model::event::{Event, Source, What};
use leaseproof_model::history::{EVENTS_SCHEMA, Header, History, Line};
use leaseproof_model::name::OwnerName;
use leaseproof_model::scenario::Ask;
use leaseproof_model::verdict::NotOffered;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

/// A bundle as it was read.
#[derive(Debug)]
pub struct Bundle {
    /// Its header.
    pub header: Header,
    /// The scenario runs, in the order in which they began.
    pub histories: Vec<History>,
    /// What was not offered.
    pub not_offered: Vec<NotOffered>,
    /// Lines that could not be read: number and complaint. Any makes the last verdict "cannot tell".
    pub problems: Vec<(usize, String)>,
    /// Something is missing elsewhere than at the end: what it was may have been a defence as well.
    pub damaged: bool,
}

/// Reads `<dir>/events.jsonl`.
///
/// # Errors
/// When the folder is no bundle, or of another schema; one message, with what to do.
pub fn read_bundle(dir: &Path) -> Result<Bundle, String> {
    let path = dir.join("events.jsonl");
    let file = File::open(&path).map_err(|error| {
        format!(
            "{} can't be read: {error}\n  name a run's folder, such as .leaseproof/runs/<id>",
            path.display()
        )
    })?;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut header = None;
    let mut runs: BTreeMap<u32, History> = BTreeMap::new();
    let mut not_offered: Vec<NotOffered> = Vec::new();
    let mut problems = Vec::new();
    let mut line = Vec::new();
    let mut number = 0;
    let mut line_ended = false;
    let mut damaged = false;
    let mut ids: Vec<u64> = Vec::new();
    let mut order = Order::default();
    loop {
        line.clear();
        let read = reader
            .read_until(b'\n', &mut line)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        if read == 0 {
            break;
        }
        number += 1;
        line_ended = line.ends_with(b"\n");
        match serde_json::from_slice::<Line>(&line) {
            Ok(Line::Header(it)) => {
                if it.schema != EVENTS_SCHEMA {
                    return Err(format!(
                        "{}:{number}: its schema is `{}`, this release reads `{EVENTS_SCHEMA}`",
                        path.display(),
                        it.schema
                    ));
                }
                header = Some(it);
            }
            Ok(Line::Scenario { run, ask }) => {
                runs.insert(
                    run,
                    History {
                        ask: *ask,
                        events: Vec::new(),
                        complete: false,
                        took_ms: 0,
                    },
                );
            }
            Ok(Line::Event { run, event }) => {
                ids.push(event.id.0);
                if let Some(odd) = order.breaks(run, &event) {
                    damaged = true;
                    problems.push((number, odd));
                }
                if let Some(history) = runs.get_mut(&run) {
                    history.events.push(event);
                } else {
                    problems.push((number, format!("event of scenario run {run}, which never began")));
                }
            }
            Ok(Line::End { run, took_ms }) => {
                if let Some(history) = runs.get_mut(&run) {
                    history.complete = true;
                    history.took_ms = took_ms;
                }
            }
            Ok(Line::NotOffered(it)) => not_offered.push(it),
            Err(error) => {
                // A killed run's last line may be half a line.
                damaged |= line_ended;
                problems.push((number, error.to_string()));
            }
        }
    }
    // Events are numbered through the whole file, so that a line which is gone leaves a gap.
    ids.sort_unstable();
    let last_event = ids.last().copied().unwrap_or(0);
    let recorded = ids.len();
    ids.dedup();
    let missing = last_event - u64::try_from(ids.len()).unwrap_or(u64::MAX).min(last_event);
    if missing > 0 && !damaged {
        damaged = true;
        problems.push((
            number,
            format!("{missing} of {last_event} events are missing before it"),
        ));
    }
    if ids.len() < recorded {
        damaged = true;
        problems.push((number, format!("{} events stand there twice", recorded - ids.len())));
    }
    // Killed before its first line was whole: the folder tells its name, and nothing was recorded.
    if number == 0 || (number == 1 && header.is_none() && !line_ended) {
        header = Some(nameless(dir));
        problems.clear();
    }
    let header = header.ok_or_else(|| {
        format!(
            "{}: it has no header line, so it is no bundle of leaseproof",
            path.display()
        )
    })?;
    if !problems.is_empty() {
        // A line that is lost may be the one that decides: no history of a damaged file counts as whole.
        for history in runs.values_mut() {
            history.complete = false;
        }
    }
    // A scenario that turned out not to be offered has left the begin of a record.
    let same =
        |it: &NotOffered, ask: &Ask| it.id == ask.scenario && (it.store.is_empty() || it.store == ask.store.kind);
    let offered = |history: &History| not_offered.iter().all(|it| !same(it, &history.ask));
    let histories = runs.into_values().filter(offered).collect();
    Ok(Bundle {
        header,
        histories,
        not_offered,
        problems,
        damaged,
    })
}

/// What the recorder never does: an event out of its source's order, a write out of the resource's
/// order or by nobody, a replay by another than the lab. A record that shows it was changed or is of
/// two runs.
#[derive(Default)]
struct Order {
    /// The last number by run, source and owner.
    seqs: HashMap<(u32, Source, Option<OwnerName>), u64>,
    /// The last write by run.
    serials: HashMap<u32, u64>,
}

impl Order {
    fn breaks(&mut self, run: u32, event: &Event) -> Option<String> {
        let last = self.seqs.entry((run, event.source, event.owner.clone())).or_insert(0);
        let expected = *last + 1;
        *last = event.seq;
        if event.seq != expected {
            let source = event.source;
            return Some(format!(
                "it is number {} of its source ({source:?}), and {expected} was to come",
                event.seq
            ));
        }
        let What::Write(write) = &event.what else { return None };
        let last = self.serials.entry(run).or_insert(0);
        let expected = *last + 1;
        *last = write.serial;
        if write.serial != expected {
            return Some(format!(
                "it is write {} at the resource, and {expected} was to come",
                write.serial
            ));
        }
        match &event.owner {
            None => Some("it is a write by nobody".to_owned()),
            Some(owner) if write.replay && !owner.is_lab() => {
                Some(format!("it is a replay by {owner}, and only the lab replays"))
            }
            Some(_) => None,
        }
    }
}

fn nameless(dir: &Path) -> Header {
    Header {
        schema: EVENTS_SCHEMA.to_owned(),
        run: dir.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        seed: 0,
        version: String::new(),
        stores: Vec::new(),
        scenarios: Vec::new(),
        require: Vec::new(),
        key: None,
    }
}
