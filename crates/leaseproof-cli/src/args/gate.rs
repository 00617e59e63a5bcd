//! `leaseproof gate`.

use clap::{Args, Subcommand};
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
}

const AFTER: &str = "Examples:
  leaseproof gate http --upstream http://127.0.0.1:8080 --marks /var/lib/gate/marks

Exit status: 0 proven, or it ended in order, 1 violated, 2 the call is wrong, 3 cannot tell.";

/// The arguments of `gate http`.
#[derive(Debug, Args)]
#[command(after_help = HTTP_AFTER)]
pub struct HttpArgs {
    /// The resource: http://HOST:PORT, or with a path that goes before each request's.
    #[arg(long, value_name = "URL")]
    pub upstream: Upstream,
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
    /// So many resource keys at most: none is ever forgotten.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub most_keys: usize,
    /// Don't wait for the disk: marks survive this process, but not the machine.
    #[arg(long)]
    pub no_fsync: bool,
}

const HTTP_AFTER: &str = "Examples:
  leaseproof gate http --upstream http://127.0.0.1:8080 --marks /var/lib/gate/marks --listen 127.0.0.1:8081
  leaseproof gate http --upstream http://127.0.0.1:8080 --marks marks --key path:2
  curl -X PUT -H 'Fencing-Token: 41' -d new http://127.0.0.1:8081/accounts/7

Answers of its own: 409 stale token, with the greatest; 428 no token, 400 a bad one; 507 the mark can't be stored;
504 the upstream has not answered, or an older write is still under way there. See docs/gate.md.";
