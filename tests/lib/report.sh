# What the test runner counts and says. Sourced by tests/run.
#
# Every check ends in exactly one of pass, fail, skip; the last line of a run is made of their counts alone.

passed=0 failed=0 skipped=0
failures=()

pass() { # NAME [DETAIL]
    passed=$((passed + 1))
    printf 'ok    %s%s\n' "$1" "${2:+ ($2)}"
}

fail() { # NAME REASON [LOG]
    failed=$((failed + 1))
    failures+=("$1: $2")
    printf 'FAIL  %s: %s\n' "$1" "$2"
    if [ -n "${3:-}" ] && [ -s "$3" ]; then
        tail -n "${LOOM_LOG_LINES:-25}" "$3" | cut -c 1-400 | sed 's/^/      | /'
        printf '      whole log: %s\n' "${3#"$root"/}"
    fi
}

skip() { # NAME REASON
    skipped=$((skipped + 1))
    printf 'skip  %s: %s\n' "$1" "$2"
}

section() {
    printf '\n== %s (after %s s)\n' "$1" "$SECONDS"
}

finish() {
    if [ $failed -gt 0 ]; then
        printf '\nfailed:\n'
        printf '  %s\n' "${failures[@]}"
    fi
    printf '\n%d passed, %d failed, %d skipped\n' $passed $failed $skipped
    [ $failed -eq 0 ] && [ $passed -gt 0 ]
}
