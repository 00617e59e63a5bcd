#!/usr/bin/env python3
"""For how long a command runs on after a pause in which its lease ended: `leaseproof hold` beside `consul lock`.

    sudo python3 bench/hold/window.py LEASEPROOF [--cycles 100] [--consul CONSUL]

The whole tree (the tool, its helpers, the command) is frozen by a control group until the lease is over, then thawed.
The command writes the boot clock into a page of memory as fast as it can; what stands there at its end is compared with
the moment right before the thaw. Needs root, and control groups of version 2.
"""

import argparse
import mmap
import os
import re
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TICKER = """
import mmap, os, struct, sys, time
if sys.argv[2] == "away" and os.fork():
    while True:
        time.sleep(60)
if sys.argv[2] == "away":
    os.setsid()
page = mmap.mmap(os.open(sys.argv[1], os.O_RDWR), 8)
while True:
    page[0:8] = struct.pack("Q", time.clock_gettime_ns(time.CLOCK_BOOTTIME))
"""
BUDGET = ["--ttl", "1s", "--heartbeat", "250ms", "--worst-pause", "200ms", "--renew-timeout", "200ms"]


def boot_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def groups():
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        if " - cgroup2 " in line:
            return Path(line.split()[4])
    sys.exit("no control groups of version 2 here")


def until(look, what, seconds=60):
    end = time.monotonic() + seconds
    while not look():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.002)


def cycle(number, command, frozen_for, folder):
    """One pause: how long the command ran on after it, in ms; None: not at all."""
    place = folder / f"page-{number}"
    place.write_bytes(bytes(8))
    group = groups() / f"bench-hold-{os.getpid()}-{number}"
    group.mkdir()
    with open(place, "r+b") as file:
        page = mmap.mmap(file.fileno(), 8)
    tick = lambda: struct.unpack("Q", page[0:8])[0]
    tool = subprocess.Popen(
        command(place, number),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: (group / "cgroup.procs").write_text("0"),
    )
    try:
        until(tick, "the command starts")
        (group / "cgroup.freeze").write_text("1")
        until(lambda: "frozen 1" in (group / "cgroup.events").read_text(), "frozen")
        time.sleep(frozen_for)
        thaw = boot_ns()
        (group / "cgroup.freeze").write_text("0")
        # It has ended when its clock stands for longer than it would under any load.
        last, since = tick(), time.monotonic()
        while time.monotonic() - since < 1.0 or tool.poll() is None:
            if tick() != last:
                last, since = tick(), time.monotonic()
            if time.monotonic() - since > 30:
                break
            time.sleep(0.01)
        return (last - thaw) / 1e6 if last > thaw else None
    finally:
        (group / "cgroup.kill").write_text("1")
        tool.wait()
        until(lambda: "populated 0" in (group / "cgroup.events").read_text(), "empty")
        for below in sorted(group.glob("*/"), reverse=True):
            below.rmdir()
        group.rmdir()


def report(name, ran):
    after = sorted(ms for ms in ran if ms is not None)
    text = f"{name}: {len(after)} of {len(ran)} ran on after the thaw"
    if after:
        whole = sorted(ms or 0.0 for ms in ran)
        at99 = whole[min(len(whole) - 1, int(len(whole) * 0.99))]
        text += f"; median {statistics.median(whole):.2f} ms, 99 of 100 {at99:.2f} ms, at most {whole[-1]:.2f} ms"
    print(text, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("leaseproof")
    parser.add_argument("--cycles", type=int, default=100)
    parser.add_argument("--consul", help="the consul program")
    parser.add_argument("--consul-cycles", type=int, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ticker = lambda place, where: [sys.executable, "-c", TICKER, str(place), where]
        for where, says in [("here", "hold, the command"), ("away", "hold, a process that has just left its session")]:
            hold = lambda place, number: [
                options.leaseproof, "hold", *BUDGET, f"sqlite:{folder}/{where}-{number}.db", "k", "--",
                *ticker(place, where),
            ]
            report(says, [cycle(f"{where}{n}", hold, 1.3, folder) for n in range(options.cycles)])
        if options.consul:
            server = subprocess.Popen(
                [options.consul, "agent", "-dev", "-bind", "127.0.0.1", "-log-level", "err"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder,
            )
            try:
                ready = [options.consul, "kv", "get", "-keys"]
                until(lambda: subprocess.run(ready, capture_output=True).returncode == 0, "consul answers")
                lock = lambda place, number: [
                    options.consul, "lock", "-shell=false", f"bench/{number}", *ticker(place, "here"),
                ]
                # A session of 15 s may live for twice that.
                with ThreadPoolExecutor(4) as four:
                    ran = list(four.map(lambda n: cycle(f"c{n}", lock, 35, folder), range(options.consul_cycles)))
                report("consul lock, the command", ran)
            finally:
                server.send_signal(signal.SIGKILL)
                server.wait()
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} CPUs, Linux {re.match(r'[0-9.]+', os.uname().release)[0]}")


if __name__ == "__main__":
    main()
