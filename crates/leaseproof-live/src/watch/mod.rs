//! The synthetic monitor: what the store grants against what the owner believes.
