//! Verdict and timeline to terminal, JSON, JUnit and HTML.
