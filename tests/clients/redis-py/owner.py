"""A worker on redis-py's Lock, renewed by reacquire().

    owner.py                    sound by a deadline of its own; acquires anew after a loss
    owner.py --exit-on-loss     sound; exits 1 after a loss and leaves the rest to its supervisor
    owner.py --idle             sound; holds the lease and never writes
    owner.py --timeout-zero     timeout=0: the lock is set without a TTL, and reacquire() deletes it
"""

import sys
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.exceptions import LockError
from redis.retry import Retry

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from contract import HEARTBEAT_S, KEY, STORE, TTL_S, WRITE_EVERY_S, Resource, asked_to_stop, boot_ns, on_sigterm, say  # noqa: E402

EXIT_ON_LOSS = "--exit-on-loss" in sys.argv
IDLE = "--idle" in sys.argv
TIMEOUT_ZERO = "--timeout-zero" in sys.argv

# A lock without a timeout is believed for ever: its worker has no deadline to keep.
VALID_FOR = float("inf") if TIMEOUT_ZERO else (TTL_S * 0.99 - 0.005) * 1e9


def claims(valid_until):
    return {} if TIMEOUT_ZERO else {"valid_until_boot_ns": int(valid_until)}


def hold(lock, resource, valid_until):
    """Works until the lease is lost, and says why; None when asked to stop."""
    attempt = 0
    next_renewal = boot_ns() + HEARTBEAT_S * 1e9
    while not asked_to_stop.wait(WRITE_EVERY_S):
        if boot_ns() >= valid_until:
            return "its time is over"
        if boot_ns() >= next_renewal:
            sent = boot_ns()
            next_renewal = sent + HEARTBEAT_S * 1e9
            attempt += 1
            say("renew_sent", attempt=attempt)
            try:
                lock.reacquire()
            except LockError as error:
                say("renew_failed", attempt=attempt, definite=True, reason=str(error))
                return "not the holder"
            except redis.RedisError as error:
                say("renew_failed", attempt=attempt, definite=False, reason=str(error))
                continue
            if boot_ns() < sent + VALID_FOR:
                valid_until = sent + VALID_FOR
                say("renewed", attempt=attempt, **claims(valid_until))
        if not IDLE and boot_ns() < valid_until:
            resource.write()
    return None


def main():
    on_sigterm()
    client = redis.Redis.from_url(STORE, socket_timeout=HEARTBEAT_S / 4, retry=Retry(NoBackoff(), 0))
    resource = Resource()
    while not asked_to_stop.is_set():
        lock = client.lock(KEY, timeout=0 if TIMEOUT_ZERO else TTL_S)
        sent = boot_ns()
        try:
            got = lock.acquire(blocking=False)
        except redis.RedisError as error:
            print(f"acquire: {error}", file=sys.stderr)
            got = False
        if not got or boot_ns() >= sent + VALID_FOR:
            asked_to_stop.wait(0.05)
            continue
        say("acquired", **claims(sent + VALID_FOR))
        why = hold(lock, resource, sent + VALID_FOR)
        if why is not None:
            say("lost", reason=why)
            if EXIT_ON_LOSS:
                return 1
            continue
        try:
            lock.release()
            say("released")
        except redis.RedisError as error:
            print(f"release: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
