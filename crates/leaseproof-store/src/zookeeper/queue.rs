//! `?recipe=lock`: a queue of ephemeral sequential nodes below the key's, as kazoo's `Lock` and Curator's
//! `InterProcessMutex` make it. The least number holds; the others wait, and hold nothing.
//!
//! The names differ (`<uuid>__lock__0000000007`, `_c_<uuid>-lock-0000000007`), and neither client sees the
//! other's nodes: whoever joins such a queue must know whose it is. So it is only looked at here.

use super::code::Code;
use super::jute::{Garbled, Stat};
use super::node::{Look, Node, garbled, unknown};
use super::request::Request;
use super::session::{Broken, Session};
use crate::error::StoreError;
use crate::patience::Patience;
use leaseproof_model::name::HolderId;

/// How often a look is begun anew because the first in the queue left meanwhile.
const TRIES: usize = 20;

/// The digits that the server ends a sequential node's name with.
const DIGITS: usize = 10;

/// Looks at who is the first in the queue.
///
/// What was the first when the names were read still is while it is there: those that come later get greater
/// numbers.
pub(super) fn look(session: &mut Session, key: &str, patience: &mut Patience) -> Result<Look, Broken> {
    let path = session.path(key);
    for _ in 0..TRIES {
        let requests = [
            Request::Sync { path: path.clone() },
            Request::Children { path: path.clone() },
        ];
        let replies = session.ask_again(&requests, patience)?;
        let [synced, listed] = &replies[..] else {
            return Err(unknown(session.net().strange("an answer is missing")));
        };
        let names = match (synced.code, listed.code) {
            (Code::OK, Code::OK) => listed.children().map_err(|Garbled| unknown(garbled(session)))?.0,
            (Code::OK, Code::NO_NODE) => Vec::new(),
            (Code::OK, code) | (code, _) => return Err(unknown(code.error(&session.net().url, key))),
        };
        let zxid = listed.zxid;
        let Some(first) = first(&names, key).map_err(unknown)? else {
            return Ok(Look { node: None, zxid });
        };
        let path = format!("{path}/{first}");
        let replies = session.ask_again(&[Request::Get { path: path.clone() }], patience)?;
        let [got] = &replies[..] else {
            return Err(unknown(session.net().strange("an answer is missing")));
        };
        match got.code {
            Code::OK => {
                let (data, stat) = got.node().map_err(|Garbled| unknown(garbled(session)))?;
                let node = Node {
                    path,
                    holder: holder(data, &stat),
                    bound: None,
                    stat,
                };
                return Ok(Look {
                    node: Some(node),
                    zxid: got.zxid,
                });
            }
            Code::NO_NODE => {}
            code => return Err(unknown(code.error(&session.net().url, key))),
        }
    }
    Err(unknown(StoreError::Unexpected(format!(
        "the first in the queue of {key} left in each of {TRIES} looks"
    ))))
}

/// The name with the least number; what has none is no place in a queue.
fn first<'n>(names: &'n [String], key: &str) -> Result<Option<&'n str>, StoreError> {
    // kazoo's and Curator's locks for many readers.
    if names
        .iter()
        .any(|name| name.contains("__rlock__") || name.contains("__READ__"))
    {
        return Err(StoreError::Unexpected(format!(
            "the queue of {key} is of a lock that many readers may hold at once: give one that has one holder"
        )));
    }
    let numbered = names.iter().filter_map(|name| Some((number(name)?, name.as_str())));
    Ok(numbered.min().map(|(_, name)| name))
}

/// A name's place in the queue.
fn number(name: &str) -> Option<u64> {
    let digits = name.get(name.len().checked_sub(DIGITS)?..)?;
    let all = digits.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| digits.parse().ok())?
}

/// Those that come after the one that holds, in their order.
pub(super) fn behind<'n>(names: &'n [String], held: &str) -> Vec<&'n str> {
    let Some(first) = number(held) else {
        return Vec::new();
    };
    let mut places: Vec<(u64, &str)> = names
        .iter()
        .filter_map(|name| Some((number(name)?, name.as_str())))
        .collect();
    places.retain(|(number, _)| *number > first);
    places.sort_unstable();
    places.into_iter().map(|(_, name)| name).collect()
}

/// Who a node of the queue says holds: what its client wrote for the others to read, or its session. The
/// transaction that created it tells it from all other grants.
pub(super) fn holder(data: &[u8], stat: &Stat) -> HolderId {
    let identifier = std::str::from_utf8(data)
        .ok()
        .filter(|text| (1..=64).contains(&text.len()))
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'));
    HolderId::from(match identifier {
        Some(text) => format!("{text}#{}", stat.czxid),
        None => format!("session-{:x}#{}", stat.owner(), stat.czxid),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_number_is_the_first() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        for (queue, is) in [
            (
                &["f00__lock__0000000010", "a11__lock__0000000009"][..],
                Some("a11__lock__0000000009"),
            ),
            (
                &["_c_9-lock-0000000003", "_c_1-lock-0000000020"],
                Some("_c_9-lock-0000000003"),
            ),
            (&["config", "lock-1", "00000000\u{fc}8"], None),
            (&[], None),
        ] {
            assert_eq!(first(&names(queue), "k").expect("one holder"), is);
        }
        let queue = names(&[
            "b__lock__0000000012",
            "config",
            "a__lock__0000000009",
            "c__lock__0000000010",
        ]);
        assert_eq!(
            behind(&queue, "a__lock__0000000009"),
            ["c__lock__0000000010", "b__lock__0000000012"]
        );
        for shared in ["b__rlock__0000000001", "_c_1-__READ__0000000001"] {
            let error = first(&names(&[shared]), "k").expect_err("many holders").to_string();
            assert!(error.contains("many readers"), "{error}");
        }
    }
}
