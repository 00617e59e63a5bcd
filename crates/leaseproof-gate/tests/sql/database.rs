//! A real database with its own client, driven as a person would: statements in, lines out.

use crate::mariadb_server::MariadbServer;
use crate::postgres_server::{PostgresServer, skip};
use leaseproof_gate::sql::{Dialect, Fence};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long any wait of these tests may take.
pub const LONG: Duration = Duration::from_secs(30);

/// A running database.
pub enum Database {
    Postgres(PostgresServer),
    Mariadb(MariadbServer),
    /// A file, through the command that SQLite brings.
    SqliteCommand(tempfile::TempDir),
    /// A file, through the library.
    SqliteLibrary(tempfile::TempDir),
}

/// Every database that can be had here; of the others it is said why not.
pub fn all(test: &str) -> Vec<Database> {
    let mut all = vec![Database::SqliteLibrary(tempfile::tempdir().expect("a folder"))];
    if Command::new("sqlite3")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok()
    {
        all.push(Database::SqliteCommand(tempfile::tempdir().expect("a folder")));
    } else {
        skip(test, "there is no sqlite3 command");
    }
    match PostgresServer::start() {
        Ok(server) => all.push(Database::Postgres(server)),
        Err(why) => skip(test, &why),
    }
    match MariadbServer::start() {
        Ok(server) => all.push(Database::Mariadb(server)),
        Err(why) => skip(test, &why),
    }
    all
}

impl Database {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Postgres(_) => "postgres",
            Self::Mariadb(_) => "mariadb",
            Self::SqliteCommand(_) => "sqlite3",
            Self::SqliteLibrary(_) => "sqlite",
        }
    }

    pub fn fence(&self, deletes: bool) -> Fence {
        let dialect = match self {
            Self::Postgres(_) => Dialect::Postgres,
            Self::Mariadb(_) => Dialect::Mysql,
            Self::SqliteCommand(_) | Self::SqliteLibrary(_) => Dialect::Sqlite,
        };
        Fence::new(dialect, "accounts", "id", "token", deletes).expect("names")
    }

    /// A new session.
    pub fn session(&self) -> Session {
        let command = match self {
            Self::SqliteLibrary(dir) => {
                let connection = rusqlite::Connection::open(dir.path().join("db")).expect("opens");
                return Session::Library(connection);
            }
            Self::SqliteCommand(dir) => {
                let mut command = Command::new("sqlite3");
                command.arg(dir.path().join("db"));
                command
            }
            Self::Postgres(server) => {
                let psql = std::env::var_os("LEASEPROOF_PSQL").unwrap_or_else(|| "psql".into());
                let mut command = Command::new(psql);
                command.args(["-X", "-A", "-t", "-q", &server.url()]);
                command
            }
            Self::Mariadb(server) => {
                let mut command = server.client();
                command.args(["--force", "--unbuffered", "--silent", "--skip-column-names", "test"]);
                command
            }
        };
        // Errors come among the answers, in their order.
        let program = command.get_program().to_owned();
        let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 2>&1"])
            .arg(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let input = child.stdin.take().expect("its input");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        let echo = matches!(self, Self::Postgres(_));
        Session::Command(Box::new(Client {
            echo,
            child,
            input,
            lines,
            asked: 0,
        }))
    }
}

/// A session of a database.
pub enum Session {
    Library(rusqlite::Connection),
    Command(Box<Client>),
}

/// A client program that is asked and answers.
pub struct Client {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    asked: u32,
    /// The client itself says a word, where a statement might be refused after an error.
    echo: bool,
}

impl Session {
    /// What these statements print; the error is what the database says.
    pub fn run(&mut self, statements: &str) -> Result<String, String> {
        match self {
            Self::Library(connection) => {
                let failed = |error: rusqlite::Error| error.to_string();
                if statements.starts_with("SELECT") {
                    let text = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
                    return connection.query_row(statements, [], text).map_err(failed);
                }
                connection.execute_batch(statements).map_err(failed)?;
                Ok(String::new())
            }
            Self::Command(client) => {
                client.start(statements);
                client.finish()
            }
        }
    }

    pub fn client(&mut self) -> &mut Client {
        match self {
            Self::Command(client) => client,
            Self::Library(_) => panic!("a library has no client"),
        }
    }
}

impl Client {
    /// Sends statements, and does not wait.
    pub fn start(&mut self, statements: &str) {
        self.asked += 1;
        let end = if statements.trim_end().ends_with(';') { "" } else { ";" };
        let asked = self.asked;
        let word = if self.echo {
            format!("\\echo answered {asked}")
        } else {
            format!("SELECT 'answered {asked}';")
        };
        let text = format!("{statements}{end}\n{word}\n");
        self.input.write_all(text.as_bytes()).expect("it reads");
        self.input.flush().expect("it reads");
    }

    /// Waits for the answer to what was sent.
    pub fn finish(&mut self) -> Result<String, String> {
        let end = format!("answered {}", self.asked);
        let until = Instant::now() + LONG;
        let mut said = Vec::new();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self
                .lines
                .recv_timeout(left)
                .unwrap_or_else(|_| panic!("no answer; so far: {said:?}"));
            if line.contains(&end) {
                break;
            }
            said.push(line);
        }
        let said = said.join("\n");
        if said.to_lowercase().contains("error") {
            Err(said)
        } else {
            Ok(said)
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
