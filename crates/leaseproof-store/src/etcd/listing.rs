//! The leases below a prefix: keys without their values, a page after the other.

use crate::Listing;
use crate::error::StoreError;
use crate::etcd::gateway::Gateway;
use crate::etcd::message::{Range, base64};
use crate::etcd::place::end_of;
use crate::patience::Patience;
use serde_json::json;
use std::time::Duration;

/// So many keys a page: well below the most that an answer may have, as long as keys are names.
const PAGE: usize = 1000;

/// Each page has the whole time-out.
pub(super) fn leases_below(
    gateway: &mut Gateway,
    timeout: Duration,
    prefix: &str,
    most: usize,
) -> Result<Listing, StoreError> {
    let end = base64(end_of(prefix.as_bytes()));
    // There is no empty key.
    let mut from = if prefix.is_empty() {
        vec![0]
    } else {
        prefix.as_bytes().to_vec()
    };
    let mut listing = Listing::default();
    loop {
        let question = json!({
            "key": base64(&from),
            "range_end": end,
            "keys_only": true,
            "limit": PAGE.to_string(),
        });
        let range: Range = gateway.read("kv/range", &question, &mut Patience::new(timeout))?;
        let Some(last) = range.kvs.last() else {
            return Ok(listing);
        };
        // The next key that there can be.
        from.clone_from(&last.key);
        from.push(0);
        let is_last = range.count <= range.kvs.len() as u64;
        for it in range.kvs {
            match String::from_utf8(it.key) {
                Ok(_) if listing.keys.len() == most => {
                    listing.more = true;
                    return Ok(listing);
                }
                Ok(key) => listing.keys.push(key),
                Err(_) => listing.not_text += 1,
            }
        }
        if is_last {
            return Ok(listing);
        }
    }
}
