#!/usr/bin/env bats

# What a newcomer gets wrong, and what the program says then.

load setup

@test "a relative store path is 64 and says the absolute one; in a file it is 78 with its place" {
  expect 64 holdfast run x --store local:locks -- true
  says "store local:locks: the path must be absolute, or it would be another store in every \
directory: write local:$PWD/locks"
  export HOME=$PWD/home
  expect 64 holdfast ls --store 'local:~/locks'
  says 'no shell expands the ~' "write local:$HOME/locks"
  printf 'ttl = "20s"\nstore = "local:~/locks"\n' >c.toml
  unset HOLDFAST_STORE
  export HOLDFAST_CONFIG=$PWD/c.toml
  expect 78 holdfast run x -- true
  says "$PWD/c.toml:2:9: store local:~/locks: the path must be absolute"
  [[ $output != *c.toml:1:* && ! -e locks && ! -e '~' ]]
}

@test "an empty store is refused instead of being the usual one" {
  verbs=('run x -- true' 'elect x --value v -- true' 'leader x' ls 'show x' watch 'deny x' 'break x'
    doctor 'redlock status')
  for words in "${verbs[@]}"; do
    expect 64 holdfast ${words%% *} --store '' ${words#"${words%% *}"}
    says '--store: the value is empty: leave the option out, or name a store'
    HOLDFAST_STORE='' expect 64 holdfast $words
    says 'HOLDFAST_STORE is empty: unset it, or name a store in it'
  done
  HOLDFAST_STORE='' expect 0 holdfast ls --store "$store"
  printf 'ttl = "20s"\nstore = ""\n' >c.toml
  HOLDFAST_CONFIG=$PWD/c.toml expect 78 holdfast ls
  says "$PWD/c.toml:2:9: store is empty: take it out, or name a store"
}

@test "an empty value is not taken for an option that was left out" {
  for option in --ttl --wait --grace --fenced; do
    expect 64 holdfast run x $option '' -- true
    says "$option: the value is empty: leave the option out, or give one"
  done
}

@test "a store in memory locks nothing, and every verb that needs others refuses it" {
  for words in 'run x -- true' ls 'show x' watch 'deny x' 'break x'; do
    expect 64 holdfast ${words%% *} --store MEMORY:x ${words#"${words%% *}"}
    says 'memory: lives inside one process' 'Use local:'
  done
  printf 'store = "memory:x"\n' >c.toml
  unset HOLDFAST_STORE
  HOLDFAST_CONFIG=$PWD/c.toml expect 78 holdfast run x -- true
  says c.toml:1:9
  expect 0 holdfast doctor --store memory:x
}

@test "only run makes a store" {
  for words in ls 'show x' watch 'deny x' 'break x'; do
    expect 69 holdfast $words --store "local:$PWD/mistyped"
    says "there is no store at $PWD/mistyped" '`holdfast run` creates it'
  done
  expect 69 holdfast doctor --store "local:$PWD/mistyped"
  says 'fault' "there is no store at $PWD/mistyped" CLOCK_BOOTTIME
  HOLDFAST_STORE="local:$PWD/mistyped" expect 69 holdfast ls --names
  [[ ! -e mistyped ]]
  expect 0 holdfast run x --store "local:$PWD/mistyped" -- true
  expect 0 holdfast ls --store "local:$PWD/mistyped"
}

# Another user, for whom the default store is below XDG_STATE_HOME.
as_nobody() {
  ((EUID == 0)) || { XDG_STATE_HOME=$BATS_TEST_TMPDIR/state holdfast "$@"; return; }
  RUNMARK=$MARK XDG_STATE_HOME=$BATS_TEST_TMPDIR/state timeout 30 \
    setpriv --reuid=65534 --regid=65534 --clear-groups "$HOLDFAST" "$@"
}

@test "a member of no group is told which one the store is of" {
  ((EUID == 0)) || skip "NOT TESTED: needs root to become another user"
  chmod o+x "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR"/* .
  install -m 755 "$HOLDFAST" program
  group=$(id -gn)
  expect 0 holdfast run x --store "local:$PWD/grouped?group=$group" -- true
  HOLDFAST=$PWD/program
  as_nobody version >/dev/null || skip "NOT TESTED: another user cannot come to $PWD"
  expect 69 as_nobody run x --store "local:$PWD/grouped?group=$group" -- true
  says "cannot open the directory $PWD/grouped: Permission denied" "not in the group $group ("
  [[ $output != *'?group=GROUP'* ]]
}

@test "the default store of a machine that never used it: ls is empty and makes nothing" {
  unset HOLDFAST_STORE
  mkdir state
  chmod o+x "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR"/* .
  [[ $EUID != 0 ]] || chown 65534 state
  # A copy: the folder with the build may be closed to others.
  install -m 755 "$HOLDFAST" program
  HOLDFAST=$PWD/program
  [[ $EUID != 0 ]] ||
    setpriv --reuid=65534 --regid=65534 --clear-groups test -w "$PWD/state" -a -x "$HOLDFAST" ||
    skip "NOT TESTED: another user cannot come to $PWD"
  expect 0 as_nobody ls
  says "store local:$PWD/state/holdfast: 0 locks, 0 sessions"
  expect 0 as_nobody show x
  says 'is free'
  expect 0 as_nobody doctor
  says 'good' 'not there yet; the first holdfast run creates it' CLOCK_BOOTTIME
  [[ -z $(ls -A state) ]]
  rmdir state
  : >state
  expect 69 as_nobody doctor
  says 'fault' 'not there yet, and could not be created'
  expect 69 as_nobody run x -- true
  says "store local:$PWD/state/holdfast: cannot create"
}

@test "a store that does not answer is named once" {
  export HOLDFAST_STORE=redis://127.0.0.1:1
  for words in ls 'show x' 'deny x' 'break x' 'leader x' watch 'run x -- true'; do
    expect 69 holdfast $words
    [[ $output != *"not part of this build"* ]] || skip "NOT TESTED: no redis engine in this build"
    [[ $(grep -o redis:// <<<"$output" | wc -l) == 1 ]] || { echo "$words: $output"; return 1; }
  done
}

@test "errors of the command line are JSON with --json" {
  for words in 'run --json' 'run x --tll 3s --json -- true' 'run x --json' 'run --json -- true' \
    'rnu x --json -- true' 'ls --json --sesions' 'show --json' '--json ls' 'run x --json echo hi' \
    'check --for 3 --json'; do
    expect 64 holdfast $words
    json 'assert a["version"] == 1 and a["error"]["exit"] == 64 and a["error"]["message"], a'
  done
}

@test "wait may be forever, in the file too" {
  printf 'wait = "forever"\n' >c.toml
  HOLDFAST_CONFIG=$PWD/c.toml expect 0 holdfast run x -- true
  HOLDFAST_WAIT=forever expect 0 holdfast run x -- true
  expect 0 holdfast run x --wait forever -- true
  printf 'ttl = "forever"\n' >c.toml
  HOLDFAST_CONFIG=$PWD/c.toml expect 78 holdfast run x -- true
}

@test "what is said of a bad wait names forever, and of nothing else" {
  expect 64 holdfast run x --wait forevr -- true
  says '1.5h, or forever'
  HOLDFAST_WAIT=forevr expect 64 holdfast run x -- true
  says '1.5h, or forever'
  HOLDFAST_WAIT=forevr expect 64 holdfast doctor
  says '1.5h, or forever'
  printf 'wait = "forevr"\n' >c.toml
  HOLDFAST_CONFIG=$PWD/c.toml expect 78 holdfast run x -- true
  says '1.5h, or forever'
  expect 64 holdfast run x --ttl forevr -- true
  [[ $output != *'or forever'* ]]
  expect 64 holdfast deny x --raise-fence file:/floors --wait forevr
  [[ $output != *'or forever'* ]]
}

@test "the one who is denied reads who did it and why" {
  hold_it --ttl 3s 2>said
  expect 0 holdfast deny x --why 'maintenance of db7'
  code=0
  wait "$holder" || code=$?
  [[ $code == 76 ]]
  grep -E 'an operator \([^)]+@[^)]+\) denied it: maintenance of db7.*\[lost\]' said
}

@test "the reason of a denial moves nothing on the terminal of the one who is denied" {
  hold_it --ttl 1h
  expect 64 holdfast deny x --why $'\e]0;title\a\nholdfast: all is well'
  says 'may not hold control characters'
  expect 0 holdfast show x --json
  json 'assert a["entries"][0]["denied"] is False, a'
  : >go
  wait "$holder"
}

@test "ls and show mark who is dead, and who is denied" {
  hold_it --ttl 1h
  kill_wrapper "$holder"
  expect 0 holdfast ls
  says '(dead; the next arrival takes it)'
  expect 0 holdfast show x
  says '(dead; the next arrival takes it)'
  expect 0 holdfast show x --json
  json 'e = a["entries"][0]; assert e["life"] == "dead" and e["denied"] is False, a'
  expect 0 holdfast break x
  hold_it --ttl 1h
  expect 0 holdfast deny x --why test
  expect 0 holdfast ls
  says '(denied; free when its ttl has passed)'
  expect 0 holdfast ls --json
  json 'e = a["locks"][0]["entries"][0]; assert e["life"] == "alive" and e["denied"], a'
  : >go
  wait "$holder" || true
}

@test "help has one usage line that can be typed" {
  for verb in run elect leader ls show watch check deny break redlock doctor version; do
    expect 0 holdfast $verb --help
    [[ $output =~ "Usage: holdfast $verb"(\ |$'\n') && $output != *"$verb $verb"* ]]
  done
  expect 0 holdfast run --help
  says 'Usage: holdfast run NAME [OPTIONS] -- COMMAND [ARGUMENT...]' 'or forever' 'default: 5s'
  help=$output
  expect 0 holdfast help run
  [[ $output == "$help" ]]
  expect 0 holdfast help
  says Verbs:
}

@test "whoever forgets -- or the verb is shown the right line" {
  expect 64 holdfast run nightly echo hi
  says 'write -- before the command: holdfast run nightly -- echo hi;'
  expect 64 holdfast run nightly ./job --flag
  says 'write -- before the command: holdfast run nightly -- ./job --flag;'
  expect 64 holdfast run --wait 5s echo echo "it's"
  says "holdfast run --wait 5s echo -- echo 'it'\\''s';"
  expect 64 holdfast run nightly --tll 3s
  says 'unknown option --tll (did you mean "--ttl"?)'
  expect 64 holdfast nightly -- true
  says 'holdfast run nightly -- true;'
  expect 64 holdfast --store "$store" ls --sessions
  says "options come after the verb: holdfast ls --store $store --sessions;"
  expect 64 holdfast run nightly
  says 'holdfast run nightly -- COMMAND'
}

@test "a verb that other programs have for the same names ours" {
  said_of() { expect 64 holdfast $1; says "unknown verb \"${1%% *}\"$2; see holdfast --help"; }
  for words in hold 'hold nightly -- true' 'lock nightly true' 'flock x -- true'; do
    said_of "$words" ' (did you mean "run NAME -- COMMAND"?)'
  done
  said_of list ' (did you mean "ls"?)'
  said_of 'status x' \
    ' (did you mean "show NAME"? "ls" lists all locks, "doctor" is about the store)'
  said_of 'unlock x' '; a lock ends with the command of its run, and "deny NAME" ends that'
  # A NAME may be such a word.
  expect 64 holdfast lock -- true
  says 'holdfast run lock -- true;'
}

@test "an option that other programs have for the same names ours" {
  said_of() { expect 64 holdfast $1; says "unknown option $2;"; }
  limited='The time of the command itself is limited by -- timeout DURATION COMMAND'
  said_of 'run x --timeout 5s -- true' "--timeout (did you mean \"--wait\"? $limited)"
  said_of 'deny x --timeout 5s' '--timeout (did you mean "--wait"?)'
  said_of 'run x --nonblock -- true' '--nonblock (did you mean "--no-wait"?)'
  said_of 'elect x --value y --endpoints h -- true' '--endpoints (did you mean "--store"?)'
  said_of 'run x -x -- true' '-x; it is exclusive without --shared'
  said_of 'run --name x -- true' '--name; NAME is given without an option'
  said_of 'ls -w' '-w'
  said_of 'ls --watch' '--watch; "watch" prints every change'
  said_of 'deny x --force' '--force; it needs none: deny ends what lives, too'
  said_of 'elect x --listen -- true' '--listen; "leader NAME --watch" shows who leads'
  said_of 'break x --force' '--force; "deny" ends a session that is not dead'
}

@test "a run inside a run of the same lock is 75 at once, and not when the outer one has ended" {
  expect 75 holdfast run x -- "$HOLDFAST" run x -- true
  says 'wait for itself'
  expect 9 holdfast run x --shared -- "$HOLDFAST" run x -E9 -- true
  expect 0 holdfast run x --shared -- "$HOLDFAST" run x --shared -- true
  expect 0 holdfast run x -- "$HOLDFAST" run y -- true
  expect 75 holdfast run x --permits 1 -- "$HOLDFAST" run x --permits 1 -- true
  says 'wait for itself'
  p=(run x --permits 2)
  expect 75 holdfast "${p[@]}" -- "$HOLDFAST" "${p[@]}" -- "$HOLDFAST" "${p[@]}" -- true
  says 'wait for itself'
  expect 0 holdfast "${p[@]}" -- "$HOLDFAST" "${p[@]}" -- true
  # Another one may give its permit back.
  in_background "${p[@]}" -- "${until_go[@]}"
  until_true test -e held
  expect 75 holdfast "${p[@]}" -- "$HOLDFAST" "${p[@]}" --wait 300ms -- true
  [[ $output =~ waited\ [0-9.]+m?s ]]
  : >go
  wait $pid
  expect 0 holdfast run x -- "$HOLDFAST" run x --store "local:$PWD/other" -- true
  holdfast run x -- env >env.txt
  expect 0 env $(grep -E '^HOLDFAST_(LOCK|SESSION|STORE)=' env.txt) "$HOLDFAST" run x -- true
  # Another session holds it by now: that one can be waited for.
  hold_it
  expect 75 env $(grep -E '^HOLDFAST_(LOCK|SESSION|STORE)=' env.txt) \
    "$HOLDFAST" run x --wait 100ms -- true
  [[ $output =~ waited\ [0-9.]+m?s ]]
  release
}

@test "a grace that does not fit names where it was set" {
  expect 64 holdfast run x --ttl 6s --grace 5s -- true
  says '--grace 5s does not fit' '6s, option --ttl'
  expect 64 holdfast run x --ttl 2s --grace 1001ms -- true
  says '--grace 1.001s does not fit' '2s, option --ttl'
  HOLDFAST_GRACE=5s expect 64 holdfast run x --ttl 6s -- true
  says 'grace 5s of environment HOLDFAST_GRACE does not fit'
  printf 'label = "a"\ngrace = "5s"\n' >c.toml
  HOLDFAST_CONFIG=$PWD/c.toml expect 78 holdfast run x --ttl 6s -- true
  says "$PWD/c.toml:2:9: grace 5s"
}

@test "doctor of a damaged or forbidden store says so as a finding and looks at the machine too" {
  chmod 0777 store
  expect 69 holdfast doctor
  says fault 'mode 0777' CLOCK_BOOTTIME
  chmod 0700 store
  : >store/data.mdb
  expect 65 holdfast doctor
  says fault data.mdb CLOCK_BOOTTIME
  expect 65 holdfast doctor --json
  json 'assert [f["subject"] for f in a["findings"] if f["level"] == "fault"] == ["store"], a
assert len(a["findings"]) > 3 and a["settings"], a'
  expect 64 holdfast doctor --store nosuch://h
  says nosuch CLOCK_BOOTTIME
}

@test "doctor finds a variable that every run refuses" {
  HOLDFAST_TTL=abc expect 64 holdfast run x -- true
  HOLDFAST_TTL=abc HOLDFAST_WAIT=forever expect 64 holdfast doctor --json
  json 'assert [f["subject"] for f in a["findings"] if f["level"] == "fault"] == ["ttl"], a'
  HOLDFAST_GRACE=5 HOLDFAST_WAIT=soon expect 64 holdfast doctor
  says 'grace (environment HOLDFAST_GRACE)' 'wait (environment HOLDFAST_WAIT)'
  HOLDFAST_TTL=2h expect 64 holdfast run x -- true
  HOLDFAST_TTL=2h expect 64 holdfast doctor
  says fault 'it must be from 100ms to 1h'
}

@test "a label or an instance with control characters is refused, and a command may have them" {
  for option in label instance; do
    expect 64 holdfast run x --$option $'a)\nx  exclusive  1' -- true
    says "$option (option --$option): it may not hold control characters"
    expect 64 env "HOLDFAST_${option^^}"=$'\e[2J' "$HOLDFAST" run x -- true
    expect 64 env "HOLDFAST_${option^^}"=$'\e[2J' "$HOLDFAST" doctor --json
    json "assert [f['subject'] for f in a['findings'] if f['level'] == 'fault'] == ['$option'], a"
  done
  install -m 755 "$(type -P true)" $'a\nb'
  expect 0 holdfast run x -- $'./a\nb'
}

# faults: the subjects of the faults that doctor told.
faults() { json 'print(*[f["subject"] for f in a["findings"] if f["level"] == "fault"])'; }

@test "doctor finds settings that are none together, or too long, with the code of every run" {
  long=$(printf 'x%.0s' {1..300})
  check() {
    local subject=$1 code=$2
    shift 2
    expect "$code" env "$@" timeout 60 "$HOLDFAST" run x -- true
    expect "$code" env "$@" timeout 60 "$HOLDFAST" doctor --json
    [[ $(faults) == "$subject" ]] || { echo "$*: $output"; return 1; }
  }
  check grace 64 HOLDFAST_GRACE=20s
  check grace 64 HOLDFAST_TTL=4s HOLDFAST_GRACE=3s
  check grace 64 HOLDFAST_STORE="$store?ttl=4s" HOLDFAST_GRACE=3s
  check label 64 HOLDFAST_LABEL=$long
  echo 'ttl = "20s"' >ttl.toml
  check label 64 HOLDFAST_LABEL=$long HOLDFAST_CONFIG="$PWD/ttl.toml"
  expect 64 env HOLDFAST_LABEL=$long HOLDFAST_CONFIG="$PWD/ttl.toml" "$HOLDFAST" run x -- true
  says 'label (environment HOLDFAST_LABEL): it has 300 bytes'
  [[ $output != *toml* ]]
  expect 64 env HOLDFAST_CONFIG="$PWD/ttl.toml" "$HOLDFAST" run x --instance "$long" -- true
  says 'instance (option --instance): it has 300 bytes'
  check ttl 64 HOLDFAST_TTL=0s
  for line in 'grace = "20s"' "label = \"$long\"" "instance = \"$long\"" 'ttl = "0s"'; do
    echo "$line" >config.toml
    check "${line%% *}" 78 HOLDFAST_CONFIG="$PWD/config.toml"
    says "config.toml:1:"
  done
  HOLDFAST_GRACE=15s expect 0 holdfast doctor
  HOLDFAST_STORE="$store?ttl=1m" HOLDFAST_GRACE=20s expect 0 holdfast doctor
}

@test "a wait that runs out says how long was waited and when the holder asked" {
  hold_it
  expect 75 holdfast run x --wait 900ms -- true
  says '; the holder asked for it ' ' ago; waited '
  [[ $output =~ \;\ waited\ ([0-9]+)(ms|s|\.) ]]
  # What the opening took of it is not waited for the lock.
  [[ ${BASH_REMATCH[2]} != ms ]] || ((BASH_REMATCH[1] >= 1 && BASH_REMATCH[1] <= 999))
  expect 0 holdfast ls
  says ': 1 lock, 1 session' '  ASKED  ' ' ago  '
  expect 0 holdfast show x
  says '  ASKED  ' ' ago  '
  release
}

@test "who waits on 80 columns sees the holder and the place, whatever the names" {
  long=$(printf 'n%.0s' {1..300})
  in_background run "$long" -- "${until_go[@]}"
  holder=$pid
  until_true test -e held
  LONG=$long cat >talk.exp <<'T'
set timeout 30
set stty_init "rows 24 columns 80"
spawn $env(HOLDFAST) run $env(LONG) -- echo mine
expect_after timeout {exit 1} eof {exit 2}
expect -re {next for "n+\.\.\.", held by [^ ]+:[0-9]+ sh}
exec touch go
expect "mine"
expect eof
T
  LONG=$long run timeout 60 expect talk.exp
  release
  [[ $status == 0 && $output != *local:* ]] || { echo "$output"; return 1; }
}

@test "a store's scheme that was mistyped is guessed" {
  for words in 'run x -- true' ls doctor; do
    run holdfast ${words%% *} --store "loacl:$PWD/s" ${words#"${words%% *}"}
    says 'unknown store URL scheme' '(did you mean "local"?)'
  done
  expect 64 holdfast ls --store rediss://h
  says '(did you mean "redis"?)'
  expect 64 holdfast ls --store quorum://h
  [[ $output != *'did you mean'* ]]
}

@test "a server or a path in place of a store is answered with its URL" {
  expect 64 holdfast ls --store localhost:6379
  says 'write redis://localhost:6379'
  expect 64 holdfast ls --store "$PWD/s"
  says "write local:$PWD/s"
  expect 64 holdfast ls --store "file:$PWD/s"
  says "write local:$PWD/s"
}

@test "who finds nothing to end is told in which store" {
  for verb in break deny; do
    expect 64 holdfast $verb nope
    says "nobody holds \"nope\" in store $store"
    expect 64 holdfast $verb --session 0123456789abcdef0123456789abcdef
    says "no session 0123456789abcdef0123456789abcdef in $store"
  done
}

@test "a session id where a name belongs is told as one" {
  in_background run x -- sleep 60
  until_true eval '"$HOLDFAST" ls | grep -q x'
  id=$("$HOLDFAST" ls --sessions | grep -o '^[0-9a-f]\{32\}')
  for verb in break deny; do
    expect 64 holdfast $verb "$id"
    says "nobody holds \"$id\"" "write --session $id"
  done
  kill $pid
}

@test "a local store that cannot be used is not advised to be waited for" {
  : >file
  expect 69 holdfast run x --store "local:$PWD/file" -- true
  [[ $output != *--wait* ]]
}
