"""Whether docs/monitoring fits to what a girod shows.

Checked: every expression of the alert rules and of the dashboard names metrics that are shown, with
labels that they have and values that these take; every alert has its section in docs/operating.md,
and so has every reason for which a transfer needs a person; promtool takes rules, scrape
configuration and dashboard expressions, and the alerts fire when they should and at no other time
(alerts_test.yml).
"""

import json
import os
import re
import shutil
import subprocess
import tempfile

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
MONITORING = os.path.join(ROOT, "docs/monitoring")

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
SELECTOR = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\s*\{([^}]*)\}")
MATCHER = re.compile(r'([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
GROUPING = re.compile(r"\b(by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
WORDS = {"and", "or", "unless", "bool", "offset"}
# Prometheus' own, and labels that it adds to what it scrapes.
ITS_METRICS = {"up", "ALERTS"}
ITS_LABELS = {"job", "instance", "le"}


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


class Shown:
    """What a girod shows: names with the values of their labels."""

    def __init__(self, families):
        self.labels = {}  # by name of a metric: {label: values}
        for family in families.values():
            for suffix in family.suffixes():
                self.labels[family.name + suffix] = {}
            for (name, labels), _ in family.samples.items():
                for label, value in labels:
                    self.labels[name].setdefault(label, set()).add(value)

    def judge_matcher(self, metric, label, operator, value):
        known = self.labels.get(metric)
        if not known or label in ITS_LABELS or "$" in value:
            return []
        if label not in known:
            return [f"{metric} has no label {label}"]
        if metric.startswith("giro_partition"):
            return []
        wanted = value.split("|") if operator in ("=~", "!~") else [value]
        return [f'{metric} never has {label}="{one}"' for one in wanted if one not in known[label]]

    def judge(self, expression):
        """What is wrong with an expression, as a list of sentences."""
        faults, metrics = [], set()
        for metric, matchers in SELECTOR.findall(expression):
            if metric not in ITS_METRICS:
                for matcher in MATCHER.findall(matchers):
                    faults += self.judge_matcher(metric, *matcher)
        bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]", " ", expression)
        grouped = {label.strip() for _, labels in GROUPING.findall(bare)
                   for label in labels.split(",") if label.strip()}
        bare = GROUPING.sub(" ", bare)
        for match in NAME.finditer(bare):
            is_function = bare[match.end():].lstrip().startswith("(")
            if is_function or match.group() in WORDS:
                continue
            metrics.add(match.group())
        faults += [f"{name} is not shown" for name in sorted(metrics - ITS_METRICS)
                   if name not in self.labels]
        have = set().union(*(self.labels.get(name, {}) for name in metrics))
        if have:
            faults += [f"nothing in it has the label {label}"
                       for label in sorted(grouped - have - ITS_LABELS)]
        if not metrics:
            faults.append("names no metric")
        return [f"{fault}: {expression}" for fault in faults]


def alerts():
    document = yaml.safe_load(read(MONITORING, "alerts.yml"))
    return [rule for group in document["groups"] for rule in group["rules"]]


def dashboard_expressions():
    """(panel, expression)"""
    document = json.loads(read(MONITORING, "dashboard.json"))
    return [(panel["title"], target["expr"]) for panel in document["panels"]
            for target in panel.get("targets", [])]


def anchors():
    """Of the headings of docs/operating.md, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", read(ROOT, "docs/operating.md"), re.MULTILINE)
    return {re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-")
            for heading in headings}


def judge_runbooks(rules):
    known = anchors()
    faults = []
    for rule in rules:
        link = rule.get("annotations", {}).get("runbook_url", "")
        place, _, anchor = link.partition("#")
        if place != "docs/operating.md" or anchor != rule["alert"].lower() or anchor not in known:
            faults.append(f"{rule['alert']} leads to \"{link}\"")
        if rule.get("labels", {}).get("severity") not in ("page", "ticket"):
            faults.append(f"{rule['alert']} has no severity")
    words = re.findall(r'^    \{"([a-z-]+)",', read(ROOT, "coordinator/protocol/attention.c"),
                       re.MULTILINE)
    if not words:
        faults.append("no reasons for attention are found")
    faults += [f"no section about {word}" for word in words if word not in known]
    return faults


def judge_coverage(rules):
    """Every alert fires in a test."""
    tests = yaml.safe_load(read(HERE, "alerts_test.yml"))["tests"]
    fired = set(re.findall(r'alertname="(\w+)"', json.dumps(tests).replace('\\"', '"')))
    return [f"no test lets {rule['alert']} fire" for rule in rules if rule["alert"] not in fired]


def promtool(*arguments):
    run = subprocess.run(["promtool", *arguments], text=True, timeout=120, capture_output=True,
                         check=False)
    return [] if run.returncode == 0 else [f"promtool {arguments[0]}: {run.stdout}{run.stderr}"]


def judge_dashboard_syntax(expressions):
    """As recording rules, since promtool checks the syntax of nothing else."""
    rules = [{"record": f"dashboard:{number}",
              "expr": expression.replace("$__rate_interval", "1m").replace("$shard", ".*")}
             for number, (_, expression) in enumerate(expressions)]
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}, file)
        file.flush()
        return promtool("check", "rules", file.name)


def judge_by_promtool(expressions):
    if shutil.which("promtool") is None:
        return ["promtool is not installed: see docker/packages.sh"]
    return (promtool("check", "rules", os.path.join(MONITORING, "alerts.yml")) +
            promtool("check", "config", os.path.join(MONITORING, "prometheus.yml")) +
            promtool("test", "rules", os.path.join(HERE, "alerts_test.yml")) +
            judge_dashboard_syntax(expressions))


def checks(families):
    """(name, faults) of each check, where families are those of a running girod."""
    shown = Shown(families)
    rules = alerts()
    expressions = dashboard_expressions()
    for rule in rules:
        yield f"alert {rule['alert']}", shown.judge(rule["expr"])
    for title, expression in expressions:
        yield f"panel {title}", shown.judge(expression)
    yield "runbooks", judge_runbooks(rules)
    yield "alerts that are tested", judge_coverage(rules)
    yield "promtool", judge_by_promtool(expressions)
