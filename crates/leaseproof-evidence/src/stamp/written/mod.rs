//! What a stamp says, as it is written.

mod calendar;
mod digits;
mod zone;

pub(crate) use calendar::{access, ctime, day_first, full, iso, syslog};
pub(crate) use digits::{number, seconds};

use jiff::civil::{Date, DateTime};

/// The zone of a stamp.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Zone {
    /// None is written.
    None,
    /// East of UTC by this many seconds.
    Offset(i32),
}

/// A calendar stamp.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Written {
    /// The year, where one is written.
    pub(crate) year: Option<i16>,
    /// 1 to 12.
    pub(crate) month: i8,
    /// 1 to 31.
    pub(crate) day: i8,
    /// Seconds of the day.
    pub(crate) second: i32,
    /// Nanoseconds of the second.
    pub(crate) nanos: i64,
    /// Nanoseconds of the last digit.
    pub(crate) unit: i64,
    /// The zone.
    pub(crate) zone: Zone,
}

impl Written {
    /// The date, in the year that is written or the one that is given.
    pub(crate) fn date(&self, year: i16) -> Option<Date> {
        Date::new(self.year.unwrap_or(year), self.month, self.day).ok()
    }

    /// The moment on the clock face.
    pub(crate) fn face(&self, year: i16) -> Option<DateTime> {
        let date = self.date(year)?;
        let (hour, rest) = (self.second / 3600, self.second % 3600);
        DateTime::new(
            date.year(),
            date.month(),
            date.day(),
            i8::try_from(hour).ok()?,
            i8::try_from(rest / 60).ok()?,
            i8::try_from(rest % 60).ok()?,
            i32::try_from(self.nanos).ok()?,
        )
        .ok()
    }
}
