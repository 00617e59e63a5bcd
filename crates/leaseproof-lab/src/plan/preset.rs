//! Presets for lock clients that people use: what each makes of the key, and what else it deletes.

/// What leaseproof knows of a lock client.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name in `preset = "…"`.
    pub name: &'static str,
    /// What the client makes of the key.
    pub owner_key: &'static str,
    /// Other keys that belong to the lease.
    pub also_deletes: &'static [&'static str],
}

const ALL: &[Preset] = &[
    // Both keys from the client's own source: `lock:<name>` and the wake-up list `lock-signal:<name>`.
    Preset {
        name: "python-redis-lock",
        owner_key: "lock:{key}",
        also_deletes: &["lock-signal:{key}"],
    },
    Preset {
        name: "redlock",
        owner_key: "{key}",
        also_deletes: &[],
    },
    Preset {
        name: "redis-semaphore",
        owner_key: "mutex:{key}",
        also_deletes: &[],
    },
    Preset {
        name: "redis-py",
        owner_key: "{key}",
        also_deletes: &[],
    },
];

impl Preset {
    /// The preset with this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|preset| preset.name == name)
    }
}

/// The names, for messages.
#[must_use]
pub fn preset_names() -> String {
    ALL.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ")
}
