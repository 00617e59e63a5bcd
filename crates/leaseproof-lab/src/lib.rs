//! Runs experiments: owners, scenarios, evidence bundle.
