-- ARGV cursor, count
-- Its keys cannot be declared: finding them is what it is for. It writes nothing.
local OURS = 'holdfast:'
local SESSION = OURS .. 'session:'
-- The longest name of a lock, in bytes.
local NAME_MAX = 512

-- The name of a key that this user may not touch and that may be a lock.
local withheld = ''

local function begins_with(text, start)
  return string.sub(text, 1, #start) == start
end

-- Nothing where the key is of another type, or another program's that is no business of this user.
-- Who may not run the command, or not on a key of ours, could take what is held for free.
local function read(command, key)
  local reply = redis.pcall(command, key)
  if type(reply) ~= 'table' or not reply.err then
    return reply
  end
  if string.find(reply.err, 'WRONGTYPE', 1, true) then
    return nil
  end
  local for_key = is_for_user(reply.err) and is_for_key(reply.err)
  if not for_key or begins_with(key, OURS) then
    fail(reply.err, command, key)
  end
  if #key <= NAME_MAX and not string.find(key, '%c') then
    withheld = key
  end
  return nil
end

-- 20 random bytes, and with tokens the id of the session.
local function is_value(text)
  return #text == 40 and not string.find(text, '%X')
      or #text == 73 and string.find(text, '^%x+%.%x+$') == 1 and string.sub(text, 41, 41) == '.'
end

local function lock_of(key)
  local size = read('STRLEN', key)
  if size ~= 40 and size ~= 73 then
    return nil
  end
  local value = read('GET', key)
  local left = read('PTTL', key)
  if not value or not left or left < 0 or not is_value(value) then
    return nil
  end
  local cached = read('GET', 'holdfast:token:' .. key)
  local token = tonumber(cached and string.match(cached, '^%d+:(%d+)$')) or 0
  -- What is above it no script here has written.
  return {key, value, left, token <= LARGEST and token or 0}
end

return answer(function()
  local page = run('SCAN', ARGV[1], 'COUNT', ARGV[2])
  local sessions, locks = {}, {}
  for _, key in ipairs(page[2]) do
    if begins_with(key, SESSION) then
      local record = read('HGETALL', key)
      if record and #record > 0 then
        sessions[#sessions + 1] = {string.sub(key, #SESSION + 1), read('PTTL', key), record}
      end
    elseif not begins_with(key, OURS) then
      locks[#locks + 1] = lock_of(key)
    end
  end
  return {page[1], sessions, locks, withheld}
end)
