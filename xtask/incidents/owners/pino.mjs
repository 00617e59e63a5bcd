// Loaded before a worker: its event lines become the lines of a JSON logger, with the time in ms since 1970.
// INCIDENT_EVENTS names a file that gets the events as they were said, for the truth.

import { appendFileSync } from "node:fs";
import { hostname } from "node:os";

const words = {
  acquired: [30, "lease acquired"],
  renewed: [30, "lease renewed"],
  renew_sent: [20, "renewing lease"],
  renew_failed: [40, "lease renewal failed"],
  lost: [50, "lease lost"],
  released: [30, "lease released"],
  write_refused: [40, "write refused"],
};
const plain = process.stdout.write.bind(process.stdout);
const base = { pid: process.pid, hostname: hostname(), name: "worker" };

process.stdout.write = (text, ...rest) => {
  if (typeof text !== "string" || !text.startsWith('{"lease"')) return plain(text, ...rest);
  const event = JSON.parse(text);
  const time = Date.now();
  appendFileSync(process.env.INCIDENT_EVENTS, `${JSON.stringify({ ...event, wall_ns: time * 1e6 })}\n`);
  const [level, msg] = words[event.lease] ?? [30, event.lease];
  const { token, attempt, reason } = event;
  return plain(`${JSON.stringify({ level, time, ...base, key: process.env.LEASEPROOF_KEY, token, attempt, reason, msg })}\n`);
};
