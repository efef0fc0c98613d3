'use strict';

const { Mutex, RedlockMutex } = require('redis-semaphore');
const { run } = require('./modes');

run((nodes, name, ttl) => {
  const options = { lockTimeout: ttl, acquireTimeout: 100, retryInterval: 15, refreshInterval: 0 };
  return async () => {
    const mutex =
      nodes.length === 1
        ? new Mutex(nodes[0], name, options)
        : new RedlockMutex(nodes, name, options);
    if (!(await mutex.tryAcquire())) return undefined;
    return { key: `mutex:${name}`, value: mutex.identifier, release: () => mutex.release() };
  };
});
