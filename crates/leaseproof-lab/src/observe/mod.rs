//! Who looks: the observer's own connection to the store, the meter of starvation, the kernel's lists of connections.

mod meter;
mod sameness;
mod sampler;
mod within;

pub use meter::Meter;
pub use sampler::{Sampler, SamplerSettings};
pub use within::WithinWatch;
