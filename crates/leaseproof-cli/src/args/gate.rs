//! `leaseproof gate`.

use clap::{Args, Subcommand, ValueEnum};
use leaseproof_gate::http::{KeyRule, Upstream};
use std::net::SocketAddr;
use std::path::PathBuf;

/// The arguments of `gate`.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub struct GateArgs {
    /// Where the fence is.
    #[command(subcommand)]
    pub place: Place,
}

/// Where the fence is.
#[derive(Debug, Subcommand)]
pub enum Place {
    /// A reverse proxy: a write goes on only if its token is not below the greatest seen for its resource.
    Http(HttpArgs),
    /// Prints a migration that enforces the token inside a database, or its undo.
    Sql(SqlArgs),
    /// Prints the functions that enforce the token inside Redis, or a script for older servers.
    Redis(RedisArgs),
    /// The contract test of any resource's fence: run it before you rely on a lock.
    Test(TestArgs),
}

const AFTER: &str = "Examples:
  leaseproof gate http --upstream http://127.0.0.1:8080 --marks /var/lib/gate/marks
  leaseproof gate sql --dialect postgres --table accounts --key id --token token | psql
  leaseproof gate redis | redis-cli -x FUNCTION LOAD REPLACE
  leaseproof gate test http http://127.0.0.1:8081/{key}

Exit status: 0 proven, or it ended in order, 1 violated, 2 the call is wrong, 3 cannot tell.";

/// The arguments of `gate http`.
#[derive(Debug, Args)]
#[command(after_help = HTTP_AFTER)]
pub struct HttpArgs {
    /// The resource: http(s)://HOST:PORT, or with a path that goes before each request's.
    #[arg(long, value_name = "URL")]
    pub upstream: Upstream,
    /// What the certificate of an https:// upstream is checked by [default: what the system trusts].
    #[arg(long, value_name = "PEM")]
    pub upstream_ca: Option<PathBuf>,
    /// Listen by TLS with this certificate (chain).
    #[arg(long, value_name = "PEM", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Its key.
    #[arg(long, value_name = "PEM", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// The file of the greatest tokens, made if it isn't there.
    #[arg(long, value_name = "FILE")]
    pub marks: PathBuf,
    /// Where to listen; port 0 takes a free one, which is printed.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// The header that carries the token.
    #[arg(long, value_name = "NAME", default_value = "Fencing-Token")]
    pub header: String,
    /// Which resource a write is for: path, path:N (its first N segments), header:NAME, or one (they are all
    /// for one).
    #[arg(long, value_name = "RULE", default_value = "path")]
    pub key: KeyRule,
    /// The methods that write; others among GET, HEAD, OPTIONS, POST, PUT, PATCH and DELETE read, and the rest are refused.
    #[arg(long, value_name = "LIST", default_value = "POST,PUT,PATCH,DELETE")]
    pub methods: String,
    /// How long a client waits for the upstream's answer, or for its turn, before it gets a 504.
    #[arg(long, value_name = "DURATION", default_value = "30s")]
    pub patience: String,
    /// A request whose connection ended without an answer is applied by the upstream within so long, or never.
    #[arg(long, value_name = "DURATION", default_value = "2s")]
    pub settle: String,
    /// The upstream reads every request's body to its end: its connections are used again after one. Without this a
    /// connection that a body went over is closed, since what the upstream left unread would be its next request.
    #[arg(long)]
    pub upstream_reads_bodies: bool,
    /// So many resource keys at most: none is ever forgotten.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub most_keys: usize,
    /// Don't wait for the disk: marks survive this process, but not the machine.
    #[arg(long)]
    pub no_fsync: bool,
}

const HTTP_AFTER: &str = "Examples:
  leaseproof gate http --upstream http://127.0.0.1:8080 --listen 127.0.0.1:8081 --marks marks
  leaseproof gate http --upstream http://127.0.0.1:8080 --marks marks --key path:2
  curl -X PUT -H 'Fencing-Token: 41' -d new http://127.0.0.1:8081/accounts/7

Answers of its own: 409 stale token, with the greatest; 428 no token; 400 a bad one;
507 the mark can't be stored; 504 no answer yet, of this write or of an older one that it waits for.
See docs/gate.md.";

/// The arguments of `gate sql`.
#[derive(Debug, Args)]
#[command(after_help = SQL_AFTER)]
pub struct SqlArgs {
    /// The database.
    #[arg(long)]
    pub dialect: DialectName,
    /// The table that is written to: NAME or SCHEMA.NAME (PostgreSQL: public, where no schema is named; SQLite: an
    /// attached database).
    #[arg(long, value_name = "TABLE")]
    pub table: String,
    /// The column that names the resource.
    #[arg(long, value_name = "COLUMN")]
    pub key: String,
    /// The column that takes the token, a whole number of 64 bits that may be NULL.
    #[arg(long, value_name = "COLUMN")]
    pub token: String,
    /// Let DELETE pass. It can't carry a token, so it is refused otherwise.
    #[arg(long)]
    pub allow_delete: bool,
    /// Print what takes the fence away again.
    #[arg(long)]
    pub undo: bool,
}

/// A database.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
pub enum DialectName {
    /// PostgreSQL 11 and later.
    Postgres,
    /// SQLite 3.
    Sqlite,
    /// MySQL and MariaDB, InnoDB.
    Mysql,
}

const SQL_AFTER: &str = "Examples:
  leaseproof gate sql --dialect postgres --table accounts --key id --token token > fence.sql
  leaseproof gate sql --dialect sqlite --table accounts --key id --token token | sqlite3 app.db
  leaseproof gate sql --dialect mysql --table accounts --key id --token token --undo | mysql app

A write whose token is below the greatest seen for its key fails then; so does one that names no token.";

/// The arguments of `gate redis`.
#[derive(Debug, Args)]
#[command(after_help = REDIS_AFTER)]
pub struct RedisArgs {
    /// Print a script for EVAL instead of the library of functions.
    #[arg(long, value_name = "COMMAND")]
    pub eval: Option<FencedName>,
    /// Print how this key is written to: its mark and the calls.
    #[arg(long, value_name = "KEY", conflicts_with_all = ["eval", "undo"])]
    pub key: Option<String>,
    /// Print what takes the functions away again.
    #[arg(long, conflicts_with = "eval")]
    pub undo: bool,
}

/// A fenced command.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
pub enum FencedName {
    /// SET.
    Set,
    /// DEL.
    Del,
    /// HSET.
    Hset,
}

const REDIS_AFTER: &str = "Examples:
  leaseproof gate redis | redis-cli -x FUNCTION LOAD REPLACE        Redis 7.0 and later
  leaseproof gate redis --key account:7
  redis-cli FCALL fenced_set 2 account:7 {account:7}:fence 41 new
  redis-cli EVAL \"$(leaseproof gate redis --eval set)\" 2 account:7 {account:7}:fence 41 new";

/// The arguments of `gate test`.
#[derive(Debug, Args)]
#[command(after_help = TEST_AFTER)]
pub struct TestArgs {
    /// What is tested.
    #[command(subcommand)]
    pub target: TargetArgs,
    /// The first token. All that were used for the key before must be below it.
    #[arg(long, value_name = "TOKEN", default_value_t = 1, global = true)]
    pub from: u64,
    /// The key that is put in for {key} [default: one that nobody else has].
    #[arg(long, value_name = "KEY", global = true)]
    pub key: Option<String>,
    /// Use tokens above 2^53, too, where the key is not this run's own; that one gets them anyway.
    #[arg(long, global = true)]
    pub large: bool,
    /// A shell's command that restarts the resource: does it remember?
    #[arg(long, value_name = "COMMAND", global = true)]
    pub restart_command: Option<String>,
    /// How long it may take to answer after that.
    #[arg(long, value_name = "DURATION", default_value = "30s", global = true)]
    pub restart_patience: String,
    /// How long one answer may take.
    #[arg(long, value_name = "DURATION", default_value = "10s", global = true)]
    pub patience: String,
    /// How many races of two writers.
    #[arg(long, value_name = "N", default_value_t = 20, global = true)]
    pub rounds: u32,
    /// Print one JSON document on stdout.
    #[arg(long, global = true)]
    pub json: bool,
}

/// What is tested.
#[derive(Debug, Subcommand)]
pub enum TargetArgs {
    /// An HTTP resource: 2xx accepts, --refused refuses.
    Http {
        /// Where a write goes; the second holder writes to the second URL, where there is one.
        #[arg(required = true, value_name = "URL")]
        urls: Vec<String>,
        /// How.
        #[arg(long, default_value = "POST")]
        method: String,
        /// The header that carries the token.
        #[arg(long, value_name = "NAME", default_value = "Fencing-Token")]
        header: String,
        /// What is sent.
        #[arg(long, value_name = "TEXT", default_value = "{value}")]
        body: String,
        /// Where the value is read.
        #[arg(long, value_name = "URL")]
        read: Option<String>,
        /// The statuses that refuse a stale token.
        #[arg(long, value_name = "LIST", default_value = "409,412", value_delimiter = ',')]
        refused: Vec<u16>,
    },
    /// A database: an error of the statement, or no changed row, refuses.
    Sql {
        /// sqlite:PATH, postgres://… or mysql://… (MariaDB, too); any other by `command`.
        url: String,
        /// The statement, with {token} and '{value}' in it.
        statement: String,
        /// The query that reads the value.
        #[arg(long, value_name = "QUERY")]
        read: Option<String>,
    },
    /// Redis: an error, nil or 0 refuses.
    Redis {
        /// The server's URL.
        url: String,
        /// The command [default: FCALL fenced_set 2 {key} {mark} {token} {value}].
        command: Option<String>,
        /// The command that reads the value [default: GET {key}, where no command is given].
        #[arg(long, value_name = "COMMAND")]
        read: Option<String>,
    },
    /// Anything that a shell's command writes to: exit status 0 accepts, any other up to 125 refuses.
    Command {
        /// The command, with {token} and {value} in it.
        command: String,
        /// The command that prints the value.
        #[arg(long, value_name = "COMMAND")]
        read: Option<String>,
    },
}

const TEST_AFTER: &str = "Examples:
  leaseproof gate test http http://127.0.0.1:81/{key} --method PUT --read http://127.0.0.1:81/{key}
  leaseproof gate test sql sqlite:app.db \"UPDATE t SET v = '{value}', token = {token} WHERE id = 'test'\"
  leaseproof gate test redis redis://127.0.0.1:6379
  leaseproof gate test command './write {token} {value}' --restart-command 'systemctl restart app'

Put in are {token}, {value}, {key}, and {mark}: the Redis key of the key's mark.
It raises the mark of what it writes to: use {key}, or a resource that nobody needs.

Exit status: 0 proven, of what was asked, 1 violated, 2 the call is wrong, 3 cannot tell.";
