//! Fencing tokens enforced in front of, or inside, a resource; and the contract test of any fence.
//!
//! The rule itself is [`leaseproof_model::fence`]; it is the same everywhere.
//!
//! - [`http`]: a reverse proxy that lets a write through only if its token is not stale
//! - [`token`], [`lane`]: what a token is, and whose turn it is: pure
//! - [`marks`]: the high-water marks on disk, written down before a write goes on
//! - [`sql`]: the migration that enforces the rule in a database
//! - [`redis`]: the function, or the scripts, that do so in Redis
//! - [`contract`]: the test of any resource's fence

pub mod contract;
pub mod http;
pub mod lane;
pub mod marks;
pub mod redis;
pub mod sql;
pub mod token;
