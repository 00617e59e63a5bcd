"""An example of examples/owners/python with the mistake that its store invites, so that its proven verdict is seen to
depend on what the example does:

    flawed_example.py etcd       any answer to a keep-alive is a renewal
    flawed_example.py postgres   a renewal names the key and not the grant
    flawed_example.py zookeeper  there is a node, so it must be ours
    flawed_example.py consul     the answer "no such session" is an error like any other, and is tried again

Each works on until the store tells it otherwise, since its own deadline is off as well.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "examples/owners/python"))
import owner  # noqa: E402

# Longer than any test, and no sum of it overflows anything.
owner.VALID_FOR = 10**15


def etcd():
    from etcd_owner import EtcdStore

    class Flawed(EtcdStore):
        def renew(self, grant):
            return self.ask("/v3/lease/keepalive", {"ID": grant.incarnation}) is not None or None

    return Flawed(owner.STORE)


def postgres():
    from postgres_owner import PostgresStore

    class Flawed(PostgresStore):
        def renew(self, grant):
            extend = "UPDATE leaseproof_lease SET expires_at = now() + CAST(:ttl AS interval) WHERE key = :key"
            return self.ask(extend, grant.incarnation) is not None or None

    return Flawed(owner.STORE)


def zookeeper():
    from zookeeper_owner import ZooKeeperStore

    class Flawed(ZooKeeperStore):
        def renew(self, grant):
            try:
                return self.ask(self.client.exists_async, f"/{owner.KEY}") is not None
            except self.errors:
                return None

    return Flawed(owner.STORE)


def consul():
    from consul_owner import ConsulStore

    class Flawed(ConsulStore):
        def renew(self, grant):
            answer = self.ask("PUT", f"/v1/session/renew/{grant.incarnation}")
            return True if answer is not None and answer[0] == 200 else None

    return Flawed(owner.STORE)


if __name__ == "__main__":
    stores = {store.__name__: store for store in (etcd, postgres, zookeeper, consul)}
    owner.run(stores[sys.argv[1]](), again=False)
