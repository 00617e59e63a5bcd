"""A worker on python-redis-lock with auto_renewal, as its README shows it: the lock in a `with`-like span,
the work inside. It is told nothing by the lock but what the lock tells: that is the point."""

import logging
import sys
from pathlib import Path

import redis
import redis_lock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from contract import HEARTBEAT_S, KEY, STORE, TTL_S, WRITE_EVERY_S, Resource, asked_to_stop, on_sigterm, say  # noqa: E402


class Lock(redis_lock.Lock):
    """The library's lock; what its renewal thread does is written down, and not changed."""

    attempt = 0

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        # The documented way to another interval than two thirds of the expiry.
        self._lock_renewal_interval = HEARTBEAT_S

    def extend(self, expire=None):
        Lock.attempt += 1
        attempt = Lock.attempt
        say("renew_sent", attempt=attempt)
        try:
            super().extend(expire)
        except redis_lock.NotAcquired as error:
            say("renew_failed", attempt=attempt, definite=True, reason=str(error))
            raise
        except redis.RedisError as error:
            say("renew_failed", attempt=attempt, definite=False, reason=str(error))
            raise
        say("renewed", attempt=attempt)


def main():
    logging.getLogger("redis_lock.acquire").setLevel(logging.ERROR)
    on_sigterm()
    client = redis.Redis.from_url(STORE)
    resource = Resource()
    # Whole seconds are all that it takes.
    lock = Lock(client, KEY, expire=int(TTL_S), auto_renewal=True)
    # Asked again and again, since its own blocking wait sleeps for a whole expiry after a holder's death.
    while not lock.acquire(blocking=False):
        if asked_to_stop.wait(0.05):
            return
    say("acquired")
    while not asked_to_stop.wait(WRITE_EVERY_S):
        resource.write()
    try:
        lock.release()
        say("released")
    except redis_lock.NotAcquired as error:
        print(f"release: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
