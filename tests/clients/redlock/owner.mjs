// A worker on redlock's using(): the work goes on until the signal aborts, as its README shows.

import { setTimeout as sleep } from "node:timers/promises";
import { asked, heartbeat, key, require, say, store, ttl, write, writeEvery } from "../contract.mjs";

const Redis = require("ioredis");
const Redlock = require("redlock").default;

// One server, or each of redlock://host:port,host:port,host:port.
const [scheme, rest] = store.split("://");
const servers = scheme === "redlock" ? rest.split("/")[0].split(",").map((place) => `redis://${place}`) : [store];
const clients = servers.map((server) => new Redis(server));
for (const client of clients) client.on("error", () => {});

const redlock = new Redlock(clients, {
  // For extensions and releases. A release of a lock that is gone is refused each time, so that with
  // unlimited retries here using() would never come back from a loss.
  retryCount: 3,
  retryDelay: 50,
  retryJitter: 20,
  // It extends when this much is left, which makes the interval that the plan calls the heartbeat.
  automaticExtensionThreshold: ttl - heartbeat,
});
// A worker that waits for its turn, however long that takes.
const patient = { retryCount: -1 };
// Each refused attempt is an error event too; without a listener it would end the process.
redlock.on("error", () => {});

while (!asked.toStop) {
  try {
    await redlock.using([key], ttl, patient, async (signal) => {
      say("acquired");
      signal.addEventListener("abort", () => say("lost", { reason: signal.error?.message ?? "aborted" }));
      while (!signal.aborted && !asked.toStop) {
        await write();
        await sleep(writeEvery, undefined, { signal }).catch(() => {});
      }
      // Putting away what it had in hand takes a worker a moment; only then does using() release.
      if (signal.aborted) await sleep(50);
    });
    if (asked.toStop) say("released");
  } catch (error) {
    // Its own release fails where the lock is gone.
    process.stderr.write(`using: ${error.message}\n`);
  }
}
process.exit(0);
