//! Acquiring, renewing and releasing on a majority.

use super::crew::Crew;
use super::majority;
use crate::clock::boot_now;
use crate::done::{Done, Refusal};
use crate::error::StoreError;
use crate::patience::Patience;
use crate::redis::client::Client;
use crate::redis::script::{RENEW, count, millis, run};
use crate::url::RedisUrl;
use crate::value::{holder_id, new_incarnation, stored};
use crate::{Grant, Lease};
use leaseproof_model::event::Outcome;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, Token};
use std::time::Duration;

/// Keys: lease, counter. Arguments: the value that is no grant yet, TTL in ms. Gives the server's count as text, or 0.
const TRY: &str = concat!(
    "if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end\n",
    count!(),
    "redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
return token"
);

/// As [`TRY`], whoever holds it.
pub(super) const TRY_TO_STEAL: &str = concat!(
    count!(),
    "redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return token"
);

/// Keys: lease, counter. Arguments: the value that is no grant yet, the one that is, the token. Gives 1, or 0
/// where the first value is gone. The TTL goes on from [`TRY`], which has left a count there that is a plain number:
/// counts are compared as text, since Lua's numbers are exact to 2^53 only.
const GRANT: &str = "\
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local left = redis.call('PTTL', KEYS[1])
if left <= 0 then return 0 end
local count = redis.call('GET', KEYS[2]) or '0'
if #count < #ARGV[3] or (#count == #ARGV[3] and count < ARGV[3]) then redis.call('SET', KEYS[2], ARGV[3]) end
redis.call('SET', KEYS[1], ARGV[2], 'PX', left)
return 1";

/// Key: lease. Arguments: the values that are removed. Gives 1, -1 for another's, -2 for none.
const LEAVE: &str = "\
local value = redis.call('GET', KEYS[1])
if not value then return -2 end
if value ~= ARGV[1] and value ~= ARGV[2] then return -1 end
return redis.call('DEL', KEYS[1])";

/// How long a server may take to remove what came to nothing; nobody waits for it.
const LEAVING: Duration = Duration::from_secs(1);

/// Whoever has a client of one server.
pub(super) trait Desk: Send + 'static {
    fn client(&mut self) -> &mut Client;
}

impl Desk for Client {
    fn client(&mut self) -> &mut Client {
        self
    }
}

/// An owner's access.
pub(crate) struct Owner {
    crew: Crew<Client>,
}

impl Owner {
    pub(crate) fn open(url: &RedisUrl, connect_timeout: Duration) -> Result<Self, StoreError> {
        let clients = url
            .places
            .iter()
            .map(|place| Client::new(&url.alone(place), connect_timeout));
        Ok(Self {
            crew: Crew::start(clients.collect::<Result<_, _>>()?)?,
        })
    }
}

/// The answers of the servers, counted.
struct Votes {
    servers: usize,
    /// The numbers of those that did it.
    yes: Vec<i64>,
    /// The numbers of those that refused.
    no: Vec<i64>,
    /// Those that may have done it.
    unknown: usize,
    reasons: Vec<String>,
}

impl Votes {
    /// Counts; a number for which `is_yes` does not hold is a refusal. Who has not answered is unknown.
    fn count(heard: &[Option<Done<i64>>], is_yes: fn(i64) -> bool) -> Self {
        let mut votes = Self {
            servers: heard.len(),
            yes: Vec::new(),
            no: Vec::new(),
            unknown: 0,
            reasons: Vec::new(),
        };
        for answer in heard {
            match answer {
                None => {
                    votes.unknown += 1;
                    votes.reasons.push("no answer in time".to_owned());
                }
                Some(done) => {
                    match done.value {
                        Some(number) if is_yes(number) => votes.yes.push(number),
                        Some(number) => votes.no.push(number),
                        None if done.outcome == Outcome::Unknown => votes.unknown += 1,
                        None => {}
                    }
                    votes.reasons.extend(done.reason.clone());
                }
            }
        }
        votes
    }

    fn needed(&self) -> usize {
        majority(self.servers)
    }

    fn is_won(&self) -> bool {
        self.yes.len() >= self.needed()
    }

    /// Whether so many refused that no majority is left.
    fn is_refused(&self) -> bool {
        self.no.len() > self.servers - self.needed()
    }

    fn may_be_won(&self) -> bool {
        self.yes.len() + self.unknown >= self.needed()
    }

    fn words(&self) -> String {
        let mut words = format!(
            "no majority: {} of {} servers did it, {} refused",
            self.yes.len(),
            self.servers,
            self.no.len()
        );
        for reason in &self.reasons {
            words = words + "; " + reason;
        }
        words
    }
}

/// Whether waiting for more answers is of no use. Where no majority can be had any more, the others still say
/// whether somebody else has it.
fn decided(heard: &[Option<Done<i64>>], is_yes: fn(i64) -> bool) -> bool {
    let votes = Votes::count(heard, is_yes);
    votes.is_won() || votes.is_refused()
}

fn positive(number: i64) -> bool {
    number > 0
}

/// A script on one server; any number that it answers is a value.
fn on_one(desk: &mut impl Desk, code: &str, keys: &[Vec<u8>], arguments: &[String], timeout: Duration) -> Done<i64> {
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    run(desk.client(), code, &keys, arguments, timeout, Ok)
}

/// The same script on all, until it is decided.
fn on_all<D: Desk>(
    crew: &Crew<D>,
    code: &'static str,
    keys: Vec<Vec<u8>>,
    arguments: Vec<String>,
    patience: &mut Patience,
) -> Votes {
    let timeout = patience.left();
    let job = move |desk: &mut D| on_one(desk, code, &keys, &arguments, timeout);
    Votes::count(&crew.ask(patience, job, |heard| decided(heard, positive)), positive)
}

/// Grants by a majority: `code` tries, and says each server's count.
pub(super) fn grant<D: Desk>(
    crew: &Crew<D>,
    code: &'static str,
    key: &str,
    holder: &str,
    ttl: Duration,
    timeout: Duration,
) -> Done<Grant> {
    let asked = boot_now();
    let mut patience = Patience::new(timeout);
    let id = holder_id(holder, &new_incarnation());
    let keys = vec![key.as_bytes().to_vec(), [key.as_bytes(), b":token"].concat()];
    let no_grant_yet = stored(&id, Token(0));
    let arguments = vec![no_grant_yet.clone(), millis(ttl).to_string()];
    let tried = on_all(crew, code, keys.clone(), arguments, &mut patience);
    if !tried.is_won() {
        leave(crew, key, &id, Token(0));
        let during = Moment::between(asked, boot_now());
        // Without the second step it was never a grant, whoever answers late.
        return if tried.is_refused() {
            Done::refused(Refusal::Held, during)
        } else {
            Done::failed(tried.words(), during)
        };
    }
    let token = tried
        .yes
        .iter()
        .copied()
        .max()
        .and_then(|count| u64::try_from(count).ok());
    let token = Token(token.unwrap_or_default());
    let arguments = vec![no_grant_yet, stored(&id, token), token.to_string()];
    let granted = on_all(crew, GRANT, keys, arguments, &mut patience);
    let during = Moment::between(asked, boot_now());
    if granted.is_won() {
        let grant = Grant {
            key: key.to_owned(),
            holder: id,
            token,
        };
        return Done::applied(grant, during);
    }
    leave(crew, key, &id, token);
    if granted.may_be_won() {
        Done::unknown(granted.words(), during)
    } else {
        Done::failed(granted.words(), during)
    }
}

/// Removes what came to nothing, without waiting: each server does it after what it was asked before.
fn leave<D: Desk>(crew: &Crew<D>, key: &str, id: &HolderId, token: Token) {
    let keys = vec![key.as_bytes().to_vec()];
    let arguments = vec![stored(id, Token(0)), stored(id, token)];
    drop(crew.tell(move |desk: &mut D| on_one(desk, LEAVE, &keys, &arguments, LEAVING)));
}

/// What a renewal or a release came to.
fn kept(votes: &Votes, during: Moment) -> Done<()> {
    let others = votes.no.iter().filter(|number| **number == -1).count();
    if votes.is_won() {
        Done::applied((), during)
    } else if others >= votes.needed() {
        Done::refused(Refusal::NotTheHolder, during)
    } else if votes.is_refused() {
        Done::refused(Refusal::Gone, during)
    } else if votes.may_be_won() && votes.unknown > 0 {
        Done::unknown(votes.words(), during)
    } else {
        Done::failed(votes.words(), during)
    }
}

impl Lease for Owner {
    fn acquire(&mut self, key: &str, holder: &str, ttl: Duration, timeout: Duration) -> Done<Grant> {
        grant(&self.crew, TRY, key, holder, ttl, timeout)
    }

    fn renew(&mut self, grant: &Grant, ttl: Duration, timeout: Duration) -> Done<()> {
        let asked = boot_now();
        let arguments = vec![stored(&grant.holder, grant.token), millis(ttl).to_string()];
        let keys = vec![grant.key.as_bytes().to_vec()];
        let votes = on_all(&self.crew, RENEW, keys, arguments, &mut Patience::new(timeout));
        kept(&votes, Moment::between(asked, boot_now()))
    }

    fn release(&mut self, grant: &Grant, timeout: Duration) -> Done<()> {
        let asked = boot_now();
        let arguments = vec![stored(&grant.holder, Token(0)), stored(&grant.holder, grant.token)];
        let keys = vec![grant.key.as_bytes().to_vec()];
        let votes = on_all(&self.crew, LEAVE, keys, arguments, &mut Patience::new(timeout));
        kept(&votes, Moment::between(asked, boot_now()))
    }

    fn reconnect(&mut self) {
        drop(self.crew.tell(Client::disconnect));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leaseproof_model::clock::BootNanos;

    const DURING: Moment = Moment {
        earliest: BootNanos(1),
        latest: BootNanos(2),
    };

    /// A number: an answer; `?`: it may have been done; `x`: it was not; `.`: nothing was heard.
    fn heard(text: &str) -> Vec<Option<Done<i64>>> {
        text.split(' ')
            .map(|word| match word {
                "?" => Some(Done::unknown("late", DURING)),
                "x" => Some(Done::failed("down", DURING)),
                "." => None,
                number => Some(Done::applied(number.parse().expect("a number"), DURING)),
            })
            .collect()
    }

    #[test]
    fn a_majority_decides() {
        // Answers, whether more are of no use, what a renewal came to.
        for (text, is_decided, outcome, refusal) in [
            ("1 1 .", true, Outcome::Applied, None),
            ("1 . .", false, Outcome::Unknown, None),
            ("1 ? .", false, Outcome::Unknown, None),
            ("1 ? ?", false, Outcome::Unknown, None),
            ("1 x x", false, Outcome::NotApplied, None),
            ("x x .", false, Outcome::NotApplied, None),
            ("1 -1 -2", true, Outcome::NotApplied, Some(Refusal::Gone)),
            ("-1 -1 .", true, Outcome::NotApplied, Some(Refusal::NotTheHolder)),
            ("-2 -2 1", true, Outcome::NotApplied, Some(Refusal::Gone)),
            ("-2 ? .", false, Outcome::Unknown, None),
            ("-2 x ?", false, Outcome::NotApplied, None),
            ("1 1 1 ? ?", true, Outcome::Applied, None),
            ("1 1 -1 -2 ?", false, Outcome::Unknown, None),
        ] {
            let heard = heard(text);
            assert_eq!(decided(&heard, positive), is_decided, "{text}");
            let done = kept(&Votes::count(&heard, positive), DURING);
            assert_eq!((done.outcome, done.refusal), (outcome, refusal), "{text}: {done:?}");
        }
    }
}
