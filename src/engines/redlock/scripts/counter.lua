-- Begins every script that changes a counter.

-- The name's own counter, kept as `epoch:token`, which other names do not move; else the floor of
-- the node. Nothing writes one above the floor, so one that is was not written by these scripts.
local function counter_of(key, node)
  local epoch, token = string.match(run('GET', key) or '', '^(%d+):(%d+)$')
  token = tonumber(token)
  if epoch == node.epoch and token <= node.floor then
    return token
  end
  return node.floor
end

-- The floor first: a lost cache costs a round trip, a lost floor a token given twice. The cache is
-- forgotten, because every name that was ever used would stay otherwise.
local function keep_counter(key, node_key, node, token, now)
  local text = digits(token)
  run('HSET', node_key, 'floor', digits(math.max(node.floor, token)),
      'last_time', digits(math.max(node.last_time, now)))
  run('SET', key, node.epoch .. ':' .. text, 'PX', digits(2 * node.max_ttl))
end

local function token_from(text)
  local token = tonumber(text)
  if not (token and token >= 1 and token <= BELIEVABLE) then
    refuse('HFCOUNTER ' .. text .. ' is not from 1 to 2^52 - 1')
  end
  return token
end
