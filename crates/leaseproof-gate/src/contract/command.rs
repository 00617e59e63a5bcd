//! Any resource that a command writes to: its exit status says yes or no.

use super::target::{Outcome, Target, Template, Writer};
use std::process::{Command, Output, Stdio};

/// A resource that a shell's command writes to.
#[derive(Clone, Debug)]
pub struct CommandTarget {
    /// The command; it ends itself.
    pub write: Template,
    /// What prints the value.
    pub read: Option<Template>,
}

impl Target for CommandTarget {
    fn writer(&self, _holder: usize) -> Box<dyn Writer> {
        Box::new(self.clone())
    }

    fn reads(&self) -> bool {
        self.read.is_some()
    }
}

impl Writer for CommandTarget {
    fn write(&mut self, token: u64, value: &str) -> Outcome {
        match shell(&self.write.fill(token, value)) {
            Err(why) => Outcome::Unknown(why),
            Ok(output) => match output.status.code() {
                Some(0) => Outcome::Accepted,
                // The shell found no program, or none that it may run.
                Some(code @ 126..) => Outcome::Unknown(format!("exit status {code}: {}", said(&output))),
                Some(code) => Outcome::Refused(format!("exit status {code}: {}", said(&output))),
                None => Outcome::Unknown(output.status.to_string()),
            },
        }
    }

    fn read(&mut self) -> Result<String, String> {
        let output = shell(&self.read.as_ref().ok_or("there is no --read")?.plain())?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(format!("{}: {}", output.status, said(&output)))
        }
    }
}

fn shell(command: &str) -> Result<Output, String> {
    Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("no shell: {error}"))
}

/// The first line that it said of itself.
fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    text.lines().next().unwrap_or_default().to_owned()
}
