#!/usr/bin/env python3
"""A worker that holds a lease on Consul: copy this and owner.py, which has the loop and the contract.

    leaseproof verify --store 'consul://127.0.0.1:8500?lock_delay=1s' -- python3 consul_owner.py

It speaks Consul's HTTP API by the standard library. One key, locked by a session of its own for each grant;
docs/stores/consul.md says why it is laid out so.
"""

import base64
import http.client
import json
import secrets
import sys
from urllib.parse import parse_qs, quote, urlsplit

from owner import KEY, OWNER, STORE, TIMEOUT, TTL, Grant, run


class ConsulStore:
    def __init__(self, url):
        place = urlsplit(url)
        self.agents = place.netloc.rpartition("@")[2].split(",")
        self.connection = None
        # For so long after a loss nobody gets the key. A release has none.
        self.lock_delay = parse_qs(place.query).get("lock_delay", ["15s"])[0]

    def ask(self, method, path, question=None):
        """One request, sent once: status and answer, or None where nobody knows what became of it."""
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection(self.agents[0], timeout=TIMEOUT / 1e9)
            self.connection.request(method, path, body=None if question is None else json.dumps(question))
            answer = self.connection.getresponse()
            body = answer.read()
            if answer.status in (200, 404, 409):
                return answer.status, json.loads(body) if answer.status == 200 else None
            print(f"consul: {path}: {answer.status} {body[:200]!r}", file=sys.stderr)
        except (OSError, http.client.HTTPException, ValueError) as error:
            print(f"consul: {path}: {error}", file=sys.stderr)
            # An answer may still come on this connection, to a question that nobody asks any more. The next question
            # goes to the next agent, where there are several.
            self.connection.close()
            self.connection = None
            self.agents.append(self.agents.pop(0))
        return None

    def look(self):
        """The key as the leader has it: None where nobody knows, {} where it is absent."""
        answer = self.ask("GET", f"/v1/kv/{quote(KEY)}?consistent")
        if answer is None:
            return None
        return answer[1][0] if answer[0] == 200 else {}

    def change(self, verb, session, value):
        """Locks or unlocks the key, in one transaction: the change's number, False, or None."""
        value = base64.b64encode(value.encode()).decode()
        operation = {"Verb": verb, "Key": KEY, "Value": value, "Session": session}
        answer = self.ask("PUT", "/v1/txn", [{"KV": operation}])
        if answer is None:
            return None
        return answer[0] == 200 and answer[1]["Results"][0]["KV"]["ModifyIndex"]

    def end(self, session):
        self.ask("PUT", f"/v1/session/destroy/{session}")

    def acquire(self):
        found = self.look()
        if found is None or "Session" in found:
            # Who waits looks, and opens no session that nobody will use.
            return None if found is None else False
        # A session without health checks: its TTL ends it, and nothing else does.
        settings = {"TTL": f"{TTL // 1_000_000}ms", "LockDelay": self.lock_delay, "Behavior": "release", "NodeChecks": []}
        opened = self.ask("PUT", "/v1/session/create", settings)
        if opened is None or opened[0] != 200:
            return None
        session = opened[1]["ID"]
        # Sound: the fencing token is the change's number in the cluster's log, not the key's LockIndex, which begins
        # anew when the key is deleted.
        token = self.change("lock", session, f"{OWNER}#{secrets.token_hex(8)}#{TTL // 1_000_000}")
        if not token:
            # Where the lock was taken and its answer lost, it goes with the session.
            self.end(session)
            return token
        return Grant(token, session)

    def renew(self, grant):
        answer = self.ask("PUT", f"/v1/session/renew/{grant.incarnation}")
        if answer is None:
            return None
        # Sound: 404 is an answer, and the last word on this session. To urllib and others it is an error like any.
        if answer[0] == 404:
            return False
        # Sound: a session lives on when its key was taken or deleted, so that the key is looked at, after it.
        found = self.look()
        if found is None:
            return None
        return (found.get("Session"), found.get("ModifyIndex")) == (grant.incarnation, grant.token)

    def release(self, grant):
        done = self.change("unlock", grant.incarnation, OWNER)
        self.end(grant.incarnation)
        return None if done is None else bool(done)


if __name__ == "__main__":
    run(ConsulStore(STORE), again=False)
