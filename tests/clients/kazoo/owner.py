"""A worker on kazoo's Lock.

    owner.py            works as long as it is not asked to stop, as if a lock that was got were kept
    owner.py --listens  stops with the first word that the session is suspended or lost, before it writes again
"""

import logging
import os
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import KazooException

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from contract import KEY, OWNER, STORE, TTL_S, WRITE_EVERY_S, Resource, asked_to_stop, on_sigterm, say  # noqa: E402


def main():
    listens = "--listens" in sys.argv
    logging.basicConfig(level=logging.ERROR)
    on_sigterm()
    place = urlsplit(STORE)
    client = KazooClient(hosts=f"{place.hostname}:{place.port}", timeout=TTL_S)
    # Set from the first word that the session may be over, until a new lock is got.
    doubt = threading.Event()
    client.add_listener(lambda state: doubt.set() if state != KazooState.CONNECTED else None)
    client.start(timeout=30)
    resource = Resource()
    while not asked_to_stop.is_set():
        lock = client.Lock(f"/{KEY}", identifier=OWNER)
        try:
            doubt.clear()
            lock.acquire()
            if listens and doubt.is_set():
                # It may have been got before the word.
                lock.release()
                continue
        except KazooException as error:
            print(f"acquire: {error!r}", file=sys.stderr)
            continue
        session = client.client_id
        say("acquired")
        while not asked_to_stop.wait(WRITE_EVERY_S):
            if listens and doubt.is_set():
                say("lost", reason=f"the session is {client.state}")
                break
            resource.write()
        try:
            lock.release()
            # It is silent about a place in the queue that ended with an earlier session.
            if client.client_id == session:
                say("released")
        except KazooException as error:
            print(f"release: {error!r}", file=sys.stderr)
    client.stop()


if __name__ == "__main__":
    main()
    os._exit(0)
