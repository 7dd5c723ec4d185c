"""Reads the predicate cases (tables of tab-separated columns) and the objects that they are evaluated on.

object     a name in objects.json: flat (also tested as a stored record), nested, or plain (no dictionary)
format     the predicate, as it stands
arguments  a JSON list for the placeholders, or empty
expected   true, false, error@POSITION FOUND, error (of the format, wherever), or refused (when it is prepared)
stored     what a stored record gives where that differs: true, false or mismatch; - where it is not tested as one
reason     a sentence

Values of another type than JSON's are objects of one key: $date, $decimal, $data (base64), $uuid, $url, $double (nan,
inf, -inf), and $null with the type of the attribute that is null.
"""

import json
from dataclasses import dataclass
from pathlib import Path

COLUMNS = ["object", "format", "arguments", "expected", "stored", "reason"]


class Real(str):
    """A number with a fraction or an exponent, kept as it is written."""


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
        """What identifies a case when lines move."""
        return (self.file, self.object, self.format, self.arguments)

    @property
    def outcome(self):
        """true, false or error: a case that is refused when it is prepared is an error too."""
        return self.expected if self.expected in ("true", "false") else "error"


def parse(text):
    """JSON whose numbers keep their digits: integers of any size, and Real for the rest."""
    return json.loads(text, parse_float=Real)


def read_objects(path):
    """The objects by name, and the kind (flat, nested, plain) of each name."""
    kinds = parse(Path(path).read_text(encoding="utf-8"))
    objects = {name: value for named in kinds.values() for name, value in named.items()}
    return objects, {name: kind for kind, named in kinds.items() for name in named}


def read_cases(directory):
    """All cases of the directory's tables. A line with another number of columns raises ValueError."""
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
