-- Begins every script.

local refusal

-- Ends the script with an error reply; its first word is what clients decide by.
local function refuse(text)
  refusal = redis.error_reply(text)
  error('refused', 0)
end

-- redis.call wraps the errors of commands in "ERR Error running script" on Redis 6, where some also
-- begin with a '-' of their own; here OOM, NOPERM and all others keep their first word everywhere.
local function run(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    refuse((string.gsub(reply.err, '^%-', '')))
  end
  return reply
end

local function digits(number)
  return string.format('%.0f', number)
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
