//! What the connection does while nothing is sent, against the heartbeat.
//!
//! A renewal is the only traffic of an idle owner: the connection is silent for a heartbeat at a time. What drops or
//! keeps a silent connection is therefore a part of the budget.

use crate::report::{Answer, Check};
use crate::subject::{Number, Subject};
use std::time::Duration;

/// `[connection]`, as far as it is given.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    /// After how long without traffic the client sends TCP keepalives.
    pub keepalive: Option<Number>,
    /// How long sent data may stay unacknowledged.
    pub user_timeout: Option<Number>,
    /// After how long without traffic somebody drops the connection.
    pub idle_timeout: Option<Number>,
    /// How long a pool keeps a connection that nobody uses.
    pub pool_max_idle: Option<Number>,
}

/// The checks of the connection, with this TTL in force.
pub(crate) fn checks(subject: &Subject, ttl: Duration) -> Vec<Check> {
    let connection = &subject.connection;
    let heartbeat = subject.heartbeat.span;
    [
        connection
            .idle_timeout
            .as_ref()
            .map(|idle| idle_timeout(connection, idle, heartbeat)),
        connection
            .pool_max_idle
            .as_ref()
            .map(|pool| pool_max_idle(connection, pool, subject)),
        connection
            .keepalive
            .as_ref()
            .map(|keepalive| keepalive_fires(keepalive, heartbeat)),
        connection
            .user_timeout
            .as_ref()
            .map(|limit| user_timeout(limit, subject, ttl)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn idle_timeout(connection: &Connection, idle: &Number, heartbeat: Duration) -> Check {
    let check = |answer, says: String| Check::new("idle-timeout", answer, says).rule("LP013").at(idle.line);
    if idle.span > heartbeat {
        let says = format!(
            "a silent connection is dropped after {:?}, and renewals are {heartbeat:?} apart",
            idle.span
        );
        return check(Answer::Holds, says);
    }
    match &connection.keepalive {
        Some(keepalive) if keepalive.span < idle.span => check(
            Answer::Notice,
            format!(
                "the connection is silent for {heartbeat:?} between renewals, and dropped after {:?}: only keepalives, each \
                 {:?}, hold it. They do against a NAT or a balancer that counts packets; a server's own idle time-out (such \
                 as Redis' `timeout`) counts requests alone",
                idle.span, keepalive.span
            ),
        ),
        _ => check(
            Answer::DoesNotHold,
            format!(
                "the connection is silent for {heartbeat:?} between renewals, and dropped after {:?}: each renewal meets a \
                 dead connection",
                idle.span
            ),
        )
        .remedy("make the heartbeat shorter than idle_timeout, or set keepalive below it"),
    }
}

fn pool_max_idle(connection: &Connection, pool: &Number, subject: &Subject) -> Check {
    let check = |answer, says: String| Check::new("pool-max-idle", answer, says).rule("LP013").at(pool.line);
    let heartbeat = subject.heartbeat.span;
    if pool.span < heartbeat {
        return check(
            Answer::Holds,
            format!(
                "the pool keeps no connection for a whole heartbeat: each renewal opens a new one, which must fit into \
                 renew_timeout ({:?})",
                subject.renew_timeout.span
            ),
        );
    }
    match &connection.idle_timeout {
        Some(idle) if pool.span < idle.span => check(
            Answer::Holds,
            format!(
                "the pool lets go of a connection after {:?}, before it is dropped ({:?})",
                pool.span, idle.span
            ),
        ),
        Some(idle) => check(
            Answer::DoesNotHold,
            format!(
                "the pool keeps a connection for {:?}, and it is dropped after {:?}: a renewal is handed a dead one",
                pool.span, idle.span
            ),
        )
        .remedy(format!("pool_max_idle below {:?}", idle.span.min(heartbeat))),
        None => check(
            Answer::Notice,
            format!(
                "the pool hands a renewal a connection that was silent for a whole heartbeat ({heartbeat:?}); whether \
                 anything drops it by then is not said"
            ),
        )
        .remedy("give idle_timeout, or make pool_max_idle shorter than the heartbeat"),
    }
}

fn keepalive_fires(keepalive: &Number, heartbeat: Duration) -> Check {
    let check = |answer, says: String| Check::new("keepalive", answer, says).at(keepalive.line);
    if keepalive.span < heartbeat {
        let says = format!(
            "keepalives after {:?} of silence show a dead peer between two renewals",
            keepalive.span
        );
        return check(Answer::Holds, says);
    }
    check(
        Answer::Notice,
        format!(
            "keepalives after {:?} of silence are never sent: a renewal comes each {heartbeat:?}, and while one is \
             unanswered TCP sends that again instead",
            keepalive.span
        ),
    )
    .remedy("set user_timeout (TCP_USER_TIMEOUT), which bounds just that")
}

/// A connection that is given up late takes the next renewals with it.
fn user_timeout(limit: &Number, subject: &Subject, ttl: Duration) -> Check {
    let check = |answer, says: String| Check::new("user-timeout", answer, says).rule("LP013").at(limit.line);
    let budget = subject.budget(ttl, Duration::ZERO);
    // A renewal is sent a heartbeat after the last; its connection is given up; another must be in time.
    let room = ttl.saturating_sub(budget.reserved());
    if limit.span < room {
        let says = format!(
            "a dead connection is given up after {:?}, and another renewal is still in time ({room:?})",
            limit.span
        );
        return check(Answer::Holds, says);
    }
    check(
        Answer::DoesNotHold,
        format!(
            "a dead connection is given up after {:?}, when no other renewal is in time any more ({room:?})",
            limit.span
        ),
    )
    .remedy(format!("user_timeout below {room:?}"))
}
