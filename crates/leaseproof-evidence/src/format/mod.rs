//! Formats, recognised by what lines say. One file a format.
//!
//! A line goes first to the formats that stamp in a way of their own (the JVM's), then its envelopes are taken off, and
//! its text is shown to one format after the other. The first that knows it has it; what none knows is counted.

mod cgroup;
mod chrony;
mod consul;
mod cpython;
mod docker;
mod dotnet;
mod etcd_log;
mod etcd_tool;
mod go_runtime;
mod http;
mod jvm;
mod jvm_old;
mod jvm_unified;
mod kernel;
mod kubernetes;
mod leaseproof;
mod look;
mod node;
mod ntp;
pub(crate) mod owner;
mod proxy;
pub(crate) mod redis_aof;
mod redis_log;
pub(crate) mod redis_monitor;
mod redis_tool;
mod resource;
mod scan;
pub(crate) mod sniff;
mod sockets;
pub(crate) mod traffic;
mod zookeeper;
mod zookeeper_words;

use crate::envelope;
use crate::reading::Reading;
use crate::reading::line::{Layers, Line};
use crate::record::Author;
use crate::when::When;
use serde_json::Value;
use std::borrow::Cow;
use std::time::Duration;

/// What formats remember between lines of one file.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) jvm_unified: jvm_unified::State,
    pub(crate) jvm_old: jvm_old::State,
    pub(crate) redis_tool: redis_tool::State,
    pub(crate) monitor: redis_monitor::State,
    pub(crate) http: http::State,
    pub(crate) sockets: sockets::State,
    pub(crate) go: go_runtime::State,
    pub(crate) dotnet: dotnet::State,
    pub(crate) cgroup: cgroup::State,
    pub(crate) chrony: chrony::State,
    pub(crate) zookeeper: zookeeper_words::State,
    pub(crate) etcd: etcd_tool::State,
    pub(crate) look: look::State,
    /// The last line that had a stamp: the lines below it that have none belong to it.
    last: Option<(When, Author, Layers)>,
    /// JSON that goes over several lines.
    block: Option<Block>,
    /// The entry of a journal's export that is being read.
    export: Option<(u64, serde_json::Map<String, Value>)>,
}

/// JSON that goes over several lines.
struct Block {
    number: u64,
    text: String,
    depth: i32,
    quoted: bool,
    escaped: bool,
    when: Option<When>,
    author: Author,
}

/// The longest JSON document that is read as one.
const BLOCK_MOST: usize = 4 << 20;

impl Block {
    /// Takes a line in; whether the document is over.
    fn take(&mut self, text: &str) -> bool {
        self.text.push_str(text);
        self.text.push('\n');
        for byte in text.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.quoted => self.escaped = true,
                b'"' => self.quoted = !self.quoted,
                b'{' | b'[' if !self.quoted => self.depth += 1,
                b'}' | b']' if !self.quoted => self.depth -= 1,
                _ => {}
            }
        }
        // No JSON text has a line's end inside quotes.
        self.quoted = false;
        self.escaped = false;
        self.depth <= 0
    }
}

/// Reads one line.
pub(crate) fn line(number: u64, raw: &str, reading: &mut Reading<'_>) {
    let raw = if number == 1 {
        raw.trim_start_matches('\u{feff}')
    } else {
        raw
    };
    if let Some(mut block) = reading.state.block.take() {
        let over = block.take(raw);
        if over || block.text.len() > BLOCK_MOST {
            finish_block(block, reading);
        } else {
            reading.state.block = Some(block);
        }
        return;
    }
    if jvm_unified::read(number, raw, reading)
        || jvm_old::read(number, raw, reading)
        || journal_export(number, raw, reading)
    {
        return;
    }
    let mut line = envelope::strip(raw, &mut reading.stamps).line(number, raw);
    if line.when.is_none() && line.other.is_none() && line.fields.is_none() {
        if raw.trim().is_empty() {
            http::blank(reading);
            redis_tool::blank(reading);
            return;
        }
        line.continued = true;
        if let Some((when, author, _)) = &reading.state.last {
            line.when = Some(*when);
            line.author = author.clone();
        }
    } else if let Some(when) = line.when {
        reading.state.last = Some((when, line.author.clone(), line.layers));
    }
    if let Some((wall, count)) = envelope::two_clocks(raw, &mut reading.stamps) {
        if line.continued {
            // The count is what such a file's other lines have.
            (line.when, line.other, line.continued) = (Some(count), Some(wall), false);
        } else {
            reading.anchor(&line, wall, count);
        }
    }
    let trimmed = line.text.trim();
    // JSON over several lines ends its first with an open bracket or a comma; a line of JSON that was cut off does not, and
    // must not swallow what follows.
    let begins = trimmed == "[]"
        || ["{", "["].iter().any(|begin| trimmed.starts_with(begin))
            && (trimmed.len() == 1 || ["{", "[", ",", "]"].iter().any(|end| trimmed.ends_with(end)))
            && (trimmed.len() < 3
                || ["{\"", "[{", "[[", "[\"", "{ \""]
                    .iter()
                    .any(|begin| trimmed.starts_with(begin)));
    if begins && line.fields.is_none() {
        let mut block = Block {
            number,
            text: String::new(),
            depth: 0,
            quoted: false,
            escaped: false,
            when: line.when,
            author: line.author.clone(),
        };
        if !line.continued {
            reading.stamped(&line, Duration::ZERO, None);
        }
        if block.take(trimmed) {
            finish_block(block, reading);
        } else {
            reading.state.block = Some(block);
        }
        return;
    }
    dispatch(&line, reading);
}

/// A line whose envelopes are off: its stamp counts, and the first format that knows it has it.
fn dispatch(line: &Line<'_>, reading: &mut Reading<'_>) {
    if !line.continued {
        reading.stamped(line, Duration::ZERO, None);
    }
    match known(line, reading) {
        Some(name) => reading.format(line.layers, name),
        None => {
            if line.layers != Layers::default() {
                reading.format(line.layers, "");
            }
            reading.unknown(line.number, line.raw);
        }
    }
}

type Format = fn(&Line<'_>, &mut Reading<'_>) -> Option<&'static str>;

/// The formats, the user's own expressions first, the general words last.
const FORMATS: &[Format] = &[
    owner::plan::read,
    leaseproof::read,
    look::read,
    resource::read,
    docker::read,
    kubernetes::read,
    etcd_tool::read,
    etcd_log::read,
    consul::read,
    http::read,
    redis_monitor::read,
    redis_log::read,
    redis_tool::read,
    redis_aof::manifest,
    zookeeper::read,
    owner::presets::read,
    zookeeper_words::read,
    kernel::read,
    chrony::read,
    ntp::read,
    cgroup::read,
    proxy::read,
    go_runtime::read,
    node::read,
    cpython::read,
    dotnet::read,
    sockets::read,
    owner::words::read,
];

fn known(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    // A JVM's line inside an envelope.
    if !line.continued
        && (line.text.starts_with("GC(") || line.text.starts_with("Safepoint \""))
        && jvm_unified::text(line, reading)
    {
        return Some("jvm-unified");
    }
    FORMATS.iter().find_map(|format| format(line, reading))
}

/// The file is over: what was begun is closed.
pub(crate) fn end(reading: &mut Reading<'_>) {
    if let Some(block) = reading.state.block.take() {
        finish_block(block, reading);
    }
    if let Some((number, fields)) = reading.state.export.take() {
        journal_entry(number, fields, reading);
    }
    redis_tool::end(reading);
    zookeeper_words::end(reading);
    chrony::end(reading);
}

/// A JSON document of several lines.
fn finish_block(block: Block, reading: &mut Reading<'_>) {
    let line = Line {
        number: block.number,
        raw: &block.text,
        text: Cow::Borrowed(""),
        when: block.when,
        other: None,
        author: block.author.clone(),
        fields: None,
        layers: Layers::default(),
        continued: true,
    };
    match serde_json::from_str::<Value>(&block.text) {
        Ok(value) => value_of(value, &line, reading),
        Err(_) => {
            for (number, text) in (block.number..).zip(block.text.lines()) {
                reading.unknown(number, text);
            }
        }
    }
}

/// A JSON value: an object is a line of its own, an array is as many as it has objects.
fn value_of(value: Value, around: &Line<'_>, reading: &mut Reading<'_>) {
    match value {
        Value::Array(parts) if redis_tool::slowlog_json(&parts, around, reading) => {
            reading.format(Layers::default(), "redis-slowlog")
        }
        Value::Array(parts) if parts.is_empty() => {
            let name = http::nothing(around, reading);
            reading.format(Layers::default(), name);
        }
        Value::Array(parts) => {
            for part in parts {
                value_of(part, around, reading);
            }
        }
        Value::Object(mut fields) => {
            // Lists of kubectl and dmesg.
            for list in ["items", "dmesg"] {
                if let Some(Value::Array(items)) = fields.remove(list) {
                    for item in items {
                        value_of(item, around, reading);
                    }
                    return;
                }
            }
            let stripped = envelope::object(fields, &mut reading.stamps);
            let mut line = stripped.line(around.number, around.raw);
            if line.when.is_none() {
                line.when = around.when;
                line.continued = true;
            }
            if line.author == Author::default() {
                line.author = around.author.clone();
            }
            dispatch(&line, reading);
        }
        _ => reading.unknown(around.number, around.raw),
    }
}

/// A journal's export, and the verbose form of it: `KEY=value` lines, an empty line between entries.
fn journal_export(number: u64, raw: &str, reading: &mut Reading<'_>) -> bool {
    if let Some(value) = raw.strip_prefix("__CURSOR=") {
        let mut fields = serde_json::Map::new();
        fields.insert("__CURSOR".to_owned(), Value::from(value));
        if let Some((number, fields)) = reading.state.export.replace((number, fields)) {
            journal_entry(number, fields, reading);
        }
        return true;
    }
    // `Mon 2026-11-30 00:53:20.123456 UTC [s=…;m=5f5e100;t=66173d6062240;…]`: the cursor has both clocks.
    if raw.ends_with(']')
        && let Some((_, cursor)) = raw.split_once(" [s=")
        && let (Some(mono), Some(wall)) = (hex(cursor, ";m="), hex(cursor, ";t="))
    {
        let mut fields = serde_json::Map::new();
        fields.insert("__REALTIME_TIMESTAMP".to_owned(), Value::from(wall.to_string()));
        fields.insert("__MONOTONIC_TIMESTAMP".to_owned(), Value::from(mono.to_string()));
        if let Some((number, fields)) = reading.state.export.replace((number, fields)) {
            journal_entry(number, fields, reading);
        }
        return true;
    }
    if reading.state.export.is_none() {
        return false;
    }
    if raw.is_empty() {
        if let Some((number, fields)) = reading.state.export.take() {
            journal_entry(number, fields, reading);
        }
        return true;
    }
    let text = raw.trim_start();
    if let Some((_, fields)) = &mut reading.state.export {
        match text.split_once('=') {
            Some((key, value))
                if !key.is_empty()
                    && key
                        .bytes()
                        .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_') =>
            {
                fields.entry(key.to_owned()).or_insert_with(|| Value::from(value));
            }
            // A field with bytes in it: the name, its length, the bytes. Its text is the rest of the entry.
            // The name of such a field stands alone on its line.
            _ if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_') => {}
            _ => {
                let text = text.trim_start_matches(|c: char| c.is_control() || c == char::REPLACEMENT_CHARACTER);
                fields.entry("BINARY".to_owned()).or_insert_with(|| Value::from(text));
            }
        }
    }
    true
}

fn hex(text: &str, name: &str) -> Option<u64> {
    let rest = scan::after(text, name)?;
    let end = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
    u64::from_str_radix(rest.get(..end)?, 16).ok()
}

fn journal_entry(number: u64, mut fields: serde_json::Map<String, Value>, reading: &mut Reading<'_>) {
    if !fields.contains_key("MESSAGE")
        && let Some(binary) = fields.remove("BINARY")
    {
        fields.insert("MESSAGE".to_owned(), binary);
    }
    let raw = fields
        .get("MESSAGE")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let stripped = envelope::object(fields, &mut reading.stamps);
    let line = stripped.line(number, &raw);
    if let Some(when) = line.when {
        reading.state.last = Some((when, line.author.clone(), line.layers));
    }
    dispatch(&line, reading);
}
