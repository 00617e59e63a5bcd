//! Stamps: the moments that lines begin with, in the many ways of writing them.
//!
//! [`written`] reads what is there; [`Stamps`] makes a moment of it, with the zone and year that the file lacks.

mod resolve;
pub(crate) mod written;

pub(crate) use resolve::{Stamps, counted};
pub(crate) use written::Zone;
