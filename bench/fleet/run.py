#!/usr/bin/env python3
"""What very many leases cost the process that holds them: the library's fleet, and redsync in the same run.

    cargo build --release -p leaseproof --example fleet --features redis
    (cd bench/fleet/redsync && go build -o /tmp/redsync-fleet .)
    bench/fleet/run.py target/release/examples/fleet /tmp/redsync-fleet --seconds 30

Each holds its leases on the first core, and the Redis server, which is started for the run, has the second. Each runs
alone, one after the other. TTL 4 s, heartbeat 1 s. Needs redis-server (or LEASEPROOF_REDIS_SERVER) and taskset.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

HOLDER, SERVER = "0", "1"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(server, command, patience):
    """One holder, alone: its own line of figures, and the server's cores meanwhile; none where it never gets so far."""
    began, before = time.monotonic(), cpu_seconds(server)
    try:
        done = subprocess.run(["taskset", "-c", HOLDER, *command], stdout=subprocess.PIPE, text=True, timeout=patience)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0 or not done.stdout.strip():
        sys.exit(f"error: {command[0]} ended with {done.returncode}")
    line = json.loads(done.stdout.splitlines()[-1])
    line["server_cpu"] = (cpu_seconds(server) - before) / (time.monotonic() - began)
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fleet", help="the built example of the library")
    parser.add_argument("redsync", nargs="?", help="the built peer")
    parser.add_argument("--leases", type=int, action="append", help="for the library (can be given again) [50000]")
    parser.add_argument("--peer-leases", type=int, action="append", help="for the peer [1000 10000 20000 50000]")
    parser.add_argument("--seconds", type=int, default=30)
    args = parser.parse_args()
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        program = os.environ.get("LEASEPROOF_REDIS_SERVER", "redis-server")
        settings = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder]
        # It ends with us, also when we are killed.
        pinned = ["setpriv", "--pdeathsig", "KILL", "--", "taskset", "-c", SERVER, program, *settings]
        server = subprocess.Popen(pinned, stdout=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 10
            while not answers(port):
                if time.monotonic() > end:
                    sys.exit("error: redis-server does not answer")
                time.sleep(0.05)
            print("| | leases | renewals a second | cores, holder | cores, Redis | RSS at most | worst lateness | lost | all acquired in |")
            print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
            runs = [[args.fleet, f"redis://127.0.0.1:{port}", "--leases", str(count), "--seconds", str(args.seconds)]
                    for count in args.leases or [50_000]]
            if args.redsync:
                runs += [[args.redsync, "-store", f"127.0.0.1:{port}", "-leases", str(count), "-seconds", str(args.seconds)]
                         for count in args.peer_leases or [1000, 10_000, 20_000, 50_000]]
            for command in runs:
                it = measure(server.pid, command, args.seconds + 30)
                if it is None:
                    print(f"| {os.path.basename(command[0])} | {' '.join(command[2:])} | never all acquired at the same time |", flush=True)
                    continue
                print(f"| {it['who']} | {it['held']} of {it['leases']} held | {it['renewals_per_s']:.0f} | {it['cpu']:.2f} "
                      f"| {it['server_cpu']:.2f} | {it['rss_mib']:.0f} MiB | {it['worst_lateness_ms']:.0f} ms "
                      f"| {it['lost']} | {it['acquired_in_s']:.1f} s |", flush=True)
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    main()
