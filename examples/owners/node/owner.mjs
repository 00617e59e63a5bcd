#!/usr/bin/env node
// A worker that holds a lease in Redis and writes under it: copy this to test a worker of your own.
//
//     npm install ioredis
//     leaseproof verify --store redis://127.0.0.1:6379 -- node owner.mjs
//
// It speaks the owner contract (docs/owners.md): variables in, JSON lines out, protected writes by
// HTTP. What makes it sound is marked with "Sound:"; the rest is plumbing.

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";

// Not an import, so that NODE_PATH is looked at too.
const Redis = createRequire(import.meta.url)("ioredis");

const env = process.env;
const store = env.LEASEPROOF_STORE;
const key = env.LEASEPROOF_KEY;
const owner = env.LEASEPROOF_OWNER;
const resource = new URL(env.LEASEPROOF_RESOURCE);
const ttl = Number(env.LEASEPROOF_TTL_MS);
const heartbeat = Number(env.LEASEPROOF_HEARTBEAT_MS);
const timeout = Number(env.LEASEPROOF_RENEW_TIMEOUT_MS ?? 200);
const writeEvery = Math.max(heartbeat / 5, 20);

// Sound: the store's clock may run a little faster than ours, and ours here is read in steps of 10 ms:
// we give up a little earlier.
const validFor = ttl - Math.max(ttl / 100, 5) - 10;

// Sound: Date.now() can be stepped, and process.hrtime() and performance.now() stand still while the
// machine is suspended. Node can't ask for CLOCK_BOOTTIME, but Linux shows it here. In milliseconds.
function bootMs() {
  return Math.round(Number(readFileSync("/proc/uptime", "latin1").split(" ", 1)[0]) * 1000);
}

// One event, one JSON line. A pipe is written to synchronously, so that it leaves at once.
function say(event, fields = {}) {
  process.stdout.write(`${JSON.stringify({ lease: event, ...fields })}\n`);
}

// Nanoseconds may not fit a double; as a text they do.
const ns = (ms) => `${Math.round(ms)}000000`;

// --- the store: each operation answers its result, 0 (refused, for certain) or null (nobody knows) ---

// Sound: each operation is one script, so that its condition and its effect can't be torn apart.
const ACQUIRE = `
  if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
  local token = redis.call('INCR', KEYS[2])
  redis.call('SET', KEYS[1], ARGV[1] .. '#' .. token, 'PX', ARGV[2])
  return token`;
const RENEW = `
  if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;
const RELEASE = `
  if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
  return redis.call('DEL', KEYS[1])`;

let client = null;

// Sound: nothing is retried or queued behind our back, since a renewal that is sent again later is
// another renewal. After any failure the connection is dropped, and the next operation opens one.
async function script(...args) {
  try {
    return await within(timeout, async () => {
      if (client === null) {
        client = new Redis(store, {
          lazyConnect: true,
          connectTimeout: timeout,
          retryStrategy: () => null,
          maxRetriesPerRequest: 0,
          autoResendUnfulfilledCommands: false,
          enableReadyCheck: false,
        });
        client.on("error", () => {});
        await client.connect();
      }
      return client.eval(...args);
    });
  } catch (error) {
    process.stderr.write(`redis: ${error.message}\n`);
    client?.disconnect();
    client = null;
    return null;
  }
}

// Sound: after a pause the timer is due, and the answer may be waiting in the socket. Timers run before
// sockets are read, so that one turn of the event loop is given before the time is called over.
function within(ms, work) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => setImmediate(() => reject(new Error(`no answer within ${ms} ms`))), ms);
    work().then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

async function acquire() {
  const id = `${owner}#${randomBytes(8).toString("hex")}`;
  const token = await script(ACQUIRE, 2, key, `${key}:token`, id, ttl);
  // Sound: a holder is one grant, never a name.
  return token ? { token, value: `${id}#${token}` } : null;
}

// --- the protected resource: the token goes with each write, so that it can refuse a late one --------

const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

// The status, or null where there was no answer.
function write(token) {
  return new Promise((resolve) => {
    const request = http.request(`${resource}/write`, {
      agent,
      method: "POST",
      headers: { "Lease-Owner": owner, "Fencing-Token": String(token), "Content-Length": 0 },
      timeout: heartbeat,
    });
    request.on("response", (answer) => {
      answer.resume();
      answer.on("end", () => resolve(answer.statusCode));
      answer.on("error", () => resolve(null));
    });
    request.on("timeout", () => request.destroy());
    request.on("error", () => resolve(null));
    request.end();
  });
}

// --- the work ------------------------------------------------------------------------------------

let stopping = false;
process.on("SIGTERM", () => (stopping = true));
process.on("SIGINT", () => (stopping = true));

// Works until the lease is lost and says why; answers null when it was asked to stop.
async function hold(grant, sentAt) {
  let validUntil = sentAt + validFor;
  let nextRenewal = sentAt + heartbeat;
  let nextWrite = 0;
  while (!stopping) {
    const now = bootMs();
    // Sound: no answer is needed to know this. A frozen process finds out here when it wakes.
    if (now >= validUntil) return "its time is over";
    if (now >= nextRenewal) {
      // Sound: validity counts from before the request is sent: the store may have done it at once.
      const sent = bootMs();
      const answer = await script(RENEW, 1, key, grant.value, ttl);
      if (answer === 0) {
        say("renew_failed", { definite: true, reason: "not the holder" });
        return "not the holder";
      }
      if (answer === null) {
        // Sound: an unknown outcome extends nothing, and whether we still hold it is asked again soon.
        say("renew_failed", { definite: false, reason: "no answer" });
        nextRenewal = bootMs() + heartbeat / 20;
      } else if (bootMs() < sent + validFor) {
        validUntil = sent + validFor;
        // Sound: the next one counts from now, so that missed ones are not made up in a burst.
        nextRenewal = sent + heartbeat;
        say("renewed", { token: grant.token, valid_until_boot_ns: ns(validUntil) });
      }
      continue;
    }
    if (now >= nextWrite) {
      nextWrite = now + writeEvery;
      // Sound: checked at each write, right before it. What falls between can only be fenced.
      if ((await write(grant.token)) === 409) {
        say("write_refused", { reason: "stale fence", token: grant.token });
        return "the resource has seen a later token";
      }
      continue;
    }
    await sleep(Math.max(1, Math.min(nextWrite, nextRenewal, validUntil, now + 50) - now));
  }
  return null;
}

let waiting = false;
while (!stopping) {
  const sent = bootMs();
  const grant = await acquire();
  if (grant === null || bootMs() >= sent + validFor) {
    if (!waiting) say("waiting");
    waiting = true;
    await sleep(Math.min(heartbeat / 5, 50));
    continue;
  }
  waiting = false;
  say("acquired", { token: grant.token, valid_until_boot_ns: ns(sent + validFor) });
  const why = await hold(grant, sent);
  if (why !== null) say("lost", { token: grant.token, reason: why });
  else if (await script(RELEASE, 1, key, grant.value)) say("released", { token: grant.token });
}
process.exit(0);
