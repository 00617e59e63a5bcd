//! The catalogue of rules. A code never changes its meaning.

use serde::{Deserialize, Serialize};

/// What a finding of a rule does to the verdict.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Moves the verdict to violated.
    Breach,
    /// Does so for scenarios that ask about availability.
    Availability,
    /// Explains a breach; alone it is a warning.
    Mechanism,
    /// Explains a breach; alone it is a warning.
    Cause,
    /// Informs.
    Notice,
}

/// One rule of the catalogue.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// `LP001` and so on.
    pub code: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its class.
    pub class: Class,
    /// What it says, in one line.
    pub says: &'static str,
}

macro_rules! rules {
    ($($code:ident $name:literal $class:ident $says:literal;)+) => {
        $(
            #[doc = $says]
            pub const $code: Rule = Rule { code: stringify!($code), name: $name, class: Class::$class, says: $says };
        )+

        /// All rules, by code.
        pub const ALL: &[Rule] = &[$($code),+];
    };
}

rules! {
    LP001 "two-believers" Breach "an owner acted after its lease was due and after a successor's grant had begun";
    LP002 "stale-write-accepted" Breach "a stale write was accepted, by the resource's own order";
    LP003 "fence-not-increasing" Breach "a later grant has a token that is not greater";
    LP004 "silent-retention" Breach "the owner acted after its lease was due, without acquiring anew";
    LP005 "renewal-not-applied" Breach "it claims a renewal, and no extension was applied";
    LP006 "renewal-failure-swallowed" Breach "a failed renewal did not end the belief";
    LP007 "pause-exceeds-margin" Cause "a pause longer than the margin: expected by the numbers, not a bug in the code";
    LP008 "validity-from-reply" Breach "validity counted from the answer, not from the request";
    LP009 "wall-clock-expiry" Breach "expiry depends on a clock that can step or stand still";
    LP010 "unconditional-renew" Breach "a renewal that does not check the holder, or re-creates the key";
    LP011 "unconditional-release" Breach "a release that does not check the holder";
    LP012 "unsafe-acquire" Breach "a grant without a TTL was seen, or acquire is not atomic";
    LP013 "connection-silently-dropped" Cause "the connection was gone and nobody noticed";
    LP014 "renewal-outlives-work" Availability "renewals after release, or after the working process ended";
    LP015 "late-loss-notice" Mechanism "loss noticed late, or never told to the work";
    LP016 "false-loss" Availability "given up although no renewal had failed or was unknown, and the store still granted it";
    LP017 "store-moved-lease" Cause "the store lost or moved the lease";
    LP018 "clock-step" Cause "a clock stepped, or is out of the budget's bound";
    LP019 "budget-invalid" Breach "the margin does not exceed the worst pause";
    LP020 "evidence-missing" Notice "what to collect, and how";
    LP021 "grant-not-in-store" Breach "an owner acts on a grant that the store never gave";
    LP022 "ttl-in-force-differs" Notice "the TTL in force is not the one configured";
    LP023 "pause-not-attributed" Cause "a stall without a cause on record";
    LP024 "unfenced" Notice "writes carry no token, or the token is no ordered number";
    LP025 "pause-attributed" Cause "a stall with its cause";
    LP026 "fence-refuses-successor" Availability "a write with the greatest token was rejected";
}

/// The rule with this code or name, in any case.
#[must_use]
pub fn find(text: &str) -> Option<&'static Rule> {
    ALL.iter()
        .find(|rule| rule.code.eq_ignore_ascii_case(text) || rule.name.eq_ignore_ascii_case(text))
}
