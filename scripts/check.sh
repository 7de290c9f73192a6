#!/usr/bin/env bash
# All static checks. Each one runs even if an earlier one failed, so that one run shows everything.
set -uo pipefail
cd "$(dirname "$0")/.."
bin=.venv/bin
failed=()

check() {
    local name=$1 began=$EPOCHREALTIME output
    shift
    if output=$("$@" 2>&1); then
        printf 'check: %-16s %5.1f s\n' "$name" "$(seconds_since "$began")"
    else
        printf '%s\ncheck: %-16s FAILED\n' "$output" "$name"
        failed+=("$name")
    fi
}

seconds_since() {
    awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }'
}

check "ruff check" $bin/ruff check --quiet .
check "ruff format" $bin/ruff format --quiet --check .
check "pyright" $bin/pyright
check "imports" $bin/lint-imports --no-cache
check "names" $bin/python scripts/check_names.py
check "rust imports" $bin/python scripts/check_rust_imports.py
check "sizes" $bin/python scripts/check_sizes.py
check "words" $bin/python scripts/check_words.py
check "time in tests" $bin/python scripts/check_time_in_tests.py
check "known flaky" $bin/python -m scripts.suite.known_flaky
check "generated code" $bin/python codegen/generate.py --check
check "plain calls" $bin/python codegen/plain_calls.py --check
check "generated docs" $bin/python scripts/kafka_python_differences.py --check
check "command line" $bin/python scripts/command_line_page.py --check
check "json page" $bin/python scripts/json_page.py --check
check "reference pages" $bin/python scripts/reference_pages.py --check
check "charts" $bin/python scripts/benchmark_charts.py --check
check "site" $bin/python scripts/site.py
check "cargo fmt" cargo fmt --manifest-path kernel/Cargo.toml --check
check "cargo clippy" cargo clippy --quiet --manifest-path kernel/Cargo.toml --features python --all-targets -- -D warnings

if ((${#failed[@]})); then
    echo "check: failed: ${failed[*]}" >&2
    exit 1
fi
