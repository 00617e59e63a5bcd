//! The owner's process, on this host: what it does, and what its connection to the store does.

use leaseproof_model::inspect::owner_view::{OwnerState, OwnerView, Pressure, Socket, ThreadView, Throttled};
use leaseproof_model::inspect::{Shown, ms};
use leaseproof_model::name::ProcessId;
use leaseproof_proc::limits::{self, Freezer, Throttling};
use leaseproof_proc::schedule::{Turns, turns};
use leaseproof_proc::sockets::{self, Details, Tcp, Timer, state_words};
use leaseproof_proc::threads::{self, Thread};
use leaseproof_proc::{identity, stat};
use leaseproof_report::counted::counted;
use std::io;

/// So many threads are listed.
const LISTED: usize = 64;

/// A process, looked at once; a second look says what happened in between.
pub(super) struct Host {
    process: ProcessId,
    program: String,
    port: Option<u16>,
    turns: Option<Turns>,
    throttling: Option<Throttling>,
    resets: Option<u64>,
}

impl Host {
    /// The first look.
    pub(super) fn look(pid: u32, port: Option<u16>) -> io::Result<Self> {
        let process = identity::identify(pid)?;
        let program = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
        Ok(Self {
            process,
            program: String::from_utf8_lossy(&program).trim_end().to_owned(),
            port,
            turns: turns(pid),
            throttling: limits::throttling(pid),
            resets: sockets::resets(pid),
        })
    }

    /// The near ends of its connections to the store.
    pub(super) fn addresses(&self) -> Vec<String> {
        let found = self.port.and_then(|port| sockets::to_port(self.process.pid, port).ok());
        found
            .unwrap_or_default()
            .iter()
            .map(|it| it.local.to_string())
            .collect()
    }

    /// The second look.
    pub(super) fn view(&self) -> OwnerView {
        let pid = self.process.pid;
        let alive = stat::read(pid).is_ok_and(|row| row.id == self.process && !row.is_over());
        let all = if alive { threads::of(pid) } else { Vec::new() };
        let freezer = limits::freezer(pid).filter(|_| alive);
        let throttled = self.throttled();
        let (state, says) = state(pid, alive, &all, freezer.as_ref(), throttled.get());
        let turns = turns(pid).zip(self.turns.as_ref()).map(|(now, then)| now.since(then));
        let unknown = || Shown::Withheld("this kernel does not say".to_owned());
        OwnerView {
            process: self.process,
            program: self.program.clone(),
            state,
            says,
            threads: all
                .iter()
                .take(LISTED)
                .map(|thread| ThreadView {
                    tid: thread.tid,
                    state: thread.state,
                })
                .collect(),
            thread_count: all.len() as u64,
            freezer: freezer.map_or_else(
                || Shown::Withheld("it is in no control group that can be frozen".to_owned()),
                |it| Shown::Is(freezer_words(&it)),
            ),
            throttled,
            pressure: limits::cpu_pressure(pid).map_or_else(unknown_pressure, |(group, percent)| {
                Shown::Is(Pressure {
                    of: group.map_or_else(|| "the machine".to_owned(), |it| it.path().display().to_string()),
                    some_10s_percent: percent,
                })
            }),
            ran_ms: turns.map_or_else(unknown, |(ran, _)| Shown::Is(ms(ran))),
            waited_for_cpu_ms: turns.map_or_else(unknown, |(_, waited)| Shown::Is(ms(waited))),
            sockets: self.sockets(alive),
            holds: None,
            resets: match (self.resets, sockets::resets(pid)) {
                (Some(then), Some(now)) => Shown::Is(now.saturating_sub(then)),
                _ => Shown::Withheld("its network namespace can't be read".to_owned()),
            },
        }
    }

    fn sockets(&self, alive: bool) -> Shown<Vec<Socket>> {
        let Some(port) = self.port else {
            return Shown::NotByThisStore;
        };
        if !alive {
            return Shown::Withheld("the process has ended".to_owned());
        }
        match sockets::to_port(self.process.pid, port) {
            Ok(found) => Shown::Is(found.iter().map(socket).collect()),
            Err(error) => Shown::Withheld(format!(
                "its descriptors can't be read ({error}): run as its user, or as root"
            )),
        }
    }

    fn throttled(&self) -> Shown<Throttled> {
        let now = limits::throttling(self.process.pid);
        match (&self.throttling, now) {
            (Some(then), Some(now)) => Shown::Is(Throttled {
                group: now.group.path().display().to_string(),
                times: now.times.saturating_sub(then.times),
                for_us: u64::try_from(now.for_all.saturating_sub(then.for_all).as_micros()).unwrap_or(u64::MAX),
                times_ever: now.times,
            }),
            _ => Shown::Withheld("its control group has no quota of its own".to_owned()),
        }
    }
}

fn unknown_pressure() -> Shown<Pressure> {
    Shown::Withheld("this kernel keeps no pressure".to_owned())
}

fn freezer_words(freezer: &Freezer) -> String {
    let state = match (freezer.frozen, freezer.freezing) {
        (true, _) => "frozen",
        (_, true) => "freezing",
        _ => "thawed",
    };
    format!("{} is {state}", freezer.group.path().display())
}

fn state(
    pid: u32,
    alive: bool,
    all: &[Thread],
    freezer: Option<&Freezer>,
    throttled: Option<&Throttled>,
) -> (OwnerState, String) {
    if !alive {
        return (OwnerState::Ended, format!("process {pid} has ended"));
    }
    if let Some(freezer) = freezer.filter(|it| it.frozen || it.freezing) {
        let says = format!("process {pid} is frozen: {}", freezer_words(freezer));
        return (OwnerState::Frozen, says);
    }
    let stopped = all.iter().filter(|it| matches!(it.state, 'T' | 't')).count();
    if stopped > 0 && stopped == all.len() {
        let by = if all.iter().any(|it| it.state == 't') {
            "a tracer"
        } else {
            "a signal"
        };
        let says = format!("process {pid} is stopped by {by}, every one of its threads ({stopped})");
        return (OwnerState::Stopped, says);
    }
    if stopped > 0 {
        let says = format!("process {pid}: {stopped} of {} threads are stopped", all.len());
        return (OwnerState::PartlyStopped, says);
    }
    if let Some(throttled) = throttled.filter(|it| it.times > 0) {
        let says = format!(
            "process {pid} was throttled {} within the span, for {:.0} ms: its control group {} had used up its quota",
            counted(throttled.times, "time"),
            throttled.for_us as f64 / 1000.0,
            throttled.group
        );
        return (OwnerState::Throttled, says);
    }
    let waiting = all.iter().filter(|it| it.state == 'D').count();
    let disk = match waiting {
        0 => String::new(),
        waiting => format!("; threads that wait for a disk or the kernel (D): {waiting}"),
    };
    (
        OwnerState::Running,
        format!("process {pid} is neither stopped nor frozen nor throttled{disk}"),
    )
}

fn socket(tcp: &Tcp) -> Socket {
    let details = tcp.details;
    Socket {
        local: tcp.local.to_string(),
        remote: tcp.remote.to_string(),
        state: state_words(tcp.state).to_owned(),
        unacknowledged_bytes: u64::from(tcp.unacknowledged),
        unread_bytes: u64::from(tcp.unread),
        retransmits: match tcp.timer {
            // The counter of the other timers counts probes.
            Some((Timer::Retransmit, _)) => u64::from(tcp.retransmits),
            _ => 0,
        },
        timer: match tcp.timer {
            None => "none".to_owned(),
            Some((timer, fires)) => {
                let name = match timer {
                    Timer::Retransmit => "retransmission",
                    Timer::KeepAlive => "keep-alive",
                    Timer::TimeWait => "time-wait",
                    Timer::Probe => "window probe",
                };
                format!("{name} in {} ms", fires.as_millis())
            }
        },
        retransmits_ever: detail(details, |it| u64::from(it.retransmits_ever)),
        last_sent_ms: detail(details, |it| millis(it.last_sent)),
        last_received_ms: detail(details, |it| millis(it.last_received)),
        round_trip_ms: detail(details, |it| ms(it.round_trip)),
    }
}

fn detail<T>(details: Option<Details>, of: impl FnOnce(Details) -> T) -> Shown<T> {
    details.map_or_else(
        || Shown::Withheld("it is in another network namespace: only its table can be read".to_owned()),
        |it| Shown::Is(of(it)),
    )
}

fn millis(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
