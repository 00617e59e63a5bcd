//! A thread for each server, and the collecting of their answers.

use crate::error::StoreError;
use crate::patience::Patience;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Once it is decided, the others are waited for so long: what one of them does after a call has returned would
/// surprise whoever comes next.
const OTHERS: Duration = Duration::from_millis(50);

/// What one thread does next.
type Job<T> = Box<dyn FnOnce(&mut T) + Send>;

/// A desk for each server, each with its thread. What is asked of one server is done in the order in
/// which it was asked; a crew that is dropped does what was asked, and ends.
pub(super) struct Crew<T> {
    desks: Vec<Desk<T>>,
}

struct Desk<T> {
    jobs: Sender<Job<T>>,
    /// It did not answer in time, and has not since: not waited for where it is not needed.
    slow: Arc<AtomicBool>,
}

impl<T: Send + 'static> Crew<T> {
    /// Starts a thread for each.
    pub(super) fn start(desks: Vec<T>) -> Result<Self, StoreError> {
        let start = |(number, mut desk): (usize, T)| {
            let (sender, jobs) = channel::<Job<T>>();
            let slow = Arc::new(AtomicBool::new(false));
            let done = Arc::clone(&slow);
            std::thread::Builder::new()
                .name(format!("quorum-{number}"))
                .spawn(move || {
                    while let Ok(job) = jobs.recv() {
                        job(&mut desk);
                        done.store(false, Ordering::SeqCst);
                    }
                })
                .map_err(|error| StoreError::Unexpected(format!("no thread can be had: {error}")))?;
            Ok(Desk { jobs: sender, slow })
        };
        Ok(Self {
            desks: desks
                .into_iter()
                .enumerate()
                .map(start)
                .collect::<Result<_, StoreError>>()?,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.desks.len()
    }

    /// Asks all, and waits until the answers decide (and a little for the others), all are there, or the patience
    /// is over.
    pub(super) fn ask<R: Send + 'static>(
        &self,
        patience: &mut Patience,
        job: impl Fn(&mut T) -> R + Send + Sync + 'static,
        decided: impl Fn(&[Option<R>]) -> bool,
    ) -> Vec<Option<R>> {
        let answers = self.tell(job);
        let mut heard: Vec<Option<R>> = self.desks.iter().map(|_| None).collect();
        let mut others = Patience::new(OTHERS);
        while heard.iter().any(Option::is_none) {
            let quick = |(answer, desk): (&Option<R>, &Desk<T>)| answer.is_none() && !desk.slow.load(Ordering::SeqCst);
            let received = if !decided(&heard) {
                patience.receive(&answers)
            } else if heard.iter().zip(&self.desks).any(quick) {
                others.receive(&answers)
            } else {
                break;
            };
            match received {
                Some((number, answer)) => heard[number] = Some(answer),
                None => break,
            }
        }
        for (answer, desk) in heard.iter().zip(&self.desks) {
            if answer.is_none() {
                desk.slow.store(true, Ordering::SeqCst);
            }
        }
        heard
    }

    /// Asks all; the answers come by the channel, each with the number of its server.
    pub(super) fn tell<R: Send + 'static>(
        &self,
        job: impl Fn(&mut T) -> R + Send + Sync + 'static,
    ) -> Receiver<(usize, R)> {
        let (sender, answers) = channel();
        let job = Arc::new(job);
        for (number, desk) in self.desks.iter().enumerate() {
            let (sender, job) = (sender.clone(), Arc::clone(&job));
            // A thread that panicked is a server that never answers; nobody may wait for an answer any more.
            let _ = desk.jobs.send(Box::new(move |desk: &mut T| {
                let _ = sender.send((number, job(desk)));
            }));
        }
        answers
    }
}
