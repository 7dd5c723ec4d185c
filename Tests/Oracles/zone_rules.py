"""Computes the offsets by random rules in POSIX's TZ form, with the C library. (Python's own zoneinfo counts the days
of a year from 1 where POSIX counts from 0, and moves the day J59 in leap years.)

usage: zone_rules.py SEED RULES MOMENTS ANSWER        ANSWER gets "rule moment offset" a line
"""

import os
import random
import sys
import time

generator = random.Random(int(sys.argv[1]))


def change(first, last):
    """Makes a change between two days of the year. They aren't near New Year: the C library applies one year's rule."""
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
