"""The command that `consul lock` runs while it holds the lock. It is told no token; when the lock is lost, its
parent ends it with SIGTERM."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from contract import WRITE_EVERY_S, Resource, asked_to_stop, on_sigterm, say  # noqa: E402


def main():
    on_sigterm()
    say("acquired")
    resource = Resource()
    while not asked_to_stop.wait(WRITE_EVERY_S):
        resource.write()


if __name__ == "__main__":
    main()
