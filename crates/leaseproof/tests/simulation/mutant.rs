//! What is broken on purpose, in the driver or in the terms: the core is the same.

use super::watch::Property;

macro_rules! mutants {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $($property:ident)|+;)+) => {
        /// One thing that is broken.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Mutant {
            /// Nothing.
            None,
            $($(#[$doc])* $variant,)+
        }

        impl Mutant {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            pub fn as_str(self) -> &'static str {
                match self { Self::None => "none", $(Self::$variant => $name),+ }
            }

            /// What fails by it.
            pub fn breaks(self) -> &'static [Property] {
                match self { Self::None => &[], $(Self::$variant => &[$(Property::$property),+]),+ }
            }
        }
    };
}

mutants! {
    /// Nothing is taken off the TTL for the clocks.
    NoReserve = "no-reserve", Exclusion | Backed;
    /// Validity is counted from the answer.
    ValidityFromAnswer = "validity-from-answer", Exclusion | Backed;
    /// An unknown outcome counts as applied.
    UnknownExtends = "unknown-extends", Exclusion | Backed;
    /// A refusal counts as applied.
    RefusalIgnored = "refusal-ignored", Exclusion | Backed;
    /// A permit asks no clock.
    PermitUnchecked = "permit-unchecked", Backed;
    /// A permit does not look a second time.
    OneLook = "one-look", Backed | AfterEnd | Exclusion;
    /// An answer that comes after the end opens it again.
    Reopens = "reopens", Backed | AfterEnd | Exclusion;
    /// The permits end when the release is answered, and not before it is sent.
    ReleaseFirst = "release-first", Backed | AfterEnd | Exclusion;
    /// The store's counter starts again.
    TokensRestart = "tokens-restart", Tokens | Fence;
    /// The resource accepts any token.
    NoFence = "no-fence", Fence;
    /// The heartbeat leaves no margin.
    LateHeartbeat = "late-heartbeat", Availability;
    /// Pauses are longer than the margin.
    LongPause = "long-pause", Availability;
}

impl Mutant {
    /// Whether it shows where nothing happens that the budget does not bear.
    pub fn is_for_calm(self) -> bool {
        matches!(self, Self::LateHeartbeat | Self::LongPause)
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.as_str() == name)
    }
}
