//! What both of HotSpot's ways of logging share.

use super::scan::{after, number, span, whole};
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{CpuTime, RuntimeSays, Says, StopKind};
use crate::when::StampMeans;
use std::sync::Arc;

/// `User=0.04s Sys=0.00s Real=0.01s`, or the older `user=0.04 sys=0.00, real=0.04 secs`.
pub(super) fn cpu(text: &str, user: &str, sys: &str, real: &str) -> Option<CpuTime> {
    let seconds = |name: &str| number(after(text, name)?).and_then(|(value, _)| span(value, 1e9));
    Some(CpuTime {
        user: seconds(user)?,
        sys: seconds(sys)?,
        real: seconds(real)?,
    })
}

/// `… 6M->1M(64M)`: the words before it, and the heap in bytes before and after.
pub(super) fn heap(text: &str) -> (&str, Option<(u64, u64)>) {
    let Some((words, last)) = text.rsplit_once(' ') else {
        return (text, None);
    };
    match heap_of(last) {
        Some(heap) => (words, Some(heap)),
        None => (text, None),
    }
}

/// `132096K->13849K(503296K)`.
pub(super) fn heap_of(text: &str) -> Option<(u64, u64)> {
    let (before, rest) = whole(text)?;
    let scale = |letter: &str| {
        Some(match letter {
            "B" => 1,
            "K" => 1024,
            "M" => 1024 * 1024,
            "G" => 1024 * 1024 * 1024_u64,
            _ => return None,
        })
    };
    let before = before.checked_mul(scale(rest.get(..1)?)?)?;
    let rest = rest.get(1..)?;
    // ZGC says how full that is.
    let rest = rest
        .strip_prefix('(')
        .and_then(|rest| Some(rest.split_once(')')?.1))
        .unwrap_or(rest);
    let (after, rest) = whole(rest.strip_prefix("->")?)?;
    Some((before, after.checked_mul(scale(rest.get(..1)?)?)?))
}

/// The name under which a pause is compared with others: `Pause Full (System.gc())`.
pub(super) fn operation_of_pause(reading: &mut Reading<'_>, words: &str) -> Arc<str> {
    let mut name = String::with_capacity(6 + words.len());
    name.push_str("Pause ");
    name.push_str(words);
    reading.name(&name)
}

impl Reading<'_> {
    /// CPU time of a collection: put into its pause where that was just read, else said on its own.
    pub(super) fn cpu_of(&mut self, line: &Line<'_>, id: u64, used: CpuTime, by: &'static str) {
        let pause = self
            .records
            .iter_mut()
            .rev()
            .take(4)
            .find_map(|record| match &mut record.says {
                Says::Runtime(RuntimeSays::Stop {
                    id: Some(known),
                    cpu,
                    kind: StopKind::Gc,
                    ..
                }) if *known == id && cpu.is_none() => Some(cpu),
                _ => None,
            });
        match pause {
            Some(cpu) => *cpu = Some(used),
            None if self.left_out == Some(id) => {}
            None => self.say(
                line,
                SourceKind::Runtime,
                by,
                StampMeans::End,
                Says::Runtime(RuntimeSays::StopCpu { id, cpu: used }),
            ),
        }
    }
}
