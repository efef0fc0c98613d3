-- Begins every script.

local refusal

-- Ends the script with an error reply; its first word is what clients decide by.
local function refuse(text)
  refusal = redis.error_reply(text)
  error('refused', 0)
end

-- No version before 7.2 says which command the user may not run, and 7.0 does not even say NOPERM.
-- All say whether it is for the command or for its key.
local function is_for_user(text)
  return string.find(text, 'NOPERM', 1, true) or string.find(text, 'user executing the', 1, true)
end

local function is_for_key(text)
  return string.find(text, 'of the keys', 1, true) or string.find(text, 'access a key', 1, true)
end

-- An error of a command as the script's own. Redis 6 puts a '-' before some.
local function fail(text, command, key)
  if is_for_user(text) then
    local named = key and " '" .. key .. "'" or ''
    local on = is_for_key(text) and ' on the key' or key and ' on' or ''
    refuse("NOPERM this user may not run '" .. string.lower(command) .. "'" .. on .. named)
  end
  local said = string.gsub(text, '^%-', '')
  -- Neither says of what it speaks.
  if key and string.find(said, 'WRONGTYPE', 1, true) then
    said = said .. ": '" .. key .. "'"
  elseif string.find(said, 'Unknown [%a ]*command called') then
    said = said .. ": '" .. string.lower(command) .. "'"
  end
  refuse(said)
end

-- redis.call would wrap errors in "ERR Error running script" on Redis 6; here OOM, READONLY and all
-- others keep their first word.
local pcall_redis = redis.pcall
local function run(...)
  local reply = pcall_redis(...)
  if type(reply) == 'table' and reply.err then
    local command, key = ...
    fail(reply.err, command, #KEYS > 0 and key)
  end
  return reply
end

-- 2^53 - 1: above it a Lua number leaves out integers.
local LARGEST = 9007199254740991

-- Of an integer below 2^63: '%.0f' gives the same and takes much longer.
local function digits(number)
  return string.format('%d', number)
end

local function answer(body)
  local done, reply = pcall(body)
  if done then
    return reply
  end
  if refusal then
    return refusal
  end
  error(reply, 0)
end
