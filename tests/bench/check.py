#!/usr/bin/env python3
"""Holds bench.json against the targets: a line for each, exit status 1 if one is missed or absent.

    tests/bench/check.py [bench.json]

A ratio of two lines is the median over the rounds of their ratio within a round. What is not
measured is not reached; transfers that were not posted spoil the whole run.
"""

import json
import statistics
import sys
from typing import NamedTuple


class Target(NamedTuple):
    measure: str
    line: str
    to: str | None  # the reference; None: the line's own median counts
    at_least: bool
    limit: float
    unit: str = ""
    volumes: dict = {}  # accounts and history of the worlds for which the target is meant


GROWTH = {"small": (10_000, 0), "large": (1_000_000, 5_000_000)}

TARGETS = [
    Target("2PC, single requests, 256 connections, to plain pgbench on one shard",
           "2pc.c256", "ref.plain", True, 3),
    Target("2PC, single requests, 256 connections, to classic 2PC",
           "2pc.c256", "ref.classic", True, 10),
    Target("2PC, single requests, 256 connections, of the limit in batches of 128",
           "2pc.c256", "limit.2pc.b128", True, 0.60),
    Target("2PC, batch endpoint of 1,000, of the limit in batches of 1,000",
           "2pc.b1000", "limit.2pc", True, 0.80),
    Target("saga, single requests, final answers, of its limit in batches of 128",
           "saga.c256", "limit.saga.b128", True, 0.60),
    Target("local, single requests, to pgbench with one function call",
           "local.c256", "ref.function", True, 1.3),
    Target("saga, all credit one account, of uniform",
           "hot.credit.saga", "saga.c256", True, 0.80),
    Target("saga, all debit one account, of uniform",
           "hot.debit.saga", "saga.c256", True, 0.80),
    Target("2PC, all credit one account, of uniform",
           "hot.credit.2pc", "2pc.c256", True, 0.40),
    Target("2PC, all debit one account, of uniform",
           "hot.debit.2pc", "2pc.c256", True, 0.40),
    Target("2PC, time per transfer: 10^6 accounts, 5*10^6 of history, to 10^4 and none",
           "growth.large.2pc", "growth.small.2pc", False, 1.5, volumes=GROWTH),
    Target("saga, time per transfer: 10^6 accounts, 5*10^6 of history, to 10^4 and none",
           "growth.large.saga", "growth.small.saga", False, 1.5, volumes=GROWTH),
    Target("lone 2PC transfer, p50, to a plain local transaction over libpq",
           "2pc.idle.p50", "plain.idle.p50", False, 5),
    Target("2PC, p99 at 50 % of capacity, to the idle p50",
           "2pc.load50.p99", "2pc.idle.p50", False, 10),
    Target("p99 beside a paused shard, to the p99 before",
           "bystanders.paused.p99", "bystanders.before.p99", False, 2),
    Target("girod's memory, 1,000 connections, full load",
           "crowd.c1000.memory", None, False, 64, " MiB"),
]


def samples(lines, name):
    return lines[name]["samples"] if name in lines else []


def figure(report, lines, target):
    """The median that counts; None if it was not measured, or not on the volume that is meant."""
    worlds = {world["name"]: (world["accounts"], world["history"]) for world in report["worlds"]}
    if any(worlds.get(name) != volume for name, volume in target.volumes.items()):
        return None
    values = samples(lines, target.line)
    if target.to is None:
        ratios = [value for value in values if value is not None]
    else:
        pairs = zip(values, samples(lines, target.to))
        ratios = [value / other for value, other in pairs if value is not None and other]
    return statistics.median(ratios) if ratios else None


def circumstances(report):
    worlds = ", ".join(f"{w['name']}: {w['shards']} shards, {w['accounts']} accounts, "
                       f"{w['history']} transfers" for w in report["worlds"])
    machine = report["machine"]
    settings = report["settings"]
    return (f"giro {report['version']}, PostgreSQL {report['postgres']}, {machine['cores']} cores "
            f"{machine['cpu']}, {settings['rounds']} rounds of {settings['seconds']} s\n{worlds}\n")


def print_targets(report, lines):
    missed = 0
    for target in TARGETS:
        value = figure(report, lines, target)
        sign = ">=" if target.at_least else "<="
        met = value is not None and (value >= target.limit if target.at_least
                                     else value <= target.limit)
        missed += not met
        shown = "not measured" if value is None else f"{value:.2f}{target.unit}"
        wanted = f"{sign} {target.limit:g}{target.unit}"
        print(f"{'MET   ' if met else 'MISSED'}  {shown:>13}  {wanted:<10}  {target.measure}")
    return missed


def print_failures(lines):
    failed = [line for line in lines.values() if line["name"].endswith(".failed")]
    for line in failed:
        print(f"SPOILT  {line['name']}: up to {line['max']:g} transfers of a round not posted")
    return len(failed)


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "bench.json"
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    except (OSError, ValueError) as error:
        print(f"{path}: {error}; run `make bench` first", file=sys.stderr)
        return 2
    lines = {line["name"]: line for line in report["lines"]}
    print(circumstances(report))
    missed = print_targets(report, lines)
    spoilt = print_failures(lines)
    print(f"\n{len(TARGETS) - missed} of {len(TARGETS)} targets met")
    return 1 if missed + spoilt > 0 else 0


if __name__ == "__main__":
    sys.exit(main())
