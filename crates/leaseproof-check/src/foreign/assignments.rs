//! Settings that are no YAML: properties, flags of a command line, assignments of Python and Go, Java's annotations.

use super::settings::Setting;

/// Whether a text is rather that than YAML or JSON.
pub(super) fn looks_like(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !is_comment(line));
    let Some(first) = lines.next() else { return true };
    if first.starts_with(['{', '[', '-', '%']) && !first.starts_with("--lea") && !first.starts_with("--ttl") {
        return false;
    }
    let assigns = |line: &str| {
        let at = line.find(['=', ':']);
        at.is_some_and(|at| line[at..].starts_with('=') || line[at..].starts_with(":="))
            || line.starts_with('@')
            || line.contains(" --")
            || calls(line).next().is_some()
    };
    // Go's literals look like YAML, but for what stands around them.
    std::iter::once(first)
        .chain(lines)
        .any(|line| assigns(line) || line.contains("time.Second"))
}

pub(super) fn is_comment(line: &str) -> bool {
    line.is_empty()
        || ["#", "//", "!", ";", "*", "/*"]
            .iter()
            .any(|begin| line.starts_with(begin))
}

/// The settings, in their order.
pub(super) fn read(text: &str) -> Vec<Setting> {
    let mut settings = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if is_comment(trimmed) {
            continue;
        }
        let mut found: Vec<(String, String)> = if trimmed.contains("--") {
            flags(trimmed).collect()
        } else {
            pairs(trimmed)
        };
        found.extend(calls(trimmed));
        settings.extend(found.into_iter().map(|(key, value)| Setting {
            key,
            value,
            line: at + 1,
        }));
    }
    resolve(&mut settings);
    settings
}

/// Puts the literal of a variable in the place of its name: `LeaseDuration: &leaseDuration`. Names are compared exactly.
fn resolve(settings: &mut [Setting]) {
    let literals: Vec<Setting> = settings
        .iter()
        .filter(|it| it.value.contains(|c: char| c.is_ascii_digit()))
        .cloned()
        .collect();
    for setting in settings {
        let name = setting.value.strip_prefix('&').unwrap_or(&setting.value);
        let mut of_name = literals.iter().filter(|it| it.key == name);
        let Some(first) = of_name.next() else { continue };
        // One that is set twice stays a name.
        if of_name.all(|it| it.value == first.value) {
            (setting.value, setting.line) = (first.value.clone(), first.line);
        }
    }
}

/// `config.setLockWatchdogTimeout(10_000L)` as that setting, and `concurrency.WithTTL(10)` as its own name.
fn calls(line: &str) -> impl Iterator<Item = (String, String)> {
    let line = without_comment(line);
    line.match_indices('(').filter_map(|(at, _)| {
        let before = &line[..at];
        let begins = before
            .rfind(|c: char| !(c.is_alphanumeric() || c == '_'))
            .map_or(0, |at| at + 1);
        let name = &before[begins..];
        let argument = line[at + 1..].split([',', ')']).next()?;
        let setter = name
            .strip_prefix("set")
            .filter(|rest| rest.starts_with(char::is_uppercase));
        let key = match setter {
            Some(rest) => rest[..1].to_lowercase() + &rest[1..],
            None => name
                .strip_prefix("With")
                .filter(|it| it.starts_with(char::is_uppercase))
                .map(|_| name.to_owned())?,
        };
        (!argument.trim().is_empty()).then(|| (key, bare(argument).to_owned()))
    })
}

/// `--key=value` and `--key value`, anywhere in a line.
pub(super) fn flags(line: &str) -> impl Iterator<Item = (String, String)> {
    let mut words = line
        .split_whitespace()
        .map(bare)
        .map(str::to_owned)
        .collect::<Vec<_>>()
        .into_iter()
        .peekable();
    std::iter::from_fn(move || {
        loop {
            let word = words.next()?;
            let Some(flag) = word.strip_prefix("--") else { continue };
            match flag.split_once('=') {
                Some((key, value)) => return Some((key.to_owned(), bare(value).to_owned())),
                None => match words.next_if(|next| !next.starts_with('-')) {
                    Some(value) => return Some((flag.to_owned(), value)),
                    None => return Some((flag.to_owned(), "true".to_owned())),
                },
            }
        }
    })
}

/// `a = 1`, `a: 1`, `@Lock(a = "1", b = "2")`, `a=1 b=2`.
fn pairs(line: &str) -> Vec<(String, String)> {
    let line = without_comment(line);
    let parts: Vec<&str> = match line.matches('=').count() > 1 || line.contains('(') {
        // Spaces around the sign are kept together by the comma; without commas the words are the pairs.
        true if line.contains([',', '(']) => line.split([',', '(', ')', '{', '}']).collect(),
        true => line.split_whitespace().collect(),
        false => vec![line],
    };
    parts.into_iter().filter_map(pair).collect()
}

fn pair(part: &str) -> Option<(String, String)> {
    let at = part.find(['=', ':'])?;
    let (key, value) = part.split_at(at);
    let value = value.trim_start_matches([':', '=']);
    // Python's `app.conf["name"]`.
    let key = key.replace(['[', ']'], " ");
    let key = bare(key.trim().rsplit(char::is_whitespace).next()?);
    let simple = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    simple.then(|| (key.to_owned(), bare(value).to_owned()))
}

/// Without what begins a comment at the end of a line. A URL has its slashes after a colon.
fn without_comment(line: &str) -> &str {
    let ends = [line.find(" #"), line.find(" //"), line.find("\t#")];
    let end = ends.into_iter().flatten().min().unwrap_or(line.len());
    line[..end].trim_end()
}

/// Without quotes, and without what ends a statement.
fn bare(text: &str) -> &str {
    text.trim()
        .trim_end_matches([',', ';', '\\'])
        .trim()
        .trim_matches(['"', '\'', '`'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_ok() {
        for (text, wanted) in [
            ("tickTime=2000", "tickTime=2000"),
            ("a.b = 10s # why", "a.b=10s"),
            (
                "leaseDuration=15s renewDeadline=10s",
                "leaseDuration=15s renewDeadline=10s",
            ),
            (
                "x --leader-elect-lease-duration=15s --retry 2s --on",
                "leader-elect-lease-duration=15s retry=2s on=true",
            ),
            (
                "@SchedulerLock(name = \"job\", lockAtMostFor = \"PT14M\")",
                "name=job lockAtMostFor=PT14M",
            ),
            (
                "app.conf.redbeat_lock_timeout = 5 * 60",
                "app.conf.redbeat_lock_timeout=5 * 60",
            ),
            (
                "app.conf.update(redbeat_lock_timeout=25, x=1)",
                "redbeat_lock_timeout=25 x=1",
            ),
            ("app.config['redbeat_lock_timeout'] = 120", "redbeat_lock_timeout=120"),
            ("x = 1\n    'redbeat_lock_timeout': 90,", "x=1 redbeat_lock_timeout=90"),
            ("\tLeaseDuration: 15 * time.Second,", "LeaseDuration=15 * time.Second"),
            ("leaseDuration := \"15s\"", "leaseDuration=15s"),
            ("concurrency.NewSession(cli, concurrency.WithTTL(10))", "WithTTL=10"),
            ("config.setLockWatchdogTimeout(10_000L);", "lockWatchdogTimeout=10_000L"),
            (
                "d := 15 * time.Second\nLeaseDuration: &d,",
                "d=15 * time.Second LeaseDuration=15 * time.Second",
            ),
            ("LeaseDuration: &d, // time.Second", "LeaseDuration=&d"),
        ] {
            assert!(looks_like(text), "{text}");
            let seen: Vec<String> = read(text).iter().map(|it| format!("{}={}", it.key, it.value)).collect();
            assert_eq!(seen.join(" "), wanted, "{text}");
        }
    }

    #[test]
    fn looks_like_bad() {
        for text in [
            "a: 1",
            "{\"a\": 1}",
            "---\na: 1",
            "- --lease=1",
            "# a = 1\na: 1",
            "url: redis://h",
        ] {
            assert!(!looks_like(text), "{text}");
        }
    }
}
