//! What the command line says, word for word: help and errors that need no run.
//!
//! `TRYCMD=overwrite cargo test -p leaseproof-cli --test cli` writes anew what changed: read the difference.

#[test]
fn words() {
    trycmd::TestCases::new()
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .env("GITHUB_ACTIONS", "")
        .case("tests/cmd/*.trycmd");
}
