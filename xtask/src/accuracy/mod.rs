//! `cargo xtask accuracy`: how often `diagnose` names the cause of incidents whose truth is known.
//!
//! - [`document`]: what it printed; [`score`]: against the truth; [`tally`]: all of them

mod document;
mod score;
mod tally;

use crate::build;
use crate::incidents::pack::Call;
use crate::incidents::truth::Truth;
use clap::Args;
use document::Diagnosis;
use score::Score;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tally::Tally;

/// The arguments.
#[derive(Args)]
pub struct AccuracyArgs {
    /// The folder that `incidents` made.
    #[arg(long)]
    incidents: PathBuf,
    /// The `leaseproof` command, built already [default: the release build of this tree].
    #[arg(long)]
    leaseproof: Option<PathBuf>,
    /// As Markdown.
    #[arg(long)]
    markdown: bool,
    /// Only those whose name holds this.
    #[arg(long, default_value = "")]
    only: String,
}

/// Runs it; whether nothing was called certain that is wrong.
pub fn run(args: &AccuracyArgs) -> Result<bool, String> {
    let leaseproof = match &args.leaseproof {
        Some(path) => path
            .canonicalize()
            .map_err(|error| format!("{}: {error}", path.display()))?,
        None => build::leaseproof()?,
    };
    let cases = args.incidents.join("cases");
    let listed = std::fs::read_dir(&cases).map_err(|error| format!("{}: {error}", cases.display()))?;
    let mut names: Vec<String> = listed
        .flatten()
        .map(|it| it.file_name().to_string_lossy().into_owned())
        .collect();
    names.retain(|name| name.contains(&args.only));
    names.sort();
    if names.is_empty() {
        return Err(format!(
            "{} holds no incident: make some with `cargo xtask incidents`",
            cases.display()
        ));
    }
    let mut tally = Tally::default();
    for name in &names {
        let of = |folder: &str| args.incidents.join(folder).join(format!("{name}.toml"));
        let (truth, call): (Truth, Call) = (read(&of("truth"))?, read(&of("calls"))?);
        match diagnose(&leaseproof, &cases.join(name), &call) {
            Ok(diagnosis) => {
                let score = Score::of(&diagnosis, &truth);
                if !score.top1 || !score.certain_but_wrong.is_empty() {
                    let word = if score.top1 { "right" } else { "not first" };
                    eprintln!(
                        "{name}: {word}: first {}, missing {:?}, certain but wrong {:?}",
                        score.first, truth.missing, score.certain_but_wrong
                    );
                }
                tally.add(&truth, &score);
            }
            Err(why) => {
                eprintln!("{name}: no diagnosis: {why}");
                tally.failed();
            }
        }
    }
    print!("{}", tally.shown(args.markdown));
    Ok(tally.is_right())
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Asks it about one incident, with what its caller knows.
fn diagnose(leaseproof: &Path, case: &Path, call: &Call) -> Result<Diagnosis, String> {
    let mut command = Command::new(leaseproof);
    command.args(["diagnose", "--json", "--key", &call.key]);
    if let Some(plan) = &call.plan {
        command.arg("--plan").arg(case.join(plan));
    }
    if let Some(year) = call.year {
        command.args(["--year", &year.to_string()]);
    }
    for zone in &call.zones {
        command.args(["--tz", &format!("{}={}", zone.file, zone.zone)]);
    }
    let output = command
        .arg(case)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{}: {error}", leaseproof.display()))?;
    Diagnosis::read(&output.stdout).map_err(|why| {
        let words = String::from_utf8_lossy(&output.stderr);
        format!(
            "{why}; status {:?}: {}",
            output.status.code(),
            words.lines().next().unwrap_or_default()
        )
    })
}
