//! Redis: an error, nil or 0 says no.

use super::target::{Outcome, Target, Template, Writer};
use ::redis::{Client, Connection, ErrorKind, RedisError, Value, cmd};
use std::time::Duration;

/// What is sent where nothing else is given.
pub const FUNCTION: &str = "FCALL fenced_set 2 {key} {mark} {token} {value}";
/// What is read then.
pub const GET: &str = "GET {key}";

/// A Redis server.
#[derive(Clone, Debug)]
pub struct RedisTarget {
    /// Its URL.
    pub url: String,
    /// The command, in words.
    pub command: Vec<Template>,
    /// The command that reads.
    pub read: Option<Vec<Template>>,
    /// How long an answer may take.
    pub patience: Duration,
}

struct RedisWriter {
    target: RedisTarget,
    connection: Option<Connection>,
}

/// The words of a command; none has a blank in it.
#[must_use]
pub fn words(text: &str, key: &str) -> Vec<Template> {
    text.split_whitespace().map(|word| Template::new(word, key)).collect()
}

impl Target for RedisTarget {
    fn writer(&self, _holder: usize) -> Box<dyn Writer> {
        Box::new(RedisWriter {
            target: self.clone(),
            connection: None,
        })
    }

    fn reads(&self) -> bool {
        self.read.is_some()
    }
}

impl RedisWriter {
    fn ask(&mut self, words: &[String]) -> Result<Value, RedisError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let patience = self.target.patience;
                let connection = Client::open(self.target.url.as_str())?.get_connection_with_timeout(patience)?;
                connection.set_read_timeout(Some(patience))?;
                connection.set_write_timeout(Some(patience))?;
                connection
            }
        };
        let (name, arguments) = words
            .split_first()
            .ok_or_else(|| RedisError::from((ErrorKind::InvalidClientConfig, "the command is empty")))?;
        let answer = cmd(name).arg(arguments).query(&mut connection);
        // A connection on which an answer is missing would give it to the next question.
        if answer
            .as_ref()
            .map_or_else(|error: &RedisError| error.code().is_some(), |_| true)
        {
            self.connection = Some(connection);
        }
        answer
    }
}

impl Writer for RedisWriter {
    fn write(&mut self, token: u64, value: &str) -> Outcome {
        let words: Vec<String> = self.target.command.iter().map(|it| it.fill(token, value)).collect();
        match self.ask(&words) {
            Ok(Value::Nil) => Outcome::Refused("nil".to_owned()),
            Ok(Value::Int(0)) => Outcome::Refused("0".to_owned()),
            Ok(_) => Outcome::Accepted,
            Err(error) if refuses(&error) => Outcome::Refused(error.to_string()),
            Err(error) => Outcome::Unknown(error.to_string()),
        }
    }

    fn read(&mut self) -> Result<String, String> {
        let words: Vec<String> = self.target.read.iter().flatten().map(Template::plain).collect();
        match self.ask(&words) {
            Ok(Value::BulkString(bytes)) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Ok(other) => Ok(format!("{other:?}")),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Whether the server's error can be about the token: not one about its own state, or the call's form.
fn refuses(error: &RedisError) -> bool {
    const OTHERS: [&str; 13] = [
        "LOADING",
        "MASTERDOWN",
        "READONLY",
        "MOVED",
        "ASK",
        "CLUSTERDOWN",
        "TRYAGAIN",
        "NOAUTH",
        "NOPERM",
        "WRONGPASS",
        "OOM",
        "BUSY",
        "MISCONF",
    ];
    error.code().is_some_and(|code| !OTHERS.contains(&code))
}
