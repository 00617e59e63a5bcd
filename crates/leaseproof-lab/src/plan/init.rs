//! The commented plan that `leaseproof verify --init` writes.

/// A commented `leaseproof.toml` with every key at its default.
#[must_use]
pub fn commented_plan() -> &'static str {
    r#"# leaseproof.toml: what the lease promises, and what is tested; one file for you and for CI.

[budget]                          # durations need a unit: ms, s, m
ttl = "3s"                        # how long a grant lives without a renewal
heartbeat = "1s"                  # how often the owner renews
worst_pause = "1500ms"            # the longest pause that the owner must survive
max_clock_drift = "50ms"          # how far owner's and store's clocks move apart within one TTL
renew_timeout = "200ms"           # how long one renewal may take before it has failed
# margin = ttl - heartbeat - renew_timeout - max_clock_drift: must be greater than worst_pause

[store]
url = "sqlite:.leaseproof/locks.db"   # or redis://[user:password@]host:port[/db], etcd://…; rediss://…[?ca=FILE]
                                  # or postgres://[user:password@]host[:port]/db
# also = ["redis://127.0.0.1:7001"] # more stores: each scenario runs on each, side by side
# start = ["redis"]               # servers to start for the run: only they meet faults of a store
prefix = "canary/"                # faults and clean-up stay below it
key = "canary/demo"               # a run uses <key>/<run>/<scenario>
# owner_key = "lock:{key}"        # what your lock client makes of the key
# also_deletes = ["lock-signal:{key}"]

[owner]
command = ["leaseproof", "owner"] # your program; {store} {key} {ttl_ms} {ttl_s} {heartbeat_ms}
                                  # {owner} {resource} {store_host} {store_port} are replaced in it
# preset = "python-redis-lock"    # owner_key and also_deletes of a known client
# env = { LOG_LEVEL = "info" }
# [owner.lines]                   # for programs that print no JSON event lines
# acquired = 'got lock (?P<token>\d+)'
# lost = 'lock lost: (?P<reason>.*)'

[verify]
scenarios = ["all"]               # `leaseproof verify --list` shows them
cycles = 3
# seed = 7
# jobs = 20                       # scenarios side by side; default: all
freeze = "auto"                   # sigstop, cgroup or auto
require_token = false             # true: a write without a fencing token is a breach
# require = ["blackhole"]         # not offered becomes exit 3

# [[watch.lease]]                 # what `leaseproof watch` monitors
# key = "jobs/daily"              # as the store has it
# owner = { log = "worker.log" }  # where its owner says what it believes
"#
}
