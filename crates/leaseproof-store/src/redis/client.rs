//! A client of one store, hidden behind blocking calls that end in running time.
//!
//! The library's reconnecting manager, its Sentinel and its cluster client are not used: a new connection
//! is an event, with a new look at who answers, and none of them says whether a request can have left.

mod cluster;

use crate::clock::boot_now;
use crate::error::StoreError;
use crate::inspect::Allowed;
use crate::patience::Patience;
use crate::redis::allow::allows;
use crate::redis::link::{Link, failed, unreachable};
use crate::redis::monitor::follow;
use crate::redis::sentinels::{For, Sentinels};
use crate::redis::server::Server;
use crate::redis::slots::{self, Routes};
use crate::url::{Place, RedisUrl, Way};
use crate::wire::{Failed, Gate, Gated, Tls};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::inspect::store_view::Monitored;
use redis::{Arg, Cmd, Pipeline, Value, cmd, pipe};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;

/// After so many time-outs in a row a connection is given up: the network may have forgotten it.
const TIME_OUTS: u8 = 3;

/// After so long without an answer the Sentinels are asked first.
const IDLE: Duration = Duration::from_millis(200);

/// How long the Sentinels may take to confirm an answer.
const CONFIRM: Duration = Duration::from_millis(500);

/// A client of one store: one server, the primary that Sentinels name, or the servers of a cluster.
pub(crate) struct Client {
    url: RedisUrl,
    connect_timeout: Duration,
    /// All that may be sent, where that is bounded.
    allowed: Option<&'static [Allowed]>,
    tls: Option<Tls>,
    /// One, but for a cluster.
    links: Vec<Link>,
    /// Who answered last.
    last: Option<Place>,
    answered: BootNanos,
    sentinels: Sentinels,
    routes: Routes,
    /// Always there until it is dropped in the background: a look-up of a name may hang in it.
    runtime: Option<Runtime>,
}

impl Client {
    /// A client that is not connected yet.
    pub(crate) fn new(url: &RedisUrl, connect_timeout: Duration) -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .build()
            .map_err(|error| StoreError::Unexpected(format!("no event loop: {error}")))?;
        Ok(Self {
            url: url.clone(),
            connect_timeout,
            allowed: None,
            tls: url
                .tls
                .then(|| Tls::new(url.ca.as_deref(), url.tls_name(url.place()), url))
                .transpose()?,
            links: Vec::new(),
            last: None,
            answered: BootNanos(0),
            sentinels: Sentinels::new(url),
            routes: Routes::default(),
            runtime: Some(runtime),
        })
    }

    /// Lets nothing through that is not in this list.
    pub(crate) fn only(mut self, allowed: &'static [Allowed]) -> Self {
        self.allowed = Some(allowed);
        self
    }

    pub(crate) fn url(&self) -> &RedisUrl {
        &self.url
    }

    /// The token counter of a lease.
    pub(crate) fn counter(&self, key: &[u8]) -> Vec<u8> {
        match self.url.way {
            Way::Cluster => slots::counter(key),
            _ => [key, b":token"].concat(),
        }
    }

    /// The lease of a counter.
    pub(crate) fn counted<'k>(&self, counter: &'k [u8]) -> Option<&'k [u8]> {
        match self.url.way {
            Way::Cluster => slots::counted(counter),
            _ => counter.strip_suffix(b":token"),
        }
    }

    /// Drops the connections; nothing of them reaches a server any more.
    pub(crate) fn disconnect(&mut self) {
        for link in self.links.drain(..) {
            link.cut();
        }
        self.sentinels.disconnect();
        self.routes = Routes::default();
    }

    /// Who answers, connecting if need be.
    pub(crate) fn server(&mut self, patience: &mut Patience) -> Result<&Server, StoreError> {
        let place = self.place_of(None, patience)?;
        Ok(&self.connected(&place, patience)?.1.server)
    }

    /// Who answered last, without a look at the network.
    pub(crate) fn connected_server(&self) -> Option<&Server> {
        let last = self.last.as_ref()?;
        self.links
            .iter()
            .find(|link| link.place == *last)
            .map(|link| &link.server)
    }

    /// Where the server is that answered last.
    pub(crate) fn place(&self) -> Option<&Place> {
        self.last.as_ref()
    }

    /// When the last answer was there.
    pub(crate) fn answered(&self) -> BootNanos {
        self.answered
    }

    /// All servers that have keys.
    pub(crate) fn servers(&mut self, patience: &mut Patience) -> Result<Vec<Place>, StoreError> {
        let any = self.place_of(None, patience)?;
        Ok(match self.url.way {
            Way::Cluster => self.routes.servers(),
            _ => vec![any],
        })
    }

    /// Sends commands that name no key and reads an answer to each; errors of the server are answers.
    pub(crate) fn ask(&mut self, commands: &Pipeline, patience: &mut Patience) -> Result<Vec<Value>, Failed> {
        self.ask_of(None, commands, patience)
    }

    /// The same about a key: the server that has it is asked.
    pub(crate) fn ask_about(
        &mut self,
        key: &[u8],
        commands: &Pipeline,
        patience: &mut Patience,
    ) -> Result<Vec<Value>, Failed> {
        self.ask_of(Some(key), commands, patience)
    }

    /// The same of one of [`Self::servers`].
    pub(crate) fn ask_at(
        &mut self,
        place: &Place,
        commands: &Pipeline,
        patience: &mut Patience,
    ) -> Result<Vec<Value>, Failed> {
        match self.url.way {
            Way::Cluster => self.exchange(place, commands, false, patience),
            _ => self.ask_of(None, commands, patience),
        }
    }

    fn ask_of(
        &mut self,
        key: Option<&[u8]>,
        commands: &Pipeline,
        patience: &mut Patience,
    ) -> Result<Vec<Value>, Failed> {
        self.check(commands.cmd_iter()).map_err(Failed::NotSent)?;
        match self.url.way {
            Way::Cluster => return self.ask_cluster(key, commands, patience),
            Way::Server | Way::Quorum | Way::Sentinel { .. } => {}
        }
        let place = self.place_of(None, patience).map_err(Failed::NotSent)?;
        let answers = self.exchange(&place, commands, false, patience)?;
        if matches!(self.url.way, Way::Sentinel { .. }) {
            self.confirm(&place, patience).map_err(Failed::Unknown)?;
        }
        Ok(answers)
    }

    /// An old primary that was paused or cut off still says that it is one, and takes writes that are lost.
    /// So an answer counts only if the Sentinels, asked after it, still name the server that gave it.
    fn confirm(&mut self, place: &Place, patience: &mut Patience) -> Result<(), StoreError> {
        // An answer at the very end of the patience is worth a confirmation, too.
        let mut part = Patience::new(patience.left().max(CONFIRM));
        let whole = part.left();
        let primary = self.named(For::Confirmation, &mut part);
        patience.take(whole.saturating_sub(part.left()));
        let primary = primary?;
        if primary == *place {
            return Ok(());
        }
        self.drop_link(place);
        let why =
            format!("{place} answers, and the Sentinels name {primary} as the primary: its answer does not count");
        Err(unreachable(&self.url, &why))
    }

    /// The primary by the newest word of the Sentinels.
    pub(crate) fn primary(&mut self, patience: &mut Patience) -> Result<Place, StoreError> {
        self.named(For::Connection, patience)
    }

    fn named(&mut self, purpose: For, patience: &mut Patience) -> Result<Place, StoreError> {
        for question in Sentinels::questions("").iter() {
            self.check(std::iter::once(question))?;
        }
        let Self {
            url,
            tls,
            sentinels,
            runtime,
            ..
        } = self;
        // Invariant: taken by drop alone.
        let runtime = runtime.as_ref().expect("the runtime lives as long as the client");
        runtime.block_on(sentinels.primary(url, tls.as_ref(), purpose, patience))
    }

    /// The server to be asked; for a cluster, the one that has the slot.
    fn place_of(&mut self, slot: Option<u16>, patience: &mut Patience) -> Result<Place, StoreError> {
        match self.url.way {
            Way::Server | Way::Quorum => Ok(self.url.place().clone()),
            Way::Sentinel { .. } => {
                self.forget_ended();
                let Some(place) = self.links.first().map(|link| link.place.clone()) else {
                    return self.primary(patience);
                };
                // Another may have taken over meanwhile, and the old one may never answer.
                if boot_now().since(self.answered) > IDLE
                    && let Ok(primary) = self.named(For::Confirmation, patience)
                    && primary != place
                {
                    self.drop_link(&place);
                    return Ok(primary);
                }
                Ok(place)
            }
            Way::Cluster => self.place_of_slot(slot, patience),
        }
    }

    /// Sends commands to a server and reads an answer to each.
    fn exchange(
        &mut self,
        place: &Place,
        commands: &Pipeline,
        asking: bool,
        patience: &mut Patience,
    ) -> Result<Vec<Value>, Failed> {
        let mut whole;
        let commands = if asking {
            let ask = cmd("ASKING");
            self.check(std::iter::once(&ask)).map_err(Failed::NotSent)?;
            whole = pipe();
            whole.add_command(ask);
            for command in commands.cmd_iter() {
                whole.add_command(command.clone());
            }
            &whole
        } else {
            commands
        };
        let (runtime, link) = self.connected(place, patience).map_err(Failed::NotSent)?;
        let count = commands.cmd_iter().count();
        let before = link.gate.sent();
        let connection = &mut link.connection;
        let waited = patience.left();
        let answer = runtime.block_on(async {
            let work = pin!(connection.send_packed_commands(commands, 0, count));
            patience.wait(work).await
        });
        let error = match answer {
            Some(Ok(mut values)) => {
                link.time_outs = 0;
                self.answered = boot_now();
                self.last = Some(place.clone());
                if asking {
                    values.remove(0);
                }
                return Ok(values);
            }
            Some(Err(error)) => Some((error, Arc::clone(&link.gate))),
            None => None,
        };
        link.time_outs += 1;
        let unsent = link.gate.sent() == before;
        let given_up = unsent || error.is_some() || link.time_outs >= TIME_OUTS;
        // A silent server may be the primary no more: the Sentinels are asked anew.
        if given_up || matches!(self.url.way, Way::Sentinel { .. }) {
            self.drop_link(place);
        }
        let error = match error {
            Some((error, gate)) => failed(&self.url, &error, &gate),
            None => StoreError::TimedOut(waited),
        };
        Err(if unsent {
            Failed::NotSent(error)
        } else {
            Failed::Unknown(error)
        })
    }

    /// The one place that everything passes before it is sent, but for the login.
    fn check<'a>(&self, mut commands: impl Iterator<Item = &'a Cmd>) -> Result<(), StoreError> {
        let Some(allowed) = self.allowed else { return Ok(()) };
        match commands.find(|command| !allows(allowed, command)) {
            None => Ok(()),
            Some(command) => Err(StoreError::Unexpected(format!(
                "{} was not sent: it is not in the list of what looking may send",
                name(command)
            ))),
        }
    }

    /// Watches what passes at the server (MONITOR), on a connection of its own.
    pub(crate) fn monitor(&mut self, key: &[u8], span: Duration, lines: u64) -> Result<Monitored, StoreError> {
        if self.url.way != Way::Server {
            let why = "MONITOR shows one server, and this URL is of several: give redis://host:port of the one that has the key";
            return Err(unreachable(&self.url, &why));
        }
        let mut login = Vec::new();
        if let Some(password) = &self.url.password {
            let mut auth = redis::cmd("AUTH");
            auth.arg(&self.url.user).arg(password);
            login.push(auth);
        }
        login.push(redis::cmd("MONITOR"));
        self.check(login.iter())?;
        let runtime = self.runtime.as_ref().expect("the runtime lives as long as the client");
        let place = self.url.place();
        let work = async {
            let gate = Arc::new(Gate::default());
            let open = Gated::connect(&place.host, place.port, self.tls.as_ref(), gate);
            let mut stream = tokio::time::timeout(self.connect_timeout, open)
                .await
                .map_err(|_| format!("no answer within {:?}", self.connect_timeout))?
                .map_err(|error| error.to_string())?;
            for command in &login {
                let packed = command.get_packed_command();
                stream.write_all(&packed).await.map_err(|error| error.to_string())?;
            }
            follow(stream, key, login.len(), span, lines).await
        };
        runtime.block_on(work).map_err(|why| unreachable(&self.url, &why))
    }

    /// Drops the connections that the other side closed.
    fn forget_ended(&mut self) {
        let runtime = self.runtime.as_ref().expect("the runtime lives as long as the client");
        if !self.links.is_empty() {
            // Between calls nobody looks at the socket. A close that already lies there is found
            // here, before a request is lost in it: one yield lets the socket be polled, the next
            // lets the driver read it.
            runtime.block_on(async {
                for _ in 0..3 {
                    yield_now().await;
                }
            });
            self.links.retain(|link| !link.driver.is_finished());
        }
    }

    fn drop_link(&mut self, place: &Place) {
        if let Some(at) = self.links.iter().position(|link| link.place == *place) {
            self.links.swap_remove(at).cut();
        }
    }

    /// The runtime and a link that was open a moment ago.
    fn connected(&mut self, place: &Place, patience: &mut Patience) -> Result<(&Runtime, &mut Link), StoreError> {
        self.forget_ended();
        let at = match self.links.iter().position(|link| link.place == *place) {
            Some(at) => at,
            None => {
                let mut part = Patience::new(self.connect_timeout.min(patience.left()));
                let allowed = part.left();
                let link = self.connect(place, &mut part);
                patience.take(allowed.saturating_sub(part.left()));
                self.links.push(link?);
                self.last = Some(place.clone());
                self.links.len() - 1
            }
        };
        let runtime = self.runtime.as_ref().expect("the runtime lives as long as the client");
        Ok((runtime, &mut self.links[at]))
    }

    fn connect(&self, place: &Place, patience: &mut Patience) -> Result<Link, StoreError> {
        if matches!(self.url.way, Way::Sentinel { .. }) {
            self.check(std::iter::once(&cmd("ROLE")))?;
        }
        let runtime = self.runtime.as_ref().expect("the runtime lives as long as the client");
        let allowed = patience.left();
        let link = runtime.block_on(async {
            let work = pin!(Link::open(&self.url, place, self.tls.as_ref()));
            patience.wait(work).await
        });
        link.unwrap_or_else(|| {
            let why = match self.url.way {
                // A server without TLS waits for the end of what it takes for a command.
                Way::Server if self.url.tls => {
                    format!("no answer within {allowed:?}: does this port speak TLS? redis:// asks for none")
                }
                Way::Server => format!("no answer within {allowed:?}"),
                _ => format!("{place}: no answer within {allowed:?}"),
            };
            Err(unreachable(&self.url, &why))
        })
    }
}

/// A command's name, for an error: never its arguments.
fn name(command: &Cmd) -> String {
    match command.args_iter().next() {
        Some(Arg::Simple(name)) => String::from_utf8_lossy(name).into_owned(),
        _ => "a command".to_owned(),
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.disconnect();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
