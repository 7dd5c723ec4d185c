#!/usr/bin/python3
"""Computes the orders of texts, and their titles in alphabetic indexes, with PyICU. The oracle of OracleTests.

usage: collation_and_index.py QUESTION.json ANSWER.json
question: {"texts": [...], "orders": ["caseInsensitive", "localized=ja", ...], "locales": ["ja", ...]}
answer:   {"icu": "72.1", "orders": {"localized=ja": [numbers of the texts in order]}, "titles": {"ja": [titles]}}

Texts that compare the same stay in the question's order. PyICU's ICU must be the one that FetchIndex is built with.
"""

import functools
import json
import sys

import icu


def collator(order):
    name, _, locale = order.partition("=")
    made = icu.Collator.createInstance(icu.Locale(locale) if locale else icu.Locale.getRoot())
    if name == "caseInsensitive":
        made.setStrength(icu.Collator.SECONDARY)
    elif name == "diacriticInsensitive":
        made.setStrength(icu.Collator.PRIMARY)
        made.setAttribute(icu.UCollAttribute.CASE_LEVEL, icu.UCollAttributeValue.ON)
    elif name == "caseDiacriticInsensitive":
        made.setStrength(icu.Collator.PRIMARY)
    elif name == "localizedStandard":
        made.setAttribute(icu.UCollAttribute.NUMERIC_COLLATION, icu.UCollAttributeValue.ON)
    elif name != "localized":
        raise ValueError(f"unknown order {order}")
    return made


def sorted_numbers(texts, order):
    compare = collator(order).compare
    key = functools.cmp_to_key(lambda left, right: compare(texts[left], texts[right]))
    return sorted(range(len(texts)), key=key)


def titles(texts, locale):
    index = icu.AlphabeticIndex(icu.Locale(locale))
    index.addLabels(icu.Locale.getEnglish())
    buckets = index.buildImmutableIndex()
    normal = icu.UAlphabeticIndexLabelType.NORMAL
    found = (buckets[buckets.getBucketIndex(text)] for text in texts)
    return [label if kind == normal else "#" for label, kind in found]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        question = json.load(file)
    texts = question["texts"]
    answer = {
        "icu": icu.ICU_VERSION,
        "orders": {order: sorted_numbers(texts, order) for order in question["orders"]},
        "titles": {locale: titles(texts, locale) for locale in question["locales"]},
    }
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(answer, file)


main()
