"""Computes the offsets of all time zones, at random moments and around changes of clocks, with Python's zoneinfo.

usage: zone_offsets.py FOLDER SEED COUNT ANSWER        COUNT moments a zone; ANSWER gets "zone moment offset" a line
"""

import random
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

folder, seed, count, answer = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
generator = random.Random(seed)
epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
# Mostly the years in which clocks changed; Python knows the years 1 to 9999.
spans = [(-5_000_000_000, 4_200_000_000)] * 4 + [(1_500_000_000, 1_800_000_000), (-62_100_000_000, 253_400_000_000)]


def files(folder):
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name.split("/")[0] in ("right", "posix") or name in ("localtime", "posixrules") or not path.is_file():
            continue
        with open(path, "rb") as file:
            if file.read(4) == b"TZif":
                yield name, path


def offset(zone, moment):
    return int((epoch + timedelta(seconds=moment)).astimezone(zone).utcoffset().total_seconds())


with open(answer, "w") as out:
    for name, path in files(folder):
        with open(path, "rb") as file:
            zone = ZoneInfo.from_file(file)
        moments = []
        for _ in range(count):
            first, last = generator.choice(spans)
            moment = generator.randint(first, last)
            moments.append(moment)
            # Finds a change between this moment and one some months later, by binary search.
            low, high = moment, moment + generator.choice([10_000_000, 20_000_000, 400_000_000])
            if high > last or offset(zone, low) == offset(zone, high):
                continue
            while high - low > 1:
                middle = (low + high) // 2
                if offset(zone, middle) == offset(zone, low):
                    low = middle
                else:
                    high = middle
            moments += [low - 1, low, high, high + 1]
        for moment in moments:
            print(name, moment, offset(zone, moment), file=out)
