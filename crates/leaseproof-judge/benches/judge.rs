//! How long the judge takes, and how that grows: histories of 10,000, 100,000 and 1,000,000 events,
//! as a busy owner and its contender make them; and what reading their lines from JSON takes.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use leaseproof_judge::{Policy, judge};
use leaseproof_model::history::{History, Line};
use std::hint::black_box;

#[path = "../tests/story/mod.rs"]
mod story;

/// Cycles of `pause-over-ttl` one after the other, with as many writes as it takes.
fn history(events: usize) -> History {
    let cycle = story::pauses::over_ttl().history();
    let length = 4_000_000_000;
    let mut long = History {
        events: Vec::with_capacity(events),
        ..cycle.clone()
    };
    let mut round = 0;
    while long.events.len() < events {
        story::rounds::repeat(&cycle, round, length, &mut long.events);
        round += 1;
    }
    long.events.truncate(events);
    long
}

fn judging(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("judge");
    group.sample_size(10);
    for events in [10_000, 100_000, 1_000_000] {
        let history = history(events);
        group.throughput(Throughput::Elements(events as u64));
        group.bench_with_input(BenchmarkId::from_parameter(events), &history, |bencher, history| {
            bencher.iter(|| judge(black_box(history), None, &Policy::default()));
        });
    }
    group.finish();
}

fn reading(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("read");
    group.sample_size(10);
    for events in [10_000, 100_000, 1_000_000] {
        let history = history(events);
        let lines: Vec<String> = history
            .events
            .into_iter()
            .map(|event| serde_json::to_string(&Line::Event { run: 1, event }).expect("an event is plain data"))
            .collect();
        group.throughput(Throughput::Elements(events as u64));
        group.bench_with_input(BenchmarkId::from_parameter(events), &lines, |bencher, lines| {
            bencher.iter(|| {
                for line in lines {
                    black_box(serde_json::from_str::<Line>(line).expect("it was just written"));
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, judging, reading);
criterion_main!(benches);
