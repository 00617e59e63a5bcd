//! Acquiring, renewing and releasing in Redis.

use crate::done::{Done, Refusal};
use crate::error::StoreError;
use crate::redis::client::Client;
use crate::redis::script::{ACQUIRE, ENDLESS, RELEASE, RENEW_TIMED, millis, run};
use crate::url::RedisUrl;
use crate::value::{holder_id, new_incarnation, stored};
use crate::{Grant, Lease};
use leaseproof_model::name::Token;
use std::time::Duration;

/// An owner's access.
pub(crate) struct Owner {
    client: Client,
}

impl Owner {
    pub(crate) fn open(url: &RedisUrl, connect_timeout: Duration) -> Result<Self, StoreError> {
        Client::new(url, connect_timeout).map(|client| Self { client })
    }
}

/// Runs a script that grants.
pub(crate) fn grant(
    client: &mut Client,
    code: &str,
    key: &str,
    holder: &str,
    ttl: Duration,
    timeout: Duration,
) -> Done<Grant> {
    let id = holder_id(holder, &new_incarnation());
    let arguments = [id.to_string(), millis(ttl).to_string()];
    let counter = client.counter(key.as_bytes());
    run(
        client,
        code,
        &[key.as_bytes(), &counter],
        &arguments,
        timeout,
        |token| match u64::try_from(token) {
            Ok(token) if token > 0 => Ok(Grant {
                key: key.to_owned(),
                holder: id,
                token: Token(token),
            }),
            _ => Err(unfree(token)),
        },
    )
}

/// Why [`ACQUIRE`] gave no token.
pub(super) const fn unfree(number: i64) -> Refusal {
    match number {
        ENDLESS => Refusal::Endless,
        _ => Refusal::Held,
    }
}

pub(crate) fn applied(number: i64) -> Result<(), Refusal> {
    match number {
        1 => Ok(()),
        -1 => Err(Refusal::NotTheHolder),
        _ => Err(Refusal::Gone),
    }
}

impl Lease for Owner {
    fn acquire(&mut self, key: &str, holder: &str, ttl: Duration, timeout: Duration) -> Done<Grant> {
        grant(&mut self.client, ACQUIRE, key, holder, ttl, timeout)
    }

    fn renew(&mut self, grant: &Grant, ttl: Duration, timeout: Duration) -> Done<()> {
        let arguments = [stored(&grant.holder, grant.token), millis(ttl).to_string()];
        let mut at = -1;
        let done = run(
            &mut self.client,
            RENEW_TIMED,
            &[grant.key.as_bytes()],
            &arguments,
            timeout,
            |number| {
                at = number;
                applied(number.min(1))
            },
        );
        done.at_store_micros(at)
    }

    fn release(&mut self, grant: &Grant, timeout: Duration) -> Done<()> {
        let arguments = [stored(&grant.holder, grant.token)];
        run(
            &mut self.client,
            RELEASE,
            &[grant.key.as_bytes()],
            &arguments,
            timeout,
            applied,
        )
    }

    fn reconnect(&mut self) {
        self.client.disconnect();
    }
}
