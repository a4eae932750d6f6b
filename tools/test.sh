# shellcheck shell=bash
# ./mk test

# What this run leaves out, and why.
left_out=()

run_tests() {
  case ${1:-} in
    --fresh) run_fresh_test ;;
    --sanitizers)
      shift
      run_sanitizers "$@"
      ;;
    --long)
      shift
      export MK_LONG=1
      run_all "$@"
      ;;
    *) run_all "$@" ;;
  esac
}

run_all() {
  local results=(dev) nvcc
  install_packages
  (fetch_model) || left_out+=("the tests of the real model: it could not be fetched")

  build dev
  run_ctest dev "$@"

  if nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null); then
    export CUDACXX=$nvcc
    build cuda cuda-checks
    run_ctest cuda --label-regex '^cuda$' --no-tests=ignore
    results+=(cuda)
    [[ -e /dev/nvidiactl ]] || left_out+=("the tests on a GPU: this machine has none")
  else
    left_out+=("the CUDA code: there is no nvcc")
  fi
  summarize "${results[@]}"
}

run_sanitizers() {
  local preset
  left_out+=("the examples and the real model under sanitizers: too slow")
  install_packages
  for preset in asan tsan; do
    build "$preset"
    run_ctest "$preset" "$@"
  done
  summarize asan tsan
}

# A failed test shows in the summary: the rest is still run.
run_ctest() {
  local preset=$1 launcher=()
  shift
  # The thread sanitizer of g++ 12 does not start under the widest address randomisation.
  [[ $preset != tsan ]] || ! setarch --addr-no-randomize true 2>/dev/null || launcher=(setarch --addr-no-randomize)
  rm -f -- "build/$preset/results.xml"
  "${launcher[@]}" ctest --preset "$preset" --parallel "$(nproc)" --progress --output-junit results.xml "$@" \
    </dev/null || true
}

# Fails where a test failed or a preset has no result.
summarize() {
  local reason
  for reason in "${left_out[@]}"; do
    echo "left out: $reason"
  done
  python3 tools/summary.py "${@/#/build/}"
}
