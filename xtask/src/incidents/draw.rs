//! What an incident is to be, drawn from its seed.

use super::table::{By, Client, Fault, Kind, Run, Table};
use serde::Serialize;

/// A small generator: the same seed draws the same on every machine.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The one of this seed, number and attempt.
    pub fn new(seed: u64, number: u64, attempt: u64) -> Self {
        let mut rng = Self(seed ^ number.rotate_left(24) ^ attempt.rotate_left(48));
        rng.next();
        rng
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// Whether something of so many percent happens.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of them.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(usize::try_from(self.below(from.len() as u64)).unwrap_or(0))
    }
}

/// A part of the evidence that may be missing.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    Owner,
    Store,
    Runtime,
    Resource,
}

/// How an owner's log is written.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// `2026-11-30T03:02:27.442Z`
    Iso,
    /// `2026-11-30 03:02:27,442`, local, no zone.
    Log4j,
    /// `I1130 03:02:27.442123    4711 file.go:1]`: no year, no zone.
    Klog,
    /// An object a line.
    Json,
    /// `Nov 30 03:02:27 host tag[pid]:`: no year, no zone, whole seconds.
    Syslog,
    /// Whole seconds, local, no zone.
    Seconds,
    /// Python's own: comma, local, no zone.
    Python,
    /// An object a line, the time in ms since 1970.
    Pino,
    /// Lines with the container engine's stamp before them.
    Docker,
}

impl Style {
    fn has_zone(self) -> bool {
        matches!(self, Self::Iso | Self::Json | Self::Pino | Self::Docker)
    }

    fn has_year(self) -> bool {
        !matches!(self, Self::Klog | Self::Syslog)
    }
}

/// Something that has nothing to do with it.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Herring {
    /// The log of another JVM with its ordinary collections.
    Collections,
    /// A line of chronyd that means nothing.
    Chronyd,
    /// A slow command of somebody else on the store.
    SlowCommand,
}

/// How the resource writes its log.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessStyle {
    Json,
    Nginx,
    App,
}

/// All that is drawn.
#[derive(Clone, Debug)]
pub struct Draw {
    pub number: u64,
    pub kind: Kind,
    pub client: Client,
    pub store: String,
    pub key: String,
    pub ttl_ms: u64,
    pub heartbeat_ms: u64,
    pub style: Style,
    /// The owners' zone, in minutes east of UTC; only where their stamps do not state it.
    pub zone: i32,
    /// Whether the caller knows that zone.
    pub zone_told: bool,
    pub debug: bool,
    pub missing: Option<Part>,
    pub herring: Option<Herring>,
    pub access: AccessStyle,
    pub fenced: bool,
    /// Redis: the MONITOR capture, else the AOF.
    pub monitor: bool,
    pub plan: bool,
    pub compressed: bool,
    /// How long it runs before the fault, and after its end.
    pub lead_ms: u64,
    pub tail_ms: u64,
    /// How much longer than it must a fault lasts.
    pub extra_ms: u64,
}

impl Draw {
    /// Whether nothing that an operator could have is missing.
    pub fn full(&self) -> bool {
        self.missing.is_none() && self.plan && !self.zone_hidden()
    }

    /// Whether stamps are off by a zone that nobody told.
    pub fn zone_hidden(&self) -> bool {
        self.zone != 0 && !self.zone_told
    }

    /// Whether the owners' stamps have no year.
    pub fn no_year(&self) -> bool {
        !self.style.has_year()
    }

    /// Its name: number and kind and client.
    pub fn name(&self) -> String {
        format!(
            "{:03}-{}-{}-{}",
            self.number, self.kind.name, self.client.name, self.store
        )
    }

    /// What the store calls the key.
    pub fn store_key(&self) -> String {
        let form = self.client.key.as_deref().unwrap_or("{key}");
        form.replace("{key}", &self.key)
    }
}

const KEYS: &[&str] = &[
    "locks/orders",
    "locks/invoices",
    "locks/nightly-report",
    "locks/leader",
    "locks/shard-7",
];

/// Draws an incident. A kind that was thrown away is tried twice again before another is drawn.
pub fn draw(table: &Table, kinds: &[String], seed: u64, number: u64, attempt: u64) -> Result<Draw, String> {
    let mut chooser = Rng::new(seed, number, attempt / 3);
    let wanted: Vec<&Kind> = table
        .kinds
        .iter()
        .filter(|kind| kinds.is_empty() || kinds.contains(&kind.name))
        .collect();
    let total: u64 = wanted.iter().map(|kind| u64::from(kind.weight)).sum();
    let mut at = chooser.below(total);
    let kind = wanted.iter().find(|kind| {
        let weight = u64::from(kind.weight);
        let here = at < weight;
        at = at.saturating_sub(weight);
        here
    });
    let kind = kind.ok_or("no kind of that name")?;
    let mut rng = Rng::new(seed ^ 0x5EED, number, attempt);
    let pairs = table.pairs(kind);
    // Foreign clients are fewer in the table than our flaws: each side gets its half, where there are both.
    let by = if rng.percent(50) { By::Foreign } else { By::Ours };
    let of_side: Vec<_> = pairs.iter().filter(|(client, _)| client.by == by).collect();
    let (client, store) = match of_side.is_empty() {
        true => rng.pick(&pairs).copied(),
        false => rng.pick(&of_side).map(|pair| **pair),
    }
    .ok_or("no client")?;
    let styles: &[Style] = match client.run {
        Run::Lab => &[
            Style::Iso,
            Style::Log4j,
            Style::Klog,
            Style::Json,
            Style::Syslog,
            Style::Seconds,
        ],
        Run::Python => &[Style::Python, Style::Python, Style::Json, Style::Seconds],
        Run::Node => &[Style::Pino],
        Run::Jvm => &[Style::Docker, Style::Log4j],
        Run::Etcdctl => &[Style::Docker],
    };
    let style = *rng.pick(styles).ok_or("no style")?;
    let off = rng.percent(30) && !style.has_zone();
    let zone = if off {
        *rng.pick(&[330, -480]).unwrap_or(&330)
    } else {
        0
    };
    let mut parts = vec![Part::Owner, Part::Store, Part::Resource];
    if !kind.evidence.is_empty() {
        parts.extend([Part::Runtime, Part::Runtime]);
    }
    let missing = if rng.percent(35) {
        rng.pick(&parts).copied()
    } else {
        None
    };
    let mut herrings = vec![Herring::Collections, Herring::Chronyd];
    if store == "redis" {
        herrings.push(Herring::SlowCommand);
    }
    let herring = if rng.percent(30) {
        rng.pick(&herrings).copied()
    } else {
        None
    };
    let ttl_ms = kind.ttl_ms.unwrap_or(3000);
    let fenced = kind.fenced.unwrap_or_else(|| client.tokens && rng.percent(50));
    Ok(Draw {
        number,
        ttl_ms,
        heartbeat_ms: kind.heartbeat_ms.unwrap_or(ttl_ms / 3),
        store: store.to_owned(),
        key: (*rng.pick(KEYS).ok_or("no key")?).to_owned(),
        style,
        zone,
        zone_told: rng.percent(50),
        debug: rng.percent(40),
        missing,
        herring,
        access: *rng
            .pick(&[AccessStyle::Json, AccessStyle::Nginx, AccessStyle::App])
            .ok_or("no style")?,
        fenced: fenced && client.tokens,
        // Where the key goes without a command, or the clock steps, only a capture with both is of use.
        monitor: rng.percent(50) || matches!(kind.fault, Fault::Evict | Fault::StoreClock),
        plan: rng.percent(85),
        compressed: rng.percent(20),
        lead_ms: 2500 + rng.below(2500),
        tail_ms: 2500 + rng.below(1500),
        extra_ms: 200 + rng.below(1800),
        kind: (*kind).clone(),
        client: client.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_and_another_something_else() {
        let table = Table::read().expect("the table");
        let names = |seed| -> Vec<String> {
            let drawn = (0..20).map(|number| draw(&table, &[], seed, number, 0).expect("a draw"));
            drawn
                .map(|it| format!("{} {:?} {:?}", it.name(), it.style, it.missing))
                .collect()
        };
        assert_eq!(names(1), names(1));
        assert_ne!(names(1), names(2));
    }

    #[test]
    fn every_kind_comes_up() {
        let table = Table::read().expect("the table");
        for kind in &table.kinds {
            let found =
                (0..2000).any(|number| draw(&table, &[], 7, number, 0).is_ok_and(|it| it.kind.name == kind.name));
            assert!(found, "{}", kind.name);
        }
    }
}
