// What the Node clients' workers share: the owner contract, and nothing about locks.

import { readFileSync } from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";

// Looks at NODE_PATH too, where ./test puts the clients.
export const require = createRequire(import.meta.url);

export const store = process.env.LEASEPROOF_STORE;
export const key = process.env.LEASEPROOF_KEY;
export const ttl = Number(process.env.LEASEPROOF_TTL_MS);
export const heartbeat = Number(process.env.LEASEPROOF_HEARTBEAT_MS);
export const writeEvery = Math.max(heartbeat / 10, 20);

// One event, one JSON line; a pipe is written to synchronously.
export function say(event, fields = {}) {
  process.stdout.write(`${JSON.stringify({ lease: event, ...fields })}\n`);
}

// CLOCK_BOOTTIME in ms, in steps of 10: Node has no call for it.
export function bootMs() {
  return Math.round(Number(readFileSync("/proc/uptime", "latin1").split(" ", 1)[0]) * 1000);
}

export const asked = { toStop: false };
process.on("SIGTERM", () => (asked.toStop = true));

const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

// One write to the protected resource; these clients have no fencing token.
export function write() {
  return new Promise((resolve) => {
    const request = http.request(`${process.env.LEASEPROOF_RESOURCE}/write`, {
      agent,
      method: "POST",
      headers: { "Lease-Owner": process.env.LEASEPROOF_OWNER, "Content-Length": 0 },
      timeout: 2000,
    });
    request.on("response", (answer) => {
      answer.resume();
      answer.on("end", resolve);
      answer.on("error", resolve);
    });
    request.on("timeout", () => request.destroy());
    request.on("error", resolve);
    request.end();
  });
}
