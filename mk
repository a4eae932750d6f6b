#!/usr/bin/env bash
# The commands of this project. `./mk help` lists them.
set -euo pipefail

caller=$PWD
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"
# shellcheck source=tools/setup.sh
source tools/setup.sh
# shellcheck source=tools/test.sh
source tools/test.sh
# shellcheck source=tools/fresh.sh
source tools/fresh.sh

help() {
  cat <<'TEXT'
Usage: ./mk COMMAND [ARGUMENT...]

  generate [OPTION...] PROMPT   let the model answer (`./mk generate --help` lists the options)
  compile MODEL -o FILE         compile a model into a program file
  run FILE                      run a program file, without the passes that make programs
  bench NAME [OPTION...]        run the benchmarks mk-bench-NAME, such as `./mk bench host`
  test [CTEST OPTION...]        build everything and run every test that this machine can run
    test --sanitizers           run the tests again under the address, undefined-behaviour and thread sanitizers
    test --long                 with more cases
    test --fresh                generate and test from a clone in a bare Debian, made and removed by this command
  format                        format every source file in place (clang-format-19)
  help                          show this text

Each command first installs, fetches and builds what it needs and does not find. MK_SKIP_PACKAGES=1 leaves the
machine's packages alone.
TEXT
}

# start PROGRAM ARGUMENT...: where the user is, so that their paths mean what they wrote.
start() {
  local program=$PWD/build/release/$1
  shift
  cd -- "$caller"
  exec "$program" "$@"
}

generate() {
  install_packages
  [[ $(model_option "$@") != smollm2 ]] || fetch_model
  build release mk-generate
  start examples/models/llama/mk-generate "$@"
}

# The value of the option --model.
model_option() {
  local model=smollm2
  while (($# > 0)); do
    case $1 in
      --model) model=${2:-} ;;
      --model=*) model=${1#--model=} ;;
    esac
    shift
  done
  echo "$model"
}

compile() {
  install_packages
  [[ ${1:-} != smollm2 ]] || fetch_model
  build release mk-compile
  start examples/models/llama/mk-compile "$@"
}

run() {
  install_packages
  build release mk-run
  start examples/models/llama/mk-run "$@"
}

bench() {
  (($# > 0)) || fail "bench needs a name, such as: ./mk bench host"
  install_packages
  fetch_model
  build release "mk-bench-$1"
  start "benchmarks/mk-bench-$1" "${@:2}"
}

format() {
  command -v clang-format-19 >/dev/null || fail "clang-format-19 is not installed"
  tracked '*.cpp' '*.hpp' '*.cu' '*.cuh' | xargs -0 --no-run-if-empty clang-format-19 -i
}

command=${1:-help}
shift || true
case $command in
  generate | compile | run | bench | format) "$command" "$@" ;;
  test) run_tests "$@" ;;
  help | --help | -h) help ;;
  *)
    help >&2
    fail "there is no command '$command'"
    ;;
esac
