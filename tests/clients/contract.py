"""What the Python clients' workers share: the owner contract, and nothing about locks."""

import http.client
import json
import os
import signal
import sys
import threading
import time
from urllib.parse import urlsplit

STORE = os.environ["LEASEPROOF_STORE"]
KEY = os.environ["LEASEPROOF_KEY"]
OWNER = os.environ["LEASEPROOF_OWNER"]
TTL_S = int(os.environ["LEASEPROOF_TTL_MS"]) / 1000
HEARTBEAT_S = int(os.environ["LEASEPROOF_HEARTBEAT_MS"]) / 1000
WRITE_EVERY_S = max(HEARTBEAT_S / 10, 0.02)

asked_to_stop = threading.Event()
_line = threading.Lock()


def on_sigterm():
    """SIGTERM asks the worker to release and exit."""
    signal.signal(signal.SIGTERM, lambda *_: asked_to_stop.set())


def boot_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def say(event, **fields):
    """One event, one JSON line, from whichever thread; each thread is named."""
    line = json.dumps({"lease": event, "boot_ns": boot_ns(), "thread": threading.current_thread().name, **fields})
    with _line:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


class Resource:
    """The protected resource: one write after another on one connection, with a token where the client has one."""

    def __init__(self, token=None):
        self.url = urlsplit(os.environ["LEASEPROOF_RESOURCE"])
        self.headers = {"Lease-Owner": OWNER}
        if token is not None:
            self.headers["Fencing-Token"] = str(token)
        self.connection = None

    def write(self):
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection(self.url.netloc, timeout=2)
            self.connection.request("POST", f"{self.url.path}/write", body=b"", headers=self.headers)
            self.connection.getresponse().read()
        except (OSError, http.client.HTTPException) as error:
            print(f"resource: {error}", file=sys.stderr)
            self.connection.close()
            self.connection = None
