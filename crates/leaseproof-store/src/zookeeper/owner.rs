//! Acquiring, renewing and releasing in ZooKeeper.

use super::code::Code;
use super::desk::Desk;
use super::net::Net;
use super::node::{Way, create, look, one};
use super::request::Request;
use super::session::{Broken, Session};
use crate::clock::boot_now;
use crate::done::{Done, Refusal, Step};
use crate::error::{Lasts, StoreError};
use crate::patience::Patience;
use crate::url::ZooKeeperUrl;
use crate::value::{holder_id, new_incarnation};
use crate::wire::Failed;
use crate::{Grant, Lease};
use leaseproof_model::name::HolderId;
use std::sync::Arc;
use std::time::Duration;

/// An owner's access.
pub(crate) struct Owner {
    net: Arc<Net>,
    /// A session without a grant, so that a waiter does not open one for each try, and what was
    /// asked for it.
    spare: Option<(Duration, Session)>,
    granted: Vec<Granted>,
    /// For looks at what is not ours.
    desk: Desk,
}

/// A grant of ours, and the session that it lives as long as.
struct Granted {
    key: String,
    holder: HolderId,
    session: Session,
}

impl Owner {
    pub(crate) fn open(url: &ZooKeeperUrl, connect_timeout: Duration) -> Result<Self, StoreError> {
        let net = Net::new(url, connect_timeout)?;
        Ok(Self {
            desk: Desk::new(&net),
            net,
            spare: None,
            granted: Vec::new(),
        })
    }

    /// A session of exactly this grant to be.
    fn session(&mut self, ttl: Duration, patience: &mut Patience) -> Result<Session, StoreError> {
        let session = match self.spare.take() {
            Some((asked, session)) if asked == ttl => session,
            _ => Session::open(&self.net, ttl, patience)?,
        };
        if session.timeout() < ttl {
            return Err(StoreError::refused(
                &self.net.url,
                format!(
                    "it grants no session of more than {:?}, and {ttl:?} was asked for: take a shorter TTL, or \
                     raise the server's maxSessionTimeout",
                    session.timeout()
                ),
                Lasts::Mended,
            ));
        }
        Ok(session)
    }

    fn take(&mut self, key: &str, id: &HolderId, ttl: Duration, patience: &mut Patience) -> Step<Grant> {
        loop {
            let mut session = self.session(ttl, patience).map_err(Failed::NotSent)?;
            match create(&mut session, Way::Acquire, key, id, patience) {
                Ok(Ok(token)) => {
                    // An earlier grant of the key is over.
                    self.granted.retain(|granted| granted.key != key);
                    self.granted.push(Granted {
                        key: key.to_owned(),
                        holder: id.clone(),
                        session,
                    });
                    return Ok(Ok(Grant {
                        key: key.to_owned(),
                        holder: id.clone(),
                        token,
                    }));
                }
                Ok(Err(refusal)) => {
                    self.spare = Some((ttl, session));
                    return Ok(Err(refusal));
                }
                // The spare one was over; the next is new.
                Err(Broken::Over) => {}
                // A node that was made nevertheless must not live on by the next tries: its session is
                // never used again.
                Err(Broken::Failed(failed)) => return Err(failed),
            }
        }
    }

    fn extend(&mut self, grant: &Grant, ttl: Duration, patience: &mut Patience) -> Step<()> {
        let Some(place) = self.place(grant) else {
            return match self.desk.look(&grant.key, patience)?.refusal(grant) {
                Some(refusal) => Ok(Err(refusal)),
                None => Err(Failed::NotSent(StoreError::Unexpected(
                    "this grant lives as long as a session of another client, which alone can extend it".to_owned(),
                ))),
            };
        };
        let session = &mut self.granted[place].session;
        // The look itself extends: whatever the server answers on a session touches it.
        match look(session, &grant.key, patience) {
            Ok(look) => match look.refusal(grant) {
                Some(refusal) => Ok(Err(refusal)),
                // It was extended, and not by what was asked: nobody may believe in that.
                None if session.timeout() < ttl => Err(Failed::Unknown(StoreError::Unexpected(format!(
                    "the grant's session is of {:?}, and {ttl:?} was asked for: a longer TTL needs a new grant",
                    session.timeout()
                )))),
                None => Ok(Ok(())),
            },
            Err(Broken::Over) => Ok(Err(self.over(place, patience))),
            Err(Broken::Failed(failed)) => Err(failed),
        }
    }

    fn give_up(&mut self, grant: &Grant, patience: &mut Patience) -> Step<()> {
        let Some(place) = self.place(grant) else {
            return self.desk.remove(grant, patience);
        };
        let session = &mut self.granted[place].session;
        let looked = match look(session, &grant.key, patience) {
            Ok(look) => look.refusal(grant),
            Err(Broken::Over) => return Ok(Err(self.over(place, patience))),
            // Nothing but a look was sent.
            Err(Broken::Failed(failed)) => return Err(Failed::NotSent(failed.into_error())),
        };
        if let Some(refusal) = looked {
            return Ok(Err(refusal));
        }
        // What ends with the session is this grant and nothing else, whatever came in between.
        let closed = session
            .ask(&[Request::Close], patience)
            .and_then(|replies| one(replies, session));
        match closed {
            Ok(reply) if reply.code == Code::OK => {
                self.granted.remove(place);
                Ok(Ok(()))
            }
            Ok(reply) => Err(Failed::Unknown(reply.code.error(&self.net.url, &grant.key))),
            Err(Broken::Over) => Ok(Err(self.over(place, patience))),
            Err(Broken::Failed(failed)) => Err(failed),
        }
    }

    fn place(&self, grant: &Grant) -> Option<usize> {
        self.granted
            .iter()
            .position(|granted| granted.key == grant.key && granted.holder == grant.holder)
    }

    /// The session of a grant is over: who has the key now decides the words, not the outcome.
    fn over(&mut self, place: usize, patience: &mut Patience) -> Refusal {
        let granted = self.granted.remove(place);
        match self.desk.look(&granted.key, patience) {
            Ok(look) if look.node.is_some() => Refusal::NotTheHolder,
            _ => Refusal::Gone,
        }
    }
}

impl Lease for Owner {
    fn acquire(&mut self, key: &str, holder: &str, ttl: Duration, timeout: Duration) -> Done<Grant> {
        let asked = boot_now();
        let id = holder_id(holder, &new_incarnation());
        let step = self.take(key, &id, ttl, &mut Patience::new(timeout));
        Done::of(asked, step)
    }

    fn renew(&mut self, grant: &Grant, ttl: Duration, timeout: Duration) -> Done<()> {
        let asked = boot_now();
        let step = self.extend(grant, ttl, &mut Patience::new(timeout));
        self.desk.disconnect();
        Done::of(asked, step)
    }

    fn release(&mut self, grant: &Grant, timeout: Duration) -> Done<()> {
        let asked = boot_now();
        let step = self.give_up(grant, &mut Patience::new(timeout));
        self.desk.disconnect();
        Done::of(asked, step)
    }

    fn reconnect(&mut self) {
        for granted in &mut self.granted {
            granted.session.disconnect();
        }
        if let Some((_, spare)) = &mut self.spare {
            spare.disconnect();
        }
        self.desk.disconnect();
    }
}
