"""A worker with many locks and one thread that renews them, one after the other: each renewal is a round trip.

    many_locks.py LOCKS DELAY_MS

The lock that the plan names is the last in the row. Nothing here is wrong but the numbers: LOCKS x the round trip is
longer than the TTL. `DELAY_MS` is what each renewal takes on a slow network.
"""

import os
import secrets
import sys
import threading
import time
from pathlib import Path

import redis

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests" / "clients"))
from contract import HEARTBEAT_S, KEY, STORE, TTL_S, WRITE_EVERY_S, Resource, asked_to_stop, on_sigterm, say  # noqa: E402

RENEW = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('pexpire',KEYS[1],ARGV[2]) else return 0 end"


def main():
    count, delay = int(sys.argv[1]), int(sys.argv[2]) / 1000
    on_sigterm()
    client = redis.Redis.from_url(STORE)
    renew = client.register_script(RENEW)
    mine = secrets.token_hex(8)
    others = [f"{KEY}:part:{number}:{os.environ['LEASEPROOF_OWNER']}" for number in range(count - 1)]
    held = threading.Event()

    def renewals():
        while not asked_to_stop.wait(HEARTBEAT_S):
            for key in [*others, KEY]:
                time.sleep(delay)
                if key == KEY and not held.is_set():
                    continue
                done = renew(keys=[key], args=[mine, int(TTL_S * 1000)])
                if key == KEY and done:
                    say("renewed")
                elif key == KEY:
                    held.clear()
                    say("lost", reason="not the holder")

    for key in others:
        client.set(key, mine, px=600_000)
    threading.Thread(target=renewals, name="renewer", daemon=True).start()
    resource = Resource()
    while not asked_to_stop.is_set():
        if not client.set(KEY, mine, nx=True, px=int(TTL_S * 1000)):
            asked_to_stop.wait(0.05)
            continue
        held.set()
        say("acquired")
        while held.is_set() and not asked_to_stop.wait(WRITE_EVERY_S):
            resource.write()


if __name__ == "__main__":
    main()
