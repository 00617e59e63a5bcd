//! What a cluster's answers say of a lease, in words.

use crate::etcd::inspector::QUEUED;
use crate::etcd::message::{KeyValue, LeaseAnswer, Member, Range, Status};
use crate::etcd::place::in_queue;
use crate::inspect::shown_key;
use leaseproof_model::inspect::store_view::Attribute;

/// So many keys of the lease are named.
const NAMED: usize = 5;

/// More of its space than this unused by a database is told.
const SPARSE: u64 = 2;

/// What the keys below one that is absent mean, where one of them is a place in a queue.
pub(super) fn below_words(key: &[u8], range: &Range) -> Option<String> {
    range.kvs.iter().any(|it| in_queue(key, it)).then(|| {
        let lie = match range.count {
            1 => "1 key lies".to_owned(),
            count => format!("{count} keys lie"),
        };
        format!("{lie} below it, as a lock tool's queue has them: look again with ?recipe=lock")
    })
}

/// The eldest key is the holder's; those that came later wait, in this order.
pub(super) fn waiters_words(key: &[u8], range: &Range) -> Attribute {
    let places: Vec<&KeyValue> = range.kvs.iter().filter(|it| in_queue(key, it)).collect();
    let waiting: Vec<String> = places
        .iter()
        .skip(1)
        .map(|it| {
            let name = it.key.strip_prefix(key).unwrap_or(&it.key);
            format!(
                "{} (lease {:x}, since revision {})",
                shown_key(name),
                it.lease,
                it.create_revision
            )
        })
        .collect();
    let text = match (waiting.is_empty(), range.count > u64::from(QUEUED)) {
        (true, _) => "none".to_owned(),
        (false, false) => format!("{}: {}", waiting.len(), waiting.join(", ")),
        (false, true) => format!("{} and more: {}", waiting.len(), waiting.join(", ")),
    };
    Attribute::plain("waiters", text)
}

pub(super) fn lease_words(id: i64, answer: &LeaseAnswer, keys_shown: bool, key: &[u8]) -> Attribute {
    if answer.granted == 0 {
        return Attribute::plain("lease", format!("{id:x}: the leader knows none of this number"))
            .worrying("the lease has ended, or the leader is new: the key may go, or stay without an expiry");
    }
    let mut text = format!(
        "{id:x}: granted for {} s, the server shows {} s left (whole seconds, cut)",
        answer.granted, answer.ttl
    );
    if !keys_shown {
        return Attribute::plain("lease", text + "; its keys are not shown to this user");
    }
    let others: Vec<String> = answer
        .keys
        .iter()
        .filter(|it| it.as_slice() != key)
        .take(NAMED)
        .map(|it| shown_key(it))
        .collect();
    text.push_str(&format!("; keys attached to it: {}", answer.keys.len()));
    if others.is_empty() {
        return Attribute::plain("lease", text);
    }
    Attribute::plain("lease", format!("{text}, besides this one {}", others.join(", ")))
        .worrying("one keep-alive extends them all, and one revocation ends them all")
}

/// Role and term of the member that answers.
pub(super) fn role(status: &Status) -> Attribute {
    let member = status.header.member_id;
    let term = status.header.raft_term;
    let role = if status.is_learner {
        "learner".to_owned()
    } else if status.leader == member {
        "leader".to_owned()
    } else if status.leader == 0 {
        "member without a leader".to_owned()
    } else {
        format!("follower of {:x}", status.leader)
    };
    let attribute = Attribute::plain("role", format!("{role}, member {member:x}, term {term}"));
    match status.leader {
        0 => attribute.worrying("without a leader nothing is granted and nothing ends"),
        _ => attribute,
    }
}

pub(super) fn log(status: &Status) -> Attribute {
    let behind = status.raft_index.saturating_sub(status.applied_index);
    let text = format!(
        "raft index {}, applied {}; each change is on the disks of a majority before it is answered",
        status.raft_index, status.applied_index
    );
    let attribute = Attribute::plain("persistence", text);
    if behind > 1000 {
        return attribute.worrying(format!(
            "this member has {behind} changes to apply: its answers wait for them"
        ));
    }
    attribute
}

pub(super) fn alarms(status: &Status) -> Attribute {
    if status.errors.is_empty() {
        return Attribute::plain("alarms", "none");
    }
    let attribute = Attribute::plain("alarms", status.errors.join("; "));
    let has = |name: &str| status.errors.iter().any(|it| it.contains(name));
    if has("NOSPACE") {
        return attribute.worrying("no space: every grant is refused; leases that are there can be kept alive");
    }
    if has("CORRUPT") {
        return attribute.worrying("a member's data differ from the others': its answers are not to be trusted");
    }
    attribute
}

pub(super) fn database(status: &Status) -> Attribute {
    let text = format!(
        "{} bytes, {} of them in use; its quota is not shown",
        status.db_size, status.db_in_use
    );
    let attribute = Attribute::plain("database", text);
    // Small ones are sparse by nature.
    if status.db_size > 1 << 30 && status.db_in_use * SPARSE < status.db_size {
        return attribute.worrying("much of it is free space that counts against the quota: defragment it");
    }
    attribute
}

pub(super) fn members(members: &[Member]) -> Attribute {
    let named: Vec<String> = members
        .iter()
        .map(|it| {
            let name = if it.name.is_empty() { "never started" } else { &it.name };
            let learner = if it.is_learner { ", learner" } else { "" };
            format!("{:x} ({name}{learner})", it.id)
        })
        .collect();
    let voters = members.iter().filter(|it| !it.is_learner).count();
    let attribute = Attribute::plain("members", format!("{voters} vote: {}", named.join(", ")));
    match voters {
        1 => attribute.worrying("one member alone: while it is down nothing is granted, and its disk is the only copy"),
        2 => attribute.worrying("of two members none may be down"),
        _ => attribute,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etcd::message::Header;
    use leaseproof_model::inspect::Shown;

    fn status(leader: u64, errors: &[&str]) -> Status {
        Status {
            header: Header {
                member_id: 7,
                raft_term: 3,
                ..Header::default()
            },
            leader,
            errors: errors.iter().map(|&it| it.to_owned()).collect(),
            ..Status::default()
        }
    }

    #[test]
    fn what_endangers_a_lease_is_said() {
        for (attribute, part) in [
            (role(&status(7, &[])), None),
            (role(&status(9, &[])), None),
            (role(&status(0, &[])), Some("nothing ends")),
            (alarms(&status(7, &[])), None),
            (
                alarms(&status(7, &["memberID:7 alarm:NOSPACE "])),
                Some("every grant is refused"),
            ),
            (
                alarms(&status(7, &["memberID:7 alarm:CORRUPT "])),
                Some("not to be trusted"),
            ),
            (members(&[Member::default()]), Some("the only copy")),
            (
                members(&[Member::default(), Member::default(), Member::default()]),
                None,
            ),
        ] {
            match part {
                Some(part) => assert!(
                    attribute.concern.as_ref().is_some_and(|it| it.contains(part)),
                    "{attribute:?}"
                ),
                None => assert_eq!(attribute.concern, None, "{attribute:?}"),
            }
        }
    }

    #[test]
    fn a_queue_below_the_key_is_told() {
        let range = |keys: &[(&str, i64)]| Range {
            count: keys.len() as u64,
            kvs: keys
                .iter()
                .map(|&(key, lease)| KeyValue {
                    key: key.as_bytes().to_vec(),
                    lease,
                    ..KeyValue::default()
                })
                .collect(),
            ..Range::default()
        };
        for (keys, part) in [
            (&[("job/1f", 0x1f)][..], Some("1 key lies below it")),
            (&[("job/1f", 0x1f), ("job/20", 0x20)], Some("2 keys lie below it")),
            (&[("job/config", 0), ("job/20", 0x20)], Some("?recipe=lock")),
            // Other leases, and keys of another's.
            (&[("job/1f", 0x20), ("job/20", 0), ("job/a", 7)], None),
            (&[], None),
        ] {
            let words = below_words(b"job", &range(keys));
            match part {
                Some(part) => assert!(words.as_ref().is_some_and(|it| it.contains(part)), "{words:?}"),
                None => assert_eq!(words, None),
            }
        }
    }

    #[test]
    fn who_waits_is_listed_in_order() {
        let place = |lease: i64| KeyValue {
            key: format!("job/{lease:x}").into_bytes(),
            lease,
            create_revision: lease.unsigned_abs() + 100,
            ..KeyValue::default()
        };
        let words = |leases: &[i64], count| {
            let kvs = leases.iter().map(|&lease| place(lease)).collect();
            let range = Range {
                count,
                kvs,
                ..Range::default()
            };
            waiters_words(b"job", &range).value
        };
        let is = |text: &str| Shown::Is(text.to_owned());
        assert_eq!(words(&[31], 1), is("none"));
        assert_eq!(
            words(&[31, 16, 17], 3),
            is("2: /10 (lease 10, since revision 116), /11 (lease 11, since revision 117)")
        );
        assert_eq!(
            words(&[31, 16], 99),
            is("1 and more: /10 (lease 10, since revision 116)")
        );
    }

    #[test]
    fn keys_that_share_a_lease_are_told() {
        let answer = LeaseAnswer {
            ttl: 9,
            granted: 10,
            keys: vec![b"a".to_vec(), b"b".to_vec()],
            ..LeaseAnswer::default()
        };
        let shared = lease_words(0x1f, &answer, true, b"a");
        assert!(shared.concern.is_some_and(|it| it.contains("ends them all")));
        assert!(lease_words(0x1f, &answer, false, b"a").concern.is_none());
    }
}
