//! The report of an incident: what `diagnose` says, with the timeline, and each line that it rests on.
//!
//! `lines` gathers the lines and gives each its anchor, `axis` is UTC, `lanes` lays the story and the files out, `draw`
//! makes the picture, `page` joins these for the template. `folder` shortens the files' names.

mod axis;
mod draw;
mod folder;
mod lanes;
mod lines;
mod page;

use super::environment;
use leaseproof_model::diagnosis::Diagnosis;
use minijinja::value::Serde;

/// The diagnosis as one HTML page.
///
/// # Panics
/// Only if the built-in template is broken, which the tests would have shown.
#[must_use]
pub fn render(diagnosis: &Diagnosis) -> String {
    let env = environment("incident.html", include_str!("../../templates/incident.html"));
    let template = env.get_template("incident.html").expect("it was just added");
    let (folder, diagnosis) = folder::without(diagnosis);
    template
        .render(Serde(&page::page(&diagnosis, folder)))
        .expect("the page has all that the template names")
}
