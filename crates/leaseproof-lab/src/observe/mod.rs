//! Who looks: the observer's own connection to the store.

mod sameness;
mod sampler;

pub use sampler::{Sampler, SamplerSettings};
