"""Runs a worker as an application would run it: its events and its library's own words go through `logging`.

    logged.py WORKER [ARGUMENTS…]

INCIDENT_STYLE: python (the usual format), json, seconds. INCIDENT_LEVEL: INFO or DEBUG. INCIDENT_EVENTS: a file that
gets the events as they were said, for the truth. SIGUSR1 makes the process grow until it is killed.
"""

import json
import logging
import os
import runpy
import signal
import sys
import threading
import time

WORDS = {
    "acquired": (logging.INFO, "lease acquired"),
    "renewed": (logging.INFO, "lease renewed"),
    "renew_sent": (logging.DEBUG, "renewing lease"),
    "renew_failed": (logging.WARNING, "lease renewal failed"),
    "lost": (logging.ERROR, "lease lost"),
    "released": (logging.INFO, "lease released"),
    "write_refused": (logging.WARNING, "write refused"),
}
FORMS = {
    "python": ("%(asctime)s %(levelname)s %(name)s %(message)s", None),
    "seconds": ("%(asctime)s [%(process)d] %(levelname)s %(name)s: %(message)s", "%Y-%m-%d %H:%M:%S"),
}


class Json(logging.Formatter):
    """One object a line, with the local time and its zone."""

    def format(self, record):
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(record.created))
        zone = time.strftime("%z", time.localtime(record.created))
        said = {"timestamp": f"{at}.{int(record.msecs):03d}{zone}", "level": record.levelname, "logger": record.name}
        said["message"] = record.getMessage()
        if record.exc_info:
            said["exc_info"] = self.formatException(record.exc_info)
        return json.dumps(said)


class Events:
    """Standard output: event lines become log lines, anything else passes."""

    def __init__(self, out):
        self.out, self.held, self.lock = out, "", threading.RLock()
        self.log = logging.getLogger("worker")
        self.truth = open(os.environ["INCIDENT_EVENTS"], "a", encoding="utf-8")

    def write(self, text):
        with self.lock:
            *lines, self.held = (self.held + text).split("\n")
            for line in lines:
                self.line(line)
        return len(text)

    def line(self, line):
        event = json.loads(line) if line.startswith('{"lease"') else None
        if event is None or event["lease"] not in WORDS:
            self.out.write(line + "\n")
            self.out.flush()
            return
        event["wall_ns"] = time.time_ns()
        self.truth.write(json.dumps(event) + "\n")
        self.truth.flush()
        level, words = WORDS[event["lease"]]
        fields = [f"key={os.environ['LEASEPROOF_KEY']}"]
        fields += [f"{name}={event[name]}" for name in ("token", "attempt") if name in event]
        fields += [f'reason="{event["reason"]}"'] if event.get("reason") else []
        self.log.log(level, "%s %s", words, " ".join(fields))

    def flush(self):
        self.out.flush()


def grow(*_):
    hoard = []
    while True:
        hoard.append(b"x" * (4 << 20))


def main():
    style = os.environ.get("INCIDENT_STYLE", "python")
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(Json() if style == "json" else logging.Formatter(*FORMS[style]))
    level = os.environ.get("INCIDENT_LEVEL", "INFO")
    logging.basicConfig(level=level, handlers=[handler], force=True)
    signal.signal(signal.SIGUSR1, grow)
    sys.stdout = Events(sys.__stdout__)
    sys.argv = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
