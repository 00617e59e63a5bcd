//! The page, as text.

mod sample;

use leaseproof_report::html;

#[test]
fn hostile_names_never_become_markup_bad() {
    let sample = sample::sample();
    let page = html::render(&sample.run, &sample.histories());
    std::fs::create_dir_all(concat!(env!("CARGO_TARGET_TMPDIR"), "/artefacts")).unwrap();
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/artefacts/report.html"), &page).unwrap();
    assert!(!page.contains("<img"), "a key became markup");
}
