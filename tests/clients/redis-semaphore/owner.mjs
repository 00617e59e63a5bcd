// A worker on redis-semaphore's Mutex: it works until onLockLost is called.
//
//     owner.mjs 5.3.0 | 5.3.1

import { setTimeout as sleep } from "node:timers/promises";
import { asked, heartbeat, key, require, say, store, ttl, write, writeEvery } from "../contract.mjs";

const Redis = require("ioredis");
const { Mutex } = require(`redis-semaphore-${process.argv[2]}`);

// The library's mutex; what its refresh does is written down, and not changed.
let attempts = 0;
class Told extends Mutex {
  async _refresh() {
    const attempt = ++attempts;
    say("renew_sent", { attempt });
    const refreshed = await super._refresh();
    if (refreshed) say("renewed", { attempt });
    else say("renew_failed", { attempt, definite: true, reason: "not the holder" });
    return refreshed;
  }
}

const client = new Redis(store);
client.on("error", () => {});

while (!asked.toStop) {
  let lost = null;
  const mutex = new Told(client, key, {
    lockTimeout: ttl,
    refreshInterval: heartbeat,
    acquireTimeout: 1000,
    retryInterval: 50,
    onLockLost: (error) => {
      lost = error;
      say("lost", { reason: error.message });
    },
  });
  if (!(await mutex.tryAcquire())) continue;
  say("acquired");
  while (lost === null && !asked.toStop) {
    await write();
    await sleep(writeEvery);
  }
  if (lost === null) {
    await mutex.release();
    say("released");
  }
}
process.exit(0);
