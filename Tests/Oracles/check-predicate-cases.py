#!/usr/bin/env python3
"""Checks the form of the predicate cases: columns, objects, arguments, expectations, positions of errors.

Doesn't check whether an expectation is right. If a case is malformed, prints a list and exits with 1.
"""

import re
import sys
from collections import Counter
from pathlib import Path

from predicate_cases import parse, read_cases, read_objects

# The folder of the cases and their objects.
CASES = Path(__file__).resolve().parent / "../PredicatesTests/PredicateCases"
OBJECTS = CASES / "objects.json"

TYPES = {"date", "decimal", "data", "uuid", "url", "null", "double"}
ATTRIBUTE_TYPES = {"boolean", "integer", "double", "decimal", "date", "string", "data", "uuid", "url"}


def defects_of_value(value, flat=False):
    if isinstance(value, list):
        return ["a list in a flat object"] if flat else [d for v in value for d in defects_of_value(v)]
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return [f"{value} does not fit 64 bits"]
    if value is None and flat:
        return ["a null without a type in a flat object"]
    if not isinstance(value, dict):
        return []
    if len(value) == 1 and next(iter(value)).startswith("$"):
        kind, content = next(iter(value.items()))
        if kind[1:] not in TYPES or kind == "$null" and content not in ATTRIBUTE_TYPES:
            return [f"no typed value: {value}"]
        return []
    return ["a dictionary in a flat object"] if flat else [d for v in value.values() for d in defects_of_value(v)]


def defects_of_expectation(case):
    if case.expected in ("true", "false", "error", "refused"):
        return []
    match = re.fullmatch(r"error@(\d+) (.+)", case.expected)
    if not match:
        return [f"no expectation: {case.expected}"]
    position, found = int(match[1]), match[2]
    if found == "the end":
        return [] if position == len(case.format) + 1 else [f"the end is at {len(case.format) + 1}"]
    rest = case.format[position - 1 :]
    return [] if rest.startswith(found) else [f"at {position} stands {rest[:10]!r}"]


def defects(case, kinds):
    found = []
    kind = kinds.get(case.object)
    if kind is None:
        found.append(f"no object {case.object}")
    if kind in ("nested", "plain") and case.stored != "-":
        found.append(f"a {kind} object cannot be stored")
    if case.stored not in ("", "-", "true", "false", "mismatch"):
        found.append(f"no expectation of a stored record: {case.stored}")
    if case.stored in ("true", "false", "mismatch") and case.stored == case.expected:
        found.append("the stored record's expectation is repeated")
    if not case.reason.endswith("."):
        found.append("the reason is no sentence")
    try:
        arguments = parse(case.arguments or "[]")
        found += ["the arguments are no list"] if not isinstance(arguments, list) else defects_of_value(arguments)
    except ValueError as error:
        found.append(f"the arguments are no JSON: {error}")
    return found + defects_of_expectation(case)


def main():
    objects, kinds = read_objects(OBJECTS)
    cases = read_cases(CASES)
    found = [f"{case.file}.tsv:{case.line}: {text}" for case in cases for text in defects(case, kinds)]
    for name, value in objects.items():
        parts = value.values() if kinds[name] == "flat" else [value]
        found += [f"{name}: {text}" for part in parts for text in defects_of_value(part, kinds[name] == "flat")]
    found += [f"twice: {key}" for key, count in Counter(case.key for case in cases).items() if count > 1]
    print("\n".join(found + [f"{len(cases)} predicate cases, {len(found)} defects"]))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
