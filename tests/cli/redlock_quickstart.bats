#!/usr/bin/env bats

# What the README and Redlock's page tell a newcomer to type.

load setup
load servers
load redlock_servers

# section PAGE HEADING: its commands, on the suite's ports and in this directory. Whatever machine
# this is keeps its /etc/machine-id. A server that has gone into the background may not listen yet.
section() {
  local edit="s|/srv/data|$PWD/data|g; /^export HOLDFAST_STORE=/s|\$|?$patient|" i
  for i in 1 2 3 4 5; do edit+="; s|1700$i|$(port_of "$i")|g"; done
  echo "port=(0 $(for i in 1 2 3 4 5; do port_of "$i"; done | xargs))"
  local awaits='until redis-cli -p ${port[i]} ping; do sleep 0.1; done'
  sed -n "/^## $2\$/,/^## /s/^    //p" "$BATS_TEST_DIRNAME/../../$1" | sed "/machine-id/d; $edit
    s|1700\$i|\${port[i]}|g
    /redis-server/a for i in 1 2 3 4 5; do $awaits; done"
}

# Servers in the background keep what is open, and not the mark of their environment.
commands_of() { RUNMARK=$MARK bash -euo pipefail "$@" 3>&-; }

# Also of those that a page started, when the test failed before its last command.
teardown_file() {
  local i
  for i in 1 2 3 4 5; do
    redis-cli -p "$(port_of "$i")" shutdown nosave 2>/dev/null || true
    stop_server "$i"
  done
}

# What a page begins with, done as it says: its servers, too.
@test "the commands of the README and of Redlock's page grant a lock, and fence its writes" {
  [[ -s /etc/machine-id ]] || skip "NOT TESTED: no /etc/machine-id"
  for i in 1 2 3 4 5; do stop_server "$i"; done
  mkdir bin
  ln -s "$HOLDFAST" bin/holdfast
  export PATH=$PWD/bin:$PATH
  section README.md 'Several machines: Redlock' >readme
  section docs/redlock.md 'From five empty servers to a fenced lock' >page
  sed -n "/^holdfast run nightly -- sh -c '\$/,/'\$/p" page >fenced
  [[ $(<readme) == *"$(<fenced)"* && $(<fenced) == *'holdfast fence check'* ]]
  sed '/^for i in 2 3 4 5; do redis-cli .* shutdown/,$d' readme >begin
  sed -n '/^for i in 2 3 4 5; do redis-cli .* shutdown/,$p' readme >end
  [[ -s begin && -s end ]]
  expect 0 commands_of begin
  says PONG '5 of 5 nodes vote' 'write with token ' 'still works, with token ' '4 of 5 nodes vote'
  [[ -s data/floors ]]

  export HOLDFAST_STORE=$at
  stale=$(holdfast run nightly -- sh -c 'echo "$HOLDFAST_FENCING_TOKEN"')
  expect 0 commands_of fenced
  says 'write with token '
  expect 77 holdfast fence check "file:$PWD/data/floors" nightly.redlock "$stale"
  HOLDFAST_FENCING_TOKEN=$stale expect 77 commands_of <(sed '1d; $d' fenced)
  other=$(holdfast run other -- sh -c 'echo "$HOLDFAST_FENCING_TOKEN"')
  expect 64 holdfast fence check "file:$PWD/data/floors" nightly.redlock "$other"
  { head -n 1 readme && cat end; } >stop
  expect 0 commands_of stop

  rm -r data
  expect 0 commands_of page
  says 'write with token '
  { head -n 1 page && grep -o 'for i in 1 2 3 4 5; do redis-cli [^`]*shutdown; done' \
    "$BATS_TEST_DIRNAME/../../docs/redlock.md" | sed 's|1700\$i|${port[i]}|g'; } >stop
  expect 0 commands_of stop
}
