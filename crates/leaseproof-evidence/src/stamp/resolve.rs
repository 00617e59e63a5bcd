//! From what is written to a moment, with the zone and the year that the file lacks.

use super::written::{Written, Zone};
use crate::clock::Basis;
use crate::when::{Domain, Interval, When};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::time::Duration;

/// The zone and year of one file, and what its stamps turned out to need.
#[derive(Clone, Debug)]
pub(crate) struct Stamps {
    zone: Option<TimeZone>,
    year: Option<i16>,
    /// The year that is taken where nobody gave one.
    fallback: i16,
    /// How often a stamp had its own zone, and how often none.
    pub(crate) zoned: u64,
    pub(crate) unzoned: u64,
    pub(crate) yearless: u64,
    states_utc: bool,
    /// Years that passed within a file without years: its months went from December to January.
    turned: i16,
    last_month: i8,
    memo: Option<(i16, i8, i8, i64)>,
    zone_memo: Option<(i64, i64)>,
}

impl Stamps {
    pub(crate) fn new(zone: Option<TimeZone>, year: Option<i16>, fallback: i16) -> Self {
        Self {
            zone,
            year,
            fallback,
            zoned: 0,
            unzoned: 0,
            yearless: 0,
            states_utc: false,
            turned: 0,
            last_month: 0,
            memo: None,
            zone_memo: None,
        }
    }

    /// The file says itself that its stamps are UTC.
    pub(crate) fn stated_utc(&mut self) {
        self.zone = Some(TimeZone::UTC);
        self.states_utc = true;
        self.zone_memo = None;
        self.zoned += 1;
    }

    /// Where the zone came from, over the whole file.
    pub(crate) fn zone_basis(&self) -> Basis {
        match (self.unzoned, self.zoned, &self.zone) {
            (0, 0, _) => Basis::NotNeeded,
            (0, _, _) => Basis::Stated,
            _ if self.states_utc => Basis::Stated,
            (_, _, Some(_)) => Basis::Given,
            (_, _, None) => Basis::Assumed,
        }
    }

    /// Where the year came from, over the whole file.
    pub(crate) fn year_basis(&self) -> Basis {
        match (self.yearless, self.year) {
            (0, _) if self.zoned + self.unzoned == 0 => Basis::NotNeeded,
            (0, _) => Basis::Stated,
            (_, Some(_)) => Basis::Given,
            (_, None) => Basis::Assumed,
        }
    }

    /// A calendar stamp's moment.
    pub(crate) fn calendar(&mut self, written: &Written) -> Option<When> {
        let mut year = self.year.unwrap_or(self.fallback);
        if written.year.is_none() {
            self.yearless += 1;
            if self.last_month == 12 && written.month == 1 {
                self.turned += 1;
            } else if self.last_month == 1 && written.month == 12 && self.turned > 0 {
                self.turned -= 1;
            }
            self.last_month = written.month;
            year = year.saturating_add(self.turned);
        }
        let midnight = self.midnight(written, year)?;
        let face = midnight
            .checked_add(i64::from(written.second) * 1_000_000_000)?
            .checked_add(written.nanos)?;
        let resolution = Duration::from_nanos(written.unit.unsigned_abs());
        let span = match written.zone {
            Zone::Offset(east) => {
                self.zoned += 1;
                Interval::cut(face.saturating_sub(i64::from(east) * 1_000_000_000), resolution)
            }
            Zone::None => {
                self.unzoned += 1;
                self.local(written, year, face, resolution)?
            }
        };
        Some(When {
            domain: Domain::Wall,
            span,
            resolution,
        })
    }

    /// Seconds since 1970, in nanoseconds.
    pub(crate) fn epoch(&mut self, nanos: i64, unit: i64) -> When {
        self.zoned += 1;
        let resolution = Duration::from_nanos(unit.unsigned_abs());
        When {
            domain: Domain::Wall,
            span: Interval::cut(nanos, resolution),
            resolution,
        }
    }

    /// Midnight of the stamp's date, as if it were UTC.
    fn midnight(&mut self, written: &Written, year: i16) -> Option<i64> {
        let key = (written.year.unwrap_or(year), written.month, written.day);
        if let Some((y, m, d, midnight)) = self.memo
            && (y, m, d) == key
        {
            return Some(midnight);
        }
        let date = Date::new(key.0, key.1, key.2).ok()?;
        let midnight = jiff::tz::Offset::UTC
            .to_timestamp(date.to_datetime(jiff::civil::Time::midnight()))
            .ok()?
            .as_nanosecond();
        let midnight = i64::try_from(midnight).ok()?;
        self.memo = Some((key.0, key.1, key.2, midnight));
        self.zone_memo = None;
        Some(midnight)
    }

    /// A stamp without a zone: in the zone that was given, or UTC. Where clocks were put back, it is both hours.
    fn local(&mut self, written: &Written, year: i16, face: i64, resolution: Duration) -> Option<Interval> {
        let Some(zone) = &self.zone else {
            return Some(Interval::cut(face, resolution));
        };
        let quarter = face.div_euclid(900_000_000_000);
        if let Some((known, east)) = self.zone_memo
            && known == quarter
        {
            return Some(Interval::cut(face.saturating_sub(east), resolution));
        }
        let ambiguous = zone.to_ambiguous_timestamp(written.face(year)?);
        let early = i64::try_from(ambiguous.earlier().ok()?.as_nanosecond()).ok()?;
        let late = i64::try_from(ambiguous.later().ok()?.as_nanosecond()).ok()?;
        if early == late {
            self.zone_memo = Some((quarter, face.saturating_sub(early)));
        }
        Some(Interval::cut(early, resolution).hull(Interval::cut(late, resolution)))
    }
}

/// A stamp on a clock that counts from some begin. Such stamps are printed from a fraction, and may be rounded either way.
pub(crate) fn counted(domain: Domain, nanos: i64, unit: i64) -> When {
    let half = Duration::from_nanos((unit / 2).unsigned_abs());
    When {
        domain,
        span: Interval::exact(nanos).widened(if unit > 1 { half } else { Duration::ZERO }),
        resolution: Duration::from_nanos(unit.unsigned_abs()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::written;
    use super::*;

    fn read(stamps: &mut Stamps, text: &str) -> Interval {
        let (stamp, _) = written::iso(text.as_bytes())
            .or_else(|| written::syslog(text.as_bytes()))
            .unwrap_or_else(|| panic!("{text}"));
        stamps.calendar(&stamp).unwrap_or_else(|| panic!("{text}")).span
    }

    #[test]
    fn zones_ok() {
        let mut utc = Stamps::new(None, None, 2026);
        let plain = read(&mut utc, "2026-11-30 02:56:54,844");
        assert_eq!(plain.earliest, 1_796_007_414_844_000_000);
        assert_eq!(plain.latest, 1_796_007_414_844_999_999);
        assert_eq!(utc.zone_basis(), Basis::Assumed);
        assert_eq!(read(&mut utc, "2026-11-30T08:26:54.844+0530").earliest, plain.earliest);
        let kolkata = jiff::tz::TimeZone::fixed(jiff::tz::offset(5));
        let mut given = Stamps::new(Some(kolkata), Some(2026), 1999);
        assert_eq!(read(&mut given, "Nov 30 07:56:54").earliest, 1_796_007_414_000_000_000);
        assert_eq!((given.zone_basis(), given.year_basis()), (Basis::Given, Basis::Given));
    }

    #[test]
    fn an_hour_that_comes_twice_is_both_bad() {
        let new_york = TimeZone::get("America/New_York").expect("the zone");
        let mut stamps = Stamps::new(Some(new_york), None, 2026);
        let fold = read(&mut stamps, "2026-11-01 01:30:00");
        assert_eq!(fold.uncertainty().as_secs(), 3600);
        let after = read(&mut stamps, "2026-11-01 02:30:00");
        assert_eq!(after.uncertainty().as_secs(), 0);
    }

    #[test]
    fn a_year_turns_ok() {
        let mut stamps = Stamps::new(None, Some(2026), 2026);
        let before = read(&mut stamps, "Dec 31 23:59:59");
        let after = read(&mut stamps, "Jan  1 00:00:01");
        assert_eq!(after.earliest - before.earliest, 2_000_000_000);
    }
}
