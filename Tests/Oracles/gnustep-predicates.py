#!/usr/bin/env python3
"""Compares the predicate cases with GNUstep's NSPredicate.

usage: gnustep-predicates.py EVALUATOR [--propose]
EVALUATOR is the program compiled from gnustep-predicates.m. If GNUstep's result differs from the expected one, the case
must be listed in gnustep-differences.tsv under the reason for the difference. If a difference isn't listed, or a listed
case doesn't differ (any more), prints a list and exits with 1. --propose prints the missing lines of that file.
"""

import base64
import subprocess
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path

from predicate_cases import Real, parse, read_cases, read_objects

# The folder of the cases and their objects.
CASES = Path(__file__).resolve().parent / "../PredicatesTests/PredicateCases"
OBJECTS = CASES / "objects.json"
DIFFERENCES = Path(__file__).resolve().parent / "gnustep-differences.tsv"


def hexadecimal(text):
    return text.encode("utf-8").hex()


def typed_tokens(kind, content):
    match kind:
        case "$date":
            return [f"t{datetime.fromisoformat(content.replace('Z', '+00:00')).timestamp()!r}"]
        case "$decimal":
            return ["m" + content]
        case "$data":
            return ["x" + base64.b64decode(content).hex()]
        case "$uuid":
            return ["u" + content]
        case "$url":
            return ["r" + hexadecimal(content)]
        case "$double":
            return ["f" + content]
        case "$null":
            return ["n"]
    raise ValueError(f"no typed value: {kind}")


def tokens(value):
    """The tokens of a value that gnustep-predicates.m reads."""
    match value:
        case None:
            return ["n"]
        case bool():
            return ["b1" if value else "b0"]
        case int():
            return [f"i{value}"]
        case Real():
            return ["f" + value]
        case str():
            return ["s" + hexadecimal(value)]
        case list():
            return [f"L{len(value)}"] + [token for element in value for token in tokens(element)]
    if len(value) == 1 and next(iter(value)).startswith("$"):
        return typed_tokens(*next(iter(value.items())))
    pairs = [token for key, element in value.items() for token in tokens(key) + tokens(element)]
    return [f"D{len(value)}"] + pairs


def evaluate(evaluator, objects, cases):
    """GNUstep's outcome of each case (true, false, error, crash or timeout), and the whole answer."""
    lines = [" ".join(["object", name] + tokens(value)) for name, value in objects.items()]
    for number, case in enumerate(cases):
        arguments = tokens(parse(case.arguments or "[]"))
        lines.append(" ".join(["case", str(number), case.object] + tokens(case.format) + arguments))
    text = "\n".join(lines) + "\n"
    process = subprocess.run([evaluator], input=text, capture_output=True, text=True, errors="replace")
    answers = {}
    for line in process.stdout.splitlines():
        number, _, answer = line.partition(" ")
        if number.isdigit() and answer:
            answers[int(number)] = (answer.split()[0], answer)
    if process.returncode != 0 or len(answers) != len(cases):
        sys.exit(f"GNUstep answered {len(answers)} of {len(cases)} cases: {process.stderr}")
    return [answers[number] for number in range(len(cases))]


def read_differences():
    """Reads GNUstep's outcome of each listed case and the reason, by the case's key.

    The lines after a heading ("## reason") are the cases that it explains. Their columns are GNUstep's outcome, file,
    object, arguments and format.
    """
    differences, reason = {}, ""
    if not DIFFERENCES.exists():
        return differences
    for number, line in enumerate(DIFFERENCES.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("## "):
            reason = line[3:]
        elif line:
            fields = line.split("\t")
            if len(fields) != 5 or not reason:
                sys.exit(f"{DIFFERENCES.name}:{number}: not five columns under a heading")
            outcome, file, name, arguments, format = fields
            key = (file, name, format, arguments)
            if key in differences:
                sys.exit(f"{DIFFERENCES.name}:{number}: the case is listed twice")
            differences[key] = (outcome, reason)
    return differences


def main():
    evaluator, propose = sys.argv[1], "--propose" in sys.argv
    objects, _ = read_objects(OBJECTS)
    cases = read_cases(CASES)
    differences, reasons, defects = read_differences(), Counter(), []
    for case, (outcome, words) in zip(cases, evaluate(evaluator, objects, cases)):
        explained, reason = differences.pop(case.key, (None, ""))
        place = f"{case.file}.tsv:{case.line}: {case.format} {case.arguments} on {case.object}"
        if outcome == case.outcome and explained:
            defects.append(f"{place}: GNUstep agrees, but a difference is explained: {reason}")
        elif outcome != case.outcome and outcome != explained:
            if propose:
                print("\t".join([outcome, case.file, case.object, case.arguments, case.format]))
            defects.append(f"{place}: expected {case.expected}, GNUstep gives {words}")
        elif explained:
            reasons[reason] += 1
    defects += [f"{DIFFERENCES.name}: no such case: {key}" for key in differences]
    for defect in [] if propose else defects:
        print(defect)
    agreed = len(cases) - sum(reasons.values()) - len(defects)
    print(
        f"GNUstep: {len(cases)} cases, {agreed} agree, {sum(reasons.values())} differ for {len(reasons)} explained "
        f"reasons, {len(defects)} defects",
        file=sys.stderr if propose else sys.stdout,
    )
    sys.exit(1 if defects else 0)


if __name__ == "__main__":
    main()
