#!/usr/bin/env bats

load setup

@test "a mistyped verb gets the near match" {
  expect 64 holdfast rnu
  [[ $output == *'did you mean "run"?'* ]]
}

@test "verbs of later versions are unknown" {
  for verb in bench; do expect 64 holdfast $verb; done
}

@test "no verb is 64, help is 0 and has the exit codes" {
  expect 64 holdfast
  expect 0 holdfast --help
  for code in 64 65 69 75 76 77 78 126 127; do [[ $output == *"$code "* ]]; done
  for verb in run elect leader ls show watch check deny break fence redlock doctor version; do
    expect 0 holdfast $verb --help
    [[ $output == *"Exit codes"*"  64   wrong arguments"* ]]
  done
}

@test "the help has all exit codes, and that of a verb those of no other" {
  expect 0 holdfast --help
  says 'redlock recover: a majority votes' 'in a floor file; verify: in the history' \
    'run --fenced, deny --raise-fence:'
  expect 0 holdfast run --help
  says '  75   not obtained: another session holds it' '  77   the token is stale' '  127  '
  [[ $output != *linearizable* && $output != *"nobody leads"* ]]
  [[ $output =~ 'the store may allow'[[:space:]]+'less (max_ttl)' ]]
  tr -s ' \n' ' ' <<<"$output" |
    grep -F "(default: the ttl of the store's URL, else 30s, or the store's max_ttl if less)"
  tr '\n' ' ' <"$BATS_TEST_DIRNAME/../../cli/man/holdfast.1" |
    grep -F "By default the ttl of the store's URL, else 30s, or the max_ttl of the store if that"
  expect 0 holdfast leader --help
  says '  75   nobody leads'
  [[ $output != *"  77 "* && $output != *"not obtained"* ]]
  expect 0 holdfast redlock --help
  says '  75   a majority votes'
  expect 0 holdfast deny --help
  says 'no such session or holder' '  75   older writes are still under way'
}

@test "a mistyped option gets the near match" {
  expect 64 holdfast run x --tll 3s -- true
  [[ $output == *'did you mean "--ttl"?'* ]]
}

@test "a short option that run does not have gets the long one" {
  expect 64 holdfast run x -w 5s -- true
  says 'run: unknown option -w (did you mean "--wait"?);'
  expect 64 holdfast elect x -z --value y -- true
  says 'elect: unknown option -z;'
}

@test "check outside of run names the variable that is missing" {
  expect 64 holdfast check
  says '(HOLDFAST_LEASE is empty or not set)'
  HOLDFAST_LEASE=x expect 64 holdfast check
  says '(HOLDFAST_SESSION is no session id)'
}

@test "a value of a settings file without quotes is explained" {
  for line in 'store = local:/srv/locks' 'ttl = 30s' 'label = night job'; do
    printf 'grace = "1s" # as = ever\n%s\n' "$line" >bare.toml
    HOLDFAST_CONFIG=$PWD/bare.toml expect 78 holdfast ls
    says "$PWD/bare.toml:2:" "; ${line%% *} must be a text in quotes, as in ${line%% *} = \""
  done
  printf 'store = "local:/srv\n' >bare.toml
  HOLDFAST_CONFIG=$PWD/bare.toml expect 78 holdfast ls
  [[ $output != *'in quotes'* ]]
}

@test "an option whose value was forgotten is named" {
  expect 64 holdfast run x --ttl --no-wait -- true
  says 'run: --ttl lacks its value (DURATION)' 'the option --no-wait' 'write --ttl=--no-wait'
  expect 64 holdfast run x -E -n -- true
  says '-E lacks its value (N)'
  expect 64 holdfast redlock recover --max-ttl --yes --store redlock://127.0.0.1:1
  says 'redlock: --max-ttl lacks its value (DURATION)' 'the option --yes'
  [[ $output != *negative* ]]
  expect 0 holdfast run x --label=--ttl -- true
  expect 0 holdfast show -- --session
}

@test "an option that is given an empty value is not taken for one that is left out" {
  for words in 'deny x --raise-fence' 'deny x --audit' 'deny --session' 'check --for' \
    'run x --permits' 'run x --ttl' 'run x --wait' 'run x -E' 'redlock init --max-ttl' \
    'redlock recover --max-ttl' 'fence raise file:/f x 5 --wait' 'ls --store'; do
    expect 64 holdfast $words ''
    says 'the value is empty'
  done
  expect 64 holdfast run x --permits= --shared -- true
  says 'the value is empty'
  hold_it
  expect 75 holdfast run x --label= --no-wait -- true
  expect 64 holdfast deny x --why= --raise-fence=
  says 'the value is empty'
  release
  expect 0 holdfast show -- --wait=
  expect 64 holdfast redlock init --max-ttl 0s --store redlock://127.0.0.1:1
  says '--max-ttl 0s: a max_ttl is from 100ms to 1h'
  expect 0 holdfast run x --label '' --instance '' -- true
  expect 64 holdfast elect x --value '' -- true
  says '--value: the value is empty'
}

@test "the version is JSON with --json, however it is asked for" {
  for words in version --version -V; do
    expect 0 holdfast $words --json
    json 'assert a["version"] == 1 and a["holdfast"], a'
  done
}

@test "an empty --label and --instance win over the environment" {
  export HOLDFAST_LABEL=night HOLDFAST_INSTANCE=7
  expect 0 holdfast run x -- "$HOLDFAST" ls --json
  says '"label":"night"' '"instance":"7"'
  expect 0 holdfast run x --label '' --instance= -- "$HOLDFAST" ls --json
  says '"label":""' '"instance":""'
}

@test "a verb that runs no command takes none" {
  : >a
  for words in 'check --for 1s' ls watch doctor version 'redlock recover --yes --max-ttl 5m'; do
    expect 64 timeout 10 "$HOLDFAST" run x -- "$HOLDFAST" $words -- mv a b
    says "${words%% *}: it runs no command" 'leave out -- mv a b'
  done
  [[ -e a && ! -e b ]]
  expect 64 holdfast redlock recover --store redlock://127.0.0.1:1 --yes -- --max-ttl 5m
  says 'leave out -- --max-ttl 5m'
  expect 64 holdfast ls -- --json
  expect 0 holdfast ls --
}

@test "options after -- belong to the command" {
  expect 0 holdfast run x -- echo --help --ttl -- -n
  [[ $output == "--help --ttl -- -n" ]]
}

@test "run without a command is 64" {
  expect 64 holdfast run x
  expect 64 holdfast run x --
}

@test "bad names are 64" {
  expect 64 holdfast run '' -- true
  expect 64 holdfast run $'a\nb' -- true
  expect 64 holdfast run $'a\x7f' -- true
  expect 64 holdfast run "$(printf 'x%.0s' {1..513})" -- true
  expect 0 holdfast run "$(printf 'x%.0s' {1..512})" -- true
}

@test "run and elect say that they take no name with a dash in front" {
  for words in '-dash -- true' '-- -dash -- true' '--ttl 3s --dash -- true'; do
    expect 64 holdfast run $words
    says 'NAME is required, and run takes none that begins with a dash;'
  done
  expect 64 holdfast elect -- -dash --value x -- true
  says 'elect takes none that begins with a dash;'
  expect 64 holdfast run --verbose -- ls -l
  says 'NAME is required;'
  expect 0 holdfast show -- -dash
  expect 64 holdfast show -dash
  says 'unknown option -dash; a NAME that begins with a dash is given after --'
}

@test "bad ttls are 64" {
  for ttl in 0s -1s 2h 99ms 30 soon ''; do expect 64 holdfast run x --ttl="$ttl" -- true; done
}

@test "bad waits and graces are 64" {
  expect 64 holdfast run x --wait=5 -- true
  expect 64 holdfast run x --wait=-5s -- true
  expect 64 holdfast run x --wait=5s --no-wait -- true
  expect 64 holdfast run x --ttl 2s --grace 1500ms -- true
  [[ $output == *"half of the ttl"* ]]
}

@test "bad permits are 64" {
  for n in 0 -1 x 1000001 1.5; do expect 64 holdfast run x --permits=$n -- true; done
  expect 64 holdfast run x --permits=2 --shared -- true
}

@test "bad codes for -E are 64" {
  for n in 256 -1 x 600; do expect 64 holdfast run x -E$n -- true; done
}

@test "an unknown scheme is 64 and says so" {
  expect 64 holdfast run x --store nosuch://h -- true
  [[ $output == *nosuch* ]]
  for url in nosuch:// nosuch://h?ttl=5 nosuch+tls://,; do
    expect 64 holdfast run x --store "$url" -- true
    says "unknown store URL scheme 'nosuch'; built in: "
  done
}

@test "an unusable store is 69" {
  expect 69 holdfast ls --store local:/proc/nosuch
  expect 69 holdfast run x --store local:/proc/nosuch/store -- true
  says 'cannot create the directory /proc/nosuch: ' 'choose a path where you may write'
  : >file
  expect 69 holdfast run x --store "local:$PWD/file" -- true
}

@test "a command that is not found is 127, one that may not run is 126" {
  expect 127 holdfast run x -- nosuch-command
  expect 127 holdfast run x -- ./nosuch
  : >plain
  expect 126 holdfast run x -- ./plain
  expect 126 holdfast run x -- /
  printf 'no program\n' >text
  chmod +x text
  expect 126 holdfast run x -- ./text
}

@test "the command is checked before the store is looked at" {
  expect 127 holdfast run x --store local:/proc/nosuch -- nosuch-command
}

@test "a fault in a configuration file is 78 with its place" {
  export HOLDFAST_CONFIG=$PWD/c.toml
  printf 'label = "a"\nstroe = "memory:x"\n' >c.toml
  expect 78 holdfast run x -- true
  [[ $output == *'c.toml:2:1: unknown setting "stroe" (did you mean "store"?)'* ]]
  printf 'ttl = 30\n' >c.toml
  expect 78 holdfast doctor
  [[ $output == *c.toml:1:7:* ]]
  printf 'ttl = "x' >c.toml
  expect 78 holdfast ls
  unset HOLDFAST_STORE
  printf 'store = "nosuch://h"\n' >c.toml
  expect 78 holdfast ls
  [[ $output == *c.toml:1:9* ]]
}

@test "the user's file is read, and the environment and options win over it" {
  unset HOLDFAST_CONFIG
  mkdir -p config/holdfast
  printf 'ttl = "20s"\nlabel = "file"\ngrace = "3s"\n' >config/holdfast/config.toml
  export XDG_CONFIG_HOME=$PWD/config HOLDFAST_LABEL=variable
  expect 0 holdfast doctor --store memory:x
  [[ $output =~ ttl\ +20s\ +.*config.toml:1:7 ]]
  [[ $output =~ label\ +variable\ +environment\ HOLDFAST_LABEL ]]
  [[ $output =~ store\ +memory:x\ +option\ --store ]]
  [[ $output =~ wait\ +forever\ +default ]]
  says 'the smallest safe ttl is ' 'That was measured now' 'With a ttl of 20s'
  # Three seconds of grace and a fiftieth of the ttl; heartbeats are tried again in the rest.
  [[ $output =~ 'ttl is '[6-9][.0-9]*'s, with the last 3.'[0-9]*'s of it for stopping' ]]
}

@test "errors are JSON with --json" {
  expect 127 holdfast run x --json -- nosuch-command
  python3 -c 'import json, sys
e = json.loads(sys.argv[1])
assert e["version"] == 1 and e["error"]["exit"] == 127, e' "$output"
}

@test "version" {
  expect 0 holdfast version
  [[ $output =~ ^holdfast\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
  expect 0 holdfast version --json
}

@test "show, deny and break need exactly one target that exists" {
  for verb in show deny break; do
    expect 64 holdfast $verb
    expect 64 holdfast $verb x --session 00000000000000000000000000000000
    expect 64 holdfast $verb --session nonsense
    expect 64 holdfast $verb --session 00000000000000000000000000000000
  done
  expect 64 holdfast deny x
  expect 64 holdfast break x
  expect 0 holdfast show x
  [[ $output == *"is free"* ]]
}

@test "each action of redlock has its own help, in lines for a terminal" {
  expect 0 holdfast redlock recover --help
  says 'mutual exclusion' '--yes' '--max-ttl'
  [[ -z $(grep -E '.{101}' <<<"$output") ]]
  expect 0 holdfast redlock status --help
  says 'when the store was never set up'
  [[ $output != *--max-ttl* && $output != *--yes* ]]
  expect 0 holdfast redlock --help
  says 'holdfast redlock ACTION --help'
  [[ -z $(grep -E '.{101}' <<<"$output") ]]
}
