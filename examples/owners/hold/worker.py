"""A worker for `leaseproof hold`: it knows nothing of locks, and writes with the token that it was given.

    leaseproof verify -- leaseproof hold {store} {key} --events - -- python3 examples/owners/hold/worker.py

Whoever is given LEASEPROOF_DEADLINE_FILE may ask it before each write, too (`may_write` below, with --check). Without
that, `hold` alone sees to it that nothing is written after the lease.
"""

import http.client
import os
import sys
import time
from urllib.parse import urlsplit

RESOURCE = urlsplit(os.environ["LEASEPROOF_RESOURCE"])
EVERY_S = max(int(os.environ.get("LEASEPROOF_HEARTBEAT_MS", "1000")) / 10_000, 0.02)
HEADERS = {
    "Lease-Owner": os.environ.get("LEASEPROOF_OWNER", "worker"),
    # The resource refuses a token that is lower than one it has seen.
    "Fencing-Token": os.environ["LEASEPROOF_TOKEN"],
}


def may_write():
    """Whether the lease is valid now: eight bytes, nanoseconds of CLOCK_BOOTTIME; 0 or no file: it is over."""
    try:
        with open(os.environ["LEASEPROOF_DEADLINE_FILE"], "rb") as file:
            until = int.from_bytes(file.read(8), sys.byteorder)
    except OSError:
        return False
    # The clock is read last: a pause before this line is seen.
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) < until


def main():
    check = "--check" in sys.argv
    connection = http.client.HTTPConnection(RESOURCE.netloc, timeout=2)
    while True:
        if check and not may_write():
            sys.exit("lock not held")
        try:
            connection.request("POST", f"{RESOURCE.path}/write", body=b"", headers=HEADERS)
            connection.getresponse().read()
        except (OSError, http.client.HTTPException) as error:
            print(f"resource: {error}", file=sys.stderr)
            connection.close()
        time.sleep(EVERY_S)


if __name__ == "__main__":
    main()
