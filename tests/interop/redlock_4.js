'use strict';

const Redlock = require('redlock4');
const { run } = require('./modes');

run((nodes, name, ttl) => {
  const redlock = new Redlock(nodes, { retryCount: 5, retryDelay: 15, retryJitter: 10 });
  return async () => {
    try {
      const lock = await redlock.lock(name, ttl);
      return { key: name, value: lock.value, release: () => lock.unlock() };
    } catch (error) {
      if (error instanceof Redlock.LockError) return undefined;
      throw error;
    }
  };
});
