//! What stands between a line's stamp and its message: hosts, tags, levels, threads.

use super::prefix::Kind;
use crate::record::Author;

/// What follows a stamp.
pub(crate) struct Rest<'a> {
    /// The envelope's name.
    pub(crate) name: &'static str,
    /// The message.
    pub(crate) text: &'a str,
    /// Whether the message may be an envelope again.
    pub(crate) nests: bool,
}

/// Words that are levels.
const LEVELS: [&str; 22] = [
    "TRACE", "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "FATAL", "CRITICAL", "NOTICE", "SEVERE", "FINE", "trace",
    "debug", "info", "warn", "warning", "error", "fatal", "critical", "notice", "ERR", "CRIT",
];

/// Takes off what stands between the stamp and the message.
pub(crate) fn read<'a>(rest: &'a str, kind: Kind, author: &mut Author) -> Rest<'a> {
    match kind {
        Kind::Syslog | Kind::Kernel | Kind::Epoch | Kind::IsoT => {
            tagged(rest, kind, author).unwrap_or_else(|| plain(rest, kind, author))
        }
        Kind::Syslog5424 => nest("syslog", rest),
        Kind::Klog => inner("klog", rest),
        Kind::Redis => redis(rest),
        Kind::Logfmt => logfmt(rest),
        Kind::Tai => nest("tai64n", rest.trim_start()),
        Kind::IsoSpace | Kind::Slashes | Kind::Bracket => plain(rest, kind, author),
    }
}

fn inner<'a>(name: &'static str, text: &'a str) -> Rest<'a> {
    Rest {
        name,
        text,
        nests: false,
    }
}

fn nest<'a>(name: &'static str, text: &'a str) -> Rest<'a> {
    Rest {
        name,
        text,
        nests: true,
    }
}

/// `host tag[pid]: text` of syslog and journal; `stdout F text` of a container's runtime.
fn tagged<'a>(rest: &'a str, kind: Kind, author: &mut Author) -> Option<Rest<'a>> {
    let rest = rest.strip_prefix(' ').or(match kind {
        Kind::Kernel => Some(rest),
        _ => None,
    })?;
    if kind == Kind::IsoT
        && let Some(after) = rest.strip_prefix("stdout ").or_else(|| rest.strip_prefix("stderr "))
        && let Some(text) = after.strip_prefix("F ").or_else(|| after.strip_prefix("P "))
    {
        return Some(nest("cri", text));
    }
    let (host, after) = rest.split_once(' ')?;
    let named = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b".-_:/@\\+".contains(&byte))
    };
    if host == "container" || !named(host) || host.ends_with(':') || LEVELS.contains(&host) {
        return None;
    }
    let colon = after.find(": ").or_else(|| after.strip_suffix(':').map(str::len))?;
    let tag = after.get(..colon)?;
    let (tag, pid) = match tag.strip_suffix(']').and_then(|tag| tag.rsplit_once('[')) {
        Some((tag, pid)) => (tag, Some(pid.parse::<u32>().ok()?)),
        None => (tag, None),
    };
    if tag.contains(' ')
        || tag.is_empty()
        || !tag
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-_/@()#\\".contains(&byte))
    {
        return None;
    }
    // A kernel's own line (`python3 invoked …: `) has no host and tag; journal lines have a pid or are the kernel's.
    if kind == Kind::Kernel && pid.is_none() && tag != "kernel" {
        return None;
    }
    author.host = Some(host.into());
    author.process = Some(tag.into());
    author.pid = pid;
    Some(nest("syslog", after.get(colon + 1..)?.trim_start_matches(' ')))
}

/// `# text`: a Redis level.
fn redis(rest: &str) -> Rest<'_> {
    let text = rest.trim_start();
    let text = text.strip_prefix(['.', '-', '*', '#']).unwrap_or(text);
    inner("redis-log", text.trim_start())
}

/// ` level=info msg="…" k=v`: the fields stay, the message is found in them.
fn logfmt(rest: &str) -> Rest<'_> {
    inner("logfmt", rest.trim_start())
}

/// ` - LEVEL [thread] - text`, ` [DEBUG] module: text`, ` I | module: text`, and other logs of programs.
fn plain<'a>(rest: &'a str, kind: Kind, author: &mut Author) -> Rest<'a> {
    let text = rest.trim_start();
    if text.len() == rest.len() && !rest.is_empty() && kind != Kind::Kernel {
        return inner("", rest);
    }
    // capnslog: one letter, a bar.
    if let [b'A'..=b'Z', b' ', b'|', b' ', ..] = text.as_bytes() {
        return inner("capnslog", text.get(4..).unwrap_or_default());
    }
    if kind == Kind::Kernel || kind == Kind::Bracket {
        return inner(if kind == Kind::Kernel { "kernel" } else { "" }, text);
    }
    // nginx: `[info] 7400#7400: *1 text`.
    if kind == Kind::Slashes
        && let Some(after) = text.strip_prefix('[')
        && let Some((level, after)) = after.split_once("] ")
        && let Some((pid, message)) = after.split_once(": ")
        && let Some((pid, _)) = pid.split_once('#')
        && level.bytes().all(|byte| byte.is_ascii_lowercase())
    {
        author.pid = pid.parse().ok();
        return inner("nginx-error", message);
    }
    let dashed = text.strip_prefix("- ").unwrap_or(text);
    let (level, after) = match dashed.strip_prefix('[').and_then(|inside| inside.split_once(']')) {
        Some((word, after)) if LEVELS.contains(&word.trim()) => (true, after.trim_start()),
        _ => match dashed.split_once([' ', '\t', ':']) {
            Some((word, after)) if LEVELS.contains(&word) => (true, after.trim_start()),
            _ => (false, text),
        },
    };
    if !level {
        // A second stamp may follow: `docker logs -t`.
        return match kind {
            Kind::IsoT => nest("stamped", rest.strip_prefix(' ').unwrap_or(rest)),
            _ => inner("", text),
        };
    }
    if let Some(inside) = after.strip_prefix('[')
        && let Some((thread, message)) = inside.split_once("] - ")
    {
        // log4j: `[thread:Class@line] - text`; threads have colons and brackets in their names.
        let thread = match thread.rsplit_once(':') {
            Some((name, place)) if place.contains('@') => name,
            _ => thread,
        };
        author.thread = Some(thread.into());
        return inner("log4j", message);
    }
    // logback: `[thread] logger - text`.
    if let Some(inside) = after.strip_prefix('[')
        && let Some((thread, message)) = inside.split_once("] ")
        && !thread.contains('[')
    {
        author.thread = Some(thread.trim().into());
        let message = message.split_once(" - ").map_or(message, |(_, text)| text);
        return inner("logback", message);
    }
    // Spring: `4711 --- [thread] logger : text`.
    if let Some((pid, more)) = after.split_once(" --- [")
        && let Some((thread, message)) = more.split_once("] ")
    {
        author.pid = pid.trim().parse().ok();
        author.thread = Some(thread.trim().into());
        let message = message.split_once(" : ").map_or(message, |(_, text)| text);
        return inner("logback", message);
    }
    inner("log", after)
}
