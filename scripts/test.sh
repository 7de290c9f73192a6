#!/usr/bin/env bash
# Rust's tests, then Python's. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
# The processes that tests start would otherwise compile every module again, each of them.
unset PYTHONDONTWRITEBYTECODE

if [ $# -eq 0 ]; then
    # Five at a time, each with brokers and a Spark of its own: half of the time goes into waiting for those.
    # Worksteal keeps the order, which groups tests by their broker.
    set -- -n 5 --dist worksteal --durations 30 --durations-min 10
    echo "test: cargo test"
    # Rust's tests call Python, so they load the same libpython as .venv.
    PYO3_PYTHON=$PWD/.venv/bin/python cargo test --quiet --manifest-path kernel/Cargo.toml
    echo "test: models of what threads share"
    cargo test --quiet --release --manifest-path kernel/Cargo.toml --features models --lib models::
fi
echo "test: pytest $*"
# SIGINT, so that pytest says what failed until then.
exec timeout --signal=INT --kill-after=60 3240 .venv/bin/python -m pytest "$@"
