"""Whether a text is what Prometheus expects of a scrape (text format 0.0.4), by its own rules and
by promtool's.

Checked: every sample belongs to a family with HELP and TYPE before it, and families stay together;
no series stands twice; names are well formed, of the project, and end in _total for counters and
for nothing else; values are numbers, those of counters and histograms not negative; histograms have
ascending bounds up to +Inf, counts that do not fall, and a sum and a count that agree.
"""

import math
import re
import shutil
import subprocess

NAME = r"[a-z][a-z0-9_]*"
SAMPLE = re.compile(rf"^({NAME})(?:\{{(.*)\}})? (\S+)$")
LABEL = re.compile(rf'({NAME})="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
TYPES = ("counter", "gauge", "histogram", "summary")


class Family:
    def __init__(self, name, kind):
        self.name = name
        self.kind = kind
        self.samples = {}  # by name and labels

    def suffixes(self):
        return {"histogram": ("_bucket", "_sum", "_count"),
                "summary": ("", "_sum", "_count")}.get(self.kind, ("",))


def labels_of(text):
    """The labels as a tuple of pairs; None if they are malformed."""
    pairs = LABEL.findall(text or "")
    whole = ",".join(f'{name}="{value}"' for name, value in pairs)
    return tuple(pairs) if whole == (text or "") else None


def parse(text):
    """(families, faults)"""
    families, faults, helped, family = {}, [], None, None
    if not text.endswith("\n"):
        faults.append("the last line has no end")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            helped = line.split(" ")[2]
            if len(line.split(" ")) < 4:
                faults.append(f"{helped} has an empty HELP")
        elif line.startswith("# TYPE "):
            name, kind = line.split(" ")[2:]
            if name != helped or name in families or kind not in TYPES:
                faults.append(f"out of order, or twice: {line}")
            family = families[name] = Family(name, kind)
        else:
            faults += take_sample(family, line)
    return families, faults


def take_sample(family, line):
    match = SAMPLE.match(line)
    labels = labels_of(match.group(2)) if match else None
    if family is None or labels is None:
        return [f"malformed: {line}"]
    if match.group(1) not in [family.name + suffix for suffix in family.suffixes()]:
        return [f"not among the lines of its family: {line}"]
    key = (match.group(1), labels)
    if key in family.samples:
        return [f"twice: {line}"]
    try:
        family.samples[key] = float(match.group(3))
    except ValueError:
        return [f"no number: {line}"]
    negative = family.kind != "gauge" and family.samples[key] < 0
    return [f"negative: {line}"] if negative else []


def judge_names(family):
    faults = []
    if not family.name.startswith(("giro_", "process_")):
        faults.append(f"{family.name} begins neither with giro_ nor with process_")
    if family.name.endswith("_total") != (family.kind == "counter"):
        faults.append(f"{family.name} is a {family.kind}")
    names = {tuple(name for name, _ in labels if name not in ("le", "quantile")) for _, labels in family.samples}
    if len(names) > 1:
        faults.append(f"{family.name} has series with different labels")
    return faults


def judge_histogram(family):
    faults = []
    series = {tuple(pair for pair in labels if pair[0] != "le") for _, labels in family.samples}
    for labels in series:
        buckets = [(float(dict(all_labels)["le"]), value)
                   for (name, all_labels), value in family.samples.items()
                   if name.endswith("_bucket") and
                   tuple(pair for pair in all_labels if pair[0] != "le") == labels]
        count = family.samples.get((family.name + "_count", labels))
        bounds = [bound for bound, _ in buckets]
        counts = [value for _, value in buckets]
        if not bounds or bounds != sorted(set(bounds)) or bounds[-1] != math.inf:
            faults.append(f"{family.name} {labels}: bounds {bounds}")
        elif counts != sorted(counts) or counts[-1] != count:
            faults.append(f"{family.name} {labels}: counts {counts} and {count}")
        if (family.name + "_sum", labels) not in family.samples:
            faults.append(f"{family.name} {labels} has no sum")
    return faults


def judge_by_promtool(text):
    if shutil.which("promtool") is None:
        return ["promtool is not installed: see docker/packages.sh"]
    run = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, timeout=60,
                         capture_output=True, check=False)
    said = (run.stdout + run.stderr).strip()
    return [f"promtool: {said}"] if run.returncode != 0 or said else []


def judge(text):
    """What is wrong with a scrape, as a list of sentences."""
    families, faults = parse(text)
    for family in families.values():
        faults += judge_names(family)
        if family.kind == "histogram":
            faults += judge_histogram(family)
    return faults + judge_by_promtool(text)
