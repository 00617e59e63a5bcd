//! Who looks: the observer's own connection to the store.

mod meter;
mod sameness;
mod sampler;

pub use meter::Meter;
pub use sampler::{Sampler, SamplerSettings};
