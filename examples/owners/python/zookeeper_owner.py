#!/usr/bin/env python3
"""A worker that holds a lease on ZooKeeper by kazoo: copy this and owner.py, which has the loop and the contract.

    leaseproof verify --store zookeeper://127.0.0.1:2181 -- python3 zookeeper_owner.py      (pip install kazoo)

One ephemeral node, and the session that made it. kazoo's own Lock is a queue of nodes that nobody looks at once the
first of them has the lock; this worker looks at its node with each renewal, and so hears of its removal too.
"""

import logging
import secrets
import sys
from urllib.parse import urlsplit

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NodeExistsError
from owner import HEARTBEAT, KEY, OWNER, STORE, TIMEOUT, TTL, Grant, boot_ns, run


class ZooKeeperStore:
    def __init__(self, url):
        logging.basicConfig(level=logging.ERROR)
        # The server may grant another time-out than this: at least two of its ticks, at most twenty by default.
        # `leaseproof verify` says so where it does (LP022).
        self.client = KazooClient(hosts=urlsplit(url).netloc, timeout=TTL / 1e9)
        self.errors = (KazooException, self.client.handler.timeout_exception)
        self.started = False

    def ask(self, operation, *arguments, **named):
        """One request: its answer. Sound: it is waited for no longer than a renewal may take."""
        return operation(*arguments, **named).get(timeout=TIMEOUT / 1e9)

    def acquire(self):
        if not self.started:
            # It connects by itself from now on, and opens another session where one is over.
            self.client.start_async()
            self.started = True
        # Sound: a value of its own for each try, so that what an unanswered one made is known for what it is.
        incarnation = secrets.token_hex(8)
        value = f"{OWNER}#{incarnation}#{TTL // 1_000_000}".encode()
        try:
            _, stat = self.ask(
                self.client.create_async, f"/{KEY}", value, ephemeral=True, makepath=True, include_data=True
            )
            return Grant(stat.czxid, incarnation)
        except NodeExistsError:
            return self.take_back()
        except self.errors as error:
            print(f"zookeeper: acquire: {error!r}", file=sys.stderr)
            return None

    def take_back(self):
        """Gives up a node that an unanswered try of this very process made, since kazoo would keep it for ever."""
        try:
            value, _ = self.ask(self.client.get_async, f"/{KEY}")
        except self.errors as error:
            print(f"zookeeper: {error!r}", file=sys.stderr)
            return None
        if value.startswith(f"{OWNER}#".encode()):
            self.end()
        return False

    def end(self):
        """Ends the session, and with it whatever it made: True, or None where nobody knows.

        Sound: a deletion without an answer would wait in kazoo until it is connected again, and could meet the next
        holder's node.
        """
        began = boot_ns()
        self.started = False
        try:
            self.client.stop()
        except self.errors as error:
            print(f"zookeeper: {error!r}", file=sys.stderr)
            return None
        # Where the server does not answer, kazoo waits for longer than this.
        return True if boot_ns() - began < TIMEOUT else None

    def renew(self, grant):
        try:
            # Sound: whatever the server gets on a session extends it. A node that is there with the transaction that
            # made it was there, and its session too, when this was asked.
            stat = self.ask(self.client.exists_async, f"/{KEY}")
        except self.errors as error:
            print(f"zookeeper: renew: {error!r}", file=sys.stderr)
            return None
        # Sound: kazoo may have opened another session meanwhile, and the node may be another's.
        return stat is not None and (stat.czxid, stat.ephemeralOwner) == (grant.token, self.client.client_id[0])

    def release(self, grant):
        answer = self.renew(grant)
        return self.end() if answer else answer


if __name__ == "__main__":
    # Sound: kazoo pings by itself once nothing was sent for about a third of the time-out, and a ping is a renewal that
    # nobody here decided on. Who asks more often is never idle.
    run(ZooKeeperStore(STORE), again=False, heartbeat=min(HEARTBEAT, TTL // 6))
