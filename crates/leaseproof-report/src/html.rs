//! The report: one self-contained file with the picture, readable by night, on a phone, without a
//! network and without scripts.
//!
//! In run order: `grants` and `accused` read the record, `lanes` (with `owner` and `faults`) lays it
//! out, `scale`, `frame`, `draw` and `marks` make the picture, `table` the rows; `record` joins these for one
//! record and `page` all for the template. `incident` is the report of `diagnose`.

use leaseproof_model::history::History;
use leaseproof_model::verdict::RunVerdict;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};

mod accused;
mod draw;
mod faults;
mod frame;
mod grants;
pub mod incident;
mod lane;
mod lanes;
mod marks;
mod owner;
mod page;
mod record;
mod scale;
mod straddling;
mod table;

/// The run as one HTML page. Records join their scenarios by id and store; a repeat adds a record.
///
/// # Panics
/// Only if the built-in template is broken, which the tests would have shown.
#[must_use]
pub fn render(run: &RunVerdict, histories: &[&History]) -> String {
    let env = environment("report.html", include_str!("../templates/report.html"));
    let template = env.get_template("report.html").expect("it was just added");
    let page = page::page(run, histories);
    template
        .render(Serde(&page))
        .expect("the page has all that the template names")
}

/// Everything is escaped, and a name that the page does not have is an error. `source` is one of ours.
fn environment(name: &'static str, source: &'static str) -> Environment<'static> {
    let mut env = Environment::new();
    env.set_auto_escape_callback(|_| AutoEscape::Html);
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.add_template(name, source)
        .expect("the built-in template is well-formed");
    env
}
