"""Reads the predicate cases (tables of tab-separated columns) and the objects that they are evaluated on.

object     a name in objects.json: flat (also tested as a stored record), nested, or plain (no dictionary)
format     the text of the predicate
arguments  a JSON list for the placeholders, or empty
expected   true, false, error@POSITION FOUND, error (of the format, at any position), or refused (when it is prepared)
stored     the result for a stored record if it differs: true, false or mismatch; - if no stored record is tested
reason     a sentence

Values of another type than JSON's are objects of one key: $date, $decimal, $data (base64), $uuid, $url, $double (nan,
inf, -inf), and $null with the type of the attribute that is null.
"""

import json
from dataclasses import dataclass
from pathlib import Path

COLUMNS = ["object", "format", "arguments", "expected", "stored", "reason"]


class Real(str):
    """A number with a fraction or an exponent, kept as the text that was read."""


@dataclass
class Case:
    file: str
    line: int
    object: str
    format: str
    arguments: str
    expected: str
    stored: str
    reason: str

    @property
    def key(self):
        """Identifies the case, also when its line number changes."""
        return (self.file, self.object, self.format, self.arguments)

    @property
    def outcome(self):
        """true, false or error. A case that is refused when it is prepared is an error too."""
        return self.expected if self.expected in ("true", "false") else "error"


def parse(text):
    """Parses JSON. Numbers keep their digits: integers have any size, other numbers become Real."""
    return json.loads(text, parse_float=Real)


def read_objects(path):
    """Reads the objects by name, and the kind (flat, nested, plain) of each name."""
    kinds = parse(Path(path).read_text(encoding="utf-8"))
    objects = {name: value for named in kinds.values() for name, value in named.items()}
    return objects, {name: kind for kind, named in kinds.items() for name in named}


def read_cases(directory):
    """Reads all cases of the directory's tables. A line with a wrong number of columns raises ValueError."""
    cases = []
    for path in sorted(Path(directory).glob("*.tsv")):
        lines = path.read_text(encoding="utf-8").split("\n")
        if lines[0].split("\t") != COLUMNS:
            raise ValueError(f"{path.name}: the first line is not the columns' names")
        if lines[-1] != "":
            raise ValueError(f"{path.name}: the last line is not ended")
        for number, line in enumerate(lines[1:-1], 2):
            fields = line.split("\t")
            if len(fields) != len(COLUMNS):
                raise ValueError(f"{path.name}:{number}: {len(fields)} columns instead of {len(COLUMNS)}")
            cases.append(Case(path.stem, number, *fields))
    return cases
