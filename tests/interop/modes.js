'use strict';

// What each client of this folder can be told to do:
//
//     CLIENT MODE NAME TTL_MS LOG PORT...
//
// contend  Acquires, holds for a moment and releases until standard input ends. Each time is a line
//          of LOG, for section_log.hpp. Says "sections N refused N lost N" at the end.
// hold     Acquires and says "held VALUE". Releases when standard input ends: "released" or "lost".
// try      Tries for as long as its library does: "refused", or "held VALUE".

const fs = require('fs');
const path = require('path');
const { setTimeout: sleep } = require('timers/promises');
const Redis = require('ioredis');

const [mode, name, ttlText, log, ...ports] = process.argv.slice(2);
const ttl = Number(ttlText);

let over = false;
const ended = new Promise((resolve) => {
  process.stdin.on('end', () => {
    over = true;
    resolve();
  });
  process.stdin.resume();
});

// On Linux this is CLOCK_MONOTONIC, which all processes of a machine share.
const now = () => process.hrtime.bigint();

async function isOwn(nodes, { key, value }) {
  const values = await Promise.all(nodes.map((node) => node.get(key)));
  return values.filter((v) => v === value).length > nodes.length / 2;
}

/** False when the library says that there was nothing to release any more. */
async function released(lock) {
  try {
    await lock.release();
    return true;
  } catch (error) {
    console.error(error);
    return false;
  }
}

async function contend(acquire, nodes) {
  const who = `${path.basename(process.argv[1], '.js')}-${process.pid}`;
  const file = fs.openSync(log, 'a');
  const count = { sections: 0, refused: 0, lost: 0 };
  while (!over) {
    // Earlier than any library begins to count, so that no line claims more than it believes.
    const trusted = now() + BigInt(ttl) * 900_000n;
    const lock = await acquire();
    if (!lock) {
      count.refused += 1;
      continue;
    }
    const begin = now();
    await sleep(1);
    const kept = await isOwn(nodes, lock);
    const seen = now();
    const end = seen < trusted ? seen : trusted;
    if (begin < end) fs.writeSync(file, `${who} ${begin} ${end}\n`);
    count.sections += 1;
    if (!(await released(lock)) || !kept) count.lost += 1;
    await sleep(5 + Math.random() * 10);
  }
  console.log(`sections ${count.sections} refused ${count.refused} lost ${count.lost}`);
}

async function hold(acquire, nodes) {
  let lock;
  while (!lock && !over) lock = await acquire();
  if (!lock) return;
  console.log(`held ${lock.value}`);
  await ended;
  const kept = await isOwn(nodes, lock);
  console.log((await released(lock)) && kept ? 'released' : 'lost');
}

async function attempt(acquire) {
  const lock = await acquire();
  console.log(lock ? `held ${lock.value}` : 'refused');
}

/**
 * `make(nodes, name, ttl)` gives what acquires: it resolves to nothing when the lock is taken, else
 * to { key, value, release }.
 */
exports.run = async (make) => {
  const nodes = ports.map((port) => new Redis(Number(port), '127.0.0.1'));
  await { contend, hold, try: attempt }[mode](make(nodes, name, ttl), nodes);
  for (const node of nodes) node.disconnect();
  process.stdin.destroy();
};
