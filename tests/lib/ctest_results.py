#!/usr/bin/python3
"""Turns ctest's JUnit file into lines "pass|fail|skip TAB name TAB detail", and writes each failed test's output to a file.

usage: ctest_results.py JUNIT.xml LOG_FOLDER
"""
import os
import re
import sys
import xml.etree.ElementTree as xml


def cases_in(output):
    """How many test cases ran, from the closing line of either runner; None where there is no such line."""
    m = re.search(r"Synthesis: Tested:\s*(\d+)", output)
    if m:
        return int(m.group(1))
    m = re.findall(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", output, re.M)
    return sum(int(x) for x in m[-1]) if m else None


def main():
    for case in xml.parse(sys.argv[1]).getroot().iter("testcase"):
        name, status, seconds = case.get("name"), case.get("status"), float(case.get("time", 0))
        output = re.sub(r"\x1b\[[0-9;]*m", "", case.findtext("system-out") or "")
        tested = cases_in(output)
        skipped = case.find("skipped")
        if status == "run" and tested:
            skips = re.findall(r"^skipped: (.*)$", output, re.M)
            said = "; %d skipped: %s" % (len(skips), "; ".join(sorted(set(skips)))) if skips else ""
            print("pass\t%s\t%d tests, %.1f s%s" % (name, tested, seconds, said))
            continue
        if status == "run":
            why = "ran no test"
        elif skipped is not None and status == "notrun":
            why = "did not run: " + (skipped.get("message") or "not built")
        else:
            failure = case.find("failure")
            why = (failure.get("message") if failure is not None else "") or status
            why = "%s after %.1f s" % (why, seconds)
        with open(os.path.join(sys.argv[2], name + ".log"), "w") as log:
            log.write(output)
        print("fail\t%s\t%s" % (name, why))


if __name__ == "__main__":
    main()
