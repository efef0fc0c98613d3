-- Begins every script that reads the node record.

-- How far, in microseconds, TIME may fall behind: the margin of every deadline.
local MARGIN = 2000
-- No epoch that a script writes has more.
local EPOCH_DIGITS = 16
-- The largest token. A floor above it is damage, and would use up the tokens of the other nodes.
local BELIEVABLE = 4503599627370495

local function is_floor(number)
  return number and number >= 0 and number <= BELIEVABLE
end

-- The record while this is the life of the node's data that the client knows. A record that lost
-- one of its fields has lost its state like one that is not there.
local function known(key, nonce)
  local got = run('HMGET', key, 'nonce', 'epoch', 'floor', 'max_ttl', 'last_time')
  if not got[1] then
    refuse('HFNOTADMITTED this node has no record')
  end
  if got[1] ~= nonce then
    refuse('HFNOTADMITTED this node lost its state: its nonce is another')
  end
  local node = {
    epoch = got[2],
    floor = tonumber(got[3]),
    max_ttl = tonumber(got[4]),
    last_time = tonumber(got[5]),
  }
  if not (node.epoch and is_floor(node.floor) and node.max_ttl and node.last_time)
     or #node.epoch > EPOCH_DIGITS then
    refuse('HFNOTADMITTED the record of this node is not whole')
  end
  return node
end

-- The same, and it may vote: in epoch zero it waits to rejoin.
local function admitted(key, nonce)
  local node = known(key, nonce)
  if node.epoch == '0' then
    refuse('HFNOTADMITTED this node lost its state and waits to rejoin')
  end
  return node
end

local function same_epoch(node, epoch)
  if node.epoch ~= epoch then
    refuse('HFEPOCH ' .. node.epoch .. ' is the epoch of this node, not ' .. epoch)
  end
end

local function allowed_ttl(node, text)
  local ttl = tonumber(text)
  if not (ttl and ttl >= 1 and ttl <= node.max_ttl) then
    refuse('HFTTL ' .. digits(node.max_ttl) .. ' ms is the longest ttl here, asked for ' .. text)
  end
end

-- A clock that went back means that it was, or is, wrong: what was granted meanwhile did not live
-- as long as promised.
local function time_of(node)
  local now = clock()
  if not (now + MARGIN >= node.last_time) then
    refuse('HFCLOCK ' .. digits(node.last_time - now) .. ' us: so far TIME went back')
  end
  return now
end
