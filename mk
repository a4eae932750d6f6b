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
  bench NAME [OPTION...]        run the benchmarks mk-bench-NAME, such as `./mk bench host`, `./mk bench cuda`
  test [CTEST OPTION...]        build everything and run every test that this machine can run
    test --sanitizers           run the tests again under the address, undefined-behaviour and thread sanitizers
    test --long                 with more cases
    test --fresh                generate and test from a clone in a bare Debian, made and removed by this command
  gpu-tests                     run every test that needs a GPU and write the receipt tests/cuda/receipt.json
  machine-code                  write the report of the kernels' machine code anew (needs nvcc, no GPU)
  format                        format every source file in place (clang-format-19)
  help                          show this text

Each command first installs, fetches and builds what it needs and does not find. MK_SKIP_PACKAGES=1 leaves the
machine's packages alone. What runs on the device cuda needs nvcc to be built.
TEXT
}

# start PRESET PROGRAM ARGUMENT...: builds the program of that preset and becomes it, where the user is, so that their
# paths mean what they wrote.
start() {
  local preset=$1 program=$2
  shift 2
  [[ $preset != cuda ]] || need_nvcc
  build "$preset" "${program##*/}"
  program=$PWD/build/$preset/$program
  cd -- "$caller"
  exec "$program" "$@"
}

generate() {
  install_packages
  [[ $(option --model smollm2 "$@") != smollm2 ]] || fetch_model
  start "$(preset_for "$@")" examples/models/llama/mk-generate "$@"
}

# option NAME DEFAULT ARGUMENT...: the value that the arguments give an option.
option() {
  local name=$1 value=$2
  shift 2
  while (($# > 0)); do
    case $1 in
      "$name") value=${2:-} ;;
      "$name"=*) value=${1#*=} ;;
    esac
    shift
  done
  echo "$value"
}

# The preset that has the device which the arguments name.
preset_for() { if [[ $(option --device host "$@") == cuda ]]; then echo cuda; else echo release; fi; }

compile() {
  install_packages
  [[ ${1:-} != smollm2 ]] || fetch_model
  start release examples/models/llama/mk-compile "$@"
}

run() {
  install_packages
  start "$(preset_for "$@")" examples/models/llama/mk-run "$@"
}

bench() {
  (($# > 0)) || fail "bench needs a name, such as: ./mk bench host"
  local preset
  preset=$(preset_for "$@")
  [[ $1 != cuda && $1 != tylo ]] || preset=cuda
  install_packages
  fetch_model
  start "$preset" "benchmarks/mk-bench-$1" "${@:2}"
}

machine_code() {
  install_packages
  need_nvcc
  install_cuda_tools
  build cuda machine-code-report
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
  gpu-tests) run_gpu_tests ;;
  machine-code) machine_code ;;
  help | --help | -h) help ;;
  *)
    help >&2
    fail "there is no command '$command'"
    ;;
esac
