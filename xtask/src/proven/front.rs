//! Gates in front of the witnesses: one for each, shared by all owners that write to it, since a gate keeps its marks
//! to itself. An owner asks for the gate of its witness before it starts.

use clap::Args;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use tempfile::TempDir;

/// The arguments of `behind`.
#[derive(Args)]
pub struct BehindArgs {
    /// Where gates are asked for.
    socket: PathBuf,
    /// The owner.
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

/// Becomes the owner, with its resource behind a gate.
pub fn behind(args: &BehindArgs) -> Result<bool, String> {
    let resource = std::env::var("LEASEPROOF_RESOURCE").map_err(|error| format!("LEASEPROOF_RESOURCE: {error}"))?;
    let rest = resource
        .strip_prefix("http://")
        .ok_or_else(|| format!("the resource must be an http:// URL, and is {resource}"))?;
    let (upstream, path) = rest.split_once('/').unwrap_or((rest, ""));
    let gate = ask(&args.socket, upstream).map_err(|error| format!("{}: {error}", args.socket.display()))?;
    let error = Command::new(&args.command[0])
        .args(&args.command[1..])
        .env("LEASEPROOF_RESOURCE", format!("http://{gate}/{path}"))
        .exec();
    Err(format!("{}: {error}", args.command[0]))
}

fn ask(socket: &Path, upstream: &str) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    writeln!(stream, "{upstream}")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.trim() {
        "" => Err(std::io::Error::other("no gate could be started")),
        address => Ok(address.to_owned()),
    }
}

/// A place where gates are asked for; they end with it.
pub struct Front {
    folder: TempDir,
    gates: Arc<Mutex<BTreeMap<String, Gate>>>,
}

struct Gate {
    child: Child,
    address: String,
}

impl Front {
    /// Opens it; `program` is the tool.
    pub fn open(program: &Path) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let gates: Arc<Mutex<BTreeMap<String, Gate>>> = Arc::default();
        let front = Self { folder, gates };
        let listener = UnixListener::bind(front.socket()).map_err(|error| error.to_string())?;
        let (gates, program, marks) = (
            Arc::clone(&front.gates),
            program.to_path_buf(),
            front.folder.path().to_path_buf(),
        );
        // It ends with the process; nobody asks any more once the suite is over.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // An owner that went away needs no gate.
                let _ = answer(stream, &gates, &program, &marks);
            }
        });
        Ok(front)
    }

    /// Where owners ask.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("gates")
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        for gate in self.gates.lock().unwrap_or_else(PoisonError::into_inner).values_mut() {
            let _ = gate.child.kill();
            let _ = gate.child.wait();
        }
    }
}

fn answer(
    mut stream: UnixStream,
    gates: &Mutex<BTreeMap<String, Gate>>,
    program: &Path,
    marks: &Path,
) -> std::io::Result<()> {
    let mut upstream = String::new();
    BufReader::new(&stream).read_line(&mut upstream)?;
    let upstream = upstream.trim();
    let mut gates = gates.lock().unwrap_or_else(PoisonError::into_inner);
    let gate = match gates.entry(upstream.to_owned()) {
        std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
        std::collections::btree_map::Entry::Vacant(entry) => {
            let marks = marks.join(upstream.replace(':', "-"));
            entry.insert(Gate::start(program, upstream, &marks)?)
        }
    };
    writeln!(stream, "{}", gate.address)
}

impl Gate {
    fn start(program: &Path, upstream: &str, marks: &Path) -> std::io::Result<Self> {
        // One that outlived this process would be in nobody's care.
        let mut child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--"])
            .arg(program)
            .args([
                "gate",
                "http",
                "--upstream",
                &format!("http://{upstream}"),
                "--key",
                "one",
            ])
            .arg("--marks")
            .arg(marks)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let out = child.stdout.take().ok_or_else(|| std::io::Error::other("no output"))?;
        let mut out = BufReader::new(out);
        out.read_line(&mut line)?;
        let address = line
            .trim()
            .strip_prefix("listening on http://")
            .ok_or_else(|| std::io::Error::other("the gate does not listen"))?
            .to_owned();
        std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
        Ok(Self { child, address })
    }
}
