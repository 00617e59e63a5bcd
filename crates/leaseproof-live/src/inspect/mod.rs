//! One look: the first ten minutes of an incident.
