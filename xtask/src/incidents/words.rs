//! The lab's event lines as an application would log them, in several styles.

use super::draw::{AccessStyle, Style};
use super::resource::Write;
use jiff::Timestamp;
use jiff::tz::Offset;
use serde_json::{Value, json};

/// A moment as it shows on a clock so many minutes east of UTC.
fn shown(wall_ns: i64, zone: i32, form: &str) -> String {
    let at = Timestamp::from_nanosecond(i128::from(wall_ns)).unwrap_or_default();
    let offset = Offset::from_seconds(zone * 60).unwrap_or(Offset::UTC);
    at.to_zoned_datetime(offset.to_time_zone()).strftime(form).to_string()
}

/// `2026-11-30T03:02:27.442Z`, or with its offset.
pub fn iso(wall_ns: i64, zone: i32) -> String {
    match zone {
        0 => shown(wall_ns, 0, "%Y-%m-%dT%H:%M:%S%.3fZ"),
        _ => shown(wall_ns, zone, "%Y-%m-%dT%H:%M:%S%.3f%:z"),
    }
}

/// What an event is called, and at which level it is logged.
fn said(event: &str) -> Option<(&'static str, &'static str)> {
    Some(match event {
        "acquired" => ("INFO", "lease acquired"),
        "renewed" => ("INFO", "lease renewed"),
        "renew_sent" => ("DEBUG", "renewing lease"),
        "renew_failed" => ("WARN", "lease renewal failed"),
        "lost" => ("ERROR", "lease lost"),
        "released" => ("INFO", "lease released"),
        "write_refused" => ("WARN", "write refused"),
        _ => return None,
    })
}

/// One event as a line; `None` where an application would log nothing of it.
pub fn event_line(
    event: &Value,
    wall_ns: i64,
    style: Style,
    zone: i32,
    owner: &str,
    key: &str,
    debug: bool,
) -> Option<String> {
    let (level, words) = said(event.get("lease")?.as_str()?)?;
    if level == "DEBUG" && !debug {
        return None;
    }
    let mut fields = vec![format!("key={key}")];
    for name in ["token", "attempt"] {
        if let Some(value) = event.get(name).and_then(Value::as_u64) {
            fields.push(format!("{name}={value}"));
        }
    }
    if let Some(reason) = event.get("reason").and_then(Value::as_str) {
        fields.push(format!("reason=\"{reason}\""));
    }
    let text = format!("{words} {}", fields.join(" "));
    let at = |form: &str| shown(wall_ns, zone, form);
    Some(match style {
        Style::Log4j | Style::Python => format!(
            "{} {level:<5} [lease-renewal] com.example.Lease - {text}",
            at("%Y-%m-%d %H:%M:%S,%3f")
        ),
        Style::Klog => format!(
            "{}{} 4711 lease.go:88] {text}",
            level.get(..1)?,
            at("%m%d %H:%M:%S.%6f   ")
        ),
        Style::Json | Style::Pino => {
            let mut line = json!({"ts": iso(wall_ns, zone), "level": level.to_lowercase(), "logger": "lease", "msg": words, "owner": owner, "key": key});
            for name in ["token", "attempt", "reason"] {
                if let (Some(value), Some(line)) = (event.get(name), line.as_object_mut()) {
                    line.insert(name.to_owned(), value.clone());
                }
            }
            line.to_string()
        }
        Style::Syslog => format!("{} {owner} orders[4711]: {level} {text}", at("%b %e %H:%M:%S")),
        Style::Seconds => format!("{} {level} {text}", at("%Y/%m/%d %H:%M:%S")),
        Style::Iso | Style::Docker => format!("{} {level} lease: {text}", iso(wall_ns, zone)),
    })
}

/// A line of an owner's other output, as its surroundings would stamp it.
pub fn other_line(text: &str, wall_ns: i64, style: Style, zone: i32, owner: &str) -> String {
    match style {
        Style::Syslog => format!(
            "{} {owner} orders[4711]: {text}",
            shown(wall_ns, zone, "%b %e %H:%M:%S")
        ),
        _ => format!("{} {text}", shown(wall_ns, 0, "%Y-%m-%dT%H:%M:%S.%9fZ")),
    }
}

/// A write as the resource logs it.
pub fn access_line(write: &Write, style: AccessStyle, key: &str) -> String {
    let status = if write.accepted { 200 } else { 409 };
    let peer = write.peer;
    match style {
        AccessStyle::Json => json!({
            "time": iso(write.wall_ns, 0), "method": "POST", "path": format!("/{key}"), "status": status,
            "client": write.owner, "peer": peer.to_string(), "token": write.token,
        })
        .to_string(),
        AccessStyle::Nginx => format!(
            "{} - {} [{}] \"POST /{key} HTTP/1.1\" {status} 17 \"-\" \"worker/1.4\" token={}",
            peer.ip(),
            write.owner,
            shown(write.wall_ns, 0, "%d/%b/%Y:%H:%M:%S +0000"),
            write.token.map_or("-".to_owned(), |it| it.to_string()),
        ),
        AccessStyle::App => format!(
            "{} INFO storage: write {} key={key} client={}{}",
            iso(write.wall_ns, 0),
            if write.accepted { "accepted" } else { "rejected" },
            write.owner,
            write.token.map_or(String::new(), |it| format!(" token={it}")),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: i64 = 1_796_007_747_442_000_000;

    #[test]
    fn lines_have_the_shape_of_their_style() {
        let event = json!({"lease": "renew_failed", "token": 41, "reason": "not the holder"});
        let line =
            |style, zone| event_line(&event, AT, style, zone, "worker-a", "locks/orders", false).expect("a line");
        let text = "lease renewal failed key=locks/orders token=41 reason=\"not the holder\"";
        assert_eq!(
            line(Style::Iso, 0),
            format!("2026-11-30T03:02:27.442Z WARN lease: {text}")
        );
        assert_eq!(
            line(Style::Iso, 330),
            format!("2026-11-30T08:32:27.442+05:30 WARN lease: {text}")
        );
        assert_eq!(
            line(Style::Log4j, 330),
            format!("2026-11-30 08:32:27,442 WARN  [lease-renewal] com.example.Lease - {text}")
        );
        assert_eq!(
            line(Style::Klog, 0),
            format!("W1130 03:02:27.442000    4711 lease.go:88] {text}")
        );
        assert_eq!(
            line(Style::Syslog, 0),
            format!("Nov 30 03:02:27 worker-a orders[4711]: WARN {text}")
        );
        assert_eq!(line(Style::Seconds, -480), format!("2026/11/29 19:02:27 WARN {text}"));
        let said: Value = serde_json::from_str(&line(Style::Json, 0)).expect("JSON");
        assert_eq!(
            (said["token"].as_u64(), said["msg"].as_str()),
            (Some(41), Some("lease renewal failed"))
        );
    }

    #[test]
    fn what_applications_do_not_log_is_no_line() {
        let sent = json!({"lease": "renew_sent"});
        assert_eq!(event_line(&sent, AT, Style::Iso, 0, "a", "k", false), None);
        assert!(event_line(&sent, AT, Style::Iso, 0, "a", "k", true).is_some());
        assert_eq!(
            event_line(&json!({"lease": "write"}), AT, Style::Iso, 0, "a", "k", true),
            None
        );
    }
}
