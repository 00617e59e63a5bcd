//! `leaseproof gate`.

mod test;

use super::{print_all, wrong};
use crate::args::GateArgs;
use crate::args::gate::{DialectName, FencedName, HttpArgs, Place, RedisArgs, SqlArgs};
use leaseproof_gate::http::{Bound, Identity, Settings, methods};
use leaseproof_gate::redis::{Fenced, UNDO, library, mark_of, script};
use leaseproof_gate::sql::{Dialect, Fence};
use leaseproof_lab::plan::parse_duration;
use leaseproof_model::verdict::Verdict;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::process::ExitCode;
use tokio::sync::oneshot;

/// Does what is asked for at this place.
pub fn run(args: GateArgs) -> ExitCode {
    let done = match args.place {
        Place::Http(args) => http(args),
        Place::Sql(args) => sql(&args),
        Place::Redis(args) => redis(&args),
        Place::Test(args) => test::run(args),
    };
    done.unwrap_or_else(|says| wrong(&says))
}

fn http(args: HttpArgs) -> Result<ExitCode, String> {
    let identity = args
        .tls_cert
        .zip(args.tls_key)
        .map(|(certificate, key)| Identity { certificate, key });
    let scheme = if identity.is_some() { "https" } else { "http" };
    if args.upstream_ca.is_some() && args.upstream.secure.is_none() {
        return Err("--upstream-ca: the upstream is http://, and shows no certificate: use https://".to_owned());
    }
    let settings = Settings {
        listen: args.listen,
        upstream: args.upstream,
        roots: args.upstream_ca,
        identity,
        header: args
            .header
            .parse()
            .map_err(|_| format!("--header: `{}` is no name of a header", args.header))?,
        key: args.key,
        methods: methods(&args.methods).map_err(|says| format!("--methods: {says}"))?,
        marks: args.marks,
        sync: !args.no_fsync,
        patience: parse_duration(&args.patience).map_err(|says| format!("--patience: {says}"))?,
        settle: parse_duration(&args.settle).map_err(|says| format!("--settle: {says}"))?,
        reads_bodies: args.upstream_reads_bodies,
        most_keys: args.most_keys,
    };
    let settle = settings.settle;
    let (stop, stopped) = oneshot::channel();
    end_on_signals(stop);
    let bound = Bound::new(settings).map_err(|error| error.to_string())?;
    let waits = if bound.settles() {
        format!("; the last end was not in order: their writes wait {settle:?} first")
    } else {
        String::new()
    };
    let keys = bound.keys();
    print_all(&format!(
        "listening on {scheme}://{}\n{keys} keys have a mark{waits}\n",
        bound.address()
    ))?;
    match bound.run(stopped) {
        Ok(true) => Ok(ExitCode::SUCCESS),
        Ok(false) => {
            eprintln!("ended with writes under way: the next start waits for them to settle");
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            eprintln!("error: {error}");
            Ok(ExitCode::from(Verdict::CannotTell.exit_status()))
        }
    }
}

fn sql(args: &SqlArgs) -> Result<ExitCode, String> {
    let dialect = match args.dialect {
        DialectName::Postgres => Dialect::Postgres,
        DialectName::Sqlite => Dialect::Sqlite,
        DialectName::Mysql => Dialect::Mysql,
    };
    let fence = Fence::new(dialect, &args.table, &args.key, &args.token, args.allow_delete)?;
    print_all(&if args.undo { fence.undo() } else { fence.migration() })?;
    Ok(ExitCode::SUCCESS)
}

fn redis(args: &RedisArgs) -> Result<ExitCode, String> {
    let text = match (&args.key, args.eval) {
        (Some(key), _) => calls(key)?,
        (None, Some(name)) => script(match name {
            FencedName::Set => Fenced::Set,
            FencedName::Del => Fenced::Del,
            FencedName::Hset => Fenced::Hset,
        }),
        (None, None) if args.undo => UNDO.to_owned(),
        (None, None) => library(),
    };
    print_all(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// How a key is written to.
fn calls(key: &str) -> Result<String, String> {
    let mark = mark_of(key).map_err(|error| format!("--key: {error}"))?;
    let lines = Fenced::ALL.map(|it| format!("FCALL fenced_{} 2 {key} {mark} TOKEN {}", it.as_str(), it.arguments()));
    Ok(format!(
        "mark  {mark}\n{}\n",
        lines.map(|line| line.trim_end().to_owned()).join("\n")
    ))
}

/// The first signal ends it in order, the second at once.
fn end_on_signals(stop: oneshot::Sender<()>) {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else {
        return;
    };
    let mut stop = Some(stop);
    std::thread::spawn(move || {
        for _ in &mut signals {
            let Some(stop) = stop.take() else {
                eprintln!("ended at once: the next start waits for what is under way");
                std::process::exit(i32::from(Verdict::CannotTell.exit_status()));
            };
            let _ = stop.send(());
        }
    });
}
