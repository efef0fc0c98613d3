-- Begins every script that reads or changes sessions and queues.

-- Behind every key of this life of the data; see keys.hpp.
local P

-- Nothing is done in a life that the client does not know, or that still waits.
local function admitted(nonce)
  local got = run('HMGET', 'holdfast:store', 'nonce', 'admitted')
  if got[1] ~= nonce or got[2] ~= '1' then
    refuse('HFNOTADMITTED the state of this server is another than the client knows')
  end
  P = 'holdfast:' .. nonce .. ':'
end

local function session_key(id)
  return P .. 'session:' .. id
end

local function entries_key(kind, id, inc)
  return P .. kind .. ':' .. id .. ':' .. inc
end

-- Of a session: from ttl_min to ttl_max of src/core/lease.hpp, in nanoseconds.
local function is_ttl(text)
  local ttl = string.find(text, '^%d+$') and tonumber(text)
  return ttl and ttl >= 100000000 and ttl <= 3600000000000
end

local function refuse_record(id, why)
  refuse('HFDAMAGED the record of session ' .. id .. ' is not one of holdfast' .. (why or ''))
end

-- Nothing that is written into a record is longer. At half a megabyte the client that reads it ends
-- its connection, and with it all that is under way there.
local TEXT_MAX = 4096

local function all_short(values)
  for i = 1, #values do
    if values[i] and #values[i] > TEXT_MAX then
      return false
    end
  end
  return true
end

local function refuse_long(id)
  refuse_record(id, '; a field of it has more than ' .. TEXT_MAX .. ' bytes: shorten that (HSET)')
end

-- The whole record of a session, as a field and its value in turns.
local function record_of(id)
  local record = run('HGETALL', session_key(id))
  if not all_short(record) then
    refuse_long(id)
  end
  return record
end

-- The next order or incarnation: one counter, so that both grow over every name and every end.
local function next_number()
  local number = run('HINCRBY', 'holdfast:store', 'floor', 1)
  if not (number <= LARGEST) then
    -- Who is refused changes nothing: a floor above what tokens have looks like damage.
    run('HINCRBY', 'holdfast:store', 'floor', -1)
    refuse('HFCOUNTER the tokens of this store are used up')
  end
  return digits(number)
end

-- Texts that somebody else wrote are cut to what is shown: a client gives up a connection on which
-- an error takes 64 kB.
local function refuse_denied(by, why)
  refuse('HFDENIED ' .. string.sub(by or '', 1, 300) .. '\t' .. string.sub(why or '', 1, 300))
end

-- The session's own fields; it has this incarnation and is not denied.
local function usable_session(id, inc)
  local got = run('HMGET', session_key(id), 'inc', 'denied', 'gate', 'denied_by', 'denied_why')
  if got[1] ~= inc then
    refuse('HFGONE session ' .. id .. ' is not there')
  end
  if got[2] ~= '0' then
    refuse_denied(got[4], got[5])
  end
  return got[3]
end
