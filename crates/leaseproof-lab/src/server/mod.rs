//! A store's server that leaseproof itself started, of one member or several: the only kind that faults of a
//! store may meet.
//!
//! - `recipe`: how each kind of server is started
//! - `room`: where a member lives
//! - `member`: one process

mod last_words;
mod member;
mod recipe;
mod room;

pub use recipe::{ALL, Recipe, Wanted};
pub use room::{Ports, Room};

use leaseproof_fault::launch::Launched;
use leaseproof_fault::shim::ShimFile;
use leaseproof_fault::warden::Warden;
use leaseproof_model::event::{MemberRole, Roles};
use leaseproof_model::moment::Moment;
use leaseproof_proc::clock::boot_now;
use leaseproof_proc::identity;
use leaseproof_store::StoreUrl;
use member::Member;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How often a start is tried: another may take a free port before the server does, if only for a connection.
const STARTS: u32 = 3;
/// One that fails later than this fails for another reason.
const SOON: Duration = Duration::from_secs(20);

/// A running server. Dropping it kills it; the warden does, should we not.
pub struct Server {
    wanted: Wanted,
    program: PathBuf,
    secret: String,
    ports: Vec<Ports>,
    members: Vec<Member>,
}

impl Server {
    /// Starts one with its data and its log in `dir`, and waits until it answers. With `stepped` its wall
    /// clock can be stepped.
    ///
    /// # Errors
    /// What is missing, or the last words of a server that did not start.
    pub fn start(wanted: Wanted, warden: &Warden, dir: &Path, stepped: bool) -> Result<Self, String> {
        let recipe = wanted.recipe;
        let fail = |error: io::Error| format!("a server of {} can't be started: {error}", recipe.kind);
        // A server has a folder of its own to be in.
        let program = recipe.find().and_then(|it| std::path::absolute(it).map_err(fail))?;
        let dir = std::path::absolute(dir).map_err(fail)?;
        let mut members = Vec::new();
        for number in 0..wanted.members {
            let dir = match wanted.members {
                1 => dir.clone(),
                _ => dir.join(format!("m{number}")),
            };
            members.push(Member::new(recipe, warden, &dir, stepped)?);
        }
        let mut server = Self {
            wanted,
            program,
            secret: identity::new_mark().map_err(fail)?,
            ports: Vec::new(),
            members,
        };
        let began = boot_now();
        for attempt in 1.. {
            server.ports = free_ports(wanted.members).map_err(fail)?;
            match server.run(warden) {
                Ok(()) => break,
                Err(why) if attempt == STARTS || boot_now().since(began) > SOON => return Err(why),
                Err(_) => {}
            }
            server.kill();
            for member in &server.members {
                member.empty()?;
            }
        }
        Ok(server)
    }

    /// How it is reached: all of its members.
    #[must_use]
    pub fn url(&self) -> StoreUrl {
        self.url_of(&self.ports)
    }

    /// How one of its members is reached.
    #[must_use]
    pub fn member_url(&self, number: usize) -> StoreUrl {
        match self.wanted.recipe.whole {
            Some(whole) => {
                let place = format!("127.0.0.1:{}", self.ports[number].client);
                // Invariant: a test parses each recipe's.
                (whole.url)(number, &place)
                    .parse()
                    .expect("a recipe's URL is one of a store")
            }
            None => self.url_of(&self.ports[number..=number]),
        }
    }

    /// How many members it has.
    #[must_use]
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// The tree of a member, for faults.
    #[must_use]
    pub fn launched(&self, number: usize) -> Option<&Launched> {
        self.members.get(number).and_then(Member::launched)
    }

    /// The clock of one that is alone.
    #[must_use]
    pub fn shim(&self) -> Option<&Arc<ShimFile>> {
        self.members.first().and_then(Member::shim)
    }

    /// What each member says of itself, and the interval in which all were asked; one that does not answer
    /// within `timeout` says nothing. Those in `silent` aren't asked: they stand still.
    #[must_use]
    pub fn roles(&self, timeout: Duration, silent: Option<usize>) -> (Moment, Roles) {
        let asked = boot_now();
        let leads = self.wanted.recipe.whole.map_or(usize::MAX, |whole| whole.leads);
        let members = self
            .members
            .iter()
            .enumerate()
            .take(leads)
            .filter_map(|(number, member)| {
                let process = member.launched()?.process();
                let role = (Some(number) != silent)
                    .then(|| leaseproof_store::role(&self.member_url(number), timeout).ok())
                    .flatten();
                Some(MemberRole { process, role })
            });
        let mut members: Vec<MemberRole> = members.collect();
        if self.wanted.recipe.whole.is_some() {
            // One that took over leads nobody before those that watch it have said so.
            let named = leaseproof_store::primary(&self.url(), timeout).ok();
            for (member, ports) in members.iter_mut().zip(&self.ports) {
                let is_named = named.as_ref().is_some_and(|(_, port)| *port == ports.client);
                if let Some(role) = &mut member.role {
                    role.leads &= is_named;
                }
            }
        }
        (Moment::between(asked, boot_now()), Roles { members })
    }

    /// Kills all of it with SIGKILL, as a crash would end it; the moment between which and which it died.
    pub fn kill(&mut self) -> Moment {
        let asked = boot_now();
        // All at once: the shorter it takes, the better is it known when nobody answered any more.
        std::thread::scope(|scope| {
            for member in &mut self.members {
                scope.spawn(|| member.kill());
            }
        });
        Moment::between(asked, boot_now())
    }

    /// Starts it again on the same ports, on its data or without.
    ///
    /// # Errors
    /// The last words of a server that did not start.
    pub fn again(&mut self, warden: &Warden, with_data: bool) -> Result<(), String> {
        for member in self.members.iter().filter(|_| !with_data) {
            member.empty()?;
        }
        let began = boot_now();
        for _ in 1..STARTS {
            match self.run(warden) {
                Ok(()) => return Ok(()),
                Err(why) if boot_now().since(began) > SOON => return Err(why),
                Err(_) => self.kill(),
            };
        }
        self.run(warden)
    }

    fn run(&mut self, warden: &Warden) -> Result<(), String> {
        // All at once: none of several answers alone.
        for number in 0..self.members.len() {
            let member = &mut self.members[number];
            let place = member.place().clone();
            let room = Room {
                program: &self.program,
                place: &place,
                number,
                members: &self.ports,
                secret: &self.secret,
            };
            member.start(warden, &room)?;
        }
        for (number, member) in self.members.iter().enumerate() {
            member.until_it_answers(&self.member_url(number))?;
            let room = Room {
                program: &self.program,
                place: member.place(),
                number,
                members: &self.ports,
                secret: &self.secret,
            };
            (self.wanted.recipe.settle)(&room);
        }
        Ok(())
    }

    fn url_of(&self, ports: &[Ports]) -> StoreUrl {
        let places: Vec<String> = ports
            .iter()
            .map(|ports| format!("127.0.0.1:{}", ports.client))
            .collect();
        (self.wanted.recipe.url)(&places, &self.secret)
            .parse()
            // Invariant: a test parses each recipe's.
            .expect("a recipe's URL is one of a store")
    }
}

/// Ports that nobody listens on now.
fn free_ports(members: usize) -> io::Result<Vec<Ports>> {
    Ok(leaseproof_proc::ports::free(members * 3)?
        .chunks_exact(3)
        .map(|three| Ports {
            client: three[0],
            peer: three[1],
            more: three[2],
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_each_recipe_is_one_of_its_store() {
        for recipe in ALL {
            let (least, watched) = recipe.whole.map_or((1, 0), |whole| (whole.members, whole.leads));
            for members in [least, recipe.most] {
                let places: Vec<String> = (1..=members).map(|number| format!("127.0.0.1:{number}")).collect();
                let url: StoreUrl = (recipe.url)(&places, "5f3c").parse().expect(recipe.kind);
                assert_eq!(url.kind(), recipe.kind);
                assert!(url.is_loopback());
                assert_eq!(url.places().len(), members - watched);
                for (number, place) in places.iter().enumerate() {
                    let url = recipe.whole.map(|whole| (whole.url)(number, place));
                    assert!(url.is_none_or(|url| url.parse::<StoreUrl>().is_ok()));
                }
                assert!(!url.to_string().contains("5f3c"), "{url}");
            }
        }
    }
}
