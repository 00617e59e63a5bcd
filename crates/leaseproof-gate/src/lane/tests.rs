//! The two properties, over every order in which a few writes can meet.

use super::*;
use proptest::prelude::*;
use std::time::Duration;

#[derive(Copy, Clone, PartialEq, Debug)]
enum Stage {
    New,
    Offered,
    Durable,
    Flying,
    /// Its connection ended; the resource applies it before this step of time, or never.
    Loose(u64),
    Over,
}

/// What a resource would see: a write is applied anywhere between its start and its end.
#[derive(Clone, Debug)]
struct World {
    lane: Lane,
    writes: Vec<(Token, Stage)>,
    greatest_sent: Option<Token>,
    now: u64,
}

const SETTLE: u64 = 3;

impl World {
    fn new(tokens: &[u64]) -> Self {
        Self {
            lane: Lane::default(),
            writes: tokens.iter().map(|it| (Token(*it), Stage::New)).collect(),
            greatest_sent: None,
            now: 0,
        }
    }

    fn at(epoch: Instant, step: u64) -> Instant {
        epoch + Duration::from_secs(step)
    }

    /// Moves one write one step on; `cut` ends a flying one without an answer.
    fn step(&mut self, epoch: Instant, which: usize, cut: bool) {
        let (token, stage) = self.writes[which];
        self.writes[which].1 = match stage {
            Stage::New => match self.lane.offer(token) {
                Offer::Known => Stage::Durable,
                Offer::WriteDown => Stage::Offered,
                Offer::Stale(_) => Stage::Over,
            },
            Stage::Offered => {
                self.lane.written_down(token);
                Stage::Durable
            }
            Stage::Durable => match self.lane.start(token, Self::at(epoch, self.now)) {
                Start::Go => {
                    self.sent(token);
                    Stage::Flying
                }
                Start::Stale(highest) => {
                    assert!(highest > token);
                    Stage::Over
                }
                Start::After(_) | Start::Settling(_) => Stage::Durable,
                Start::NotDurable => panic!("a mark was forgotten"),
            },
            Stage::Flying if cut => {
                let until = self.now + SETTLE;
                self.lane.end(token, Ended::Unknown(Self::at(epoch, until)));
                Stage::Loose(until)
            }
            Stage::Flying => {
                self.lane.end(token, Ended::Answered);
                Stage::Over
            }
            other => other,
        };
        self.now += 1;
        for (_, stage) in &mut self.writes {
            if matches!(*stage, Stage::Loose(until) if self.now > until) {
                *stage = Stage::Over;
            }
        }
    }

    fn sent(&mut self, token: Token) {
        assert!(
            Some(token) >= self.greatest_sent,
            "{token} was sent after {:?}",
            self.greatest_sent
        );
        for (other, stage) in &self.writes {
            if matches!(stage, Stage::Flying) || matches!(stage, Stage::Loose(until) if *until > self.now) {
                assert!(*other >= token, "{other} is under way while {token} is sent");
            }
        }
        self.greatest_sent = Some(token);
    }
}

/// Every order of four writes' steps, answered ones.
#[test]
fn every_order_of_four_writes() {
    let epoch = Instant::now();
    let mut orders = 0_u64;
    let mut seen = std::collections::HashSet::new();
    let mut open = vec![World::new(&[5, 6, 5, 7])];
    while let Some(world) = open.pop() {
        orders += 1;
        for which in 0..world.writes.len() {
            let mut next = world.clone();
            next.step(epoch, which, false);
            // Without cuts nothing depends on the time.
            next.now = 0;
            if seen.insert(format!("{:?}", (&next.lane, &next.writes, next.greatest_sent))) {
                open.push(next);
            }
        }
    }
    // The count of states is part of the statement: fewer, and something is not explored any more.
    assert_eq!(orders, STATES);
}

const STATES: u64 = 621;

proptest! {
    #[test]
    fn no_order_lets_a_smaller_token_follow_a_greater_one(
        tokens in prop::collection::vec(0_u64..5, 1..8),
        steps in prop::collection::vec((0_usize..8, prop::bool::weighted(0.3)), 0..120),
    ) {
        let epoch = Instant::now();
        let mut world = World::new(&tokens);
        for (which, cut) in steps {
            world.step(epoch, which % tokens.len(), cut);
        }
    }

    /// Nobody waits for ever: with all answered, every write ends, and the greatest was sent.
    #[test]
    fn all_end(tokens in prop::collection::vec(0_u64..5, 1..8), cuts in prop::collection::vec(any::<bool>(), 200)) {
        let epoch = Instant::now();
        let mut world = World::new(&tokens);
        for (at, cut) in cuts.into_iter().enumerate() {
            world.step(epoch, at % tokens.len(), cut);
        }
        for at in 0..tokens.len() * 8 {
            world.step(epoch, at % tokens.len(), false);
        }
        prop_assert!(world.writes.iter().all(|(_, stage)| *stage == Stage::Over));
        prop_assert_eq!(world.greatest_sent, tokens.iter().max().map(|it| Token(*it)));
    }
}

#[test]
fn a_remembered_key_waits_for_what_a_killed_gate_had_sent() {
    let now = Instant::now();
    let later = now + Duration::from_secs(2);
    let mut lane = Lane::remembered(Token(5), Some(later));
    assert_eq!(lane.offer(Token(4)), Offer::Stale(Token(5)));
    assert_eq!(lane.offer(Token(5)), Offer::Known);
    // 5 may have been written down while 4 was under way.
    assert_eq!(lane.start(Token(5), now), Start::Settling(later));
    assert_eq!(lane.offer(Token(6)), Offer::WriteDown);
    assert_eq!(lane.start(Token(6), now), Start::NotDurable);
    lane.written_down(Token(6));
    assert_eq!(lane.start(Token(6), now), Start::Settling(later));
    assert!(!lane.is_at_rest(now));
    assert_eq!(lane.start(Token(6), later), Start::Go);
}
