"""Offsets by random rules of POSIX's TZ, as the C library computes them. (Python's own zoneinfo counts the days of a year
from 1 where POSIX has 0, and lets 29 February move the day J59.)

usage: zone_rules.py SEED RULES MOMENTS ANSWER        ANSWER gets "rule moment offset" a line
"""

import os
import random
import sys
import time

generator = random.Random(int(sys.argv[1]))


def change(first, last):
    """A change between two days of the year; not around New Year, where the C library asks only the rule of one year."""
    kind = generator.randrange(3)
    if kind == 0:
        day = f"J{generator.randint(first, last)}"
    elif kind == 1:
        day = f"{generator.randint(first, last)}"
    else:
        day = f"M{generator.randint(first // 30 + 2, last // 30)}.{generator.randint(1, 5)}.{generator.randint(0, 6)}"
    return day + generator.choice(["", "/0", "/24", f"/{generator.randint(0, 30)}:30", f"/-{generator.randint(1, 5)}:15:01"])


with open(sys.argv[4], "w") as out:
    for _ in range(int(sys.argv[2])):
        hours = generator.randint(-13, 12)
        summer = generator.choice(["", str(hours - 1), f"{hours - 2}", f"{hours + 1}"])
        halves = [change(10, 170), change(190, 350)]
        generator.shuffle(halves)
        rule = f"<AA{generator.randint(0, 9)}>{hours}BBB{summer},{halves[0]},{halves[1]}"
        os.environ["TZ"] = rule
        time.tzset()
        for _ in range(int(sys.argv[3])):
            moment = generator.randint(70_000_000, 250_000_000_000)  # its rules begin in 1970
            print(rule, moment, time.localtime(moment).tm_gmtoff, file=out)
