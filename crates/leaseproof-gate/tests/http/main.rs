//! The gate in front of an HTTP resource, from both of its sides.

mod bad;
mod order;
mod pass;
mod resource;
mod rig;
mod unread;
