"""`consul lock` beside a local client agent, as Consul is meant to be used: `consul lock` asks the agent of its own host,
and that one the servers.

The agent is the owner's first process, and `consul lock` with its command is a child of it. So `parent-only` stops the
agent alone. The worker that `consul lock` runs is the one of consul-lock/.
"""

import http.client
import json
import os
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

KEY, STORE = os.environ["LEASEPROOF_KEY"], os.environ["LEASEPROOF_STORE"]
WORKER = Path(__file__).resolve().parent.parent / "consul-lock/worker.py"


def ask(place, path):
    """The agent's answer, or none."""
    connection = http.client.HTTPConnection(place, timeout=2)
    try:
        connection.request("GET", path)
        return json.loads(connection.getresponse().read())
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def free_ports(count):
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def lock(agent):
    """`consul lock`, once the agent knows its servers."""
    # It ends with the agent: the lab asks that one to end.
    while not ask(agent, "/v1/status/leader"):
        if os.getppid() == 1:
            sys.exit(1)
        time.sleep(0.05)
    command = ["consul", "lock", "-shell=false", f"-http-addr=http://{agent}", KEY, "python3", str(WORKER)]
    os.execvp("setpriv", ["setpriv", "--pdeathsig", "TERM", "--", *command])


def main():
    server = urlsplit(STORE).netloc
    joined = ask(server, "/v1/agent/self")["Member"]["Port"]
    http_port, serf = free_ports(2)
    # tests/clients/run removes it in the end; nobody here is left to do so.
    folder = tempfile.mkdtemp(prefix="leaseproof-agent-", dir=os.environ.get("CLIENT_FOLDER"))
    settings = {
        "bind_addr": "127.0.0.1", "client_addr": "127.0.0.1", "disable_update_check": True, "data_dir": folder,
        "node_name": os.environ["LEASEPROOF_OWNER"], "disable_host_node_id": True, "leave_on_terminate": True,
        "retry_join": [f"127.0.0.1:{joined}"], "retry_interval": "200ms",
        "ports": {"http": http_port, "serf_lan": serf, "serf_wan": -1, "dns": -1, "grpc": -1},
    }
    config = Path(folder) / "agent.json"
    config.write_text(json.dumps(settings), encoding="utf-8")
    if os.fork() == 0:
        lock(f"127.0.0.1:{http_port}")
    # What the agent says is not for the lab to read.
    with open(Path(folder) / "log", "w", encoding="utf-8") as log:
        os.dup2(log.fileno(), 1)
    os.execvp("consul", ["consul", "agent", "-config-file", str(config)])


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    main()
