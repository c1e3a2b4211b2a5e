"""Requests that are wrong in one way each, made from a right one and the schemas.

A mutation says what its request must get: REFUSED (a 4xx; a 2xx would be a hole in the checks),
TAKEN (the schema allows it, so neither 400 nor 413 nor 415), or ANY (schemas cannot say it). All
of them must get an answer that is described.
"""

import copy
import json
import re

REFUSED, TAKEN, ANY = "refused", "taken", "any"

VALUES = [
    None, True, False, 0, -1, 1, 1.5, -9007199254740991, 2**53 - 1, 2**53, 2**63, 10**30,
    "", "x", "0", " ", ".", "..", "a/b", "é", "\x00", "a\x00b", "\x7f", "2pc", "auto", "open",
    "AAA", "a" * 97, "A" * 129, "a" * 5000, [], [None], {}, {"a": 1}, {"a": "b"}, {"a": None},
    {"": ""}, {"a": "b" * 5000}, [[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]],
]
NUMBERS = ["1.0", "1e3", "-0", "-0.0", "01", "+1", "0x1", "1e400", "NaN", "Infinity", "1E+2"]
KEYS_REFUSED = ["", "a b", "a\tb", "é".encode(), "k" * 256, '""']
KEYS_TAKEN = ['"quoted"', "k" * 255]
PREFERENCES = ["wait=1", "wait=0", "wait=-1", "wait=x", "wait=99999999999999999999", "wait",
               "", ",", "respond-async", "respond-async, wait=1", "return=minimal", "a" * 3000]
MEDIA_REFUSED = [None, "", "text/plain", "application/xml", "application/x-www-form-urlencoded",
                 "application/json; charset=latin1", "application/jsonx", "json"]
MEDIA_TAKEN = ["application/json", "application/json; charset=utf-8", "Application/JSON"]
PATH_IDS = ["x", ".", "..", "%2e", "%2e%2e", "a%2Fb", "%00", "%zz", "%", "%c3%a9", "a%20b",
            "a+b", "a" * 96, "a" * 97, "a" * 3000, "00000000-0000-0000-0000-000000000000",
            "00000000-0000-8000-8000-00000000000", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
            "'", "%22", "~", "*", "-1", "@", ":"]
QUERY_VALUES = ["", "0", "1", "-1", "1000", "1001", "99999999999999999999", "1.5", "x", "é",
                "+", "%00", "%zz", "true", "null", "a" * 97, "a" * 3000]


def is_doubtful(value):
    """Bytes and NULs are beyond what a schema can count or forbid."""
    text = json.dumps(value)
    return "\\u0000" in text or len(text) > 128


def by_schema(faults, value):
    if faults:
        return REFUSED
    return ANY if is_doubtful(value) else TAKEN


def bodies(operation, example, chance):
    """(label, bytes, expectation) of wrong bodies for an operation that takes one."""
    description = operation.description
    schema = operation.body_schema()

    def judged(label, value):
        return (label, json.dumps(value).encode(),
                by_schema(description.faults(schema, value), value))

    yield from raw_bodies(example())
    yield judged("an empty object", {})
    places = list(places_of(description, schema, example()))
    for place in places:
        name = "/".join(map(str, place))
        yield judged(f"without {name}", changed(example(), place, None, remove=True))
        for value in VALUES:
            yield judged(f"{name} = {json.dumps(value)[:40]}", changed(example(), place, value))
        for number in NUMBERS:
            text = json.dumps(changed(example(), place, "@number@"))
            yield (f"{name} = {number}", text.replace('"@number@"', number).encode(), ANY)
    for _ in range(40):
        value = example()
        for place in chance.sample(places, min(2, len(places))):
            value = changed(value, place, chance.choice(VALUES))
        yield judged("two fields at random", value)


def raw_bodies(example):
    text = json.dumps(example)
    for label, body in [
            ("empty", ""), ("blank", " "), ("null", "null"), ("a list", "[]"), ("a number", "1"),
            ("a string", '"x"'), ("truncated", text[:-1]),
            ("half", text[:len(text) // 2]), ("trailing bytes", text + "x"),
            ("two documents", text + text), ("a trailing comma", text[:-1] + ",}"),
            ("a comment", "/**/" + text), ("an unknown field", text[:-1] + ',"zzz":1}'),
            ("a field with a blank name", text[:-1] + ',"":1}'),
            ("a duplicate field", text[:-1] + "," + text[1:]),
            ("single quotes", text.replace('"', "'"))]:
        yield (label, body.encode(), REFUSED)
    yield ("a byte order mark", b"\xef\xbb\xbf" + text.encode(), REFUSED)
    yield ("invalid UTF-8", text[:-1].encode() + b',"\xff":1}', REFUSED)
    yield ("a lone surrogate", text[:-1].encode() + b',"\\ud800":1}', REFUSED)
    yield ("a NUL byte", text.encode() + b"\x00", REFUSED)
    yield ("nested too deeply", b"[" * 5000 + b"]" * 5000, REFUSED)


def places_of(description, schema, example, place=()):
    """Every field that the schema or the example has, the items of lists too."""
    schema = description.resolve(schema)
    for name, inner in schema.get("properties", {}).items():
        yield place + (name,)
        if isinstance(example, dict) and name in example:
            yield from places_of(description, inner, example[name], place + (name,))
    if isinstance(example, list) and "items" in schema:
        for index, item in enumerate(example):
            yield place + (index,)
            yield from places_of(description, schema["items"], item, place + (index,))


def changed(example, place, value, remove=False):
    """A copy with another value at a place; the same if an earlier change took the place away."""
    result = copy.deepcopy(example)
    inner = result
    for step in place[:-1]:
        if not holds(inner, step):
            return result
        inner = inner[step]
    last = place[-1]
    if remove and holds(inner, last):
        del inner[last]
    elif not remove and (holds(inner, last) or isinstance(inner, dict)):
        inner[last] = value
    return result


def holds(container, step):
    if isinstance(container, dict):
        return step in container
    return isinstance(container, list) and isinstance(step, int) and step < len(container)


def queries(operation, example):
    """(label, query string, expectation); the example is a list of names and encoded values."""
    def joined(pairs):
        return "&".join(f"{name}={value}" for name, value in pairs)

    yield ("an unknown parameter", joined(example + [("zzz", "1")]), REFUSED)
    yield ("an unknown parameter without a value", "&".join(filter(None, [joined(example), "zzz"])),
           REFUSED)
    yield ("ampersands", joined(example) + "&&", ANY)
    for parameter in operation.parameters_in("query"):
        name = parameter["name"]
        others = [pair for pair in example if pair[0] != name]
        yield (f"without {name}", joined(others), REFUSED if parameter.get("required") else TAKEN)
        yield (f"{name} twice", joined(others + [(name, "1"), (name, "1")]), REFUSED)
        yield (f"{name.upper()}", joined(others + [(name.upper(), "1")]), REFUSED)
        for value in QUERY_VALUES:
            yield (f"{name} = {value[:20]}", joined(others + [(name, value)]),
                   of_parameter(operation, parameter, value))


# What schemas cannot say: cursors, names that must exist, and parameters that go together.
BEYOND_SCHEMAS = ("cursor", "shard", "debit_account", "idempotency_key")


def of_parameter(operation, parameter, value):
    beyond = parameter["name"] in BEYOND_SCHEMAS
    if "%" in value or "+" in value or not value.isascii() or beyond:
        return ANY
    schema = operation.description.resolve(parameter["schema"])
    if schema.get("type") == "integer":
        if not re.match(r"^-?\d+$", value):
            return REFUSED
        value = int(value)
    return REFUSED if operation.description.faults(schema, value) else TAKEN


def path_ids(operation, parameter):
    """(label, segment, expectation); TAKEN says nothing here: there is no such thing to find."""
    for value in PATH_IDS:
        refused = "%" not in value and operation.description.faults(parameter["schema"], value)
        yield (f"{parameter['name']} = {value[:40]}", value, REFUSED if refused else ANY)


def headers(operation):
    """(label, list of header changes, expectation); None takes a header away."""
    yield ("a request id", [("X-Request-Id", "contract-1.a_b")], TAKEN)
    yield ("a long request id", [("X-Request-Id", "a" * 3000)], TAKEN)
    yield ("a strange request id", [("X-Request-Id", "a b;")], TAKEN)
    yield ("Authorization twice", [("Authorization", "Bearer a"), ("Authorization", "Bearer b")],
           REFUSED)
    yield ("Host twice", [("Host", "other")], REFUSED)
    yield ("an unknown Accept", [("Accept", "image/png")], TAKEN)
    names = [parameter["name"] for parameter in operation.parameters_in("header")]
    yield ("Idempotency-Key twice", [("Idempotency-Key", "one"), ("Idempotency-Key", "one")],
           REFUSED)
    if "Idempotency-Key" in names:
        yield ("no key", [("Idempotency-Key", None)], REFUSED)
        for key in KEYS_REFUSED:
            yield (f"key {key[:20]!r}", [("Idempotency-Key", key)], REFUSED)
        for key in KEYS_TAKEN:
            yield (f"key {key[:20]!r}", [("Idempotency-Key", key)], TAKEN)
    if "Prefer" in names:
        for value in PREFERENCES:
            yield (f"Prefer {value[:30]}", [("Prefer", value)], ANY)
    if operation.body_schema() is not None:
        for value in MEDIA_REFUSED:
            yield (f"Content-Type {value}", [("Content-Type", value)], REFUSED)
        for value in MEDIA_TAKEN:
            yield (f"Content-Type {value}", [("Content-Type", value)], TAKEN)
