#!/usr/bin/env python3
"""A worker that holds a lease on etcd, 3.4 or later: copy this and owner.py, which has the loop and the contract.

    leaseproof verify --store etcd://127.0.0.1:2379 -- python3 etcd_owner.py

It speaks etcd's JSON gateway by the standard library. One key on one etcd lease of its own; docs/stores/etcd.md says
why it is laid out so.
"""

import base64
import http.client
import json
import sys
from urllib.parse import urlsplit

from owner import KEY, OWNER, STORE, TIMEOUT, TTL, Grant, run


def text(value):
    return base64.b64encode(value.encode()).decode()


class EtcdStore:
    def __init__(self, url):
        self.members = urlsplit(url).netloc.rpartition("@")[2].split(",")
        self.connection = None

    def ask(self, path, question):
        """One request, sent once: its answer, or None where nobody knows what became of it."""
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection(self.members[0], timeout=TIMEOUT / 1e9)
            self.connection.request("POST", path, body=json.dumps(question))
            answer = self.connection.getresponse()
            body = answer.read()
            if answer.status == 200:
                return json.loads(body)
            print(f"etcd: {path}: {answer.status} {body[:200]!r}", file=sys.stderr)
        except (OSError, http.client.HTTPException, ValueError) as error:
            print(f"etcd: {path}: {error}", file=sys.stderr)
            # An answer may still come on this connection, to a question that nobody asks any more. The next question
            # goes to the next member, where there are several.
            self.connection.close()
            self.connection = None
            self.members.append(self.members.pop(0))
        return None

    def look(self):
        """The key as the cluster's majority has it: None where nobody knows, {} where it is absent."""
        answer = self.ask("/v3/kv/range", {"key": text(KEY)})
        if answer is None:
            return None
        return answer.get("kvs", [{}])[0]

    def acquire(self):
        found = self.look()
        if found != {}:
            # Who waits looks, and makes no lease that nobody will use.
            return None if found is None else False
        lease = self.ask("/v3/lease/grant", {"TTL": -(-TTL // 1_000_000_000)})
        if lease is None or "ID" not in lease:
            return None
        # Sound: a holder is one grant, never a name: the lease's id is in the value.
        value = f"{OWNER}#{int(lease['ID']):016x}"
        done = self.ask("/v3/kv/txn", {
            "compare": [{"key": text(KEY), "target": "CREATE", "create_revision": "0"}],
            "success": [{"request_put": {"key": text(KEY), "value": text(value), "lease": lease["ID"]}}],
        })
        if done is None or not done.get("succeeded"):
            # Where the put was applied and its answer lost, the key goes with its lease.
            self.ask("/v3/lease/revoke", {"ID": lease["ID"]})
            return None if done is None else False
        return Grant(int(done["header"]["revision"]), lease["ID"])

    def renew(self, grant):
        answer = self.ask("/v3/lease/keepalive", {"ID": grant.incarnation})
        if answer is None or "result" not in answer:
            return None
        # Sound: a lease that is over answers 200 as well, without a TTL.
        if int(answer["result"].get("TTL", 0)) <= 0:
            return False
        # Sound: a lease lives on when its key was taken or removed, so that the key is looked at, after it.
        found = self.look()
        if found is None:
            return None
        return int(found.get("mod_revision", 0)) == grant.token

    def release(self, grant):
        done = self.ask("/v3/kv/txn", {
            "compare": [{"key": text(KEY), "target": "MOD", "mod_revision": str(grant.token)}],
            "success": [{"request_delete_range": {"key": text(KEY)}}],
        })
        self.ask("/v3/lease/revoke", {"ID": grant.incarnation})
        return None if done is None else bool(done.get("succeeded"))


if __name__ == "__main__":
    run(EtcdStore(STORE), again=False)
