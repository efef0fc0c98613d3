#!/usr/bin/env bats

load setup

completions=$BATS_TEST_DIRNAME/../../cli/completion
manual=$BATS_TEST_DIRNAME/../../cli/man/holdfast.1

# hold_names NAME...: each is held until teardown.
hold_names() {
  local name
  for name in "$@"; do
    in_background run "$name" -- "${until_go[@]}"
    until_true sh -c "'$HOLDFAST' ls --names | grep -Fqx '$name'"
  done
}
let_go() {
  : >go
  wait
}

# In the completions the program is found by its name, not by the function of the tests.
found_by_name() {
  mkdir -p bin
  ln -s "$HOLDFAST" bin/holdfast
  export PATH=$PWD/bin:$PATH
}

# complete_in_bash WORD...: the replies for the last word, one a line.
complete_in_bash() {
  COMP_WORDBREAKS=$' \t\n"\'><=;|&(:' bash --norc -c '
    source "$0/bash/holdfast"
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _holdfast
    ((${#COMPREPLY[@]} == 0)) || printf "%s\n" "${COMPREPLY[@]}"' "$completions" holdfast "$@"
}

@test "bash completes the verbs" {
  expect 0 complete_in_bash ''
  for verb in run elect leader ls show watch check deny break fence redlock verify doctor \
    version; do
    [[ $'\n'$output$'\n' == *$'\n'$verb$'\n'* ]]
  done
  expect 0 complete_in_bash d
  [[ $output == $'deny\ndoctor' ]]
  expect 0 complete_in_bash nosuch
  [[ -z $output ]]
}

@test "bash completes options of the verb, and durations" {
  expect 0 complete_in_bash run x --no
  [[ $output == --no-wait ]]
  expect 0 complete_in_bash ls --s
  [[ $output == $'--sessions\n--store' ]]
  expect 0 complete_in_bash ls --ttl
  [[ -z $output ]]
  for words in '--ttl' '--ttl ='; do
    expect 0 complete_in_bash run x $words 3
    [[ $output == 30s ]]
  done
  expect 0 complete_in_bash run x --ttl =
  [[ $output == *30s* ]]
}

@test "every option that the completions offer is one, and every one is offered" {
  local zsh man
  zsh=$(<"$completions/zsh/_holdfast")
  man=$(<"$manual")
  for verb in run elect leader ls show watch check deny break fence redlock verify doctor \
    version; do
    "$HOLDFAST" "$verb" --help | grep -E '^ +-' | grep -oE -- '--[a-z][a-z-]+' | sort -u >has
    complete_in_bash "$verb" x - | grep -oE -- '--[a-z][a-z-]+' | sort -u >offered
    diff has offered || { echo "bash: $verb"; return 1; }
    while read -r option; do
      [[ $zsh == *"$option"* ]] || { echo "zsh: $option"; return 1; }
      [[ $man == *"${option//-/\\-}"* ]] || { echo "man page: $option"; return 1; }
    done <has
    grep -Eq "^ +([a-z]+ \| )*$verb( \| [a-z]+)*\)" "$completions/zsh/_holdfast" ||
      { echo "zsh: $verb"; return 1; }
  done
}

@test "bash completes the names of the store, spaces and colons too, and sessions" {
  found_by_name
  hold_names nightly nine 'two words' db:one db:two
  for verb in run show deny break; do
    expect 0 complete_in_bash $verb ni
    [[ $output == $'nightly\nnine' ]]
  done
  expect 0 complete_in_bash show two
  [[ $output == 'two\ words' ]]
  expect 0 complete_in_bash show 'two\ w'
  [[ $output == 'two\ words' ]]
  # Bash hands "db:o" over as three words and replaces the last one.
  expect 0 complete_in_bash show db : o
  [[ $output == one ]]
  expect 0 complete_in_bash show db :
  [[ $output == $'one\ntwo' ]]
  expect 0 complete_in_bash show --session ''
  [[ $(wc -l <<<"$output") == 5 && $output =~ ^[0-9a-f]{32} ]]
  expect 0 complete_in_bash ls ni
  [[ -z $output ]]
  let_go
}

@test "names with control characters, as foreign clients may give, are not completed" {
  mkdir bin
  cat >bin/holdfast <<'T'
#!/bin/sh
printf 'nightly\nni\302\233 2J\nni\033[2J\nni\177\nnine of \303\237\nni\302\240\n'
T
  chmod +x bin/holdfast
  PATH=$PWD/bin:$PATH LC_ALL=C.UTF-8 expect 0 complete_in_bash show ni
  [[ $output == $'nightly\nnine\\ of\\ \303\237\nni'* && $(wc -l <<<"$output") == 3 ]]
  command -v zsh || return 0
  sed '/^_holdfast_sessions() {/,$d' "$completions/zsh/_holdfast" >names.zsh
  PATH=$PWD/bin:$PATH LC_ALL=C.UTF-8 expect 0 zsh -fc 'compadd() { print -l -- ${(P)2}; }
store=()
source ./names.zsh
_holdfast_names'
  [[ $output == $'nightly\nnine of \303\237\nni'* && $(wc -l <<<"$output") == 3 ]]
}

@test "bash completes files, and no names, for the audit log" {
  found_by_name
  hold_names notes
  : >"notes of mine"
  for words in '--audit' '--audit ='; do
    expect 0 complete_in_bash deny notes $words n
    [[ $output == 'notes of mine' ]]
  done
  let_go
}

@test "bash completes the names of the store that is typed" {
  found_by_name
  export HOLDFAST_STORE=local:$PWD/other
  hold_names elsewhere
  HOLDFAST_STORE=local:$PWD/usual
  for typed in "--store local : $PWD/other" "--store = local : $PWD/other"; do
    expect 0 complete_in_bash show $typed ''
    [[ $output == elsewhere ]]
    expect 0 complete_in_bash deny $typed --session ''
    [[ $output =~ ^[0-9a-f]{32}$ ]]
  done
  expect 0 complete_in_bash show --store "'local:$PWD/other?ttl=9s'" else
  [[ $output == elsewhere ]]
  expect 0 complete_in_bash show e
  [[ -z $output ]]
  let_go
}

@test "bash leaves what stands behind -- to the command" {
  expect 0 complete_in_bash run x -- unshar
  [[ $output == *unshare* ]]
}

@test "bash says nothing and does not hang when the store is not there" {
  found_by_name
  HOLDFAST_STORE=local:/proc/nosuch expect 0 complete_in_bash show n
  [[ -z $output ]]
}

# press_tab: in a terminal, with the completions loaded.
press_tab() {
  local usual=$HOLDFAST_STORE
  export OTHER=local:$PWD/other
  HOLDFAST_STORE=$OTHER
  hold_names elsewhere
  HOLDFAST_STORE=$usual
  hold_names 'night shift' db:one
  cat >tab.exp <<'T'
set timeout 30
spawn -noecho {*}$env(SHELL_COMMAND)
expect_after timeout {exit 1} eof {exit 2}
send "PS1='> '; $env(SHELL_SETUP); echo re''ady\r"
expect "ready"
send "holdfast dou\t"
send "\x15holdfast doc\t --json\r"
expect "holdfast doctor"
expect "findings"
send "holdfast show ni\t--json\r"
expect {"name":"night shift"}
send "holdfast show db:o\t--json\r"
expect {"name":"db:one"}
send "holdfast show --store $env(OTHER) els\t--json\r"
expect {"name":"elsewhere"}
send "exit\r"
expect eof
T
  expect 0 timeout 90 expect tab.exp
}

@test "bash, in a terminal" {
  found_by_name
  export SHELL_COMMAND='bash --norc -i' SHELL_SETUP="source '$completions/bash/holdfast'"
  press_tab
  let_go
}

@test "zsh, in a terminal" {
  command -v zsh || skip "NOT TESTED: there is no zsh"
  found_by_name
  export SHELL_COMMAND='zsh -f -i' SHELL_SETUP="fpath=('$completions/zsh' \$fpath); \
autoload -U compinit; compinit -u -D"
  press_tab
  let_go
}
