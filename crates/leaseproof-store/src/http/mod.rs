//! A thin HTTP/1.1 client: one connection to one server, one request after the other, each with a
//! deadline in running time.
//!
//! What a general client hides is kept in sight here: whether a request can have reached the server
//! (*never sent* is safe to repeat, *sent and not answered* is unknown). Nothing is retried,
//! redirected, decompressed or pooled. An answer is read whole, up to [`LIMIT`].

mod answer;
mod client;
mod pipeline;
mod request;
mod scanner;
mod socket;

pub(crate) use answer::Answer;
pub(crate) use client::{Client, Place, too_long};
pub(crate) use pipeline::{Answered, Pipeline};
pub(crate) use request::Request;

/// The most that an answer's body may have, unless a longer one is asked for; more is an error, and the connection is dropped.
pub(crate) const LIMIT: usize = 1024 * 1024;
