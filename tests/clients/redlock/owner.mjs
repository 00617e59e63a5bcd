// A worker on redlock's using(): the work goes on until the signal aborts, as its README shows.

import { setTimeout as sleep } from "node:timers/promises";
import { asked, heartbeat, key, require, say, store, ttl, write, writeEvery } from "../contract.mjs";

const Redis = require("ioredis");
const Redlock = require("redlock").default;

const client = new Redis(store);
client.on("error", () => {});

const redlock = new Redlock([client], {
  // A worker that waits for its turn, however long that takes.
  retryCount: -1,
  retryDelay: 50,
  retryJitter: 20,
  // It extends when this much is left, which makes the interval that the plan calls the heartbeat.
  automaticExtensionThreshold: ttl - heartbeat,
});
// Each refused attempt is an error event too; without a listener it would end the process.
redlock.on("error", () => {});

while (!asked.toStop) {
  try {
    await redlock.using([key], ttl, async (signal) => {
      say("acquired");
      signal.addEventListener("abort", () => say("lost", { reason: signal.error?.message ?? "aborted" }));
      while (!signal.aborted && !asked.toStop) {
        await write();
        await sleep(writeEvery, undefined, { signal }).catch(() => {});
      }
    });
    if (asked.toStop) say("released");
  } catch (error) {
    // Its own release fails where the lock is gone.
    process.stderr.write(`using: ${error.message}\n`);
  }
}
process.exit(0);
