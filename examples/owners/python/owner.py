#!/usr/bin/env python3
"""A worker that holds a lease and writes under it: copy this to test a worker of your own.

    leaseproof verify -- python3 owner.py
    leaseproof verify --store redis://127.0.0.1:6379 -- python3 owner.py      (pip install redis)

For etcd, PostgreSQL, ZooKeeper and Consul there is a file each beside this one, which brings the store's operations
and takes all the rest from here.

It speaks the owner contract (docs/owners.md): variables in, JSON lines out, protected writes by HTTP.
What makes it sound is marked with "Sound:"; the rest is plumbing.
"""

import http.client
import json
import os
import secrets
import signal
import sqlite3
import sys
import time
from urllib.parse import urlsplit

STORE = os.environ["LEASEPROOF_STORE"]
KEY = os.environ["LEASEPROOF_KEY"]
OWNER = os.environ["LEASEPROOF_OWNER"]
RESOURCE = os.environ["LEASEPROOF_RESOURCE"]
TTL = int(os.environ["LEASEPROOF_TTL_MS"]) * 1_000_000
HEARTBEAT = int(os.environ["LEASEPROOF_HEARTBEAT_MS"]) * 1_000_000
TIMEOUT = int(os.environ.get("LEASEPROOF_RENEW_TIMEOUT_MS", "200")) * 1_000_000
WRITE_EVERY = max(HEARTBEAT // 5, 20_000_000)

# Sound: the store's clock may run a little faster than ours, so that we give up a little earlier.
VALID_FOR = TTL - max(TTL // 100, 5_000_000)


def boot_ns():
    """Sound: this clock runs on while the machine is suspended, and nobody can step it."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def say(event, **fields):
    """One event, one JSON line, at once: a line that waits in a buffer arrives too late to prove anything."""
    print(json.dumps({"lease": event, "boot_ns": boot_ns(), **fields}), flush=True)


class Grant:
    """Sound: a holder is one grant, never a name. Two grants of one worker differ by the incarnation."""

    def __init__(self, token, incarnation):
        self.token = token
        self.incarnation = incarnation


# Each store's three operations answer True (applied), False (refused, for certain) or None (nobody knows).


class SqliteStore:
    """The embedded store: the table and its three statements are in docs/sqlite.md."""

    ACQUIRE = """
        INSERT INTO lease (key, holder, incarnation, token, granted_boot_ns, renewed_boot_ns, expires_boot_ns, boot_id)
        VALUES (:key, :holder, :incarnation, 1, :now, :now, :now + :ttl, :boot_id)
        ON CONFLICT (key) DO UPDATE SET
            holder = excluded.holder, incarnation = excluded.incarnation, token = lease.token + 1,
            granted_boot_ns = excluded.granted_boot_ns, renewed_boot_ns = excluded.renewed_boot_ns,
            expires_boot_ns = excluded.expires_boot_ns, boot_id = excluded.boot_id
        WHERE lease.holder IS NULL
           OR lease.expires_boot_ns <= :now
           OR (lease.expires_boot_ns IS NOT NULL AND lease.boot_id IS NOT :boot_id)"""
    MINE = """ WHERE key = :key AND holder = :holder AND incarnation = :incarnation AND token = :token
        AND boot_id = :boot_id AND expires_boot_ns > :now"""
    RENEW = "UPDATE lease SET renewed_boot_ns = :now, expires_boot_ns = :now + :ttl" + MINE
    RELEASE = """UPDATE lease SET holder = NULL, incarnation = NULL, granted_boot_ns = NULL,
        renewed_boot_ns = NULL, expires_boot_ns = NULL, boot_id = NULL""" + MINE

    def __init__(self, path):
        self.path = path
        self.db = None
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            self.boot_id = file.read().strip()

    def transaction(self, statement, incarnation, token=None):
        """One statement in a transaction of its own: whether it changed the row, and the row's token."""
        try:
            if self.db is None:
                self.db = sqlite3.connect(self.path, timeout=TIMEOUT / 1e9, isolation_level=None)
                self.db.execute("PRAGMA synchronous = NORMAL")
            # Sound: IMMEDIATE takes the write lock first, and the clock is read while it is held.
            self.db.execute("BEGIN IMMEDIATE")
            values = {"key": KEY, "holder": OWNER, "incarnation": incarnation, "token": token, "ttl": TTL,
                      "boot_id": self.boot_id, "now": boot_ns()}
            changed = self.db.execute(statement, values).rowcount == 1
            (counter,) = self.db.execute("SELECT token FROM lease WHERE key = ?", (KEY,)).fetchone() or (None,)
            self.db.execute("COMMIT")
            return changed, counter
        except sqlite3.Error as error:
            print(f"sqlite: {error}", file=sys.stderr)
            if self.db is not None:
                self.db.close()  # This rolls back what was begun.
                self.db = None
            return None, None

    def acquire(self):
        incarnation = secrets.token_hex(8)
        changed, token = self.transaction(self.ACQUIRE, incarnation)
        return Grant(token, incarnation) if changed else changed

    def renew(self, grant):
        return self.transaction(self.RENEW, grant.incarnation, grant.token)[0]

    def release(self, grant):
        return self.transaction(self.RELEASE, grant.incarnation, grant.token)[0]


class RedisStore:
    """Sound: each operation is one script, so that its condition and its effect can't be torn apart."""

    ACQUIRE = """
        if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
        local token = redis.call('INCR', KEYS[2])
        redis.call('SET', KEYS[1], ARGV[1] .. '#' .. token, 'PX', ARGV[2])
        return token"""
    RENEW = """
        if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        return redis.call('PEXPIRE', KEYS[1], ARGV[2])"""
    RELEASE = """
        if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        return redis.call('DEL', KEYS[1])"""

    def __init__(self, url):
        import redis  # Needed for this store only.
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        self.error = redis.RedisError
        # Sound: no retry behind our back, since a renewal that is sent again later is another renewal.
        self.client = redis.Redis.from_url(
            url, socket_timeout=TIMEOUT / 1e9, socket_connect_timeout=TIMEOUT / 1e9, retry=Retry(NoBackoff(), 0)
        )

    def script(self, text, *keys_and_arguments, keys=1):
        try:
            return self.client.eval(text, keys, *keys_and_arguments)
        except (self.error, OSError) as error:
            print(f"redis: {error}", file=sys.stderr)
            self.client.connection_pool.disconnect()
            return None

    def value(self, grant):
        return f"{OWNER}#{grant.incarnation}#{grant.token}"

    def acquire(self):
        incarnation = secrets.token_hex(8)
        token = self.script(self.ACQUIRE, KEY, f"{KEY}:token", f"{OWNER}#{incarnation}", TTL // 1_000_000, keys=2)
        return Grant(token, incarnation) if token else token

    def renew(self, grant):
        answer = self.script(self.RENEW, KEY, self.value(grant), TTL // 1_000_000)
        return None if answer is None else answer == 1

    def release(self, grant):
        answer = self.script(self.RELEASE, KEY, self.value(grant))
        return None if answer is None else answer == 1


class Resource:
    """What the lease protects. The token goes with each write, so that the resource can refuse a late one."""

    def __init__(self, url):
        self.url = urlsplit(url)
        self.connection = None

    def write(self, token):
        """Whether the resource took it; None where it gave no answer."""
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection(self.url.netloc, timeout=HEARTBEAT / 1e9)
            headers = {"Lease-Owner": OWNER, "Fencing-Token": str(token)}
            self.connection.request("POST", f"{self.url.path}/write", body=b"", headers=headers)
            answer = self.connection.getresponse()
            answer.read()
            return answer.status == 200
        except (OSError, http.client.HTTPException) as error:
            print(f"resource: {error}", file=sys.stderr)
            self.connection.close()
            self.connection = None
            return None


def hold(store, resource, grant, valid_until, heartbeat):
    """Works until the lease is lost; comes back at once when it is, or when it is asked to stop."""
    next_renewal = valid_until - VALID_FOR + heartbeat
    next_write = boot_ns()
    while not stopping:
        now = boot_ns()
        if now >= valid_until:
            # Sound: no answer is needed to know this. A frozen process finds out here when it wakes.
            return "its time is over"
        if now >= next_renewal:
            # Sound: validity counts from before the request is sent: the store may have done it at once.
            sent = boot_ns()
            answer = store.renew(grant)
            if answer is False:
                say("renew_failed", definite=True, reason="not the holder")
                return "not the holder"
            if answer is None:
                # Sound: an unknown outcome extends nothing, and whether we still hold it is asked again soon.
                say("renew_failed", definite=False, reason="no answer")
                next_renewal = boot_ns() + heartbeat // 20
            elif boot_ns() < sent + VALID_FOR:
                valid_until = sent + VALID_FOR
                # Sound: the next one counts from now, so that missed ones are not made up in a burst.
                next_renewal = sent + heartbeat
                say("renewed", token=grant.token, valid_until_boot_ns=valid_until)
            continue
        if now >= next_write:
            next_write = now + WRITE_EVERY
            # Sound: checked at each write, right before it. What falls between can only be fenced.
            if resource.write(grant.token) is False:
                say("write_refused", reason="stale fence", token=grant.token)
                return "the resource has seen a later token"
            continue
        time.sleep(max(0, min(next_write, next_renewal, valid_until, now + 50_000_000) - boot_ns()) / 1e9)
    return None


def run(store, again=True, heartbeat=HEARTBEAT):
    """Works under the lease until SIGTERM. Once it is lost: acquires anew, or, without `again`, leaves that to its
    supervisor, which starts a new process."""
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    resource = Resource(RESOURCE)
    waiting = False
    while not stopping:
        sent = boot_ns()
        grant = store.acquire()
        if grant and boot_ns() >= sent + VALID_FOR:
            # It took too long: nobody knows how much of it is left, and nobody needs to wait for its end.
            store.release(grant)
            grant = None
        if not grant:
            if not waiting:
                waiting = True
                say("waiting")
            time.sleep(min(HEARTBEAT // 5, 50_000_000) / 1e9)
            continue
        waiting = False
        say("acquired", token=grant.token, valid_until_boot_ns=sent + VALID_FOR)
        why = hold(store, resource, grant, sent + VALID_FOR, heartbeat)
        if why is None:
            if store.release(grant):
                say("released", token=grant.token)
            continue
        say("lost", token=grant.token, reason=why)
        if not again:
            # Not at once: a supervisor starts the next, and a store in trouble is not to be asked in a burst.
            time.sleep(HEARTBEAT / 1e9)
            sys.exit(1)


stopping = False


def stop(*_):
    global stopping
    stopping = True


if __name__ == "__main__":
    run(SqliteStore(STORE.removeprefix("sqlite:")) if STORE.startswith("sqlite:") else RedisStore(STORE))
