#!/usr/bin/python3
"""Compares what a girod answers with the OpenAPI description that it serves.

    openapi_test.py HOST:PORT DIRECTORY

of a girod with --enable-failpoints, and of its cluster (see run.sh).

Every operation gets right requests with known outcomes (the table of examples below) and requests
that are wrong in one way each (mutations.py). Every answer is held against the description
((description.py). An operation without an example fails the test, so a new one cannot be forgotten.
At the end the shards are killed, and every right request is sent once more.
GIRO_TEST_SEED chooses the random ones among the mutations.
"""

import collections
import http.client
import json
import os
import random
import re
import signal
import sys
import time
import uuid

import exposition
import lint
import monitoring
import mutations
from description import Description
from mutations import ANY, REFUSED, TAKEN
from wire import Request

SHOWN_OF_A_KIND = 3
FAILPOINT = "saga.credit.remote.before"


class World:
    """The girod, its description, and what the examples have made there."""

    def __init__(self, place, seed):
        self.place = place
        self.chance = random.Random(seed)
        self.count = 0
        self.run = uuid.uuid4().hex[:8]
        document = Request("GET", "/openapi.json").send(place).value()
        self.description = Description(document)
        self.operations = {operation.name: operation
                           for operation in self.description.operations()}
        self.passed = 0
        self.failed = 0
        self.seen = set()
        self.kinds = collections.Counter()

    def fresh(self, prefix="k"):
        self.count += 1
        return f"{prefix}{self.run}-{self.count}"

    def note(self, label, request, faults):
        if not faults:
            self.passed += 1
            return
        self.failed += 1
        kind = (label.split(":")[0], faults[0])
        self.kinds[kind] += 1
        if self.kinds[kind] <= SHOWN_OF_A_KIND:
            print(f"FAILED {label}\n  {request}")
            for fault in faults[:4]:
                print(f"  -> {fault}")

    def check(self, operation, label, request, expected):
        """Sends a request and judges the answer; expected is a status or an expectation."""
        try:
            answer = request.send(self.place)
        except (OSError, http.client.HTTPException) as error:
            self.note(f"{operation.name}: {label}", request, [f"no answer: {error!r}"])
            return None
        faults = operation.judge(answer) + unexpected(answer, expected)
        sent = dict(request.more_headers).get("X-Request-Id")
        if sent == "contract-1.a_b" and answer.header("X-Request-Id") != sent:
            faults.append("the request id is not echoed")
        if faults:
            faults.append(f"{answer.status} {answer.body[:300]}")
        self.note(f"{operation.name}: {label}", request, faults)
        self.seen.add((operation.name, str(answer.status)))
        return answer


def unexpected(answer, expected):
    if isinstance(expected, int):
        wrong = answer.status != expected
    elif expected == REFUSED:
        wrong = not 400 <= answer.status < 500
    else:
        wrong = expected == TAKEN and answer.status in (400, 413, 415)
    return [f"{expected} was expected"] if wrong else []


# ---- examples ---------------------------------------------------------------------------------


class Examples:
    """Right requests. A method named like an operation makes one that can be sent at any time."""

    def __init__(self, world):
        self.world = world
        self.state = None  # of the last transfer
        self.debit = self.account("r:a", floor=None)
        self.credit = self.account("r:h")
        self.poor = self.account("r:a")
        self.euro = self.account("r:h", currency="EUR")
        self.posted = self.pay(201, mode="2pc", reference="Größe", metadata={"a": "b"})
        self.refused = self.pay(422, debit_account=self.poor)
        self.local = self.pay(201, credit_account=self.poor)

    def account(self, prefix, **fields):
        name = self.world.fresh(prefix)
        self.check("createAccount", 201, {"id": name, "currency": "USD", **fields})
        return name

    def check(self, name, expected, body=None, headers=(), path=None):
        operation = self.world.operations[name]
        body = None if body is None else json.dumps(body).encode()
        request = Request(operation.method, path or operation.path, body, headers)
        return self.world.check(operation, "example", request, expected)

    def transfer(self, **fields):
        return {"debit_account": self.debit, "credit_account": self.credit, "amount": 1,
                "currency": "USD", **fields}

    def pay(self, expected, key=None, prefer=None, **fields):
        headers = {"Idempotency-Key": key or self.world.fresh()}
        if prefer is not None:
            headers["Prefer"] = prefer
        answer = self.check("createTransfer", expected, self.transfer(**fields), headers)
        value = answer.value()
        self.state = value.get("state")
        return value.get("transfer_id") or value.get("id")

    def expect_state(self, state):
        self.world.note("state of an example", state,
                        [] if self.state == state else [f"it is {self.state}"])

    # What right requests of each operation are made of: path, query, body, headers.

    def bodies(self):
        return {
            "createTransfer": lambda: self.transfer(reference="r", metadata={"a": "b"}),
            "createTransfers": lambda: {"transfers": [self.batch_item()]},
            "cancelTransfer": lambda: {"reason": "a contract test"},
            "retryTransfer": lambda: {"reason": "a contract test"},
            "resolveTransfer": lambda: {"reason": "a contract test", "outcome": "reversed"},
            "pauseIntake": lambda: {"reason": "a contract test", "scope": "account:r:nobody"},
            "resumeIntake": lambda: {"reason": "a contract test", "scope": "account:r:nobody"},
            "createAccount": lambda: {"id": self.world.fresh("r:a"), "currency": "USD"},
            "changeAccount": lambda: {"reason": "a contract test", "floor": -5},
            "armFailpoint": lambda: {"action": "error", "count": 1, "ms": 0},
            "createReconciliation": lambda: {"full": False},
        }

    def newest_reconciliation(self):
        """Only so many are kept."""
        answer = Request("GET", "/v1/reconciliations").send(self.world.place)
        return answer.value()["items"][0]["id"]

    def batch_item(self):
        return {"idempotency_key": self.world.fresh(), **self.transfer()}

    def paths(self):
        return {
            "getTransfer": self.posted, "getTransferSteps": self.posted,
            "cancelTransfer": self.posted, "retryTransfer": self.posted,
            "resolveTransfer": self.posted, "getAccount": self.debit, "changeAccount": self.poor,
            "listEntries": self.debit, "getFailpoint": FAILPOINT, "armFailpoint": FAILPOINT,
            "clearFailpoint": FAILPOINT, "explainProblem": "account-busy",
            "getReconciliation": self.newest_reconciliation(),
        }

    def queries(self):
        return {"listTransfers": [("state", "posted")]}

    def statuses(self):
        """Where the example is not answered by 200."""
        return {"createTransfer": 201, "createAccount": 201, "cancelTransfer": 409,
                "retryTransfer": 409, "resolveTransfer": 409,
                "clearFailpoint": 204, "createReconciliation": 202}

    def request(self, operation):
        name = operation.name
        target = operation.path
        for parameter in operation.parameters_in("path"):
            target = target.replace("{" + parameter["name"] + "}", self.paths()[name])
        query = "&".join("=".join(pair) for pair in self.queries().get(name, []))
        body = None
        if operation.body_schema() is not None:
            body = json.dumps(self.bodies()[name]()).encode()
        headers = {"Idempotency-Key": self.world.fresh()} if name == "createTransfer" else {}
        return Request(operation.method, target + ("?" + query if query else ""), body, headers)


def known_outcomes(world, examples):
    """Transfers and accounts in all the states that can be had without a fault of a shard."""
    key = world.fresh()
    examples.pay(201, key)
    examples.pay(200, key)
    examples.pay(422, key, amount=2)  # idempotency-key-reused
    examples.pay(422, credit_account=examples.euro)
    examples.pay(422, credit_account=examples.debit)
    examples.pay(422, credit_account=world.fresh("r:h"))
    examples.pay(404, debit_account=world.fresh("r:a"))
    key = world.fresh()
    examples.pay(422, key, debit_account=examples.poor, amount=10**9)
    examples.pay(422, key, debit_account=examples.poor, amount=10**9)
    examples.check("createAccount", 200, {"id": examples.poor, "currency": "USD"})
    examples.check("createAccount", 409, {"id": examples.poor, "currency": "EUR"})
    for status in ("frozen", "open"):
        examples.check("changeAccount", 200, {"reason": "a contract test", "status": status},
                       path=f"/v1/accounts/{examples.poor}")
    examples.check("changeAccount", 409, {"reason": "a contract test", "status": "closed"},
                   path=f"/v1/accounts/{examples.credit}")
    paused(examples)
    reconciled(examples)
    pending_and_reversed(world, examples)
    doubtful(world, examples)
    examples.check("createTransfers", 200, {"transfers": [
        examples.batch_item(), {**examples.batch_item(), "amount": 0}, {}, 1,
        {**examples.batch_item(), "debit_account": examples.poor, "amount": 10**9},
        {**examples.batch_item(), "mode": "saga"}]})
    examples.check("listTransfers", 200,
                   path=f"/v1/transfers?debit_account={examples.debit}&idempotency_key={key}")
    for limit in ("", "?limit=1"):
        for name, path in (("listAccounts", "/v1/accounts"), ("listTransfers", "/v1/transfers"),
                           ("listPartitions", "/v1/partitions"),
                           ("listEntries", f"/v1/accounts/{examples.debit}/entries")):
            page = examples.check(name, 200, path=path + limit).value()
            if page["next_cursor"] is not None:
                examples.check(name, 200,
                               path=f"{path}?limit=2&cursor={page['next_cursor']}")


def pending_and_reversed(world, examples):
    """A saga whose credit fails is seen while it is pending, cancelled, and seen again."""
    arm = f"/v1/failpoints/{FAILPOINT}"
    examples.check("armFailpoint", 200, {"action": "error", "count": 100000}, path=arm)
    key = world.fresh()
    saga = examples.pay(202, key, "respond-async", mode="saga")
    examples.pay(202, key, "wait=0", mode="saga")
    for name, tail in (("getTransfer", ""), ("getTransferSteps", "/steps")):
        examples.check(name, 200, path=f"/v1/transfers/{saga}{tail}")
    actions(examples, saga)
    examples.check("cancelTransfer", 202, {"reason": "a contract test"}, {"Prefer": "wait=0"},
                   f"/v1/transfers/{saga}/actions/cancel")
    examples.check("cancelTransfer", 200, {"reason": "a contract test"}, {"Prefer": "wait=20"},
                   f"/v1/transfers/{saga}/actions/cancel")
    examples.check("clearFailpoint", 204, path=arm)
    examples.pay(422, key, mode="saga")
    examples.expect_state("reversed")
    examples.pay(422, mode="saga", prefer="wait=20", credit_account=world.fresh("r:h"))
    examples.expect_state("reversed")
    for transfer in (saga, examples.refused, examples.local, examples.posted):
        for name, tail in (("getTransfer", ""), ("getTransferSteps", "/steps")):
            examples.check(name, 200, path=f"/v1/transfers/{transfer}{tail}")


def actions(examples, saga):
    """What actions would do to a pending saga, and that nothing of it is done."""
    reason = {"reason": "a contract test"}
    wished = {"reason": "a contract test", "outcome": "posted"}
    for transfer in (saga, examples.posted, examples.local, examples.refused):
        path = f"/v1/transfers/{transfer}/actions"
        examples.check("cancelTransfer", 200, reason, path=f"{path}/cancel?dry_run")
        examples.check("retryTransfer", 200, reason, path=f"{path}/retry?dry_run=true")
        examples.check("resolveTransfer", 200, wished, path=f"{path}/resolve?dry_run=1")
    path = f"/v1/transfers/{saga}/actions"
    examples.check("retryTransfer", 202, reason, {"Prefer": "wait=0"}, f"{path}/retry")
    examples.check("resolveTransfer", 409, wished, path=f"{path}/resolve")
    examples.check("resolveTransfer", 200, wished,
                   path=f"/v1/transfers/{examples.posted}/actions/resolve")


def paused(examples):
    """An account whose transfers are turned away, but for those that are known."""
    change = {"reason": "a contract test", "scope": f"account:{examples.credit}"}
    key = examples.world.fresh()
    examples.pay(201, key)
    examples.check("pauseIntake", 200, change)
    examples.pay(503)
    examples.pay(200, key)
    examples.check("getDirectory", 200)
    examples.check("ready", 200, path="/readyz?verbose")
    examples.check("resumeIntake", 200, change)
    examples.pay(201)


def reconciled(examples):
    """A pass is asked for, and its report read when it has ended."""
    asked = examples.check("createReconciliation", 202, {"full": True}).value()
    path = f"/v1/reconciliations/{asked['id']}"
    for _ in range(300):
        report = examples.check("getReconciliation", 200, path=path).value()
        if report["state"] not in ("waiting", "running"):
            break
        time.sleep(0.1)
    examples.world.note("the report", report, [] if report["verdict"] in ("balanced", "explained")
                        else [f"{report['state']}, {report['verdict']}"])


def doubtful(world, examples):
    """A coordinator that hears nothing of its decision cannot say what became of the transfer."""
    arm = "/v1/failpoints/2pc.decide.home.before"
    examples.check("armFailpoint", 200, {"action": "drop"}, path=arm)
    key = world.fresh()
    examples.pay(ANY, key, "wait=0", mode="2pc")  # 503, or the outcome if that came at once
    examples.check("clearFailpoint", 204, path=arm)
    examples.pay(ANY, key, "wait=20", mode="2pc")
    examples.expect_state("posted")


# ---- one operation ------------------------------------------------------------------------------


def try_operation(world, examples, operation):
    def check(label, request, expected):
        world.check(operation, label, request, expected)
        if operation.name == "armFailpoint":  # what is armed must not strike a later request
            Request("DELETE", request.target).send(world.place)

    check("example", examples.request(operation), examples.statuses().get(operation.name, 200))
    if operation.method == "GET":
        head = examples.request(operation)
        head.method = "HEAD"
        check("HEAD", head, 200)
    for label, changes, expected in mutations.headers(operation):
        request = examples.request(operation)
        request.change_headers(changes if label != "Host twice" else [])
        request.more_headers += [] if label != "Host twice" else changes
        check(label, request, expected)
    for label, query, expected in mutations.queries(
            operation, examples.queries().get(operation.name, [])):
        request = examples.request(operation)
        request.target = request.target.split("?")[0] + "?" + query
        if request.target.isascii():
            check(label, request, expected)
    try_path(check, examples, operation)
    try_body(world, check, examples, operation)


def try_path(check, examples, operation):
    for parameter in operation.parameters_in("path"):
        for label, segment, expected in mutations.path_ids(operation, parameter):
            request = examples.request(operation)
            request.target = operation.path.replace("{" + parameter["name"] + "}", segment)
            check(label, request, expected)


def try_body(world, check, examples, operation):
    request = examples.request(operation)
    request.announced = 1 << 30  # far beyond any limit, so that it is not waited for
    check("a body of 1 GiB", request, 413)
    if operation.body_schema() is None:
        return
    example = examples.bodies()[operation.name]
    for label, body, expected in mutations.bodies(operation, example, world.chance):
        request = examples.request(operation)
        request.body = body
        if operation.name == "createTransfers" and expected == REFUSED:
            expected = ANY  # an item fails alone
        check(label, request, expected)


def try_other_methods(world, path):
    """What is not described is 405, and Allow names what is."""
    methods = world.description.methods_of(path)
    target = path.replace("{", "").replace("}", "")
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "ZZZ"):
        if method in methods:
            continue
        request = Request(method, target)
        answer = request.send(world.place)
        allow = set((answer.header("Allow") or "").split(", "))
        faults = []
        if answer.status != 405 or answer.value()["code"] != "method-not-allowed":
            faults.append(f"{answer.status} and not 405")
        if allow != methods:
            faults.append(f"Allow names {sorted(allow)} and not {sorted(methods)}")
        world.note(f"{method} {path}", request, faults)


def without_shards(world, examples, directory):
    """Kills all shards. What needs them is 503, by what the description says of that."""
    for shard in sorted(os.listdir(directory)):
        if shard.startswith("shard-"):
            with open(f"{directory}/{shard}/data/postmaster.pid", encoding="ascii") as file:
                os.kill(int(file.readline()), signal.SIGQUIT)
    time.sleep(1)
    for operation in world.operations.values():
        request = examples.request(operation)
        needs_shards = operation.path.startswith(
            ("/v1/transfers", "/v1/accounts", "/v1/prepared", "/readyz"))
        expected = 503 if needs_shards else examples.statuses().get(operation.name, 200)
        if operation.name == "createReconciliation":
            expected = ANY  # 202 unless some wait for their turn already
        if operation.name == "createTransfers":
            expected = 200  # its items say 503
        request.headers["Prefer"] = "wait=1"
        world.check(operation, "without shards", request, expected)
    examples.check("ready", 503, path="/readyz?verbose")
    examples.check("listPrepared", 200, path="/v1/prepared?partial")
    examples.check("listTransfers", 200, path="/v1/transfers?partial")
    examples.check("summarizeTransfers", 200, path="/v1/transfers/summary?partial")


def prepared(world, examples):
    """A leg that stays prepared for a while, as the list shows it."""
    arm = "/v1/failpoints/2pc.decide.home.before"
    examples.check("armFailpoint", 200, {"action": "pause", "ms": 2000}, path=arm)
    key = world.fresh()
    examples.pay(503, key, "wait=0", mode="2pc")
    for _ in range(100):
        answer = examples.check("listPrepared", 200)
        if answer.value()["items"]:
            break
    listed = [item["class"] for item in answer.value()["items"]]
    world.note("a leg that is listed", "GET /v1/prepared",
               [] if listed == ["in-flight"] else [f"the classes are {listed}"])
    examples.pay(ANY, key, "wait=20", mode="2pc")
    examples.expect_state("posted")


def documented_metrics():
    """The names in the section of docs/operating.md that explains them."""
    path = os.path.join(os.path.dirname(__file__), "../../docs/operating.md")
    with open(path, encoding="utf-8") as file:
        section = file.read().split("\n## Metrics\n")[1].split("\n## ")[0]
    return set(re.findall(r"\b(?:giro|process)_[a-z_]+", section))


def try_metrics(world, examples, when):
    """All that has happened until now is there, in the form that Prometheus reads."""
    answer = examples.check("metrics", 200)
    text = answer.body.decode()
    faults = exposition.judge(text)
    for operation in world.operations.values():
        series = f'giro_http_request_duration_seconds_count{{operation="{operation.name}"}} '
        if series not in text:
            faults.append(f"{operation.name} is not counted")
    by_partition = examples.check("partitionMetrics", 200).body.decode()
    faults += exposition.judge(by_partition)
    if 'giro_partition_requests_total{partition="' not in by_partition:
        faults.append("no partition is counted")
    text += by_partition
    shown = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    faults += [f"{name} is shown or documented, and not both"
               for name in shown ^ documented_metrics()]
    world.note(f"metrics {when}", "GET /metrics", faults)
    return exposition.parse(text)[0]


def log_is_discreet(world, directory):
    """It holds no password, and is what it says: one line per event."""
    with open(os.path.join(directory, "cluster.json"), encoding="utf-8") as file:
        secrets = set(re.findall(r"password=(\S+?)[\s\"']", file.read()))
    with open(os.path.join(directory, "girod-1.log"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    stamp = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z (error|warn|info) ")
    faults = [f"the log holds a password: {line}" for line in lines
              if any(secret in line for secret in secrets)]
    faults += [f"no line of a log: {line}" for line in lines if not stamp.match(line)]
    if not secrets:
        faults.append("no password is known")
    world.note("the log", directory, faults)


def main():
    seed = int(os.environ.get("GIRO_TEST_SEED", "20"))
    print(f"seed {seed}")
    world = World(sys.argv[1], seed)
    world.note("the description", "/openapi.json", lint.judge(world.description.document))
    examples = Examples(world)
    known_outcomes(world, examples)
    prepared(world, examples)
    families = try_metrics(world, examples, "after some traffic")
    for name, faults in monitoring.checks(families):
        world.note(name, "docs/monitoring", faults)
    for operation in world.operations.values():
        try_operation(world, examples, operation)
    for path in world.description.document["paths"]:
        try_other_methods(world, path)
    without_shards(world, examples, sys.argv[2])
    try_metrics(world, examples, "without shards")
    log_is_discreet(world, sys.argv[2])
    described = {(operation.name, status) for operation in world.operations.values()
                 for status in operation.what["responses"]}
    unseen = sorted(" ".join(pair) for pair in described - world.seen
                    if pair[1] not in ("408", "429"))
    print(f"described and not seen: {', '.join(unseen) or 'nothing'}")
    print(f"{world.passed} passed, {world.failed} failed")
    return 0 if world.failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
