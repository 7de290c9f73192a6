"""The shapes of what commands print with `--json`, as types: for docs/reference/json.md, which
scripts/json_page.py writes from them, for the tests, which hold each command's output against them, and for
type checkers of programs that read it.

Within a major version fields may be added; none goes, and none changes its type or meaning.
"""
