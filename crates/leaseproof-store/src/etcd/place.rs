//! Where a lease lies: one key, or with `?recipe=lock` a queue of keys below it.
//!
//! The recipe is that of `etcdctl lock` and of clientv3's `concurrency.Mutex` and `Election`: whoever wants
//! the lock puts `NAME/<id of its lease, in hex>`, attached to that lease, and the key below `NAME/` with the
//! least `create_revision` holds it. The others wait for their turn, and hold nothing.

use super::layout::{foreign, ours};
use super::message::{KeyValue, base64};
use crate::url::Layout;
use leaseproof_model::name::{HolderId, Token};
use serde_json::{Value, json};

/// The key that a grant with this lease has.
pub(super) fn slot(layout: Layout, key: &str, lease: i64) -> String {
    match layout {
        Layout::Reference => key.to_owned(),
        Layout::LockRecipe => format!("{key}/{lease:x}"),
    }
}

/// All keys that a lease has: its own, or those of its queue.
pub(super) fn all(layout: Layout, key: impl AsRef<[u8]>) -> Value {
    match layout {
        Layout::Reference => json!({ "key": base64(key) }),
        Layout::LockRecipe => {
            let below = [key.as_ref(), b"/"].concat();
            json!({ "key": base64(&below), "range_end": base64(end_of(&below)) })
        }
    }
}

/// The question for the `most` keys that come first; who holds the lease is the first of them.
pub(super) fn first(layout: Layout, key: impl AsRef<[u8]>, most: u32) -> Value {
    let mut question = all(layout, key);
    if layout.is_recipe() {
        question["limit"] = json!(most.to_string());
        question["sort_target"] = json!("CREATE");
        question["sort_order"] = json!("ASCEND");
    }
    question
}

/// The question for the `most` eldest keys below this one, and how many there are.
pub(super) fn below(key: impl AsRef<[u8]>, most: u32) -> Value {
    first(Layout::LockRecipe, key, most)
}

/// Whether a key below `key` is a place in its queue: named by the lease that it is attached to.
pub(super) fn in_queue(key: &[u8], found: &KeyValue) -> bool {
    let name = found.key.strip_prefix(key).and_then(|rest| rest.strip_prefix(b"/"));
    found.lease != 0 && name == Some(format!("{:x}", found.lease).as_bytes())
}

/// That these keys relate so to a revision of creation; 0 is that of a key that is not there.
pub(super) fn created(keys: &Value, result: &str, revision: u64) -> Value {
    let mut compare = keys.clone();
    compare["target"] = json!("CREATE");
    compare["result"] = json!(result);
    compare["create_revision"] = json!(revision.to_string());
    compare
}

/// Who a key says holds the lease.
///
/// A queue's key has no value, or one that its holder may change (`Election`). What never changes, and no
/// other grant has, is its lease and the revision that created it.
pub(super) fn holder(layout: Layout, found: &KeyValue) -> HolderId {
    match layout {
        Layout::Reference => ours(&found.value).unwrap_or_else(|| foreign(&found.value)),
        Layout::LockRecipe => ours(&found.value)
            .filter(|id| super::layout::lease_of(id) == Some(found.lease))
            .unwrap_or_else(|| HolderId::from(format!("lease-{:x}#{}", found.lease, found.create_revision))),
    }
}

/// The token, where there is one number that owners have for it.
///
/// With the recipe there is none: `etcdctl lock` hands out `ETCD_LOCK_REV`, which is the revision at the end of
/// the wait, and others take the key's `create_revision`. Each rises from holder to holder, and they are not
/// the same number for whoever had to wait.
pub(super) fn token(layout: Layout, found: &KeyValue) -> Option<Token> {
    match layout {
        Layout::Reference => Some(Token(found.mod_revision)),
        Layout::LockRecipe => None,
    }
}

/// The first key after all that begin with `prefix`.
pub(super) fn end_of(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < 0xff {
            end.push(last + 1);
            return end;
        }
    }
    // Every key that there is.
    vec![0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_before_the_next() {
        for (prefix, end) in [
            (&b"canary/"[..], &b"canary0"[..]),
            (b"a\xff", b"b"),
            (b"\xff\xff", b"\0"),
        ] {
            assert_eq!(end_of(prefix), end);
        }
    }

    #[test]
    fn a_queue_is_asked_for_its_eldest() {
        let question = first(Layout::LockRecipe, "job", 1);
        assert_eq!(question["key"], base64("job/"));
        assert_eq!(question["range_end"], base64("job0"));
        assert_eq!(
            (&question["sort_target"], &question["limit"]),
            (&json!("CREATE"), &json!("1"))
        );
        assert_eq!(first(Layout::Reference, "job", 1), json!({ "key": base64("job") }));
        // As the tools write it: without leading zeros.
        assert_eq!(slot(Layout::LockRecipe, "job", 0x0b_5d), "job/b5d");
    }

    #[test]
    fn a_queue_s_holder_is_its_lease_and_revision() {
        let key = |value: &str, lease| KeyValue {
            value: value.as_bytes().to_vec(),
            create_revision: 7,
            mod_revision: 9,
            lease,
            ..KeyValue::default()
        };
        let of = |value, lease| holder(Layout::LockRecipe, &key(value, lease)).as_str().to_owned();
        assert_eq!(of("", 0x13b0), "lease-13b0#7");
        // An election's value changes while it is held.
        assert_eq!(of("host-1:2379", 0x13b0), "lease-13b0#7");
        assert_eq!(of("lab#00000000000013b0", 0x13b0), "lab#00000000000013b0");
        assert_eq!(of("lab#00000000000013b0", 0x13b1), "lease-13b1#7");
        assert_eq!(token(Layout::LockRecipe, &key("", 1)), None);
    }
}
