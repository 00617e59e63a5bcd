#!/usr/bin/env python3
"""A worker that holds a lease in a table of PostgreSQL: copy this and owner.py, which has the loop and the contract.

    leaseproof verify --store 'postgres://me:secret@127.0.0.1/locks' -- python3 postgres_owner.py   (pip install pg8000)

The table, and why the statements are as long as they are: docs/stores/postgres.md.
"""

import secrets
import sys
from urllib.parse import unquote, urlsplit

import pg8000.native
from owner import KEY, OWNER, STORE, TIMEOUT, TTL, Grant, run

# Sound: the clock is the server's, and is read after the row is locked. A statement that waited for the row would
# compare with a time from before, and revive a lease that is over.
ACQUIRE = """
INSERT INTO leaseproof_lease AS lease (key, holder, incarnation, token, granted_at, renewed_at, expires_at)
SELECT :key, :holder, :incarnation, 1, at, at, at + CAST(:ttl AS interval)
FROM (SELECT clock_timestamp() AS at OFFSET 0) AS now
ON CONFLICT (key) DO UPDATE SET
    holder = excluded.holder, incarnation = excluded.incarnation, token = lease.token + 1,
    (granted_at, renewed_at, expires_at) = (
        SELECT at, at, at + CAST(:ttl AS interval)
        FROM (SELECT clock_timestamp() AS at WHERE lease.key IS NOT NULL OFFSET 0) AS now)
WHERE lease.holder IS NULL OR lease.expires_at <= clock_timestamp()
RETURNING lease.token"""

# Sound: holder, incarnation and token are compared, the expiry too, and all of it in the statement that changes the
# row.
JUDGED = """
WITH locked AS MATERIALIZED (
    SELECT holder, incarnation, token, expires_at FROM leaseproof_lease WHERE key = :key FOR NO KEY UPDATE),
judged AS MATERIALIZED (
    SELECT at, (holder, incarnation, token) IS NOT DISTINCT FROM
        (CAST(:holder AS text), CAST(:incarnation AS text), CAST(:token AS bigint)) AND expires_at > at AS ours
    FROM (SELECT locked.*, clock_timestamp() AS at FROM locked OFFSET 0) AS now)
"""
RENEW = JUDGED + """
UPDATE leaseproof_lease AS lease SET renewed_at = at, expires_at = at + CAST(:ttl AS interval)
FROM judged WHERE lease.key = :key AND ours RETURNING 1"""
RELEASE = JUDGED + """
UPDATE leaseproof_lease AS lease
SET holder = NULL, incarnation = NULL, granted_at = NULL, renewed_at = NULL, expires_at = NULL
FROM judged WHERE lease.key = :key AND ours RETURNING 1"""


class PostgresStore:
    def __init__(self, url):
        place = urlsplit(url)
        self.place = {
            "user": unquote(place.username or ""), "password": unquote(place.password or ""),
            "host": place.hostname, "port": place.port or 5432, "database": place.path.removeprefix("/") or None,
        }
        self.connection = None

    def ask(self, statement, incarnation, **more):
        """One statement, a transaction of its own: its rows, or None where nobody knows what became of it."""
        try:
            if self.connection is None:
                # Sound: an answer that does not come is waited for no longer than this.
                self.connection = pg8000.native.Connection(**self.place, timeout=TIMEOUT / 1e9)
            ttl = f"{TTL // 1_000_000} milliseconds"
            values = {"key": KEY, "holder": OWNER, "incarnation": incarnation, "ttl": ttl, **more}
            return self.connection.run(statement, **values)
        except (OSError, pg8000.native.Error) as error:
            print(f"postgres: {error}", file=sys.stderr)
            self.forget()
            return None

    def forget(self):
        """A connection on which an answer may still come is of no more use."""
        connection, self.connection = self.connection, None
        try:
            if connection is not None:
                connection.close()
        except (OSError, pg8000.native.Error):
            pass

    def acquire(self):
        incarnation = secrets.token_hex(8)
        rows = self.ask(ACQUIRE, incarnation)
        if not rows:
            return None if rows is None else False
        return Grant(rows[0][0], incarnation)

    def renew(self, grant):
        rows = self.ask(RENEW, grant.incarnation, token=grant.token)
        return None if rows is None else rows != []

    def release(self, grant):
        rows = self.ask(RELEASE, grant.incarnation, token=grant.token)
        return None if rows is None else rows != []


if __name__ == "__main__":
    run(PostgresStore(STORE), again=False)
