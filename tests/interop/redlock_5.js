'use strict';

const { default: Redlock, ExecutionError } = require('redlock5');
const { run } = require('./modes');

run((nodes, name, ttl) => {
  // It keeps the nodes that it got while it retries, and they refuse its own next attempt.
  const redlock = new Redlock(nodes, { retryCount: 1, retryDelay: 15, retryJitter: 10 });
  return async () => {
    try {
      const lock = await redlock.acquire([name], ttl);
      return { key: name, value: lock.value, release: () => lock.release() };
    } catch (error) {
      if (error instanceof ExecutionError) return undefined;
      throw error;
    }
  };
});
