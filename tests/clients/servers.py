"""The stores of the cases: each a server on free ports of loopback, in a folder of its own, ended with the `with`."""

import contextlib
import json
import os
import random
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path


class Failure(Exception):
    """What is wrong, in one line."""


def free_ports(count):
    """Ports that were free just now, outside of the range that outgoing connections are given: one of those would have
    it before the server does."""
    range_ = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()
    outgoing = range(int(range_[0]), int(range_[1]) + 1)
    apart = [port for port in range(10_000, 65_536) if port not in outgoing] or list(range(10_000, 65_536))
    with contextlib.ExitStack() as stack:
        ports = []
        while len(ports) < count:
            probe = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                port = random.choice(apart)
                probe.bind(("127.0.0.1", port))
                ports.append(port)
        return ports


class Server:
    """What they share. `needs` are the variables of .ci/tools without which there is none."""

    name = ""
    needs = ()
    ports = 1
    # It answers within; the JVM and a busy machine are slow to start.
    patience_s = 30

    def __init__(self, env):
        self.env = env

    def __enter__(self):
        for attempt in (1, 2, 3):
            # Where memory can be had as a folder, syncing a log costs nothing.
            shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
            self.folder = tempfile.mkdtemp(prefix="leaseproof-client-", dir=shm)
            self.port, *self.others = free_ports(self.ports)
            self.process = subprocess.Popen(
                # It ends with us, however we end.
                ["setpriv", "--pdeathsig", "KILL", "--", *self.command()],
                env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )
            deadline = time.monotonic() + self.patience_s
            while time.monotonic() < deadline and self.process.poll() is None:
                if self.answers():
                    return self
                time.sleep(0.05)
            self.__exit__()
        # Another process may take a free port first, and not three times in a row.
        raise Failure(f"{self.name} did not start")

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def answers(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def http(self, path, body=None):
        """The answer to a request, or nothing."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=body)
        try:
            with urllib.request.urlopen(request, timeout=2) as answer:
                return answer.read().decode()
        except (OSError, urllib.error.URLError):
            return None


class Redis(Server):
    name = "redis"
    needs = ("LEASEPROOF_REDIS_SERVER",)

    def command(self):
        program = self.env["LEASEPROOF_REDIS_SERVER"]
        return [program, "--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--dir", self.folder]

    def url(self):
        return f"redis://127.0.0.1:{self.port}"


class Redlock:
    """Three Redis servers that know nothing of each other."""

    name = "redlock"
    needs = Redis.needs

    def __init__(self, env):
        self.servers = [Redis(env) for _ in range(3)]
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        for server in self.servers:
            self.stack.enter_context(server)
        return self

    def __exit__(self, *_):
        self.stack.close()

    def url(self):
        return "redlock://" + ",".join(f"127.0.0.1:{server.port}" for server in self.servers)


class Etcd(Server):
    name = "etcd"
    needs = ("LEASEPROOF_ETCD", "LEASEPROOF_ETCDCTL")
    ports = 2

    def command(self):
        client, peer = (f"http://127.0.0.1:{port}" for port in (self.port, self.others[0]))
        return [
            self.env["LEASEPROOF_ETCD"], "--name", "m", "--data-dir", f"{self.folder}/data",
            "--heartbeat-interval", "50", "--election-timeout", "500",
            "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"m={peer}",
        ]

    def answers(self):
        # A read through the leader: there is one.
        return self.http("/v3/kv/range", b'{"key":"cmVhZHk="}') is not None

    def url(self):
        return f"etcd://127.0.0.1:{self.port}"


class Consul(Server):
    name = "consul"
    needs = ("LEASEPROOF_CONSUL",)
    ports = 3

    def command(self):
        server, serf = self.others
        settings = {
            "bind_addr": "127.0.0.1", "client_addr": "127.0.0.1", "disable_update_check": True,
            # The examples need no minutes. `consul lock` asks for 15 s in any case.
            "session_ttl_min": "200ms",
            "ports": {"http": self.port, "server": server, "serf_lan": serf, "serf_wan": -1, "dns": -1, "grpc": -1},
        }
        with open(f"{self.folder}/agent.json", "w", encoding="utf-8") as file:
            json.dump(settings, file)
        return [self.env["LEASEPROOF_CONSUL"], "agent", "-dev", "-config-file", f"{self.folder}/agent.json"]

    def answers(self):
        # A leader may be elected before its own node is registered, and until then there are no sessions.
        return '"Node"' in (self.http("/v1/catalog/nodes") or "")

    def url(self):
        return f"consul://127.0.0.1:{self.port}"


class ZooKeeper(Server):
    name = "zookeeper"
    needs = ("LEASEPROOF_ZOOKEEPER",)
    patience_s = 60

    def command(self):
        settings = {
            "tickTime": 100, "dataDir": f"{self.folder}/data", "clientPort": self.port,
            "clientPortAddress": "127.0.0.1", "maxClientCnxns": 0, "maxSessionTimeout": 40000,
            # Whoever looks is told the sessions' time-outs.
            "4lw.commands.whitelist": "srvr,conf,cons", "admin.enableServer": "false",
        }
        with open(f"{self.folder}/zoo.cfg", "w", encoding="utf-8") as file:
            file.writelines(f"{name}={value}\n" for name, value in settings.items())
        main = "org.apache.zookeeper.server.ZooKeeperServerMain"
        return [self.env["LEASEPROOF_ZOOKEEPER"], main, f"{self.folder}/zoo.cfg"]

    def answers(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=2) as probe:
            probe.sendall(b"srvr")
            return b"Mode: standalone" in probe.recv(4096)
        return False

    def url(self):
        return f"zookeeper://127.0.0.1:{self.port}"


ALL = {server.name: server for server in (Redis, Redlock, Etcd, Consul, ZooKeeper)}
