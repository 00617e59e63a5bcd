//! The monitor's pure core: readings and reports in, series and notices out.

mod divergence;
mod documents;
mod labels;
mod lapses;
mod late;
mod readings;
mod refusals;
mod sound;
mod tape;
mod ttl;
mod untold;
