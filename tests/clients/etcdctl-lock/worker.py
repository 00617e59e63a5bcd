"""The command that `etcdctl lock` runs while it holds the lock. It is told the lock's key and a revision, and
nothing ever after: whether the lock still stands is the parent's to know."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from contract import WRITE_EVERY_S, Resource, asked_to_stop, on_sigterm, say  # noqa: E402


def main():
    on_sigterm()
    token = int(os.environ["ETCD_LOCK_REV"])
    say("acquired", token=token)
    resource = Resource(token)
    while not asked_to_stop.wait(WRITE_EVERY_S):
        resource.write()


if __name__ == "__main__":
    main()
